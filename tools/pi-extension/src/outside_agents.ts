// Agents of pi-subagents that are no Pi but a program of their own (`runner: external-cli`): that
// package's runner starts them on the host, and PI_SUBAGENT_PI_BINARY means nothing to them. Which
// agents there are is asked of the package itself, for every directory that a call names.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

interface agent {
  name: string;
  filePath?: string;
  runner?: { type?: string };
}
type discover = (cwd: string, scope: "both") => { agents: agent[] };

/** The package's own way to find agents. @throws Error when this version has none */
export async function agent_discovery(package_dir: string): Promise<discover> {
  const file = join(package_dir, "src/agents/agents.ts");
  const module = existsSync(file) ? ((await import(file)) as { discoverAgents?: unknown }) : {};
  if (typeof module.discoverAgents !== "function") throw new Error("its agents cannot be told");
  return module.discoverAgents as discover;
}

/** Why a call of `subagent` with this input would leave the sandbox, or undefined. */
export function outside_agent(discover: discover, cwd: string, input: unknown): string | undefined {
  const said = [...strings(input)];
  if (said.some((text) => text.includes("external-cli")))
    return 'an agent with the runner "external-cli" is a program that runs outside of the sandbox';
  const directories = new Set([cwd, ...directories_of(input).map((dir) => resolve(cwd, dir.replace(/^~(?=\/|$)/, homedir())))]);
  for (const directory of directories)
    for (const { name, filePath, runner } of discover(directory, "both").agents)
      if (runner?.type !== undefined && runner.type !== "pi")
        return (
          `the agent ${name} (${filePath ?? directory}) has the runner "${runner.type}", a program that runs outside of the ` +
          `sandbox; remove that agent, or set subagents.externalWorkerIsolation to "off"`
        );
  return undefined;
}

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

function directories_of(value: unknown): string[] {
  if (typeof value === "string") {
    const inner = parsed(value);
    const in_script = [...value.matchAll(/\bcwd["']?\s*:\s*(["'`])(.*?)\1/g)].map((found) => found[2]!);
    return inner === undefined ? in_script : directories_of(inner);
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => (key === "cwd" && typeof one === "string" ? [one] : directories_of(one)));
}

function parsed(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}
