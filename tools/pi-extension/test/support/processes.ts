// Whether processes end.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

/** `pid` and every process below it. */
export function tree(pid: number): number[] {
  const all = parents();
  const below = (one: number): number[] => [one, ...all.filter(([, parent]) => parent === one).flatMap(([child]) => below(child))];
  return below(pid);
}

export function children(pid: number): number[] {
  return parents().filter(([, parent]) => parent === pid).map(([child]) => child);
}

function name_of(pid: number) {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return ""; // it has ended
  }
}

/** Every process and its parent. The kernel's own lists of children leave some out when another
 *  one ends meanwhile. */
function parents(): [number, number][] {
  return readdirSync("/proc").flatMap((pid): [number, number][] => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1"); // PID (COMMAND) STATE PARENT ...
      return [[Number(pid), Number(stat.slice(stat.lastIndexOf(")")).split(" ")[2])]];
    } catch {
      return []; // it has ended
    }
  });
}

/** The child of that name. @throws Error when there is not exactly one */
export function child(pid: number, name: string): number {
  const found = children(pid).filter((one) => name_of(one) === name);
  if (found.length !== 1) throw new Error(`${found.length} children are called ${name}`);
  return found[0]!;
}

// The kernel tells of an end through a descriptor that is held from before on: no number
// is looked up twice, and nobody looks again and again.
const watcher = `
import os, select, sys, time
poll, names = select.poll(), {}
for pid in sys.argv[1:]:
    try:
        fd = os.pidfd_open(int(pid))
        names[fd] = open("/proc/" + pid + "/cmdline").read().replace("\\0", " ")
        poll.register(fd, select.POLLIN)
    except (ProcessLookupError, FileNotFoundError):
        pass
print("watching", flush=True)
sys.stdin.readline()
end = time.monotonic() + 60
while names and (events := poll.poll(max(0, (end - time.monotonic()) * 1000))):
    for fd, _ in events:
        poll.unregister(fd)
        del names[fd]
print("; ".join(names.values()))
`;

/** Watches them from now on. What it returns resolves, when called, with the command lines
 *  of those that have not ended a minute later: "" when all have. */
export async function watch(pids: number[]) {
  const python = spawn("python3", ["-c", watcher, ...pids.map(String)], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: python.stdout! })[Symbol.asyncIterator]();
  await lines.next();
  return async (): Promise<string> => {
    const gone = once(python, "exit");
    python.stdin!.end("\n");
    const { value } = await lines.next();
    await gone;
    return value as string;
  };
}

/** Processes of this test, by a word in their environment or command line. */
export function alive(mark: string) {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
    try {
      return ["environ", "cmdline"].some((file) => readFileSync(`/proc/${pid}/${file}`, "latin1").includes(mark));
    } catch {
      return false;
    }
  });
}

/** For what tells nobody that it is so. */
export async function until(condition: () => boolean, what: string, ms = 60_000) {
  for (const end = Date.now() + ms; !condition(); await pause(20)) assert.ok(Date.now() < end, what);
}
