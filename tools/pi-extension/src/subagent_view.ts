// How the subagent tool looks in Pi's terminal interface: one line that says which worker
// does what, its newest steps below.
import type { Theme } from "@earendil-works/pi-coding-agent";
import { Text } from "@earendil-works/pi-tui";
import { line, visible_prose, type session_document } from "./session_text.ts";
import type { subagent_details, subagent_params } from "./subagent.ts";

const collapsed_lines = 5;

export function render_call(args: subagent_params, theme: Theme) {
  const action = args.action ?? "start";
  const parts = [theme.fg("toolTitle", theme.bold(`subagent ${line(action, 20)}`))];
  if (args.sessionId) parts.push(theme.fg("accent", line(args.sessionId, 64)));
  if (args.model) parts.push(theme.fg("muted", line(args.model, 100)));
  if (args.background) parts.push(theme.fg("muted", "in the background"));
  if (args.task) parts.push(theme.fg("toolOutput", line(args.task, 100)));
  return new Text(parts.join(" "), 0, 0);
}

export function render_result(
  result: { content: { type: string; text?: string }[]; details?: subagent_details },
  options: { expanded: boolean; isPartial: boolean },
  theme: Theme,
) {
  const { details } = result;
  const text = visible_prose(result.content.map((part) => part.text ?? "").join("").trim());
  if (options.isPartial) {
    const who = details?.sessionId ? `${theme.fg("warning", "running")} ${theme.fg("accent", details.sessionId)}` : theme.fg("dim", "starting");
    return new Text([who, ...(details?.steps ?? []).map((step) => theme.fg("dim", `  ${step}`))].join("\n"), 0, 0);
  }
  const lines = text.split("\n");
  const shown = options.expanded ? lines : lines.slice(0, collapsed_lines);
  const rest = lines.length - shown.length;
  const parts = shown.map((shown_line) => theme.fg("toolOutput", shown_line));
  if (rest > 0) parts.push(theme.fg("dim", `… ${rest} more lines`));
  if (details?.session) parts.unshift(heading(details.session, details.action, theme));
  return new Text(parts.join("\n"), 0, 0);
}

function heading(session: session_document, action: string, theme: Theme) {
  // A start that was waited for ends its session: that is no stop to look at twice.
  const state = action === "start" && session.state === "stopped" ? "done" : session.state;
  const colour = session.state === "failed" ? "error" : session.state === "running" ? "warning" : "success";
  const usage = `${session.usage.inputTokens + session.usage.outputTokens} tokens`;
  const cost = session.usage.cost > 0 ? `, $${session.usage.cost.toFixed(3)}` : "";
  return `${theme.fg(colour, state)} ${theme.fg("accent", session.id)} ${theme.fg("dim", usage + cost)}`;
}
