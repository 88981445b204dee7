// What a session costs: the time from session.start to the first request that reaches the
// model, beside an unsandboxed `pi --mode rpc` that does the same; the orchestrator's
// memory; events to many followers. Needs build/bin/piorch, build/bin/followers_bench
// (cmake -DPIORCH_BENCH=ON) and build/pi (tools/ci/pi-install).
//   build/pi/bin/node tools/bench/session.mjs [--rounds N] [--followers N] [--events N]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("../..", import.meta.url));
const bin = join(root, "build/pi/bin");
const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    followers: { type: "string", default: "100" },
    events: { type: "string", default: "10000" },
  },
});
const dir = mkdtempSync(join(tmpdir(), "piorch-bench-"));
process.on("exit", () => rmSync(dir, { recursive: true, force: true }));
const at = (name) => join(dir, name);
for (const name of ["home/.pi/agent/extensions/pi-sandbox", "run", "state", "tmp", "workspace", "villain"])
  mkdirSync(at(name), { recursive: true });
chmodSync(at("run"), 0o700);
symlinkSync(join(root, "tests/support/villain_pi/pi.mjs"), at("villain/pi"));

const model = spawn(join(bin, "node"), [join(root, "tools/scripted-model/main.mjs"), "--agent-dir", at("agent"), "--log", at("log")], {
  stdio: ["pipe", "pipe", "inherit"],
});
const [port] = await once(createInterface({ input: model.stdout }), "line");
writeFileSync(at("home/.pi/agent/extensions/pi-sandbox/config.json"), `{"network":{"allowedLocalPorts":[${port}]}}`);
const env = {
  HOME: at("home"),
  PATH: `${bin}:/usr/bin:/bin`,
  PI_CODING_AGENT_DIR: at("agent"),
  PI_OFFLINE: "1",
  XDG_RUNTIME_DIR: at("run"),
  XDG_STATE_HOME: at("state"),
  TMPDIR: at("tmp"),
};

/** When the request with this task reached the model, in ms since the epoch. */
async function request_time(task) {
  for (;;) {
    for (const line of existsSync(at("log")) ? readFileSync(at("log"), "utf8").split("\n") : [])
      if (line.includes(`"${task}"`)) return JSON.parse(line).time;
    await new Promise((go_on) => setTimeout(go_on, 20)); // the log has the time: nothing is measured here
  }
}

/** JSON-RPC over a socket or a process's pipes. */
function client(input, output) {
  const waiting = new Map();
  let next = 1;
  createInterface({ input }).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
  });
  return (method, params) => {
    const id = next++;
    output.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
    return new Promise((done, failed) =>
      waiting.set(id, (m) => (m.error ? failed(new Error(m.error.message)) : done(m.result))),
    );
  };
}

const hello = { protocolVersion: 1, client: { name: "bench", version: "1" }, capabilities: {} };
const serve = spawn(join(root, "build/bin/piorch"), ["serve", "--stdio"], { env, stdio: ["pipe", "pipe", "inherit"] });
const call = client(serve.stdout, serve.stdin);
await call("initialize", hello);

const memory_mib = () =>
  Number(/^Pss: +(\d+)/m.exec(readFileSync(`/proc/${serve.pid}/smaps_rollup`, "utf8"))[1]) / 1024;
const idle = memory_mib();
const start = (task, more = {}) => call("session.start", { task, cwd: at("workspace"), env, background: true, ...more });

async function sandboxed(task) {
  const begun = performance.timeOrigin + performance.now();
  const { session } = await start(`#plain ${task}`);
  const time = (await request_time(`#plain ${task}`)) - begun;
  await call("session.stop", { sessionId: session.id });
  return time;
}
async function plain(task) {
  const begun = performance.timeOrigin + performance.now();
  const pi = spawn(join(bin, "pi"), ["--mode", "rpc", "--no-session", "-ne"], { env, cwd: at("workspace"), stdio: ["pipe", "ignore", "inherit"] });
  pi.stdin.write(JSON.stringify({ id: "1", type: "prompt", message: `#plain ${task}` }) + "\n");
  const time = (await request_time(`#plain ${task}`)) - begun;
  pi.kill();
  await once(pi, "exit");
  return time;
}
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

await sandboxed("cold");
await plain("cold too");
// The compile cache for workers is made after the first session.
while (!(await readdir_or_nothing(at("state/piorch/compile-cache"))).some((name) => !name.endsWith(".new")))
  await new Promise((go_on) => setTimeout(go_on, 100));
const times = { sandboxed: [], plain: [] };
for (let i = 0; i < Number(values.rounds); ++i) {
  times.plain.push(await plain(`p${i}`)); // in turns: what else the machine does is for both
  times.sandboxed.push(await sandboxed(`s${i}`));
}
const both = [median(times.plain), median(times.sandboxed)];
console.log(`start to first model request, median of ${values.rounds}: pi ${both[0].toFixed(0)} ms, session ${both[1].toFixed(0)} ms (${(both[1] / both[0]).toFixed(2)} times)`);

for (let i = 0; i < 4; ++i) await start("#plain live");
console.log(`orchestrator memory (PSS): idle ${idle.toFixed(1)} MiB, ${((memory_mib() - idle) / 4).toFixed(1)} MiB more for each live session`);
await call("session.stop", { all: true });

// --- followers ---
const villain = { ...env, PATH: `${at("villain")}:${env.PATH}` };
const wanted = Number(values.events);
const peak_mib = () => Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${serve.pid}/status`, "utf8"))[1]) / 1024;

/** `readers` followers read `wanted` events of one session; `stalled` more read nothing. */
async function follow(readers, stalled) {
  const { session } = await start("hello", { env: villain });
  await call("session.wait", { sessionId: session.id });
  const { next } = await call("session.follow", { sessionId: session.id, from: 1 << 30 });
  await call("session.unfollow", { sessionId: session.id });
  const socket = at(`run/piorch/serve-${serve.pid}.sock`);
  const last = next - 1 + wanted;
  const all = spawn(join(root, "build/bin/followers_bench"), [socket, session.id, readers, stalled, last].map(String), {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: all.stdout })[Symbol.asyncIterator]();
  await lines.next(); // ready
  const before = memory_mib();
  await call("session.followUp", { sessionId: session.id, task: `events ${wanted}`, background: true });
  const { seconds, events, gaps } = JSON.parse((await lines.next()).value);
  const after = memory_mib();
  all.kill();
  console.log(
    `${readers} followers (and ${stalled} that read nothing), ${wanted} events each: ${Math.round(events / seconds)} events/s in all, ` +
      `${gaps} gaps; orchestrator ${before.toFixed(1)} MiB before, ${after.toFixed(1)} MiB after (peak so far ${peak_mib().toFixed(1)} MiB)`,
  );
  await call("session.stop", { sessionId: session.id });
}
await follow(Number(values.followers), 0);
await follow(Number(values.followers), Number(values.followers));
await call("shutdown", {});
model.kill();

async function readdir_or_nothing(path) {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
