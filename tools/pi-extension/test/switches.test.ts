// With a real Pi: its session is replaced under the package. What was begun in the old one
// ends with it, and the new one works, with one orchestrator.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pi_rig, type rpc_pi } from "./support/pi.ts";
import { child, tree, watch } from "./support/processes.ts";

const rig = await pi_rig.start();
after(() => rig.end());
before(() => rig.configure({ network: { allowedLocalPorts: [rig.model_port] } }));

let requests = 0;
async function command(pi: rpc_pi, type: string, more: object = {}) {
  const id = `command-${++requests}`;
  pi.send({ id, type, ...more });
  const answer = await pi.event((event) => event.type === "response" && event.id === id);
  assert.equal(answer.success, true, answer.error);
  return answer.data;
}

/** A subagent whose command holds a lock and goes on for ever. */
async function begin(pi: rpc_pi, name: string) {
  const up = rig.pipe(name).written();
  const task = `#bash flock ${name}.lock sh -c 'echo up > ${name}; sleep 1000'`;
  const [begun] = await pi.prompt(`#tool subagent ${JSON.stringify({ task, background: true })}`);
  assert.equal(begun!.isError, false, begun!.text);
  await up;
  return watch(tree(child(pi.process.pid!, "piorch-serve")));
}

const switches: Record<string, (pi: rpc_pi) => Promise<unknown>> = {
  new: (pi) => command(pi, "new_session"),
  resume: async (pi) => {
    const before = (await command(pi, "get_state")).sessionFile;
    await command(pi, "new_session");
    return command(pi, "switch_session", { sessionPath: before });
  },
  fork: async (pi) => {
    const { messages } = await command(pi, "get_fork_messages");
    return command(pi, "fork", { entryId: messages[0].entryId });
  },
  clone: (pi) => command(pi, "clone"),
};

for (const [kind, change] of Object.entries(switches)) {
  test(`${kind}: the old session's subagents end, the new one works`, { timeout: 180_000 }, async () => {
    const pi = rig.rpc({ saved: true });
    const remain = await begin(pi, kind);
    const notices = () => pi.events.filter((event) => event.method === "notify" && /piorch .* run in a sandbox/.test(event.message)).length;
    await change(pi);
    assert.equal(await remain(), "");

    const [bash] = await pi.prompt(`#bash flock -n ${kind}.lock echo free in sandbox $PIORCH_SANDBOX`);
    assert.equal(bash!.text, "free in sandbox 1\n");
    const [status] = await pi.prompt('#tool subagent {"action":"status"}');
    assert.equal(status!.text, "There are no subagents.");
    const [begun] = await pi.prompt('#tool subagent {"task":"#plain in the new one"}');
    assert.equal(begun!.text, "in the new one");
    child(pi.process.pid!, "piorch-serve"); // exactly one
    assert.ok(notices() >= 2, "the new session says what is active");
    assert.deepEqual(pi.events.filter((event) => event.type === "extension_error"), []);
    await pi.end();
  });
}
