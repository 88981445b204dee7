// With a real Pi, the real `piorch serve` and pi-auto-review's place taken: a command wants
// a host that no rule decides, and who is asked decides whether it gets the page.
import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { allow_once, answer, pi_rig, question, questions, type rpc_pi } from "./support/pi.ts";

const rig = await pi_rig.start({ network: true });
after(() => rig.end());
before(() => rig.configure({ network: { allowedLocalPorts: [rig.model_port] } }));

const url = "http://www.example.org/";
const fetch = `#bash curl -sS ${url}`;
const log = join(rig.dir, "review.log");
const broker = fileURLToPath(new URL("support/review_broker.ts", import.meta.url));
function reviewed_by(decides: string) {
  rmSync(log, { force: true });
  return { extensions: [broker], env: { REVIEW: decides, REVIEW_LOG: log } };
}
const reviews = () => readFileSync(log, "utf8").trim().split("\n").map((line) => JSON.parse(line));

const denial = (pi: rpc_pi) => pi.events.find((event) => event.method === "notify" && /denied a connection to www\.example\.org:80/.test(event.message));

test("allowed by the review with a grant for exactly this request", { timeout: 120_000 }, async () => {
  const { stdout } = await rig.run(fetch, reviewed_by("allow")); // nobody can be asked, and nobody has to
  assert.match(stdout, /^the page/);
  const [{ asked, issueGrant, sessionId, scopeKey }, ...more] = reviews();
  const { id, toolInputPreview, matchedPolicy, ...rest } = asked;
  assert.deepEqual(rest, {
    source: "sandbox-runtime", surface: "network", operation: "connect", cwd: rig.workspace, command: `curl -sS ${url}`,
    destination: "www.example.org:80",
  });
  assert.ok(id && sessionId && scopeKey === sessionId && issueGrant === true);
  assert.equal(toolInputPreview, `curl -sS ${url}`);
  assert.equal(more.length, 0);
});

for (const [decides, reason] of [
  ["deny", /it sends the project away; recover with \/auto-review retry/],
  ["no-grant", /the review allowed it but gave no grant/],
  ["used", /the grant was not for this request, or was used already/],
  ["other", /the grant was not for this request/],
  ["throw", /the reviewer's model is not there/],
] as const) {
  test(`the review's answer is "${decides}": denied with the reason, and no question to the person`, { timeout: 120_000 }, async () => {
    const pi = rig.rpc(reviewed_by(decides));
    const [result] = await pi.prompt(fetch);
    assert.match(result!.text, reason);
    assert.doesNotMatch(result!.text, /the page/);
    assert.match(denial(pi)!.message, reason);
    assert.deepEqual(questions(pi), []);
    await pi.end();
  });
}

test("deferred: the person allows this one, and the next is asked for again", { timeout: 120_000 }, async () => {
  const pi = rig.rpc(reviewed_by("defer"));
  const first = pi.prompt(fetch);
  const asked = await question(pi);
  assert.match(asked.title, /^Allow a connection to www\.example\.org:80\?\nCommand: curl -sS http:\/\/www\.example\.org\/\nDirectory: /);
  assert.deepEqual(asked.options, [allow_once, "Deny"]);
  answer(pi, asked, allow_once);
  assert.match((await first)[0]!.text, /^the page/);

  pi.events.length = 0;
  const second = pi.prompt(`${fetch}other`);
  answer(pi, await question(pi), "Deny");
  assert.match((await second)[0]!.text, /Reason: denied by the user/);
  assert.equal(reviews().length, 2);
  await pi.end();
});

test("no review: the person is asked for a subagent's connection, too, and by name", { timeout: 180_000 }, async () => {
  const pi = rig.rpc();
  const prompt = pi.prompt(`#tool subagent ${JSON.stringify({ task: fetch })}`);
  const asked = await question(pi);
  assert.match(asked.title, /^Allow a connection to www\.example\.org:80\?\nAsked by: subagent /);
  answer(pi, asked, allow_once);
  assert.match((await prompt)[0]!.text, /^the page/);

  pi.events.length = 0;
  const dismissed = pi.prompt(fetch);
  answer(pi, await question(pi), undefined);
  assert.match((await dismissed)[0]!.text, /the question was dismissed/);
  await pi.end();
});

test("a subagent's request is reviewed in a scope of its own", { timeout: 180_000 }, async () => {
  const pi = rig.rpc(reviewed_by("allow"));
  const [result] = await pi.prompt(`#tool subagent ${JSON.stringify({ task: fetch })}`);
  assert.match(result!.text, /^the page/);
  const [{ asked, sessionId, scopeKey }] = reviews();
  assert.equal(scopeKey, result!.details.session.id);
  assert.notEqual(scopeKey, sessionId);
  assert.ok(asked.agentName);
  await pi.end();
});

for (const mode of [[], ["--mode", "json"]]) {
  test(`nobody can be asked (${mode.join(" ") || "print"}): denied with what to do`, { timeout: 120_000 }, async () => {
    const { stdout } = await rig.run(fetch, reviewed_by("defer"), mode);
    assert.match(stdout, /nobody can be asked in (?:print|json) mode; allow it in the configuration/);
    assert.doesNotMatch(stdout, /the page/);
  });
}

test("nobody answers in time, neither review nor person: denied", { timeout: 120_000 }, async () => {
  rig.configure({ network: { allowedLocalPorts: [rig.model_port] }, approvals: { timeoutSeconds: 1 } });
  for (const options of [reviewed_by("silent"), reviewed_by("defer")]) {
    const pi = rig.rpc(options);
    const [result] = await pi.prompt(fetch);
    assert.match(result!.text, /in time|nobody answered/i);
    await pi.end();
  }
});
