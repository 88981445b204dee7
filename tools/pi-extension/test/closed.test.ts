// With a real Pi: where no sandbox is to be had nothing runs, and who provides subagents is
// what the trusted configuration says.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { pi_rig } from "./support/pi.ts";

const rig = await pi_rig.start();
after(() => rig.end());
beforeEach(() => rig.configure({}));
const missing = { env: { PIORCH_PROGRAM: "/nonexistent/piorch" } };
const leaves_mark = "#bash echo ran > mark";
const mark = join(rig.workspace, "mark");

for (const mode of [[], ["--mode", "json"]]) {
  test(`without the program bash is refused (${mode.join(" ") || "print"})`, async () => {
    const { stdout } = await rig.run(leaves_mark, missing, mode);
    assert.match(stdout, /PIORCH_PROGRAM names no program: \/nonexistent\/piorch/);
    assert.ok(!existsSync(mark));
  });
}

test("without the program bash and ! commands are refused, and the person is told (rpc)", async () => {
  const pi = rig.rpc(missing);
  const notice = await pi.event((event) => event.method === "notify" && event.notifyType === "error");
  assert.match(notice.message, /bash and ! commands are refused: PIORCH_PROGRAM names no program/);
  const [bash] = await pi.prompt(leaves_mark);
  assert.equal(bash?.isError, true);
  pi.send({ id: "ub", type: "bash", command: "echo ran > mark" });
  const user_bash = await pi.event((event) => event.id === "ub");
  assert.equal(user_bash.success, false);
  assert.match(user_bash.error, /names no program/);
  assert.ok(!existsSync(mark));
  await pi.end();
});

test("where no sandbox can be made everything is refused, and the person is told the remedy", async () => {
  const forbidden = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"';
  const pi = rig.rpc({ within: ["unshare", "--user", "--map-root-user", "sh", "-c", forbidden, "sh"] });
  const notice = await pi.event((event) => event.method === "notify" && event.notifyType === "error");
  assert.match(notice.message, /bash and ! commands are refused:\nFAIL {2}user namespaces: .*\n {6}fix: sudo sysctl -w user\.max_user_namespaces=15000/);
  const [bash] = await pi.prompt(leaves_mark);
  assert.equal(bash!.isError, true);
  assert.match(bash!.text, /piorch: .*user namespaces are forbidden here; allow them with: sysctl/);
  const [subagent] = await pi.prompt('#tool subagent {"task":"#plain x"}');
  assert.equal(subagent!.isError, true);
  assert.ok(!existsSync(mark));
  await pi.end();
});

test("with a configuration that is not understood nothing runs and no subagent is offered", async () => {
  rig.configure('{"network": {"allowedDomain": []}}');
  await rig.run(leaves_mark);
  assert.ok(!existsSync(mark));
  assert.ok(!rig.requests().at(-1).tools.includes("subagent"));
  const foreign = { extensions: [rig.foreign_subagent("pi-subagents")] };
  assert.match((await rig.run("#tool subagent {}", foreign)).stdout, /cannot tell who provides subagents: .*allowedDomain/);
});

test("builtin: the tool is offered, with every action", async () => {
  await rig.run("hello");
  assert.ok(rig.requests().at(-1).tools.includes("subagent"));
});

test("off: no tool of ours, and others' work", async () => {
  rig.configure({ subagents: { provider: "off" } });
  await rig.run("hello");
  assert.ok(!rig.requests().at(-1).tools.includes("subagent"));
  const foreign = { extensions: [rig.foreign_subagent("other")] };
  assert.equal((await rig.run("#tool subagent {}", foreign)).stdout, "foreign answer");
});

test("builtin with somebody else's tool: Pi starts, and its calls are refused with the reason", async () => {
  const foreign = { extensions: [rig.foreign_subagent("pi-subagents")] };
  const { stdout } = await rig.run("#tool subagent {}", foreign);
  assert.match(stdout, /provider is "builtin", but the subagent tool of .*pi-subagents.* is loaded/);
});

test("pi-subagents: its tool works; one from elsewhere and one that is not isolated do not", async () => {
  rig.configure({ subagents: { provider: "pi-subagents" } });
  const real = { extensions: [rig.foreign_subagent("pi-subagents")] };
  const fake = { extensions: [rig.foreign_subagent("other")] };
  assert.equal((await rig.run("#tool subagent {}", real)).stdout, "foreign answer");
  assert.match((await rig.run("#tool subagent {}", fake)).stdout, /but the subagent tool comes from .*other/);
  rig.configure({ subagents: { provider: "pi-subagents", externalWorkerIsolation: "enforce" } });
  assert.match((await rig.run("#tool subagent {}", real)).stdout, /"enforce", and the workers of pi-subagents cannot be run in a sandbox/);
});

test("pi-subagents that is missing is noticed", async () => {
  rig.configure({ subagents: { provider: "pi-subagents" } });
  const pi = rig.rpc(missing);
  await pi.end();
  const with_program = rig.rpc();
  const notice = await with_program.event((event) => event.method === "notify" && event.notifyType === "warning");
  assert.match(notice.message, /that package is not loaded/);
  await with_program.end();
});

test("arguments that make no sense teach", async () => {
  const pi = rig.rpc();
  for (const [args, reason] of [
    ['{"action":"strat","task":"x"}', /expected one of|must be equal|strat/],
    ["{}", /"start" needs a task/],
    ['{"action":"wait"}', /"wait" needs the sessionId of a subagent; \{"action": "status"\} lists them/],
    ['{"action":"follow_up","sessionId":"s"}', /"follow_up" needs a task/],
    ['{"sessionId":"s","task":"x"}', /no sessionId yet\. To give more work to that one use follow_up/],
    ['{"action":"status","task":"x"}', /takes no task/],
    ['{"action":"stop","sessionId":"s","background":true}', /cannot go on in the background/],
    ['{"action":"wait","sessionId":"s","model":"m"}', /keeps its model/],
    ['{"task":"x","model":"nonsense"}', /no model "nonsense"\. Use provider\/model, for example scripted\/scripted/],
  ] as const) {
    const [result] = await pi.prompt(`#tool subagent ${args}`);
    assert.equal(result!.isError, true);
    assert.match(result!.text, reason);
  }
  await pi.end();
});
