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
  // Each waits for the other.
  for (const name of ["from-left", "from-right"]) rig.pipe(name);
  const tasks = ["#bash echo left > from-left; cat from-right", "#bash cat from-left; echo right > from-right"];
  const both = tasks.map((task) => ({ name: "subagent", arguments: { task } }));
  const results = await pi.prompt(`#steps ${JSON.stringify([{ tools: both }, { text: "done" }])}`);
  assert.deepEqual(results.map((result) => result.text.trim()).sort(), ["left", "right"]);

  for (let i = 0; i < 4; i++) assert.equal((await subagent({ task: "#hang", background: true })).isError, false);
  const fifth = await subagent({ task: "x" });
  assert.match(fifth.text, /subagent concurrency limit reached \(4\)\. Stop a subagent/);
});

test("handed on three times deep, and no deeper", { timeout: 180_000 }, async () => {
  start();
  let parent = (await subagent({ task: "#plain first", background: true })).details.session;
  const chain = [parent.id];
  for (const task of ["second", "third"]) {
    const handed = await subagent({ action: "handoff", sessionId: parent.id, task: `#plain ${task}` });
    assert.match(handed.text, new RegExp(`^${task}`));
    assert.equal(handed.details.session.depth, parent.depth + 1);
    assert.equal(handed.details.session.parentId, parent.id);
    parent = handed.details.session;
    chain.push(parent.id);
  }
  const deeper = await subagent({ action: "handoff", sessionId: parent.id, task: "fourth" });
  assert.match(deeper.text, /subagent nesting depth limit reached \(3\)\. Use follow_up/);
  const { text } = await subagent({ action: "status" });
  for (const id of chain) assert.match(text, new RegExp(`${id} idle`));
});

/** Cancels the prompt once `when` has come; what its call says. */
async function cancelled(args: object, when: () => Promise<unknown>) {
  const prompt = pi.prompt(`#tool subagent ${JSON.stringify(args)}`);
  await when();
  pi.send({ type: "abort" });
  const [result] = await prompt;
  assert.equal(result!.isError, true);
  assert.match(result!.text, /cancelled/);
}
/** A step that the call's progress shows. */
const shown = (what: RegExp) => () =>
  pi.event((event) => event.type === "tool_execution_update" && what.test(event.partialResult.content[0].text));
/** As somebody else sees it. */
const live = () =>
  (JSON.parse(rig.piorch("status", "--json")).sessions as { id: string; state: string }[])
    .filter(({ state }) => ["starting", "running", "idle"].includes(state))
    .map(({ id, state }) => `${id} ${state}`);

test("a cancel in every phase of a start ends the subagent", { timeout: 120_000 }, async () => {
  start();
  const phases = {
    "before it has started": [{ task: "#hang" }, () => pi.event((event) => event.type === "tool_execution_start")],
    "when it has just begun": [{ task: "#hang" }, shown(/^$/)],
    "while the model answers": [{ task: '#steps [{"text":"half a word","hang":true}]' }, shown(/half a word/)],
    "while its command runs": [{ task: "#bash echo up > up; exec sleep 1000" }, () => rig.pipe("up").written()],
  } as const;
  for (const [phase, [args, when]] of Object.entries(phases)) {
    pi.events.length = 0;
    await cancelled(args, when);
    assert.deepEqual(live(), [], phase);
  }
});

test("a cancelled follow_up keeps the session, a cancelled wait lets it work, a cancelled handoff ends the new one", { timeout: 120_000 }, async () => {
  start();
  const { id } = (await subagent({ task: "#plain ready", background: true })).details.session;
  await subagent({ action: "wait", sessionId: id });
  await cancelled({ action: "follow_up", sessionId: id, task: '#steps [{"text":"on it","hang":true}]' }, shown(/on it/));
  assert.deepEqual(live(), [`${id} idle`]);

  pi.events.length = 0;
  const gate = rig.pipe("gate");
  const other = (await subagent({ task: "#bash cat gate", background: true })).details.session.id;
  await cancelled({ action: "wait", sessionId: other }, shown(/cat gate/));
  assert.deepEqual(live(), [`${id} idle`, `${other} running`]);
  gate.write("opened");
  assert.equal((await subagent({ action: "wait", sessionId: other })).text, "opened");

  pi.events.length = 0;
  await cancelled({ action: "handoff", sessionId: id, task: '#steps [{"text":"mine now","hang":true}]' }, shown(/mine now/));
  assert.deepEqual(live().sort(), [`${id} idle`, `${other} idle`].sort());
  assert.equal((await subagent({ action: "follow_up", sessionId: id, task: "#plain still here" })).text, "still here");
});

test("a worker's model error is an error", { timeout: 180_000 }, async () => {
  start();
  const failed = await subagent({ task: "#error 401 no such key" });
  assert.equal(failed.isError, true);
  assert.match(failed.text, /401.*no such key/s);
});
