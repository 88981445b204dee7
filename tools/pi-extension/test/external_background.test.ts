// Workers of a detached runner of pi-subagents (a resumed run), which outlive the Pi that began
// them: they go on, are steered and stopped by files, and end with their runner. And what
// workers say to the session that began them, and ask it.
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { alive, until } from "./support/processes.ts";
import { module_of, pi_subagents, versions } from "./support/pi_subagents.ts";
import { calling, workers_rig } from "./support/workers.ts";

const first = calling(["subagent", { workflowScript: `return (await runs.run("one", { agent: "hand", task: "JOB-SAME" })).output`, async: false }]);

/** A worker of a detached runner, at work on JOB. */
async function detached(version: string, job: string) {
  const w = await workers_rig([]);
  after(() => w.rig.end());
  const pi = w.rig.rpc({ extensions: [pi_subagents(version)], saved: true });
  const [one] = await pi.prompt(first);
  const [, id] = /run one: completed \(([^)]+)\)/.exec(one!.text) ?? [];
  assert.ok(id, one!.text);
  rmSync(join(w.rig.workspace, "begun"), { force: true });
  const [resumed] = await pi.prompt(calling(["subagent", { action: "resume", id, message: job }]));
  const { asyncId, asyncDir } = resumed!.details;
  await until(w.begun, "the resumed worker has begun", 200_000);
  const ours = alive(w.rig.dir);
  const workers = alive("PI_SUBAGENT_CHILD=1").filter((pid) => ours.includes(pid));
  assert.ok(workers.length > 0);
  const none_left = () => until(() => workers.every((pid) => !alive(w.rig.dir).includes(pid)), "the worker is gone", 60_000);
  return { w, pi, asyncId, asyncDir, workers, none_left };
}

for (const version of versions) {
  test(`${version}: a background worker outlives its Pi, and a stop ends it`, { timeout: 280_000 }, async () => {
    const { w, pi, asyncDir, workers, none_left } = await detached(version, "JOB-DEAF");
    await pi.end();
    assert.deepEqual(workers.filter((pid) => !alive(w.rig.dir).includes(pid)), []);
    const { requestAsyncStop } = await module_of(version, "src/runs/background/control-channel.ts");
    requestAsyncStop(asyncDir);
    await none_left();
    await until(() => alive(w.rig.dir).length <= 1, "nothing is left", 60_000);
  });

  test(`${version}: a background worker ends with its runner, killed`, { timeout: 280_000 }, async () => {
    const { w, pi, none_left } = await detached(version, "JOB-DEAF");
    const runner = alive("subagent-runner.ts").filter((pid) => alive(w.rig.dir).includes(pid));
    assert.equal(runner.length, 1);
    process.kill(Number(runner[0]), "SIGKILL");
    await none_left();
    await pi.end();
    await until(() => alive(w.rig.dir).length <= 1, "nothing is left", 60_000);
  });

  test(`${version}: a background worker is steered`, { timeout: 280_000 }, async () => {
    const { w, pi, asyncId } = await detached(version, "JOB-HOLD");
    const [steered] = await pi.prompt(calling(["subagent", { action: "steer", id: asyncId, message: "STEER-MARK" }]));
    assert.equal(steered!.isError, false, steered!.text);
    writeFileSync(join(w.rig.workspace, "go"), "");
    await until(() => w.rig.requests().some((r) => r.task.includes("STEER-MARK") && !r.task.startsWith("#steps") && r.system.includes("You are the hand")), "the worker's model has heard it", 200_000);
    await pi.end();
  });

  test(`${version}: a worker's news and its question reach its session, and the answer the worker`, { timeout: 280_000 }, async () => {
    const tell = (reason: string, message: string) => ({ tools: [{ name: "contact_supervisor", arguments: { reason, message } }] });
    // It asks when its news has been heard. Versions before 0.49 look twice a second: news and question
    // would come together, in any order, and the model of a script answers the last message only.
    const heard = { tools: [{ name: "bash", arguments: { command: "until [ -e go ]; do sleep 0.1; done" } }] };
    const w = await workers_rig([
      { match: "^(?!#steps)[\\s\\S]*QUESTION-MARK", steps: [{ tools: [{ name: "intercom", arguments: { action: "reply", message: "ANSWER-MARK" } }] }, { text: "answered" }] },
      { match: "^(?!#steps)[\\s\\S]*JOB-ASK", steps: [tell("progress_update", "NEWS-MARK"), heard, tell("need_decision", "QUESTION-MARK"), { text: "{{result}}" }] },
    ]);
    after(() => w.rig.end());
    const pi = w.rig.rpc({ extensions: [pi_subagents(version)], saved: true });
    await pi.prompt(calling(["subagent", { workflowScript: `return (await runs.run("one", { agent: "hand", task: "JOB-ASK" })).output` }]));
    await until(() => w.rig.requests().some((r) => r.task.includes("NEWS-MARK")), "the session has heard the news", 200_000);
    writeFileSync(join(w.rig.workspace, "go"), "");
    await until(() => w.rig.requests().some((r) => r.task.includes("JOB-ASK") && r.step === 3 && r.result.includes("ANSWER-MARK")), "the worker has its answer", 200_000);
    const seen = JSON.stringify(pi.events.filter((e) => e.type === "message_end"));
    assert.match(seen, /NEWS-MARK/);
    assert.match(seen, /QUESTION-MARK/);
    await pi.end();
  });
}
