// Workers of real pi-subagents, each in its sandbox: the results are those of a run without
// one, and nothing else is. Slow: each case is a real Pi that starts real Pis. The limits are
// those of a machine with ten times as much to do as it can.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { alive, until } from "./support/processes.ts";
import { pi_subagents, too_new, versions } from "./support/pi_subagents.ts";
import { calling, workers_rig, workflow } from "./support/workers.ts";

/** Up to 0.44 a resumed worker is a detached one, which its workflow does not wait for. */
const waits_for_resumed = (version: string) => version === "0.49.0";
const everything = (version: string) => workflow(
  "PARENT-EVERYTHING",
  `const one = await runs.run("one", { agent: "hand", task: "JOB-LOOK alone" });
   const [a, b] = await runs.all([
     { key: "a", agent: "hand", task: "JOB-LOOK beside" },
     { key: "b", agent: "hand", task: "JOB-WRITE in a worktree", worktree: true },
   ]);
   const lead = await runs.run("lead", { agent: "lead", task: "JOB-NEST" });
   ${waits_for_resumed(version) ? 'await runs.run("again", { resume: one.runId, task: "JOB-LOOK again" });' : ""}
   return { one: one.output, a: a.output, b: b.output, lead: lead.output };`,
);
const one = workflow("PARENT-ONE", `return (await runs.run("one", { agent: "hand", task: "JOB-LOOK alone" })).output`);

for (const version of versions)
  test(`${version}: alone, beside, in a worktree, nested and resumed`, { timeout: 280_000 }, async () => {
    const w = await workers_rig([everything(version)]);
    after(() => w.rig.end());
    const before = w.agent_snapshot();
    // A blank variable is none (A2).
    const { stdout, stderr, code } = await w.run(version, "PARENT-EVERYTHING", { PI_SUBAGENT_PI_BINARY: "  " });
    assert.equal(code, 0, stderr);
    // What was installed is what ran (A6).
    const manifest = JSON.parse(readFileSync(join(pi_subagents(version), "package.json"), "utf8"));
    assert.deepEqual([manifest.name, manifest.version], ["pi-subagents", version]);
    assert.ok(w.shown().tool.startsWith(pi_subagents(version)), w.shown().tool);
    // What each worker's tool said, as its model heard it: versions differ in what they print.
    const said = (job: string) => w.rig.requests().filter((r) => r.task.includes(job) && r.step === 1).map((r) => r.result as string);
    const resumed = waits_for_resumed(version) ? ["JOB-LOOK again"] : [];
    for (const job of ["JOB-LOOK alone", "JOB-LOOK beside", "JOB-LOOK inside", ...resumed]) {
      assert.ok(said(job).length > 0, `${job}: ${stdout}`);
      for (const text of said(job)) {
        assert.ok(text.startsWith(`${w.rig.workspace}\nsandbox=1\n`), text);
        assert.match(text, /secret: No such file/);
      }
    }
    const [written] = said("JOB-WRITE");
    assert.match(written!, /\?\? made\.txt/); // git status in the worktree
    assert.match(written!, /pi-worktree-/);
    assert.ok(!existsSync(join(w.rig.workspace, "made.txt")), "the worktree's file is in the worktree");
    // The instructions of the agent reach the model, and the task.
    const asked = w.rig.requests().filter((request) => /JOB-/.test(request.task) && request.step === 0);
    assert.ok(asked.length >= 5, `${asked.length} workers`); // the lead and its own among them
    for (const request of asked) assert.match(request.system, /You are the (?:hand that does it|lead)\./);
    // Versions before 0.49 keep the outputs of their runs in the project, by themselves.
    assert.equal(w.git("status", "--short", "--", ".", ":!.pi-subagents"), "");
    assert.equal(w.agent_snapshot(), before);
    // All are shown, nested ones too, with their ends. None waits to be stopped (B11): pi-subagents does so
    // a second after a worker's last event, in which a busy machine may not get to some of them.
    const { rows } = w.shown();
    assert.equal(rows.length, asked.length);
    const ends = rows.map((row) => [row.state, row.exitCode, row.completionReason].join(" "));
    assert.deepEqual(ends.filter((end) => end !== "completed 0 exit" && end !== "stopped  user-kill"), []);
    assert.ok(ends.includes("completed 0 exit"), `${ends}`);
    assert.deepEqual(readdirSync(w.rig.agent_dir, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".lock")), []);
    await until(() => alive(w.rig.dir).length <= 1, "only the model is left"); // the scripted model
    assert.deepEqual(readdirSync(w.tmp).filter((name) => name.startsWith("pi-sandbox-")), []);
  });

