// A project for pi-subagents: a committed repository, agents, and what the model says to each
// task.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pi_rig } from "./pi.ts";
import { pi_subagents } from "./pi_subagents.ts";

const bash = (command: string) => ({ name: "bash", arguments: { command } });
const subagent = (args: object) => ({ name: "subagent", arguments: args });
/** One call of the tool, and what it said. */
const once = (match: string, call: object) => ({ match, steps: [{ tools: [call] }, { text: "{{result}}" }] });
/** A foreground workflow: the tool's name for whatever is not a single worker. */
export const workflow = (match: string, script: string, more: object = {}) =>
  once(match, subagent({ workflowScript: script, async: false, ...more }));

/** A prompt whose model calls these tools, one after the other, and says what the last one did. */
export const calling = (...calls: [name: string, args: object][]) =>
  `#steps ${JSON.stringify([...calls.map(([name, args]) => ({ tools: [{ name, arguments: args }] })), { text: "{{result}}" }])}`;

/** What workers are told to do; the model of a worker knows it by the word. A prompt of
 *  calling() holds those words and is none of them. */
const jobs = [
  once("JOB-SAME", bash("pwd; cat a.txt; git log --format=%s; git status --short; echo end")),
  once("JOB-LOOK", bash("pwd; echo sandbox=$PIORCH_SANDBOX; cat ~/secret; ls ~; echo end")),
  once("JOB-WRITE", bash("echo made >made.txt; git status --short; pwd")),
  workflow("JOB-NEST", `return (await runs.run("inner", { agent: "hand", task: "JOB-LOOK inside" })).output`),
  workflow("JOB-LEAD", `return (await runs.run("inner", { agent: "hand", task: "JOB-SAME inside" })).output`),
  once("JOB-HANG", bash("echo begun >begun; sleep 1000")),
  once("JOB-HOLD", bash("echo begun >begun; until [ -e go ]; do sleep 0.1; done; echo went on")),
  once("JOB-DEAF", bash("trap '' TERM INT HUP; (setsid sleep 1000 &); echo begun >begun; exec sleep 1000")), // nothing that comes and goes
].map((rule) => ({ ...rule, match: `^(?!#steps)[\\s\\S]*${rule.match}` }));

export interface workers_rig {
  rig: pi_rig;
  agent_snapshot(): string;
  begun(): boolean;
  /** What there was when run() ended: where the tool came from, and the rows of workers in
   *  pi-subagents' registry. */
  shown(): { tool: string; rows: { state: string; exitCode?: number; completionReason?: string }[] };
  config: object;
  /** Runs `pi -p PROMPT` with this version of pi-subagents. */
  run(version: string, prompt: string, env?: Record<string, string>): ReturnType<pi_rig["run"]>;
  git(...args: string[]): string;
  tmp: string;
}

export async function workers_rig(rules: object[], config: object = {}): Promise<workers_rig> {
  const script = join(mkdtempSync(join(tmpdir(), "piorch-rules-")), "rules.json");
  writeFileSync(script, JSON.stringify({ rules: [...rules, ...jobs] }));
  const rig = await pi_rig.start({ model_options: ["--script", script] });
  const whole_config = {
    subagents: { provider: "pi-subagents", externalWorkerIsolation: "enforce" },
    network: { allowedLocalPorts: [rig.model_port] },
    ...config,
  };
  rig.configure(whole_config);
  const tmp = rig.temp_dir;
  const agents: Record<string, string> = {
    hand: "name: hand\ndescription: does what it is told\ntools: bash, read, write\n---\nYou are the hand that does it.",
    lead: "name: lead\ndescription: has others do it\ntools: bash, subagent\n---\nYou are the lead.",
  };
  for (const [name, text] of Object.entries(agents)) write(join(rig.agent_dir, `agents/${name}.md`), `---\n${text}\n`);
  write(join(rig.home, "secret"), "of the user\n");
  const git = (...args: string[]) => execFileSync("git", args, { cwd: rig.workspace, encoding: "utf8" });
  git("init", "-q", "-b", "main");
  git("config", "user.email", "test@example.org");
  git("config", "user.name", "Test");
  write(join(rig.workspace, "a.txt"), "a\n");
  write(join(rig.workspace, ".gitignore"), "begun\ngo\n");
  git("add", ".");
  git("commit", "-qm", "first");
  // What pi-subagents would show of workers, at the end of a session: version 1 is a list of
  // those who are asked.
  const shown = join(rig.dir, "shown.json");
  const mirror = join(rig.dir, "mirror/index.js");
  write(mirror, `import { writeFileSync } from "node:fs";
    export default (pi) => pi.on("session_shutdown", () => writeFileSync(${JSON.stringify(shown)}, JSON.stringify({
      tool: pi.getAllTools().find((one) => one.name === "subagent")?.sourceInfo.path,
      rows: [...globalThis[Symbol.for("pi-subagents.external-runs.v1")].providers.values()].flatMap((one) => one.listExternalRuns()),
    })));`);
  return {
    rig, git, tmp, config: whole_config,
    shown: () => JSON.parse(readFileSync(shown, "utf8")),
    agent_snapshot: () => snapshot(rig.agent_dir, ["sessions", "missions", "run-history.jsonl", "extensions/pi-sandbox"]),
    begun: () => readdirSync(rig.workspace).includes("begun"),
    run: (version, prompt, env = {}) =>
      rig.run(prompt, { extensions: [pi_subagents(version), mirror], env }),
  };
}

function write(file: string, text: string) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Names and contents below a directory, but what Pi and pi-subagents change on the host. */
function snapshot(dir: string, without: string[]): string {
  const own = /^(?:auth|models-store|trust|settings)\.json(?:\.lock)?$/;
  return readdirSync(dir, { recursive: true, encoding: "utf8" })
    .filter((name) => !own.test(name) && !without.some((one) => name === one || name.startsWith(`${one}/`)))
    .sort()
    .map((name) => `${name} ${statSync(join(dir, name)).isFile() ? readFileSync(join(dir, name), "utf8") : ""}`)
    .join("\n");
}
