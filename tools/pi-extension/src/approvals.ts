// Answers to approval.request: by pi-auto-review's broker where there is one, else by the
// person. Allowed is only what was allowed for exactly this request; whatever goes wrong
// on the way is a deny with the reason.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { orchestrator } from "./orchestrator.ts";
import { visible } from "./session_text.ts";
import { unless_aborted } from "./waiting.ts";

/** As in docs/protocol.md. */
export interface approval_request {
  id: string;
  surface: "network" | "host-ipc";
  operation: "connect" | "execute-host";
  destination?: string;
  command: string;
  cwd: string;
  sessionId?: string;
  agentName?: string;
  matchedPolicy?: string;
  warning?: string;
  expiresAt: string;
}

export interface approval_answer {
  action: "allow" | "deny";
  source: string;
  reason?: string;
}

/** What pi-auto-review publishes; nothing of it is taken on trust. */
interface review_broker {
  review(request: object, options: { sessionId: string; scopeKey: string; issueGrant: true }): Promise<unknown>;
  consumeGrant(request: object, sessionId: string, token: unknown): unknown;
}
const broker_symbol = Symbol.for("pi-auto-review:boundary-approval-broker");

const allow_once = "Allow this exact operation once";
const deny = "Deny";

export class approvals {
  #context: () => ExtensionContext | undefined;
  #open = new Map<string, AbortController>();
  /** One dialog at a time. */
  #dialogs: Promise<unknown> = Promise.resolve();

  constructor(piorch: orchestrator, context: () => ExtensionContext | undefined) {
    this.#context = context;
    piorch.requests.set("approval.request", (params) => this.#answer(params as unknown as approval_request));
    piorch.notifications.set("approval.cancelled", (params) => {
      this.#open.get(params.id as string)?.abort(new Error("the request no longer matters"));
    });
  }

  async #answer(request: approval_request): Promise<approval_answer> {
    const over = new AbortController();
    this.#open.set(request.id, over);
    const left = Date.parse(request.expiresAt) - Date.now();
    const timer = setTimeout(
      () => over.abort(new Error("nobody answered in time")),
      Number.isFinite(left) ? Math.max(0, Math.min(left, 2 ** 31 - 1)) : 0,
    );
    const context = this.#context();
    let answer: approval_answer;
    try {
      if (!context) throw new Error("there is no Pi session to ask in");
      answer = await unless_aborted(this.#decide(request, context, over.signal), over.signal);
    } catch (error) {
      answer = { action: "deny", source: "piorch", reason: error instanceof Error ? error.message : String(error) };
    } finally {
      clearTimeout(timer);
      this.#open.delete(request.id);
    }
    if (answer.action === "deny") {
      const what = subject(request);
      try {
        context?.ui.notify(`piorch: denied ${what}${answer.reason ? `: ${visible(answer.reason, 400)}` : ""}`, "warning");
      } catch {
        // The Pi session has been replaced meanwhile; the answer stays what it is.
      }
    }
    return answer;
  }

  async #decide(request: approval_request, context: ExtensionContext, over: AbortSignal): Promise<approval_answer> {
    const broker = (globalThis as Record<symbol, unknown>)[broker_symbol] as review_broker | undefined;
    if (broker === undefined) return this.#ask(request, context, over);
    return (await review(broker, request, context, over)) ?? this.#ask(request, context, over);
  }

  async #ask(request: approval_request, context: ExtensionContext, over: AbortSignal): Promise<approval_answer> {
    if (!context.hasUI)
      return { action: "deny", source: "no-ui", reason: `nobody can be asked in ${context.mode} mode; allow it in the configuration` };
    const dialog = this.#dialogs.then(() => {
      over.throwIfAborted();
      return context.ui.select(question(request), [allow_once, deny], { signal: over });
    });
    this.#dialogs = dialog.catch(() => {});
    const choice = await dialog;
    over.throwIfAborted();
    if (choice === allow_once) return { action: "allow", source: "user" };
    return { action: "deny", source: "user", reason: choice === deny ? "denied by the user" : "the question was dismissed" };
  }
}

/** undefined: the broker leaves the decision to the person. */
async function review(broker: review_broker, request: approval_request, context: ExtensionContext, over: AbortSignal) {
  const source = "pi-auto-review";
  const asked = Object.freeze({
    id: request.id,
    source: "sandbox-runtime",
    surface: request.surface,
    operation: request.operation,
    cwd: request.cwd,
    command: request.command,
    ...(request.destination !== undefined && { destination: request.destination }),
    ...(request.agentName !== undefined && { agentName: request.agentName }),
    ...(request.matchedPolicy !== undefined && { matchedPolicy: request.matchedPolicy }),
    toolInputPreview: request.command.slice(0, 2000),
  });
  const session_id = context.sessionManager.getSessionId();
  const scope_key = request.sessionId ?? session_id;
  const decision = (await broker.review(asked, { sessionId: session_id, scopeKey: scope_key, issueGrant: true })) as {
    kind?: unknown;
    grant?: { token?: unknown };
    review?: { rationale?: unknown };
    recoveryCommand?: unknown;
    denialSource?: unknown;
  };
  over.throwIfAborted();
  switch (decision?.kind) {
    case "defer":
      return undefined;
    case "deny": {
      const parts = [decision.review?.rationale ?? "denied", decision.recoveryCommand && `recover with ${decision.recoveryCommand}`];
      const by = typeof decision.denialSource === "string" ? `${source}:${decision.denialSource}` : source;
      return { action: "deny" as const, source: by, reason: parts.filter(Boolean).join("; ") };
    }
    case "allow": {
      const token = decision.grant?.token;
      if (token === undefined) return { action: "deny" as const, source, reason: "the review allowed it but gave no grant" };
      // Only its own word that the grant was for this request counts.
      if ((await broker.consumeGrant(asked, session_id, token)) !== true)
        return { action: "deny" as const, source, reason: "the grant was not for this request, or was used already" };
      return { action: "allow" as const, source };
    }
    default:
      return { action: "deny" as const, source, reason: "the review gave no decision" };
  }
}

function subject(request: approval_request) {
  return request.surface === "network"
    ? `a connection to ${visible(request.destination ?? "?", 200)}`
    : `running on the host: ${visible(request.command, 200)}`;
}

function question(request: approval_request) {
  const lines = [`Allow ${subject(request)}?`];
  if (request.agentName ?? request.sessionId) lines.push(`Asked by: subagent ${visible(request.agentName ?? request.sessionId!, 100)}`);
  // What runs on the host is read in full, or not allowed.
  const shown = request.surface === "host-ipc" ? Infinity : 1000;
  lines.push(`Command: ${visible(request.command, shown)}`, `Directory: ${visible(request.cwd, 300)}`);
  if (request.warning) lines.push(`Careful: ${visible(request.warning, 400)}`);
  return lines.join("\n");
}
