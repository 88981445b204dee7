// An answer as the server-sent events of the OpenAI chat completions interface.
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";

/**
 * Sends one step. Resolves when the answer is complete or the client has gone.
 * @param {import("node:http").ServerResponse} response
 * @param {import("./scenario.mjs").step} step
 * @param {string} text
 * @param {string} model
 */
export async function answer(response, step, text, model) {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  /** @param {number | undefined} ms */
  const wait = async (ms) => {
    if (ms) await pause(ms, undefined, { signal: gone.signal }).catch(() => {});
  };

  await wait(step.delayMs);
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  const head = { id: "chatcmpl-scripted", object: "chat.completion.chunk", created: 0, model };
  /** @param {object} delta @param {string | null} finish_reason @param {object} more */
  const send = async (delta, finish_reason = null, more = {}) => {
    if (gone.signal.aborted) return;
    const chunk = { ...head, choices: [{ index: 0, delta, finish_reason }], ...more };
    if (!response.write(`data: ${JSON.stringify(chunk)}\n\n`))
      await once(response, "drain", { signal: gone.signal }).catch(() => {});
  };

  await send({ role: "assistant", content: "" });
  const size = step.chunkBytes ?? 16384;
  for (let at = 0; at < text.length && !gone.signal.aborted; at += size) {
    if (at > 0) await wait(step.chunkMs);
    await send({ content: text.slice(at, at + size) });
  }
  if (step.cut) {
    // Only once the text is on its way.
    await new Promise((sent) => response.write(":\n\n", sent));
    return void response.destroy();
  }
  if (step.hang) return void (gone.signal.aborted || (await once(gone.signal, "abort")));
  for (const [index, call] of (step.tools ?? []).entries()) {
    const id = `call_${Date.now().toString(36)}_${index}`;
    const fn = { name: call.name, arguments: JSON.stringify(call.arguments) };
    await send({ tool_calls: [{ index, id, type: "function", function: fn }] });
  }
  await send({}, step.finish ?? (step.tools?.length ? "tool_calls" : "stop"));
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  if (!gone.signal.aborted)
    response.end(`data: ${JSON.stringify({ ...head, choices: [], usage })}\n\ndata: [DONE]\n\n`);
}