test(`${too_new} is refused, and says what to use instead`, { timeout: 280_000 }, async () => {
  const w = await workers_rig([one]);
  after(() => w.rig.end());
  const { stdout } = await w.run(too_new, "PARENT-ONE");
  assert.match(stdout, /pi-subagents 0\.67\.0 runs its workers inside Pi itself \(since 0\.65\)/);
  assert.match(stdout, /subagents\.provider to "builtin"/);
  assert.equal(w.rig.requests().filter((request) => /JOB-/.test(request.task)).length, 0);
});

test("somebody else's PI_SUBAGENT_PI_BINARY is not replaced, and nothing runs", { timeout: 280_000 }, async () => {
  const w = await workers_rig([one]);
  after(() => w.rig.end());
  const { stdout } = await w.run("0.49.0", "PARENT-ONE", { PI_SUBAGENT_PI_BINARY: "/opt/other/pi" });
  assert.match(stdout, /PI_SUBAGENT_PI_BINARY names \/opt\/other\/pi already/);
  assert.equal(w.rig.requests().filter((request) => /JOB-/.test(request.task)).length, 0);
});

test("workers that no tool call starts: in a sandbox, and refused where the configuration is not understood", { timeout: 280_000 }, async () => {
  const w = await workers_rig([]);
  after(() => w.rig.end());
  const run = async () => {
    const pi = w.rig.rpc({ extensions: [pi_subagents("0.49.0")] });
    pi.send({ type: "prompt", message: "/run hand JOB-LOOK by hand" });
    const { message } = await pi.event(({ type, message }) =>
      type === "message_end" && message.customType === "subagent-slash-result" && /^##/.test(message.content));
    await pi.end();
    return message.content as string;
  };
  assert.match(await run(), /sandbox=1/);
  const before = w.rig.requests().length;
  w.rig.configure('{"subagents": {"provider": "pi-subagents", "externalWorkerIsolation": "enforced"}}');
  assert.match(await run(), /piorch-pi: /);
  assert.equal(w.rig.requests().length, before);
});

for (const version of versions)
  test(`${version}: refused, without a model, out of time, aborted, and the parent killed`, { timeout: 280_000 }, async () => {
    const w = await workers_rig([]);
    after(() => w.rig.end());
    const pi = w.rig.rpc({ extensions: [pi_subagents(version)] });
    const call = (item: object, more: object = {}): [string, object] =>
      ["subagent", { workflowScript: `return await runs.run("one", ${JSON.stringify({ agent: "hand", ...item })})`, async: false, ...more }];
    const said = async (...words: Parameters<typeof call>) => (await pi.prompt(calling(call(...words))))[0]!.text;
    const asked = () => w.rig.requests().filter((request) => /JOB-/.test(request.task) && !request.task.startsWith("#steps")).length;
    const here = () => alive("PI_SUBAGENT_CHILD=1").filter((pid) => alive(w.rig.dir).includes(pid));
    const all_gone = (pids: string[], limit: number) =>
      until(() => pids.every((pid) => !alive(w.rig.dir).includes(pid)), "the worker is gone", limit);
    const begun = async () => {
      await until(w.begun, "the worker has begun", 240_000);
      rmSync(join(w.rig.workspace, "begun"));
      assert.ok(here().length > 0);
      return here();
    };

    // B10: outside of the project; its one line is the error.
    const elsewhere = await said({ task: "JOB-LOOK", cwd: "/usr" });
    assert.match(elsewhere, /piorch-pi: .*workers of this session run in/);
    // B13: no rule allows its model.
    const { config } = w;
    w.rig.configure({ ...config, network: {} });
    assert.match(await said({ task: "JOB-LOOK" }), /onnection error|ECONNREFUSED|failed/);
    assert.equal(asked(), 0);
    w.rig.configure(config);
    // Out of time, and deaf: pi-subagents signals, more and more.
    assert.match(await said({ task: "JOB-DEAF", timeoutMs: 8000 }), /timed out|timeout/i);
    await until(() => here().length === 0, "the worker is gone", 30_000);
    rmSync(join(w.rig.workspace, "begun"), { force: true });
    // B6: aborted, and deaf: one SIGTERM is all there is.
    pi.send({ type: "prompt", message: calling(call({ task: "JOB-DEAF" })), streamingBehavior: "followUp" });
    const aborted = await begun();
    pi.send({ type: "abort" });
    await all_gone(aborted, 30_000);
    // B8: the parent is killed.
    pi.send({ type: "prompt", message: calling(call({ task: "JOB-DEAF" })), streamingBehavior: "followUp" });
    await begun();
    pi.process.kill("SIGKILL");
    await until(() => alive(w.rig.dir).length <= 1, "nothing is left", 30_000);
  });
