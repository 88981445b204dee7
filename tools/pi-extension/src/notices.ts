// What the person is told when a Pi session starts: what is active, or what is missing and
// how to get it.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { orchestrator } from "./orchestrator.ts";
import { piorch, type provider_mode } from "./provider.ts";

const subagents: Record<provider_mode["kind"], string> = {
  builtin: "subagents by piorch",
  "pi-subagents": "subagents by pi-subagents",
  off: "no subagents",
  unknown: "no subagents",
};

/** Never throws: a session that has been replaced meanwhile hears nothing. */
export async function announce(server: orchestrator, ctx: ExtensionContext, mode: provider_mode) {
  try {
    const { info } = await server.connect();
    if (!info.sandbox.available) throw new Error(info.sandbox.reason ?? "no sandbox can be made");
    const isolated = mode.kind === "pi-subagents" && !mode.enforce ? " (outside of the sandbox)" : "";
    ctx.ui.setStatus("piorch", "sandbox");
    ctx.ui.notify(
      `piorch ${info.server.version} (${info.sandbox.platform}): bash and ! commands run in a sandbox; ${subagents[mode.kind]}${isolated}. ` +
        "Pi's own read, write and edit stay on the host.",
      "info",
    );
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const remedies = await doctor(ctx.cwd);
    try {
      ctx.ui.setStatus("piorch", "no sandbox: bash refuses");
      ctx.ui.notify(`piorch: bash and ! commands are refused: ${reason}${remedies}`, "error");
    } catch {
      // Replaced meanwhile.
    }
  }
}

/** Its words when it finds something wrong (it ends with status 1 then). */
async function doctor(cwd: string) {
  try {
    await piorch(cwd, ["doctor"]);
    return "";
  } catch (error) {
    return error instanceof Error ? `\n${error.message}` : "";
  }
}
