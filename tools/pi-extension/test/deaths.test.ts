// Who dies takes everything with it that it started, and the others say so and go on.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { join } from "node:path";
import { pi_rig, type rpc_pi } from "./support/pi.ts";
import { child, tree, until, watch } from "./support/processes.ts";

const rig = await pi_rig.start();
after(() => rig.end());
before(() => rig.configure({ network: { allowedLocalPorts: [rig.model_port] } }));

const call = (name: string, args: object) => ({ name, arguments: args });
const command = (name: string) => `flock ${name}.lock sh -c 'echo up > ${name}; sleep 1000'`;

/** Everything at once: a subagent in the background, one that is waited for, and a command. */
async function busy(pi: rpc_pi, name: string) {
  const names = ["background", "foreground", "command"].map((kind) => `${name}-${kind}`);
  const up = names.map((each) => rig.pipe(each).written());
  const [kept] = await pi.prompt(`#tool subagent ${JSON.stringify({ task: `#bash ${command(names[0]!)}`, background: true })}`);
  assert.equal(kept!.isError, false, kept!.text);
  const tools = [call("subagent", { task: `#bash ${command(names[1]!)}` }), call("bash", { command: command(names[2]!) })];
  const prompt = pi.prompt(`#steps ${JSON.stringify([{ tools }, { text: "done" }])}`);
  assert.deepEqual(await Promise.all(up), ["up", "up", "up"]);
  return { prompt, id: kept!.details.session.id as string, free: names.map((each) => `flock -n ${each}.lock true`).join(" && ") };
}

/** What piorch makes for itself, and must not leave. */
const left_on_disk = () => [
  ...readdirSync(rig.temp_dir).filter((name) => name.startsWith("pi-sandbox-")),
  ...readdirSync(join(rig.runtime_dir, "piorch")).filter((name) => /^serve-\d+\.sock$/.test(name)),
];

/** On a busy machine somebody may have had to be killed: then the next one removes what is left. */
async function nothing_left_on_disk() {
  if (left_on_disk().length > 0) rig.piorch("exec", "-C", rig.workspace, "--", "true");
  await until(() => left_on_disk().length === 0, "nothing is left on the disk");
}

test("the orchestrator is killed: calls fail with the reason, the next ones work, nothing is left", { timeout: 180_000 }, async () => {
  const pi = rig.rpc();
  const { prompt, id, free } = await busy(pi, "serve");
  const serve = child(pi.process.pid!, "piorch-serve");
  const remain = await watch(tree(serve));
  process.kill(serve, "SIGKILL");
  const results = await prompt;
  assert.equal(results.length, 2);
  for (const { isError, text } of results) {
    assert.equal(isError, true);
    assert.match(text, /piorch serve was ended by SIGKILL/);
  }
  assert.equal(await remain(), "");

  const [next] = await pi.prompt(`#bash ${free} && echo free`);
  assert.equal(next!.text, "free\n");
  const again = child(pi.process.pid!, "piorch-serve");
  assert.notEqual(again, serve);
  const [lost] = await pi.prompt(`#tool subagent ${JSON.stringify({ action: "wait", sessionId: id })}`);
  assert.equal(lost!.isError, true);
  assert.match(lost!.text, /the orchestrator ended while the session was live; its worker was ended with it/);
  const [begun] = await pi.prompt('#tool subagent {"task":"#plain a new one"}');
  assert.equal(begun!.text, "a new one");
  const all = await watch(tree(pi.process.pid!));
  await pi.end();
  assert.equal(await all(), "");
  await nothing_left_on_disk();
});

for (const how of ["end of input", "SIGTERM", "SIGHUP", "SIGINT", "SIGKILL"] as const) {
  test(`Pi ends by ${how}: nothing of it is left`, { timeout: 180_000 }, async () => {
    const pi = rig.rpc();
    const name = how.replaceAll(" ", "-");
    const { prompt } = await busy(pi, name);
    const remain = await watch(tree(pi.process.pid!));
    prompt.catch(() => {});
    if (how === "end of input") pi.process.stdin!.end();
    else pi.process.kill(how);
    assert.equal(await remain(), "");
    await nothing_left_on_disk();
  });
}
