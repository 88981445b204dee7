// With a real Pi and the real `piorch serve`: bash and ! commands, driven by the model's tool
// calls.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import { pi_rig, type rpc_pi } from "./support/pi.ts";

const rig = await pi_rig.start();
after(() => rig.end());
let pi: rpc_pi;
const start = (options = {}) => void (pi = rig.rpc(options));
afterEach(() => pi.end());

const bash = async (command: string) => (await pi.prompt(`#bash ${command}`))[0]!;

test("output, status, signal and time limit reach the model as Pi words them", async () => {
  start();
  assert.deepEqual((await bash("echo out; echo err >&2")).isError, false);
  assert.match((await bash("echo some; exit 3")).text, /^some\n[\s\S]*Command exited with code 3$/);
  assert.match((await bash("kill -9 $$")).text, /Command exited with code 137$/);
  const [late] = await pi.prompt('#tool bash {"command":"echo begun; sleep 60","timeout":3}');
  assert.match(late!.text, /begun[\s\S]*Command timed out after 3 seconds/);
});

test("the workspace is there, the home is not, nor are Pi's credentials", async () => {
  writeFileSync(join(rig.workspace, "here"), "workspace file");
  writeFileSync(join(rig.agent_dir, "auth.json"), '{"x":"secret-in-file"}');
  start({ env: { ANTHROPIC_API_KEY: "secret-in-environment", MY_TOKEN: "secret-in-environment" } });
  const places = `cat here; env; cat ${rig.agent_dir}/* ~/.pi/agent/*; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'; ls -l /proc/self/fd; cat /proc/1/fd/*`;
  const { text } = await bash(`{ ${places}; } 2>&1 </dev/null | grep -a -e secret[-]in -e 'workspace file'`);
  assert.match(text, /workspace file/);
  assert.doesNotMatch(text, /secret-in/);
  assert.match((await bash(`echo x > ${rig.agent_dir}/settings.json`)).text, /exited with code 1/);
});

test("which Git setting was refused is said, once, at the end", async () => {
  start();
  const { text } = await bash("git init -q set; cd set; git config core.fsmonitor x; git config core.fsmonitor x; git config user.name me; printf 'no line end'");
  const line = `piorch: ${rig.workspace}/set/.git/config: refused: git config: core.fsmonitor\n`;
  assert.ok(text.endsWith(`no line end\n${line}`), text);
  assert.equal(text.split(line).length, 2);
});

test("! commands run in the sandbox, too", async () => {
  start();
  pi.send({ id: "u", type: "bash", command: "ls -A ~; echo status $PIORCH_SANDBOX" });
  const answer = await pi.event((event) => event.id === "u" && event.type === "response");
  assert.match(answer.data.output, /status 1/);
  assert.doesNotMatch(answer.data.output, /\.pi/);
});

test("shellPath and shellCommandPrefix are honoured", async () => {
  const file = join(rig.agent_dir, "settings.json");
  const before = readFileSync(file, "utf8");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(before), shellPath: "/bin/sh", shellCommandPrefix: "greeting=hello" }));
  start();
  assert.match((await bash("echo $greeting ${BASH_VERSION:-no bash}")).text, /hello/);
  assert.match((await bash("readlink /proc/$$/exe")).text, /dash|\/sh|busybox/);
  writeFileSync(file, before);
});

test("an abort ends the command's whole tree", { timeout: 180_000 }, async () => {
  start();
  const up = rig.pipe("up").written();
  const prompt = pi.prompt("#bash setsid flock held sleep 1000 & flock held2 sh -c 'echo up > up; sleep 1000'");
  await up;
  pi.send({ type: "abort" });
  assert.match((await prompt)[0]!.text, /Command aborted/);
  assert.match((await bash("flock -n held echo free; flock -n held2 echo free")).text, /free\nfree/);
});

test("Pi's file with the whole output can be read where Pi says it is", async () => {
  start();
  const file = /Full output: ([^\]\s]+)/.exec((await bash("seq 1 30000")).text)?.[1];
  assert.ok(file);
  assert.match((await bash(`head -n 1 ${file}; wc -l < ${file}`)).text, /^1\n30000/);
});

test("100 MB of output leave Pi small", { timeout: 120_000 }, async () => {
  start();
  await bash("true");
  const peak = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pi.process.pid}/status`, "utf8"))![1]) >> 10;
  const before = peak();
  await bash("head -c 100000000 /dev/zero | tr '\\0' x | fold -w 100");
  assert.ok(peak() - before < 120, `${before} MiB grew to ${peak()} MiB`);
});
