// Questions of a permission extension in sandboxed workers: they reach the session that a person
// looks at, here an approver of ours, and the answers come back. And the compile cache.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { pi_subagents, versions } from "./support/pi_subagents.ts";
import { calling, workers_rig } from "./support/workers.ts";

/** In the place of pi-permission-system: asks about every command of a worker, by files. */
const extension = `
import { mkdirSync, readFileSync, renameSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
const mark = Symbol.for("test.permissions");
export default (pi) => {
  if (process.env.PI_SUBAGENT_CHILD !== "1" || globalThis[mark]) return;
  globalThis[mark] = true;
  const dir = join(process.env.HOME, ".pi/agent/sessions/permission-forwarding/sessions", process.env.PI_SUBAGENT_PARENT_SESSION);
  for (const name of ["requests", "responses"]) mkdirSync(join(dir, name), { recursive: true });
  pi.on("tool_call", async (event) => {
    if (event.toolName !== "bash") return undefined;
    const name = randomUUID() + ".json";
    const answer = new Promise((done) => {
      const look = () => { try { done(JSON.parse(readFileSync(join(dir, "responses", name), "utf8"))); watcher.close(); } catch {} };
      const watcher = watch(join(dir, "responses"), look);
    });
    const file = join(dir, "requests", name);
    writeFileSync(file + ".part", JSON.stringify({ agent: process.env.PI_SUBAGENT_CHILD_AGENT, command: event.input.command.replace(/\\s+/g, " ").trim() }));
    renameSync(file + ".part", file);
    const { approved } = await answer;
    return approved ? undefined : { block: true, reason: "the approver said no" };
  });
};
`;

const off = { subagents: { provider: "pi-subagents", externalWorkerIsolation: "off" } };

async function approved(version: string, decide: (command: string) => boolean, config: object = {}) {
  const w = await workers_rig([], config);
  const dir = join(w.rig.agent_dir, "extensions/pi-permission-system");
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "package.json"), JSON.stringify({ name: "pi-permission-system", type: "module", pi: { extensions: ["./index.js"] } }));
  writeFileSync(join(dir, "index.js"), extension);
  const place = join(w.rig.agent_dir, "sessions/permission-forwarding/sessions");
  mkdirSync(place, { recursive: true });
  const audit: { session: string; agent: string; command: string; approved: boolean }[] = [];
  const seen = new Set<string>();
  const requests = () => {
    try {
      return readdirSync(place, { recursive: true, encoding: "utf8" }).filter((name) => /requests\/[^/]*\.json$/.test(name));
    } catch {
      return []; // a directory has gone meanwhile: the next look
    }
  };
  // Looked for again and again: news of a directory's content are lost until it is watched itself.
  const looking = setInterval(() => {
    for (const file of requests()) {
      if (seen.has(file)) continue;
      let asked;
      try {
        asked = JSON.parse(readFileSync(join(place, file), "utf8"));
      } catch {
        continue; // not yet written as a whole
      }
      seen.add(file);
      audit.push({ session: file.split("/")[0]!, ...asked, approved: decide(asked.command) });
      writeFileSync(join(place, file.replace("requests/", "responses/")), JSON.stringify({ approved: decide(asked.command) }));
    }
  }, 50);
  after(async () => {
    clearInterval(looking);
    await w.rig.end();
  });
  return { w, audit, pi: w.rig.rpc({ extensions: [pi_subagents(version)], saved: true }) };
}

const command = "pwd; cat a.txt; git log --format=%s; git status --short; echo end";

