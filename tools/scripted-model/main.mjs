#!/usr/bin/env node
// A language model that follows a script, behind the OpenAI chat completions interface on
// loopback: for tests, and for a first look without an account anywhere. What it says is
// described in README.md.
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { answer } from "./stream.mjs";
import { next_step, text_of } from "./scenario.mjs";

const { values: options } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    address: { type: "string", default: "127.0.0.1" },
    script: { type: "string" }, // a JSON file: {"rules":[{"match":REGEX,"steps":[...]}]}
    log: { type: "string" }, // JSON Lines, one for each request and each end of one
    key: { type: "string" }, // any other API key is answered 401
    "agent-dir": { type: "string" }, // where to write a models.json and settings.json for Pi
  },
});
const rules = options.script ? JSON.parse(readFileSync(options.script, "utf8")).rules : [];

/** @param {object} entry */
function log(entry) {
  if (options.log) appendFileSync(options.log, `${JSON.stringify({ time: Date.now(), ...entry })}\n`);
}

/** How often a step with `times` has failed. @type {Map<string, number>} */
const failures = new Map();
let requests = 0;

/** @param {import("node:http").IncomingMessage} request @param {string} body
 *  @param {import("node:http").ServerResponse} response */
async function serve(request, body, response) {
  const n = ++requests;
  const { method, url, headers } = request;
  /** @param {number} status @param {string} message */
  const fail = (status, message) => {
    log({ event: "answered", n, status });
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message, type: "scripted", code: status } }));
  };
  if (method === "GET" && url === "/v1/models") {
    response.setHeader("content-type", "application/json");
    return void response.end(JSON.stringify({ object: "list", data: [{ id: "scripted", object: "model" }] }));
  }
  if (method !== "POST" || url !== "/v1/chat/completions") return fail(404, `no such page: ${url}`);

  /** @type {{messages: import("./scenario.mjs").message[], model: string, tools?: any[]}} */
  const asked = JSON.parse(body);
  const { task, index, step, text, result } = next_step(asked.messages, rules);
  log({
    event: "request", n, step: index, task, result, model: asked.model, headers,
    users: asked.messages.filter((message) => message.role === "user").length,
    system: text_of(asked.messages.find((message) => message.role === "system")).slice(0, 65536),
    tools: (asked.tools ?? []).map((tool) => tool?.function?.name),
  });
  if (options.key && headers.authorization !== `Bearer ${options.key}`) return fail(401, "bad key");
  if (step.status) {
    const key = `${index} ${task}`;
    const failed = (failures.get(key) ?? 0) + 1;
    failures.set(key, failed);
    if (failed <= (step.times ?? Infinity)) return fail(step.status, step.error ?? "scripted error");
  }
  let complete = false;
  response.on("finish", () => (complete = true));
  response.on("close", () => log({ event: complete ? "answered" : "closed", n, status: 200 }));
  await answer(response, step, text, asked.model);
}

const server = createServer((request, response) => {
  /** @type {Buffer[]} */
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    serve(request, Buffer.concat(parts).toString("utf8"), response).catch((error) => {
      console.error("scripted-model:", error);
      response.destroy();
    });
  });
});
server.listen(Number(options.port), options.address, () => {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  if (options["agent-dir"]) {
    const provider = {
      baseUrl: `http://${options.address}:${port}/v1`,
      api: "openai-completions",
      apiKey: options.key ?? "sk-scripted",
      models: [{ id: "scripted", contextWindow: 128000, maxTokens: 4096 }],
    };
    const dir = options["agent-dir"];
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, "models.json"), JSON.stringify({ providers: { scripted: provider } }));
    const settings = { defaultProvider: "scripted", defaultModel: "scripted" };
    writeFileSync(join(dir, "settings.json"), JSON.stringify(settings));
  }
  console.log(port);
});
// It serves the program that started it, and leaves with it.
process.stdin.on("end", () => process.exit(0)).resume();
