// What the Pi package costs, inside one Pi run: the `bash` tool in piorch's sandbox beside
// Pi's own, and a command that writes 100 MB. Needs build/bin/piorch and build/pi
// (tools/ci/pi-install).
//   build/pi/bin/node tools/bench/pi.mjs [--rounds N] [--megabytes N]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("../..", import.meta.url));
const bin = join(root, "build/pi/bin");
const { values } = parseArgs({
  options: { rounds: { type: "string", default: "40" }, megabytes: { type: "string", default: "100" } },
});
const dir = mkdtempSync(join(tmpdir(), "piorch-bench-"));
process.on("exit", () => rmSync(dir, { recursive: true, force: true }));
const at = (name) => join(dir, name);
for (const name of ["home/.pi/agent", "run", "tmp", "workspace"]) mkdirSync(at(name), { recursive: true });
chmodSync(at("run"), 0o700);

// Pi's own tool under another name, so that both are called in one run, in turns.
writeFileSync(
  at("own.ts"),
  `import { createBashToolDefinition } from "@earendil-works/pi-coding-agent";
   export default (pi) => pi.registerTool({ ...createBashToolDefinition(process.cwd()), name: "own" });`,
);
const model = spawn(join(bin, "node"), [join(root, "tools/scripted-model/main.mjs"), "--agent-dir", at("home/.pi/agent")], {
  stdio: ["pipe", "pipe", "inherit"],
});
await once(createInterface({ input: model.stdout }), "line");
const pi = spawn(join(bin, "pi"), ["--mode", "rpc", "--no-session", "-ne", "-e", at("own.ts"), "-e", join(root, "tools/pi-extension")], {
  cwd: at("workspace"),
  env: {
    HOME: at("home"), PATH: `${bin}:/usr/bin:/bin`, PI_OFFLINE: "1", TMPDIR: at("tmp"), XDG_RUNTIME_DIR: at("run"),
    XDG_STATE_HOME: at("state"), PIORCH_PROGRAM: process.env.PIORCH_PROGRAM ?? join(root, "build/bin/piorch"),
  },
  stdio: ["pipe", "pipe", "inherit"],
});

/** The durations of the tool calls of one prompt, by tool, as Pi measures them. */
let settled;
let times;
createInterface({ input: pi.stdout }).on("line", (line) => {
  const event = JSON.parse(line);
  if (event.type === "agent_settled") settled();
  if (event.type !== "tool_execution_end") return;
  if (event.isError) throw new Error(event.result.content[0].text);
  (times[event.toolName] ??= []).push(event.durationMs);
});
async function run(calls) {
  times = {};
  const steps = calls.map(([name, command]) => ({ tools: [{ name, arguments: { command } }] }));
  pi.stdin.write(`${JSON.stringify({ type: "prompt", message: `#steps ${JSON.stringify([...steps, { text: "done" }])}` })}\n`);
  await new Promise((resolve) => (settled = resolve));
  return times;
}

const sorted = (list) => [...list].sort((a, b) => a - b);
const median = (list) => sorted(list)[list.length >> 1];
const line = (name, list) => console.log(`${name.padEnd(24)} median ${median(list)} ms, least ${sorted(list)[0]} ms`);

await run([["own", "true"], ["bash", "true"], ["bash", "true"]]); // the orchestrator is up, files are warm
const rounds = Number(values.rounds);
const { own, bash } = await run(Array.from({ length: 2 * rounds }, (_, i) => [i % 2 ? "bash" : "own", "true"]));
console.log(`true, ${rounds} rounds in turns:`);
line("  Pi's own bash", own);
line("  bash in the sandbox", bash);
console.log(`  ${(median(bash) / median(own)).toFixed(2)} times (bounds: 25 ms, 3 times)`);

// --- much output ---
/** Peak resident memory of a process so far, in MiB; undefined when it has gone. */
function peak_mib(pid) {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
  } catch {
    return undefined;
  }
}
const name_of = (pid) => readFileSync(`/proc/${pid}/comm`, "utf8").trim();
const children = (pid) =>
  readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number),
  );
const bytes = Number(values.megabytes) * 1e6;
const much = `head -c ${bytes} /dev/zero | tr '\\0' x | fold -w 100`;
const serve = children(pi.pid).find((pid) => name_of(pid).startsWith("piorch"));
const before = { pi: peak_mib(pi.pid), serve: peak_mib(serve) };
let broker = 0;
const watch = setInterval(() => {
  for (const pid of children(serve)) broker = Math.max(broker, peak_mib(pid) ?? 0);
}, 20);
const sandboxed = (await run([["bash", much]])).bash[0];
clearInterval(watch);
const after = { pi: peak_mib(pi.pid), serve: peak_mib(serve) };
const plain = (await run([["own", much]])).own[0];
const mib = (from, to) => `${to.toFixed(0)} MiB (${(to - from).toFixed(0)} more)`;
console.log(`${values.megabytes} MB of output: ${sandboxed} ms in the sandbox, ${plain} ms with Pi's own (${(sandboxed / plain).toFixed(2)} times)`);
console.log(`  peak memory: Pi ${mib(before.pi, after.pi)}, piorch serve ${mib(before.serve, after.serve)}, piorch-broker ${broker.toFixed(0)} MiB`);
console.log(`  Pi after its own: ${mib(after.pi, peak_mib(pi.pid))}`);
pi.stdin.end();
await once(pi, "close");
model.kill();
