// With a real Pi and the real pi-subagents loaded beside the package, in either order.
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, test } from "node:test";
import { pi_rig, type rpc_pi } from "./support/pi.ts";

const rig = await pi_rig.start();
after(() => rig.end());
const neighbour = fileURLToPath(new URL("../../../build/pi/node_modules/pi-subagents", import.meta.url));
const configure = (subagents: object) => rig.configure({ network: { allowedLocalPorts: [rig.model_port] }, subagents });

const notice = (pi: rpc_pi, what: RegExp) => pi.event((event) => event.method === "notify" && what.test(event.message));
/** As pi-subagents wants it; its child answers in this process. */
const delegate = '#tool subagent {"agent":"worker","task":"#plain from its child","async":false}';

for (const [order, loaded] of [["extensions", "before"], ["later_extensions", "after"]] as const) {
  test(`pi-subagents: its tools work, and bash is ours (loaded ${loaded} us)`, { timeout: 120_000 }, async () => {
    configure({ provider: "pi-subagents" });
    const pi = rig.rpc({ [order]: [neighbour] });
    await notice(pi, /subagents by pi-subagents, outside of the sandbox/);
    assert.equal((await pi.prompt("#bash echo sandbox $PIORCH_SANDBOX"))[0]!.text, "sandbox 1\n");
    const [delegated] = await pi.prompt(delegate);
    assert.equal(delegated!.isError, false, delegated!.text);
    assert.ok(rig.requests().some((request) => request.task.includes("#plain from its child")));
    assert.ok(rig.requests().at(-1).tools.includes("subagent"));
    await pi.end();
  });
}

test("off: pi-subagents is left alone", { timeout: 180_000 }, async () => {
  configure({ provider: "off" });
  const pi = rig.rpc({ extensions: [neighbour] });
  await notice(pi, /subagents by another package, outside of the sandbox/);
  assert.equal((await pi.prompt("#bash echo sandbox $PIORCH_SANDBOX"))[0]!.text, "sandbox 1\n");
  assert.equal((await pi.prompt(delegate))[0]!.isError, false);
  await pi.end();
});

for (const [order, loaded] of [["extensions", "before"], ["later_extensions", "after"]] as const) {
  test(`builtin: Pi starts, bash works, and pi-subagents' tool is refused with what to do (loaded ${loaded} us)`, { timeout: 120_000 }, async () => {
    configure({ provider: "builtin" });
    const pi = rig.rpc({ [order]: [neighbour] });
    const what = /subagents\.provider is "builtin", but the subagent tool of \S+pi-subagents\/index\.ts is loaded: remove that package, or set/;
    await notice(pi, what);
    await notice(pi, /subagents are refused/);
    assert.equal((await pi.prompt("#bash echo sandbox $PIORCH_SANDBOX"))[0]!.text, "sandbox 1\n");
    const before = rig.requests().length;
    const [refused] = await pi.prompt(delegate);
    assert.equal(refused!.isError, true);
    assert.match(refused!.text, what);
    assert.equal(rig.requests().length, before + 2, "no child asked the model anything");
    await pi.end();
  });
}

test("enforce: refused until isolation has been shown", { timeout: 180_000 }, async () => {
  configure({ provider: "pi-subagents", externalWorkerIsolation: "enforce" });
  const pi = rig.rpc({ extensions: [neighbour] });
  const [refused] = await pi.prompt(delegate);
  assert.match(refused!.text, /externalWorkerIsolation is "enforce"/);
  assert.equal(refused!.isError, true);
  await pi.end();
});

test("missing, or from elsewhere: the person is told, and a stranger's tool is refused", { timeout: 180_000 }, async () => {
  configure({ provider: "pi-subagents" });
  const alone = rig.rpc();
  await notice(alone, /that package is not loaded: pi install npm:pi-subagents/);
  await alone.end();
  const stranger = join(rig.dir, "stranger/index.js");
  rig.foreign_subagent("stranger");
  const pi = rig.rpc({ extensions: [stranger] });
  await notice(pi, /the subagent tool comes from \S+stranger\/index\.js/);
  assert.equal((await pi.prompt("#tool subagent {}"))[0]!.isError, true);
  await pi.end();
});
