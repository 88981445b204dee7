// The `subagent` tool: sessions of piorch, as a model uses them.
import type { ExtensionContext, ToolDefinition } from "@earendil-works/pi-coding-agent";
import { sandbox_environment, worker_environment } from "./environment.ts";
import { name_of, resolve_model } from "./models.ts";
import type { connection, orchestrator } from "./orchestrator.ts";
import { progress } from "./progress.ts";
import { rpc_error } from "./rpc.ts";
import { describe, type session_document, table } from "./session_text.ts";
import { render_call, render_result } from "./subagent_view.ts";
import { unless_aborted } from "./waiting.ts";

const actions = ["start", "follow_up", "wait", "status", "stop", "handoff"] as const;

const parameters = {
  type: "object",
  properties: {
    action: {
      type: "string",
      enum: [...actions],
      description:
        "start (default): a new subagent works on `task`. follow_up: give `task` to the subagent `sessionId`, which " +
        "remembers its work. wait: wait for `sessionId` and get its answer. status: what the subagents do. " +
        "stop: end `sessionId`. handoff: a new subagent gets the last answer of `sessionId` and `task`.",
    },
    task: {
      type: "string",
      description:
        "For start, follow_up and handoff. Say everything the subagent must know: it sees the project's files but " +
        "nothing of this conversation.",
    },
    sessionId: { type: "string", description: "For follow_up, wait, stop and handoff (and one subagent's status)." },
    background: {
      type: "boolean",
      description:
        "Return at once and let it work; use wait for the answer. Only a subagent started with background, or by " +
        "handoff, can be asked again; any other ends with its answer.",
    },
    model: { type: "string", description: "For start and handoff: provider/model, else the current one." },
  },
  additionalProperties: false,
} as const;

export interface subagent_params {
  action?: (typeof actions)[number];
  task?: string;
  sessionId?: string;
  background?: boolean;
  model?: string;
}

export interface subagent_details {
  action: string;
  session?: session_document;
  sessions?: session_document[];
  /** While it works: which one, and what it is doing now; the newest last. */
  sessionId?: string;
  steps?: string[];
}

type worker = { model?: string; env: Record<string, string> };
type answer = { session: session_document; text?: string };
type update = ((partial: { content: { type: "text"; text: string }[]; details: subagent_details }) => void) | undefined;

export function subagent_tool(piorch: orchestrator, thinking_level: () => string): ToolDefinition<never, subagent_details> {
  const follow = progress(piorch);
  /** Those of this Pi session; the orchestrator remembers others, too. */
  const ours = new Set<string>();
  let begun = 0;

  return {
    name: "subagent",
    label: "Subagent",
    description:
      "Delegate work to a subagent: another agent with tools of its own in a sandbox, in the same project. It works " +
      "on its task alone and answers with a text. Several calls in one message run at the same time; at most four " +
      "subagents live at once. Good for work that can be described completely and whose details you do not need.",
    promptSnippet: "Delegate a self-contained task to a sandboxed subagent",
    promptGuidelines: [
      "Give a subagent one self-contained task and say what its answer must contain; check what it claims to have changed.",
    ],
    parameters: parameters as never,
    executionMode: "parallel",
    renderCall: render_call as never,
    renderResult: render_result as never,
    execute: (_id, params, signal, on_update, ctx) => run(params as subagent_params, signal, on_update as update, ctx),
  };

  async function run(params: subagent_params, signal: AbortSignal | undefined, on_update: update, ctx: ExtensionContext) {
    const action = params.action ?? "start";
    check(action, params);
    // Everything that can be refused is refused before a session exists.
    const worker =
      action === "start" || action === "handoff" ? await worker_of(params.model, ctx, thinking_level()) : undefined;
    try {
      const server = await unless_aborted(piorch.connect(), signal);
      switch (action) {
        case "start":
        case "handoff":
          return await begin(server, action, params, worker!, signal, on_update, ctx);
        case "follow_up":
          return await follow_up(server, params, signal, on_update);
        case "wait": {
          const waited = server.call<answer>("session.wait", { sessionId: params.sessionId });
          return done("wait", await watched(params.sessionId!, "wait", waited, signal, on_update));
        }
        case "status":
          return await status(server, params.sessionId);
        case "stop":
          await server.call("session.stop", { sessionId: params.sessionId });
          return await status(server, params.sessionId, "stop");
      }
    } catch (error) {
      throw signal?.aborted ? new Error("Subagent call cancelled") : explained(error);
    }
  }

  async function begin(
    server: connection,
    action: "start" | "handoff",
    params: subagent_params,
    worker: worker,
    signal: AbortSignal | undefined,
    on_update: update,
    ctx: ExtensionContext,
  ) {
    // The name: so that it can be stopped while it starts, when nobody knows its id. Always
    // in the background: so its id is known while it works, for progress and cancel.
    const name = `pi-${process.pid}-${++begun}`;
    const asked = server.call<answer>(`session.${action}`, {
      ...(action === "handoff" && { sessionId: params.sessionId }),
      task: params.task,
      cwd: ctx.cwd,
      name,
      background: true,
      ...worker,
    });
    const stop = (id: string) => server.call("session.stop", { sessionId: id }).catch(() => {});
    let session: session_document;
    try {
      ({ session } = await unless_aborted(asked, signal));
    } catch (error) {
      if (signal?.aborted) await stop(name);
      throw error;
    }
    ours.add(session.id);
    if (params.background) return done(action, { session }, `It works in the background. ${ask_again(session)}`);

    const ends = action === "start";
    let answer: answer;
    try {
      const waited = server.call<answer>("session.wait", { sessionId: session.id });
      answer = await watched(session.id, action, waited, signal, on_update);
    } finally {
      if (ends || signal?.aborted) await stop(session.id);
    }
    if (!ends) return done(action, answer, ask_again(session));
    // As it is now, with what the whole tree has used.
    const { sessions } = await server.call<{ sessions: session_document[] }>("session.status", { sessionId: session.id });
    return done(action, { ...answer, session: sessions[0] ?? answer.session });
  }

  async function follow_up(server: connection, params: subagent_params, signal: AbortSignal | undefined, on_update: update) {
    const { sessionId, task } = params;
    const background = params.background === true;
    const asked = server.call<answer>("session.followUp", { sessionId, task, background });
    if (background) {
      const answer = await unless_aborted(asked, signal);
      return done("follow_up", answer, `It works in the background. ${ask_again(answer.session)}`);
    }
    try {
      return done("follow_up", await watched(sessionId!, "follow_up", asked, signal, on_update));
    } finally {
      if (signal?.aborted) await server.call("session.abort", { sessionId }).catch(() => {});
    }
  }

  /** Tells what the session does until the answer is there or the call is cancelled. */
  async function watched(id: string, action: string, answer: Promise<answer>, signal: AbortSignal | undefined, on_update: update) {
    const show = (steps: string[]) =>
      on_update?.({ content: [{ type: "text", text: steps.join("\n") }], details: { action, sessionId: id, steps } });
    show([]);
    const followed = on_update && follow(id, show);
    try {
      return await unless_aborted(answer, signal);
    } finally {
      followed?.end();
    }
  }

  async function status(server: connection, id: string | undefined, action = "status") {
    const params = id === undefined ? {} : { sessionId: id };
    const all = await server.call<{ sessions: session_document[] }>("session.status", params);
    const sessions = all.sessions.filter((each) => id !== undefined || ours.has(each.id));
    const details: subagent_details = { action, sessions };
    if (id !== undefined && sessions[0]) details.session = sessions[0];
    return { content: [{ type: "text" as const, text: table(sessions) }], details };
  }
}

