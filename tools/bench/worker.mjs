// What piorch-pi costs: the time until a worker's first byte and from its last to the end, beside
// the same program started without it; the memory of what stands around it. Needs build/bin/piorch-pi.
//   chrt -r 1 build/pi/bin/node tools/bench/worker.mjs [--rounds N]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { values } = parseArgs({ options: { rounds: { type: "string", default: "30" } } });
const dir = mkdtempSync(join(tmpdir(), "piorch-bench-"));
process.on("exit", () => rmSync(dir, { recursive: true, force: true }));
const at = (name) => join(dir, name);
for (const name of ["home/.pi/agent/skills", "tmp", "project"]) mkdirSync(at(name), { recursive: true });

// A supervisor that allows.
const supervisor = createServer((socket) => {
  let text = "";
  socket.on("error", () => {}).on("data", (bytes) => {
    const lines = (text + bytes).split("\n");
    text = lines.pop();
    for (const line of lines)
      socket.write(`${JSON.stringify({ id: JSON.parse(line).id, action: "allow", network: { allowedDomains: [], deniedDomains: [] } })}\n`);
  });
}).listen(at("s.sock"));
await once(supervisor, "listening");

const script = "echo first; read -r line <&0; echo last";
const env = {
  HOME: at("home"), PATH: "/usr/bin:/bin", TMPDIR: at("tmp"), PI_SUBAGENT_CHILD: "1",
  PI_SANDBOX_EXTERNAL_REAL_PI_BINARY: "/bin/sh",
  PI_SANDBOX_EXTERNAL_REAL_PI_PREFIX: JSON.stringify(["-c", script]),
  PI_SANDBOX_EXTERNAL_SUPERVISOR_SOCKET: at("s.sock"),
  PI_SANDBOX_EXTERNAL_SUPERVISOR_CAPABILITY: "c".repeat(64),
};
const kinds = { without: ["/bin/sh", "-c", script], "piorch-pi": [join(root, "build/bin/piorch-pi")] };

async function run([program, ...args], look) {
  const begun = performance.now();
  const child = spawn(program, args, { cwd: at("project"), env, stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout, "data");
  const first = performance.now() - begun;
  const memory = look?.(child.pid);
  child.stdin.end("\n");
  await once(child.stdout, "data");
  const last = performance.now();
  await once(child, "close");
  return { first, end: performance.now() - last, memory };
}

/** Proportional memory of a process and what it started, the worker's own shell left out, in KiB. */
function memory_of(pid) {
  let sum = 0;
  for (const each of [pid, ...descendants(pid)])
    if (!readFileSync(`/proc/${each}/cmdline`, "latin1").startsWith("/bin/sh"))
      sum += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${each}/smaps_rollup`, "utf8"))?.[1] ?? 0);
  return sum;
}
function descendants(pid) {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number).flatMap((child) => [child, ...descendants(child)]));
}

const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
const results = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, []]));
for (let round = 0; round < Number(values.rounds); round++)
  for (const [kind, words] of Object.entries(kinds)) results[kind].push(await run(words, kind === "without" ? undefined : memory_of));
for (const [kind, list] of Object.entries(results)) {
  const of = (what) => list.map((one) => one[what]);
  console.log(`${kind.padEnd(10)} first byte: median ${median(of("first")).toFixed(1)} ms, least ${Math.min(...of("first")).toFixed(1)} ms; ` +
    `last byte to end: median ${median(of("end")).toFixed(1)} ms` + (list[0].memory ? `; memory ${(median(of("memory")) / 1024).toFixed(1)} MiB` : ""));
}
supervisor.close();