for (const version of versions)
  test(`${version}: as many permissions are forwarded as commands are run, and approved`, { timeout: 280_000 }, async () => {
    const { audit, pi } = await approved(version, () => true);
    const asked = async (prompt: string) => {
      const from = audit.length;
      const said = await pi.prompt(prompt);
      for (const one of said) assert.equal(one.isError, false, one.text);
      return audit.slice(from);
    };
    const foreground = (workflowScript: string) => calling(["subagent", { workflowScript, async: false }]);
    const one = await asked(foreground(`return (await runs.run("one", { agent: "hand", task: "JOB-SAME" })).output`));
    assert.deepEqual(one.map(({ session: _, ...entry }) => entry), [{ agent: "hand", command, approved: true }]);
    const four = await asked(foreground(
      `const [a, b] = await runs.all([{ key: "a", agent: "hand", task: "JOB-SAME" }, { key: "b", agent: "hand", task: "JOB-WRITE", worktree: true }]);
       await runs.run("c", { agent: "hand", task: "JOB-SAME after " + a.runId });
       return (await runs.run("d", { agent: "hand", task: "JOB-SAME" })).output;`));
    assert.equal(four.length, 4);
    const two = await asked(calling(
      ["subagent", { workflowScript: `await runs.all([{ key: "a", agent: "hand", task: "JOB-SAME" }, { key: "b", agent: "hand", task: "JOB-SAME" }]);` }],
      ["subagent_wait", { all: true }]));
    assert.deepEqual(two.map((entry) => entry.command), [command, command]);
    await pi.end();
  });

test("what the approver denies is not run", { timeout: 280_000 }, async () => {
  const { w, audit, pi } = await approved("0.49.0", () => false);
  await pi.prompt(calling(["subagent", { workflowScript: `return (await runs.run("one", { agent: "hand", task: "JOB-SAME" })).output`, async: false }]));
  assert.equal(audit.length, 1);
  const [heard] = w.rig.requests().filter((r) => r.task.includes("JOB-SAME") && !r.task.startsWith("#steps") && r.step === 1);
  assert.match(heard.result, /the approver said no/);
  await pi.end();
});

for (const version of versions)
  test(`${version}: a worker starts with all that was compiled before, and what it writes there stays with it`, { timeout: 280_000 }, async () => {
    const plant = `cd "$TMPDIR/jiti" && ls; for file in *; do echo 'planted()' >>"$file"; done; echo x >planted.mjs`;
    const w = await workers_rig([{ match: "^(?!#steps)[\\s\\S]*JOB-CACHE", steps: [{ tools: [{ name: "bash", arguments: { command: plant } }] }, { text: "{{result}}" }] }]);
    after(() => w.rig.end());
    const pi = w.rig.rpc({ extensions: [pi_subagents(version)] });
    const job = (n: number) => pi.prompt(calling(["subagent", { workflowScript: `return (await runs.run("one", { agent: "hand", task: "JOB-CACHE ${n}" })).output`, async: false }]));
    await job(1);
    const cache = join(w.tmp, "jiti");
    const names = readdirSync(cache).sort();
    assert.ok(names.length > 20, `${names.length} compiled files`);
    const before = names.map((name) => readFileSync(join(cache, name), "utf8"));
    await job(2);
    const [had] = w.rig.requests().filter((r) => r.task.includes("JOB-CACHE 2") && !r.task.startsWith("#steps") && r.step === 1).map((r) => r.result.trim().split("\n"));
    assert.deepEqual(names.filter((name) => !had.includes(name)), [], "all were copied");
    const anew = had.filter((name: string) => !names.includes(name));
    assert.ok(anew.length * 4 < names.length, `compiled anew: ${anew}`);
    assert.deepEqual(readdirSync(cache).sort(), names);
    assert.deepEqual(names.map((name) => readFileSync(join(cache, name), "utf8")), before);
    await pi.end();
  });

// Why a nested worker's request reaches nobody in a sandbox (its directory is the sandbox's own):
// it is addressed to the worker that started it, which asks nobody.
for (const version of versions)
  test(`${version}: a nested worker asks the worker that started it, also without a sandbox`, { timeout: 280_000 }, async () => {
    const { audit, pi } = await approved(version, () => true, off);
    pi.send({ id: "state", type: "get_state" });
    const { data } = await pi.event((event) => event.id === "state");
    await pi.prompt(calling(["subagent", { workflowScript:
      `await runs.run("one", { agent: "hand", task: "JOB-SAME" }); return (await runs.run("lead", { agent: "lead", task: "JOB-LEAD" })).output`, async: false }]));
    assert.equal(audit.length, 2);
    assert.equal(audit[0]!.session, data.sessionId);
    assert.notEqual(audit[1]!.session, data.sessionId);
    await pi.end();
  });
