// Who provides the `subagent` tool, as the trusted configuration says, and what stands in
// the way of a call of it.
import type { ToolInfo } from "@earendil-works/pi-coding-agent";
import { execFile } from "node:child_process";
import { find_program } from "./program.ts";

export type provider_mode =
  | { kind: "builtin" | "off" }
  | { kind: "pi-subagents"; enforce: boolean }
  | { kind: "unknown"; reason: string };

/** Asks the program; whatever goes wrong becomes the reason of an unknown mode. */
export async function provider_mode(cwd: string): Promise<provider_mode> {
  try {
    const text = await piorch(cwd, ["config", "show", "--json"]);
    const { subagents } = JSON.parse(text) as { subagents: { provider: string; externalWorkerIsolation: string } };
    switch (subagents.provider) {
      case "builtin":
      case "off":
        return { kind: subagents.provider };
      case "pi-subagents":
        return { kind: "pi-subagents", enforce: subagents.externalWorkerIsolation === "enforce" };
      default:
        return { kind: "unknown", reason: `unknown subagents.provider "${subagents.provider}"` };
    }
  } catch (error) {
    return { kind: "unknown", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Standard output of `piorch ARGS`. @throws Error with its last line on stderr */
export async function piorch(cwd: string, args: string[]): Promise<string> {
  const program = find_program(cwd);
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, timeout: 10_000, maxBuffer: 1 << 20 }, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const why = stderr.trim().split("\n").at(-1) || stdout.trim() || error.message;
      reject(new Error(why));
    });
  });
}

const tool_name = "subagent";
const comes_from = (tool: ToolInfo) => tool.sourceInfo.path;
const is_pi_subagents = (tool: ToolInfo) =>
  [tool.sourceInfo.source, tool.sourceInfo.path, tool.sourceInfo.baseDir ?? ""].some((place) =>
    /(?:^|[/\\:])pi-subagents(?:[/\\@]|$)/.test(place),
  );

/** Of all tools, the `subagent` tool that is not ours. */
export function foreign_subagent(tools: ToolInfo[], own_dir: string) {
  return tools.find((tool) => tool.name === tool_name && !tool.sourceInfo.path.startsWith(own_dir));
}

/**
 * Why a call of `subagent` must not go through, or undefined when it may. `isolation` says why
 * the isolation of pi-subagents' workers is not established, where it is to be enforced.
 */
export function refusal(mode: provider_mode, foreign: ToolInfo | undefined, isolation?: string): string | undefined {
  switch (mode.kind) {
    case "unknown":
      return `piorch cannot tell who provides subagents: ${mode.reason}`;
    case "builtin":
      return foreign &&
        `subagents.provider is "builtin", but the subagent tool of ${comes_from(foreign)} is loaded: remove that package, ` +
          `or set subagents.provider to "pi-subagents" (or "off")`;
    case "pi-subagents":
      if (foreign && !is_pi_subagents(foreign))
        return `subagents.provider is "pi-subagents", but the subagent tool comes from ${comes_from(foreign)}`;
      return mode.enforce ? isolation : undefined;
    case "off":
      return undefined;
  }
}

/** What to tell the person at the session's start about the tool, or undefined. */
export function diagnosis(mode: provider_mode, foreign: ToolInfo | undefined): string | undefined {
  if (mode.kind === "pi-subagents" && !foreign)
    return `subagents.provider is "pi-subagents", but that package is not loaded: pi install npm:pi-subagents`;
  return refusal(mode, foreign);
}

/** Who provides subagents, for the person at the session's start. */
export function provided(mode: provider_mode, foreign: ToolInfo | undefined, isolation?: string): string {
  if (refusal(mode, foreign, isolation) !== undefined) return "subagents are refused";
  switch (mode.kind) {
    case "builtin":
      return "subagents by piorch";
    case "pi-subagents":
      if (!foreign) return "no subagents";
      return mode.enforce ? "subagents by pi-subagents, each in a sandbox" : "subagents by pi-subagents, outside of the sandbox";
    default:
      return foreign ? "subagents by another package, outside of the sandbox" : "no subagents";
  }
}
