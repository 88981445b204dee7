// What pi-subagents itself runs on the host, and PI_SUBAGENT_PI_BINARY means nothing to: agents that
// are no Pi but a program of their own (`runner: external-cli`), and commands that check what a worker
// did (`gate`, `acceptance.verify`), which run what it wrote. Which agents there are is asked of the
// package itself, for every directory that a call names.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { line } from "./session_text.ts";
import { read_script } from "./workflow_script.ts";

interface agent {
  name: string;
  filePath?: string;
  runner?: { type?: string };
  defaultAcceptance?: unknown;
}
type discover = (cwd: string, scope: "both") => { agents: agent[] };

/** The package's own way to find agents. @throws Error when this version has none */
export async function agent_discovery(package_dir: string): Promise<discover> {
  const file = join(package_dir, "src/agents/agents.ts");
  const module = existsSync(file) ? ((await import(file)) as { discoverAgents?: unknown }) : {};
  if (typeof module.discoverAgents !== "function") throw new Error("its agents cannot be told");
  return module.discoverAgents as discover;
}

const or_off = 'or set subagents.externalWorkerIsolation to "off"';

/** Why a call of `subagent` with this input would leave the sandbox, or undefined. */
export function outside_agent(discover: discover, cwd: string, input: unknown): string | undefined {
  const said = [...strings(input)];
  if (said.some((text) => text.includes("external-cli")))
    return 'an agent with the runner "external-cli" is a program that runs outside of the sandbox';
  const scripts = [...values_of(input, "workflowScript")].filter((value) => typeof value === "string").map(read_script);
  if (scripts.some((script) => script.host_command) || asks_for_a_host_command(input))
    return (
      `"gate" and "acceptance.verify" run commands outside of the sandbox, on what a worker wrote; leave them out, and run the ` +
      `command by bash or by a worker, ${or_off}`
    );
  if (scripts.some((script) => script.unclear))
    return (
      "the workflowScript says \"cwd\" in a way that only running it would tell, and with it which agents there are; say it as " +
      `cwd: "DIRECTORY", a plain string, ${or_off}`
    );
  const named = [...values_of(input, "cwd")].filter((value) => typeof value === "string");
  const directories = new Set([cwd, ...[...named, ...scripts.flatMap((script) => script.directories)].map((dir) => resolve(cwd, at_home(dir)))]);
  for (const directory of directories)
    for (const agent of discover(directory, "both").agents) {
      const why = leaves(agent);
      if (why) return `the agent ${line(agent.name, 60)} (${line(agent.filePath ?? directory, 300)}) has ${why}; remove that agent, ${or_off}`;
    }
  return undefined;
}

function leaves({ runner, defaultAcceptance }: agent) {
  if (runner?.type !== undefined && runner.type !== "pi")
    return `the runner "${line(runner.type, 40)}", a program that runs outside of the sandbox`;
  if (asks_for_a_host_command({ acceptance: defaultAcceptance })) return `an acceptance.verify, whose commands run outside of the sandbox`;
  return undefined;
}

function asks_for_a_host_command(input: unknown) {
  return (
    [...values_of(input, "gate")].some((gate) => typeof gate === "string" && gate.trim() !== "") ||
    [...values_of(input, "acceptance")].some((acceptance) => [...values_of(acceptance, "verify")].some((verify) => Array.isArray(verify) && verify.length > 0))
  );
}

const at_home = (dir: string) => dir.replace(/^~(?=\/|$)/, homedir());

/** Every text in it, also in texts that are JSON themselves. */
function* strings(value: unknown): Generator<string> {
  if (typeof value === "string") {
    yield value;
    const inner = parsed(value);
    if (inner !== undefined) yield* strings(inner);
  } else if (typeof value === "object" && value !== null)
    for (const [key, one] of Object.entries(value)) {
      yield key;
      yield* strings(one);
    }
}

/** What has this name, wherever it is, also in texts that are JSON. */
function* values_of(value: unknown, name: string): Generator {
  const inner = typeof value === "string" ? parsed(value) : value;
  if (typeof inner !== "object" || inner === null) return;
  for (const [key, one] of Object.entries(inner)) {
    if (key === name) yield one;
    yield* values_of(one, name);
  }
}

function parsed(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}