function check(action: string, params: subagent_params) {
  const needs_task = action === "start" || action === "follow_up" || action === "handoff";
  const needs_session = action === "follow_up" || action === "wait" || action === "stop" || action === "handoff";
  if (needs_task && !params.task?.trim())
    throw new Error(`"${action}" needs a task: {"action": "${action}", "task": "what to do and what to answer"}.`);
  if (needs_session && !params.sessionId?.trim())
    throw new Error(`"${action}" needs the sessionId of a subagent; {"action": "status"} lists them.`);
  if (!needs_task && params.task !== undefined)
    throw new Error(`"${action}" takes no task. To give a subagent another task use follow_up; for a new one use start.`);
  if (action === "start" && params.sessionId !== undefined)
    throw new Error("A new subagent has no sessionId yet. To give more work to that one use follow_up, or handoff.");
  if (params.model !== undefined && action !== "start" && action !== "handoff")
    throw new Error("A subagent keeps its model; model is for start and handoff.");
  if (params.background && !needs_task) throw new Error(`"${action}" cannot go on in the background; leave background out.`);
}

/** Which model it uses, and the environment with the credentials for that one. */
async function worker_of(reference: string | undefined, ctx: ExtensionContext, thinking: string): Promise<worker> {
  const chosen =
    reference !== undefined
      ? resolve_model(reference, ctx.modelRegistry.getAvailable(), ctx.model)
      : ctx.model && { model: ctx.model, suffix: `:${thinking}` };
  if (!chosen) return { env: sandbox_environment(process.env) };
  const model = name_of(chosen.model) + chosen.suffix;
  const auth = await ctx.modelRegistry.getApiKeyAndHeaders(chosen.model);
  if (!auth.ok) throw new Error(`${model} cannot be used: ${auth.error}`);
  return { model, env: worker_environment(process.env, chosen.model.provider, auth) };
}

function done(action: string, { session, text }: answer, note?: string) {
  const parts = [text ?? describe(session), note].filter(Boolean);
  const details: subagent_details = { action, session };
  return { content: [{ type: "text" as const, text: parts.join("\n\n") }], details };
}

const ask_again = (session: session_document) =>
  `sessionId: ${session.id} (wait, follow_up, handoff, status, stop).`;

/** What a model can do about it, where the message alone does not say. */
function explained(error: unknown) {
  if (!(error instanceof rpc_error)) return error;
  const remedy: Record<number, string> = {
    [-32001]: error.message.includes("depth")
      ? "Use follow_up on that subagent, or start a new one."
      : "Stop a subagent that is not needed any more (status lists them), or do the work yourself.",
    [-32002]: '{"action": "status"} lists the subagents there are.',
    [-32004]: "Start a new one.",
  };
  const advice = remedy[error.code];
  return new Error(advice ? `${error.message}. ${advice}` : error.message);
}
