// Every way in which an approval can be answered.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { type approval_answer, approvals } from "../src/approvals.ts";
import { orchestrator } from "../src/orchestrator.ts";

const broker_symbol = Symbol.for("pi-auto-review:boundary-approval-broker");
const world = globalThis as Record<symbol, unknown>;
afterEach(() => void delete world[broker_symbol]);

const request = {
  id: "a1", surface: "network", operation: "connect", destination: "example.org:443", command: "curl example.org", cwd: "/w",
  sessionId: "s1", agentName: "worker", matchedPolicy: "none",
};

type dialog = { title: string; options: string[]; choose: (choice: string | undefined) => void };
function person({ hasUI = true } = {}) {
  const dialogs: dialog[] = [];
  const notices: string[] = [];
  const context = {
    hasUI,
    mode: hasUI ? "tui" : "print",
    sessionManager: { getSessionId: () => "pi-session" },
    ui: {
      notify: (text: string) => void notices.push(text),
      select: (title: string, options: string[], { signal }: { signal: AbortSignal }) =>
        new Promise((choose) => {
          dialogs.push({ title, options, choose });
          signal.addEventListener("abort", () => choose(undefined));
        }),
    },
  } as unknown as ExtensionContext;
  const piorch = new orchestrator("/");
  new approvals(piorch, () => context);
  const ask = (more: object = {}) => {
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    return piorch.requests.get("approval.request")!({ ...request, expiresAt, ...more }) as Promise<approval_answer>;
  };
  const cancel = (id: string) => piorch.notifications.get("approval.cancelled")!({ id });
  return { ask, cancel, dialogs, notices };
}
const soon = () => new Promise((resolve) => setImmediate(resolve));

/** A broker that issues one grant for what it was asked, usable once. */
function broker(decision: object | Error | Promise<never>, forged?: object) {
  const seen: object[] = [];
  let granted: { request: object; session: string } | undefined;
  world[broker_symbol] = {
    async review(asked: object, options: { sessionId: string }) {
      seen.push(asked, options);
      if (decision instanceof Error) throw decision;
      granted = { request: forged ?? asked, session: options.sessionId };
      return decision;
    },
    consumeGrant(asked: object, session: string, token: unknown) {
      const good = token === "t" && granted?.request === asked && granted.session === session;
      granted = undefined;
      return good;
    },
  };
  return seen;
}

test("allowed with a grant for exactly this request", async () => {
  const seen = broker({ kind: "allow", grant: { token: "t" } });
  assert.deepEqual(await person().ask(), { action: "allow", source: "pi-auto-review" });
  const { sessionId: _, ...asked } = request;
  assert.deepEqual(seen, [
    { ...asked, source: "sandbox-runtime", toolInputPreview: request.command },
    { sessionId: "pi-session", scopeKey: "s1", issueGrant: true },
  ]);
});

for (const [name, decision, forged, reason] of [
  ["no grant", { kind: "allow" }, undefined, /gave no grant/],
  ["a grant that is refused", { kind: "allow", grant: { token: "other" } }, undefined, /grant was not for this request/],
  ["a grant for another request", { kind: "allow", grant: { token: "t" } }, { id: "a2" }, /grant was not for this request/],
  ["a deny with its rationale", { kind: "deny", review: { rationale: "exfiltration" }, recoveryCommand: "/review", denialSource: "model" }, undefined,
    /^exfiltration; recover with \/review$/],
  ["a broker that throws", new Error("broken"), undefined, /broken/],
  ["an answer that is none", { kind: "ALLOW", grant: { token: "t" } }, undefined, /no decision/],
] as const) {
  test(`${name}: denied, and the person is told`, async () => {
    broker(decision, forged);
    const { ask, dialogs, notices } = person();
    const answer = await ask();
    assert.equal(answer.action, "deny");
    assert.match(answer.reason!, reason);
    assert.equal(dialogs.length, 0, "a decision of the broker is not put to the person");
    assert.match(notices.join(), /denied a connection to example\.org:443/);
  });
}

test("deferred: the person decides", async () => {
  broker({ kind: "defer" });
  const { ask, dialogs } = person();
  const answer = ask();
  await soon();
  assert.deepEqual(dialogs[0]!.options, ["Allow this exact operation once", "Deny"]);
  assert.match(dialogs[0]!.title, /example\.org:443[\s\S]*worker[\s\S]*curl example\.org[\s\S]*\/w/);
  dialogs[0]!.choose("Allow this exact operation once");
  assert.deepEqual(await answer, { action: "allow", source: "user" });
});

test("no broker: the person decides, one question at a time", async () => {
  const { ask, dialogs } = person();
  const first = ask();
  const second = ask({ id: "a2" });
  await soon();
  assert.equal(dialogs.length, 1);
  dialogs[0]!.choose("Deny");
  assert.deepEqual(await first, { action: "deny", source: "user", reason: "denied by the user" });
  await soon();
  dialogs[1]!.choose(undefined);
  assert.deepEqual(await second, { action: "deny", source: "user", reason: "the question was dismissed" });
});

test("nobody to ask: denied", async () => {
  assert.deepEqual(await person({ hasUI: false }).ask(), {
    action: "deny", source: "no-ui", reason: "nobody can be asked in print mode; allow it in the configuration",
  });
});

test("no answer in time: denied, and the next question is asked", async () => {
  const { ask, dialogs } = person();
  const late = await ask({ expiresAt: new Date(Date.now() + 30).toISOString() });
  assert.deepEqual(late, { action: "deny", source: "piorch", reason: "nobody answered in time" });
  const next = ask();
  await soon();
  dialogs.at(-1)!.choose("Allow this exact operation once");
  assert.equal((await next).action, "allow");
});

test("a broker that never answers: denied in time", async () => {
  world[broker_symbol] = { review: () => new Promise(() => {}), consumeGrant: () => true };
  assert.match((await person().ask({ expiresAt: new Date(Date.now() + 30).toISOString() })).reason!, /in time/);
});

test("a time that is none, or past, is no time", async () => {
  assert.match((await person().ask({ expiresAt: "soon" })).reason!, /in time/);
});

test("withdrawn by the orchestrator: the question disappears", async () => {
  const { ask, cancel, dialogs } = person();
  const answer = ask();
  await soon();
  cancel("a1");
  assert.match((await answer).reason!, /no longer matters/);
  dialogs[0]!.choose("Allow this exact operation once"); // too late
});
