// Sessions in words.

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

/** The first line, cut to `width`. */
export function line(text: string, width: number) {
  const first = text.trim().split("\n", 1)[0] ?? "";
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
