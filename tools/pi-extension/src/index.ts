// piorch for Pi: `bash` and `!` commands in sandboxes, and the `subagent` tool. Translates
// between Pi's extension interface and `piorch serve --stdio`; what is allowed is decided
// there.
import { createBashToolDefinition, type ExtensionAPI, type ExtensionContext } from "@earendil-works/pi-coding-agent";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { approvals } from "./approvals.ts";
import { sandboxed_bash } from "./bash.ts";
import { external_workers } from "./external_workers.ts";
import { announce } from "./notices.ts";
import { orchestrator } from "./orchestrator.ts";
import { diagnosis, foreign_subagent, provided, provider_mode, refusal } from "./provider.ts";
import { subagent_tool } from "./subagent.ts";

const own_dir = dirname(fileURLToPath(import.meta.url));

export default function piorch_extension(pi: ExtensionAPI) {
  const piorch = new orchestrator(process.cwd());
  const bash = new sandboxed_bash(piorch);
  const workers = new external_workers(piorch);
  const is_isolating = () => mode.kind === "pi-subagents" && mode.enforce;
  let context: ExtensionContext | undefined;
  new approvals(piorch, () => context);
  let mode: provider_mode = { kind: "unknown", reason: "the Pi session has not started" };

  const shell = () => pi.getSettings().shellPath?.replace(/^~(?=\/|$)/, homedir());
  const own = createBashToolDefinition(process.cwd());
  pi.registerTool({
    ...own,
    promptGuidelines: [
      ...(own.promptGuidelines ?? []),
      "bash runs in a sandbox: it can write in the project and in $TMPDIR only, sees nothing else of the user's home, and " +
        "reaches only the network hosts that are allowed. What it refuses cannot be had by other means; say so instead.",
    ],
    execute(id, params, signal, on_update, ctx) {
      const options = {
        operations: bash.operations(shell()),
        ...prefix(pi.getSettings().shellCommandPrefix),
      };
      return createBashToolDefinition(ctx.cwd, options).execute(id, params, signal, on_update, ctx);
    },
  });
  // Pi adds the prefix to these itself.
  pi.on("user_bash", () => ({ operations: bash.operations(shell()) }));

  pi.on("session_start", async (_event, ctx) => {
    context = ctx;
    mode = await provider_mode(ctx.cwd);
    const foreign = foreign_subagent(pi.getAllTools(), own_dir);
    if (mode.kind === "builtin" && !foreign) pi.registerTool(subagent_tool(piorch, () => pi.getThinkingLevel()));
    if (is_isolating())
      await workers.establish(ctx.cwd, ctx.sessionManager.getSessionFile() ?? ctx.sessionManager.getSessionId(), foreign);
    else if (mode.kind === "unknown") workers.refuse_all(ctx.cwd); // the configuration may say "enforce"
    const isolation = is_isolating() ? await workers.problem() : undefined;
    const problem = diagnosis(mode, foreign) ?? isolation;
    if (problem) ctx.ui.notify(`piorch: ${problem}`, "warning");
    // Not waited for: Pi need not start later for it.
    if (ctx.hasUI) void announce(piorch, ctx, provided(mode, foreign, isolation));
  });

  pi.on("tool_call", async (event) => {
    if (event.toolName === "powershell")
      return { block: true, reason: "piorch: powershell would run outside of the sandbox; use bash" };
    if (event.toolName !== "subagent") return undefined;
    const isolation = is_isolating() ? await workers.refusal(event.input) : undefined;
    const reason = refusal(mode, foreign_subagent(pi.getAllTools(), own_dir), isolation);
    if (reason !== undefined) return { block: true, reason: `piorch: ${reason}` };
    if (is_isolating()) workers.begin(event.toolCallId);
    return undefined;
  });

  pi.on("tool_result", (event) => {
    if (event.toolName === "subagent") workers.end(event.toolCallId, event.details);
  });

  pi.on("session_shutdown", async () => {
    context = undefined;
    workers.release();
    await piorch.end();
  });
}

const prefix = (text: string | undefined) => (text === undefined ? {} : { commandPrefix: text });
