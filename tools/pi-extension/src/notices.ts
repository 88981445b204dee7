// What the person is told when a Pi session starts: what is active, or what is missing and
// how to get it.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { orchestrator } from "./orchestrator.ts";
import { piorch } from "./provider.ts";

/** @param subagents who provides them, in words
 *  Never throws: a session that has been replaced meanwhile hears nothing. */
export async function announce(server: orchestrator, ctx: ExtensionContext, subagents: string) {
  let status = "sandbox";
  let notice: string;
  let kind: "info" | "error" = "info";
  try {
    // Both begin now. The doctor makes a sandbox to see whether it can be made.
    const [{ info }, warnings] = await Promise.all([server.connect(), piorch(ctx.cwd, ["doctor"]).then(findings)]);
    notice =
      `piorch ${info.server.version} (${info.sandbox.platform}): bash and ! commands run in a sandbox; ${subagents}. ` +
      `Pi's own read, write and edit stay on the host.${warnings}`;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    status = "no sandbox: bash refuses";
    notice = `piorch: bash and ! commands are refused:${findings(reason) || ` ${reason}`}`;
    kind = "error";
  }
  try {
    ctx.ui.setStatus("piorch", status);
    ctx.ui.notify(notice, kind);
  } catch {
    // Replaced meanwhile.
  }
}

/** Of the doctor's words those about something wrong, with their remedies. */
function findings(text: string) {
  const found = text.match(/^(?:FAIL|warn) .*(?:\n {2,}.*)*/gm) ?? [];
  return found.map((finding) => `\n${finding}`).join("");
}
