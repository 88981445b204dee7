// What the model says: a prompt (or a rule of the script file) names a list of steps, and
// the number of answers since that prompt says which step is next.

/**
 * One answer of the model. Texts may contain {{task}} (the prompt) and {{result}} (what
 * the last tool said).
 * @typedef {object} step
 * @property {string} [text]
 * @property {number} [bytes] a text of that size instead
 * @property {{name: string, arguments: object}[]} [tools] tool calls, all in one message
 * @property {number} [delayMs] wait before the first byte
 * @property {number} [chunkMs] wait between the pieces of the text
 * @property {number} [chunkBytes] size of these pieces
 * @property {number} [status] an HTTP error instead of an answer
 * @property {string} [error] its message
 * @property {number} [times] fail that many times, then go on with the answer
 * @property {boolean} [cut] break the connection after the text
 * @property {boolean} [hang] never finish after the text
 * @property {string} [finish] finish_reason, when not the obvious one
 */

/** @typedef {{role: string, content?: unknown}} message */

/** @param {message | undefined} message */
export function text_of(message) {
  const content = message?.content;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (typeof part?.text === "string" ? part.text : "")).join("");
}

/** @type {Record<string, (argument: string) => step[]>} */
const directives = {
  plain: (argument) => [{ text: argument }],
  long: (argument) => [{ bytes: Number(argument) || 5 << 20 }],
  bash: (argument) => tool("bash", { command: argument }),
  tool: (argument) => {
    const name = argument.split(/\s/, 1)[0] ?? "";
    return tool(name, JSON.parse(argument.slice(name.length) || "{}"));
  },
  steps: (argument) => JSON.parse(argument),
  error: (argument) => {
    const [, status, error] = /^(\d+)\s*([\s\S]*)$/.exec(argument) ?? [, "500", argument];
    return [{ status: Number(status), error: error || "scripted error" }];
  },
  cut: (argument) => [{ text: argument, cut: true }],
  hang: (argument) => [{ text: argument, hang: true }],
  delay: (argument) => {
    const [, ms, text] = /^(\d+)\s*([\s\S]*)$/.exec(argument) ?? [, "1000", argument];
    return [{ text, delayMs: Number(ms) }];
  },
};

/** @param {string} name @param {object} args @returns {step[]} */
function tool(name, args) {
  return [{ tools: [{ name, arguments: args }] }, { text: "{{result}}" }];
}

/**
 * The steps that a prompt asks for by its last line that begins with #NAME; all that
 * follows is the argument. Without one the model repeats the prompt.
 * @param {string} task
 * @param {{match: string, steps: step[]}[]} rules
 * @returns {step[]}
 */
export function steps_of(task, rules) {
  for (const rule of rules) if (new RegExp(rule.match).test(task)) return rule.steps;
  const names = Object.keys(directives).join("|");
  const found = [...task.matchAll(new RegExp(`^#(${names})(?:[ \\t]+|$)`, "gm"))].at(-1);
  const directive = directives[found?.[1] ?? ""];
  if (!found || !directive) return [{ text: "{{task}}" }];
  try {
    return directive(task.slice(found.index + found[0].length));
  } catch (error) {
    return [{ status: 400, error: `scripted model: #${found[1]}: ${error}` }];
  }
}

/**
 * The step that a conversation has come to.
 * @param {message[]} messages
 * @param {{match: string, steps: step[]}[]} rules
 */
export function next_step(messages, rules) {
  const last = messages.findLastIndex((message) => message.role === "user");
  const task = text_of(messages[last]);
  const since = messages.slice(last + 1);
  const index = since.filter((message) => message.role === "assistant").length;
  const result = text_of(since.findLast((message) => message.role === "tool"));
  const step = steps_of(task, rules)[index] ?? { text: "(the script has no further step)" };
  /** @param {string} text */
  const fill = (text) => text.replaceAll("{{task}}", () => task).replaceAll("{{result}}", () => result);
  return { task, index, result, step, text: step.bytes ? filler(step.bytes) : fill(step.text ?? "") };
}

/** Lines that differ, so that a lost or repeated piece shows. @param {number} bytes */
function filler(bytes) {
  const lines = [];
  for (let size = 0, n = 0; size < bytes; n++) {
    const line = `line ${String(n).padStart(8, "0")} of a long answer\n`;
    lines.push(line);
    size += line.length;
  }
  return lines.join("").slice(0, bytes);
}
