// Pi's bash operations, carried out by command.run.
import type { BashOperations } from "@earendil-works/pi-coding-agent";
import { randomUUID } from "node:crypto";
import { sandbox_environment } from "./environment.ts";
import type { orchestrator } from "./orchestrator.ts";
import { visible } from "./session_text.ts";
import { unless_aborted } from "./waiting.ts";

interface run_result {
  exitCode: number | null;
  signal: number | null;
  timedOut: boolean;
  cancelled: boolean;
  refusedPaths?: { path: string; rule: string }[];
}

/** Pi's words for what ended a command early; any other error is shown as it is. */
const aborted = () => new Error("aborted");
const timed_out = (seconds: number | undefined) => new Error(`timeout:${seconds}`);
const refused = (error: unknown) =>
  error instanceof Error && !/^(?:aborted$|timeout:)/.test(error.message) ? new Error(`piorch: ${error.message}`) : error;

/** How long a cancelled command may take to end before Pi goes on without its result. */
const cancel_limit_ms = 5_000;

/** Of what was refused what no program has a word for: Git says "Permission denied", and not which key. */
function refused_settings(refused: run_result["refusedPaths"] = []) {
  const told = refused.filter(({ rule }) => rule.startsWith("git config:"));
  const lines = [...new Set(told.map(({ path, rule }) => `piorch: ${visible(path, 300)}: refused: ${visible(rule, 200)}\n`))];
  return [...lines.slice(0, 20), ...(lines.length > 20 ? [`piorch: … and ${lines.length - 20} more\n`] : [])].join("");
}

export class sandboxed_bash {
  #piorch: orchestrator;
  #output = new Map<string, (bytes: Buffer) => void>();

  constructor(piorch: orchestrator) {
    this.#piorch = piorch;
    piorch.notifications.set("command.output", (params) => {
      this.#output.get(params.id as string)?.(Buffer.from(params.data as string, "base64"));
    });
  }

  /** @param shell absolute path; undefined for piorch's choice */
  operations(shell: string | undefined): BashOperations {
    return { exec: (command, cwd, options) => this.#run(command, cwd, shell, options) };
  }

  async #run(command: string, cwd: string, shell: string | undefined, options: Parameters<BashOperations["exec"]>[2]) {
    const { signal, timeout } = options;
    const id = randomUUID();
    let cancel = () => {};
    let overdue: NodeJS.Timeout | undefined;
    try {
      if (signal?.aborted) throw aborted(); // and start nothing
      const piorch = await unless_aborted(this.#piorch.connect(), signal);
      let in_line = false;
      this.#output.set(id, (bytes) => {
        in_line = bytes.at(-1) !== 10;
        options.onData(bytes);
      });
      let give_up = (_: Error) => {};
      cancel = () => {
        overdue = setTimeout(() => give_up(aborted()), cancel_limit_ms);
        piorch.call("command.cancel", { id }).catch(() => {});
      };
      signal?.addEventListener("abort", cancel, { once: true });
      const result = await Promise.race([
        piorch.call<run_result>("command.run", {
          id,
          command,
          cwd,
          env: sandbox_environment(options.env ?? process.env),
          ...(shell !== undefined && { shell }),
          ...(timeout !== undefined && timeout > 0 && { timeoutSeconds: timeout }),
        }),
        new Promise<never>((_, reject) => (give_up = reject)),
      ]);
      const settings = refused_settings(result.refusedPaths);
      if (settings) options.onData(Buffer.from(`${in_line ? "\n" : ""}${settings}`));
      if (result.cancelled) throw aborted();
      if (result.timedOut) throw timed_out(timeout);
      return { exitCode: result.exitCode ?? (result.signal === null ? null : 128 + result.signal) };
    } catch (error) {
      throw signal?.aborted ? aborted() : refused(error);
    } finally {
      clearTimeout(overdue);
      signal?.removeEventListener("abort", cancel);
      this.#output.delete(id);
    }
  }
}
