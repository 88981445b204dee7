// Sessions in words, and the words of those who are not trusted.

/** As in docs/protocol.md. */
export interface session_document {
  id: string;
  name?: string;
  parentId?: string;
  depth: number;
  state: "starting" | "running" | "idle" | "failed" | "stopped";
  task: string;
  text: string;
  error?: string;
  cwd: string;
  model?: string;
  createdAt: string;
  updatedAt: string;
  endedAt?: string;
  usage: { cpuSeconds: number; peakRssBytes: number; inputTokens: number; outputTokens: number; cost: number };
}

/** What a command or a worker wrote must not move the cursor or hide its end: control characters
 *  and those that change the direction of text are shown as such. */
export function visible(text: string, limit = Infinity) {
  const shown = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, as_code);
  return shown.length > limit ? `${shown.slice(0, limit)}… (${shown.length - limit} more characters)` : shown;
}

/** The same for prose of several lines, which may have tabs, and letters that are joined. */
export function visible_prose(text: string) {
  return text.replaceAll("\t", "    ").replace(/[^\P{Cc}\n]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, as_code);
}

const as_code = (char: string) => (char === "\n" ? "⏎" : `\\u{${char.codePointAt(0)!.toString(16)}}`);

/** The first line, cut to `width`, visible as above. */
export function line(text: string, width: number) {
  const first = visible((text.trim().split("\n", 1)[0] ?? "").replaceAll("\t", " "));
  return first.length > width ? `${first.slice(0, width - 1)}…` : first;
}

export function describe(session: session_document) {
  const why = session.error ? `: ${session.error}` : "";
  return `Subagent ${session.id} is ${session.state}${why}`;
}

/** For a model: one line a session, the live ones first. */
export function table(sessions: session_document[]) {
  if (sessions.length === 0) return "There are no subagents.";
  const live = (session: session_document) => session.endedAt === undefined;
  return [...sessions]
    .sort((a, b) => Number(live(b)) - Number(live(a)))
    .map((session) => {
      const parent = session.parentId ? ` (from ${session.parentId})` : "";
      const last = session.error ?? session.text;
      return `${session.id} ${session.state}${parent}: ${line(session.task, 80)}${last ? `\n  last: ${line(last, 120)}` : ""}`;
    })
    .join("\n");
}
