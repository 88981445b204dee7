// With a real Pi and the real `piorch serve`: commands that need the host's tmux server and
// ssh-agent run there, once each is approved.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { allow_once, answer, pi_rig, question, questions, type rpc_pi } from "./support/pi.ts";
import { child, tree, watch } from "./support/processes.ts";

const rig = await pi_rig.start();
const tmux = `tmux -L piorch-host-${process.pid}`;
const agent_socket = join(rig.dir, "agent.sock");
const env = { TMUX_TMPDIR: rig.temp_dir, SSH_AUTH_SOCK: agent_socket };
const on_host = (command: string) => execFileSync("sh", ["-c", command], { env: { ...process.env, ...env, TMUX: "" }, encoding: "utf8" });

const agent = spawn("ssh-agent", ["-D", "-a", agent_socket], { stdio: ["ignore", "pipe", "inherit"] });
before(async () => {
  await once(createInterface({ input: agent.stdout! }), "line"); // it listens
  on_host(`${tmux} -f /dev/null new-session -d -s on-the-host cat`);
});
after(async () => {
  on_host(`${tmux} kill-server`);
  agent.kill();
  await rig.end();
});

let pi: rpc_pi;
beforeEach(() => {
  const hostIPC = { mode: "ask", preflightCommandPrefixes: ["tmux", "ssh-add"], retryOnUnixSocketError: true };
  rig.configure({ network: { allowedLocalPorts: [rig.model_port] }, hostIPC });
  pi = rig.rpc({ env });
});
afterEach(() => pi.end());

/** What the command says when the question is answered so. */
async function asked(prompt: string, value: string | undefined) {
  const done = pi.prompt(prompt);
  const { title } = await answer(pi, await question(pi), value);
  const [result] = await done;
  pi.events.length = 0;
  return { title: title as string, ...result! };
}

test("a prefix: asked for with the whole command, run on the host, or not at all", { timeout: 180_000 }, async () => {
  const listed = await asked(`#bash ${tmux} list-sessions`, allow_once);
  assert.match(listed.title, new RegExp(`^Allow running on the host: ${tmux} list-sessions\\?\\nCommand: ${tmux} list-sessions\\nDirectory: `));
  assert.match(listed.text, /^on-the-host: 1 windows/);

  const keys = await asked("#bash ssh-add -l; echo its address is $SSH_AUTH_SOCK", allow_once);
  assert.match(keys.text, new RegExp(`^The agent has no identities\\.\\nits address is ${agent_socket}\\n$`));

  const denied = await asked(`#bash ${tmux} new-session -d -s intruder`, "Deny");
  assert.equal(denied.isError, true);
  assert.match(denied.text, /not run: it would run on the host, and that was not allowed: denied by the user/);
  assert.equal((await asked(`#bash ${tmux} new-session -d -s intruder`, undefined)).isError, true);
  assert.doesNotMatch(on_host(`${tmux} list-sessions`), /intruder/);

  pi.events.length = 0;
  pi.send({ id: "own", type: "bash", command: `${tmux} list-sessions` }); // a person's !
  await answer(pi, await question(pi), allow_once);
  const own = await pi.event((event) => event.id === "own" && event.type === "response");
  assert.match(own.data.output, /^on-the-host/);
});

test("after a refused socket: asked for with a warning, then run again, its output after a marker", { timeout: 180_000 }, async () => {
  const command = `echo run >> runs; env ${tmux} list-sessions`;
  const again = await asked(`#bash ${command}`, allow_once);
  assert.match(again.title, /Careful: It has run in the sandbox already and failed there; what it did before that stays done/);
  assert.match(again.text, /^error connecting to .*\(Operation not permitted\)\npiorch: allowed to run again, now on the host:\non-the-host: 1 windows/);
  assert.equal(readFileSync(join(rig.workspace, "runs"), "utf8"), "run\nrun\n");

  const kept = await asked(`#bash ${command}`, "Deny");
  assert.match(kept.text, /Operation not permitted\)\npiorch: not run again on the host: denied by the user\n[^]*exited with code 1/);
});

test("what failed otherwise, or did not fail, is nobody's question", { timeout: 180_000 }, async () => {
  for (const command of [`env ${tmux} list-sessions || true`, "echo connect: no such host >&2; false", "tmuxx"]) await pi.prompt(`#bash ${command}`);
  assert.deepEqual(questions(pi), []);
  rig.configure({ network: { allowedLocalPorts: [rig.model_port] } });
  const [off] = await pi.prompt(`#bash ${tmux} list-sessions`);
  assert.match(off!.text, /Operation not permitted/);
  assert.deepEqual(questions(pi), []);
});

test("a subagent's commands never run on the host", { timeout: 180_000 }, async () => {
  const [result] = await pi.prompt(`#tool subagent ${JSON.stringify({ task: `#bash ${tmux} list-sessions; ssh-add -l` })}`);
  assert.match(result!.text, /Operation not permitted/);
  assert.doesNotMatch(result!.text, /on-the-host/);
  assert.deepEqual(questions(pi), []);
});

test("a cancel ends it while it is asked for and while it runs; time limits hold", { timeout: 180_000 }, async () => {
  const waits = `${tmux} wait-for never; echo after > after`;
  const before = pi.prompt(`#bash ${waits}`);
  await question(pi);
  pi.send({ type: "abort" });
  assert.match((await before)[0]!.text, /Command aborted/);

  pi.events.length = 0;
  const up = rig.pipe("up").written();
  const running = pi.prompt(`#bash tmux -V > up; ${waits}`);
  await answer(pi, await question(pi), allow_once);
  assert.match(await up, /^tmux/);
  const serve = child(pi.process.pid!, "piorch-serve");
  const remain = await watch(tree(serve).filter((pid) => pid !== serve));
  pi.send({ type: "abort" });
  assert.match((await running)[0]!.text, /Command aborted/);
  assert.equal(await remain(), "");

  pi.events.length = 0;
  const late = pi.prompt(`#tool bash ${JSON.stringify({ command: waits, timeout: 1 })}`);
  await answer(pi, await question(pi), allow_once);
  assert.match((await late)[0]!.text, /Command timed out after 1 seconds/);
  assert.ok(!existsSync(join(rig.workspace, "after")));
});

test("programs of the workspace are not found on the host", { timeout: 180_000 }, async () => {
  await pi.end();
  execFileSync("sh", ["-c", "printf '#!/bin/sh\\necho from the workspace\\n' > tmux; chmod +x tmux"], { cwd: rig.workspace });
  const path = `${rig.workspace}:.:${process.env.PATH}`;
  pi = rig.rpc({ env: { ...env, PATH: path, BASH_ENV: join(rig.workspace, "tmux") } });
  assert.match((await asked(`#bash ${tmux} list-sessions`, allow_once)).text, /^on-the-host: 1 windows/);
});

test("the review decides for the host, too", { timeout: 180_000 }, async () => {
  await pi.end();
  const log = join(rig.dir, "review.log");
  const broker = fileURLToPath(new URL("support/review_broker.ts", import.meta.url));
  pi = rig.rpc({ extensions: [broker], env: { ...env, REVIEW: "allow", REVIEW_LOG: log } });
  const [listed] = await pi.prompt(`#bash ${tmux} list-sessions`);
  assert.match(listed!.text, /^on-the-host/);
  const { asked: request } = JSON.parse(readFileSync(log, "utf8").trim());
  assert.equal(request.surface, "host-ipc");
  assert.equal(request.operation, "execute-host");
  assert.equal(request.command, `${tmux} list-sessions`);
  assert.equal(request.matchedPolicy, "hostIPC.preflightCommandPrefixes: tmux");
});
