// With a real Pi and the real `piorch serve`: subagents, driven by the model's tool calls.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { pi_rig, type rpc_pi } from "./support/pi.ts";

const rig = await pi_rig.start();
after(() => rig.end());
let pi: rpc_pi;
const start = () => void (pi = rig.rpc());
before(() => rig.configure({ network: { allowedLocalPorts: [rig.model_port] } }));
afterEach(() => pi.end());

const subagent = async (args: object) => (await pi.prompt(`#tool subagent ${JSON.stringify(args)}`))[0]!;

test("subagents: start, follow up, wait, hand off, status, stop", { timeout: 120_000 }, async () => {
  start();
  const once = await subagent({ task: "#plain first answer" });
  assert.equal(once.text, "first answer");
  assert.equal(once.details.session.state, "stopped");

  const kept = await subagent({ task: "#plain kept answer", background: true });
  const { id } = kept.details.session;
  assert.match(kept.text, new RegExp(`sessionId: ${id}`));
  assert.equal((await subagent({ action: "wait", sessionId: id })).text, "kept answer");
  assert.equal((await subagent({ action: "follow_up", sessionId: id, task: "#plain second answer" })).text, "second answer");
  const handed = await subagent({ action: "handoff", sessionId: id, task: "#plain from the child" });
  assert.match(handed.text, /^from the child/);
  assert.equal(handed.details.session.parentId, id);
  const child = handed.details.session.id;
  assert.ok(rig.requests().some((request) => request.task.includes("second answer") && request.task.includes("from the child")));

  const status = await subagent({ action: "status" });
  assert.match(status.text, new RegExp(`${id} idle`));
  assert.match(status.text, new RegExp(`${child} idle \\(from ${id}\\)`));
  assert.match((await subagent({ action: "stop", sessionId: id })).text, new RegExp(`${id} stopped`));
  assert.equal((await subagent({ action: "follow_up", sessionId: id, task: "x" })).isError, true);
});

test("two at once work at the same time; a fifth is refused with what to do", { timeout: 120_000 }, async () => {
  start();
  const call = (args: object) => ({ name: "subagent", arguments: args });
  const both = [call({ task: "#delay 1500 left" }), call({ task: "#delay 1500 right" })];
  const begun = Date.now();
  const results = await pi.prompt(`#steps ${JSON.stringify([{ tools: both }, { text: "done" }])}`);
  assert.deepEqual(results.map((result) => result.text).sort(), ["left", "right"]);
  const starts = rig.requests().filter((request) => /^#delay 1500/.test(request.task)).map((request) => request.time);
  assert.ok(Math.abs(starts[0] - starts[1]) < 1500, "one waited for the other");
  assert.ok(Date.now() - begun < 60_000);

  for (let i = 0; i < 4; i++) assert.equal((await subagent({ task: "#hang", background: true })).isError, false);
  const fifth = await subagent({ task: "x" });
  assert.match(fifth.text, /subagent concurrency limit reached \(4\)\. Stop a subagent/);
});

test("a cancel ends the foreground subagent", { timeout: 60_000 }, async () => {
  start();
  const prompt = pi.prompt('#tool subagent {"task":"#hang"}');
  await pi.event((event) => event.type === "tool_execution_start");
  setTimeout(() => pi.send({ type: "abort" }), 1500);
  assert.match((await prompt)[0]!.text, /cancelled/);
  const status = await subagent({ action: "status" });
  assert.doesNotMatch(status.text, / (?:running|starting|idle)/);
});

test("a worker's model error is an error", { timeout: 60_000 }, async () => {
  start();
  const failed = await subagent({ task: "#error 401 no such key" });
  assert.equal(failed.isError, true);
  assert.match(failed.text, /401.*no such key/s);
});
