// What a session does, followed for as long as a tool call waits for it.
import type { orchestrator } from "./orchestrator.ts";
import { line } from "./session_text.ts";

/** How many steps are shown. */
const steps_kept = 8;

type listener = (steps: string[]) => void;
interface followed {
  steps: string[];
  text: string;
  listeners: Set<listener>;
}

/** Made once for an orchestrator; the function it returns follows one session. */
export function progress(piorch: orchestrator) {
  const sessions = new Map<string, followed>();

  piorch.notifications.set("session.event", (params) => {
    const session = sessions.get(params.sessionId as string);
    if (!session || !take(session, params.event as session_event)) return;
    const steps = session.text ? [...session.steps, line(session.text.trimEnd().split("\n").at(-1) ?? "", 100)] : session.steps;
    for (const listener of session.listeners) listener(steps.slice(-steps_kept));
  });

  return (id: string, listener: listener) => {
    let session = sessions.get(id);
    if (!session) {
      session = { steps: [], text: "", listeners: new Set() };
      sessions.set(id, session);
      // Progress is a comfort: without it the answer still comes.
      tell("session.follow", { sessionId: id });
    }
    session.listeners.add(listener);
    return {
      end() {
        session.listeners.delete(listener);
        if (session.listeners.size > 0 || sessions.get(id) !== session) return;
        sessions.delete(id);
        tell("session.unfollow", { sessionId: id });
      },
    };
  };

  function tell(method: string, params: object) {
    piorch.connect().then((server) => server.call(method, params)).catch(() => {});
  }
}

interface session_event {
  type: string;
  delta?: string;
  tool?: string;
  arguments?: unknown;
  isError?: boolean;
  text?: string;
  error?: string;
}

/** Whether there is something new to show. */
function take(session: followed, event: session_event) {
  switch (event.type) {
    case "text":
      session.text = (session.text + (event.delta ?? "")).slice(-400);
      return true;
    case "message":
      session.text = "";
      if (!event.text) return false;
      session.steps.push(line(event.text, 100));
      return true;
    case "toolStart":
      session.steps.push(`${tool_name(event)} ${line(argument_text(event.arguments), 80)}`);
      return true;
    case "toolEnd":
      if (event.isError) session.steps.push(`${tool_name(event)} failed`);
      return event.isError === true;
    case "retry":
    case "warning":
      session.steps.push(line(event.error ?? event.text ?? event.type, 100));
      return true;
    default:
      return false;
  }
}

const tool_name = (event: session_event) => line(event.tool ?? "", 60);

/** The one argument that says most: the command, the path, else all. */
function argument_text(args: unknown) {
  if (typeof args !== "object" || args === null) return String(args ?? "");
  const { command, path } = args as { command?: unknown; path?: unknown };
  return String(command ?? path ?? JSON.stringify(args));
}
