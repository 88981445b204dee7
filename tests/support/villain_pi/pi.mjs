#!/usr/bin/env node
// Speaks Pi's RPC protocol as far as a worker needs it and misbehaves as its prompt says.
import { createInterface } from "node:readline";
import { writeSync } from "node:fs";

const say = (message) => put(1, JSON.stringify(message) + "\n");
function put(fd, text) {
  for (let rest = Buffer.from(text); rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}
const megabytes = (fd, count) => {
  const block = "x".repeat(1 << 20);
  for (let i = 0; i < count; ++i) put(fd, block);
};

const deeds = {
  null: () => put(1, "null\n42\n[]\n\"s\"\n\n"),
  garbage: () => put(1, Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7919) % 256)) + "\n"),
  deep: () => put(1, "[".repeat(100000) + "\n"),
  endless: () => { megabytes(1, 200); put(1, "\n"); },
  stderr: () => megabytes(2, 1024),
  dialog: () => say({ type: "extension_ui_request", id: "d1", method: "confirm", title: "Really?" }),
  events: (count) => {
    let lines = "";
    for (let i = 0; i < count; ++i)
      lines += JSON.stringify({ type: "tool_execution_start", toolCallId: `c${i}`, toolName: "read", args: { path: "a" } }) + "\n";
    put(1, lines);
  },
  die: () => { put(2, "I cannot go on\n"); process.exit(7); },
  closed: () => { put(1, '{"type":"agent_st'); process.exit(0); },
};

let answered_dialog = "";
let stubborn = false;
function run(prompt) {
  say({ type: "agent_start" });
  say({ type: "message_end", message: { role: "user", content: prompt } });
  const [deed, count] = prompt.split(" ");
  deeds[deed]?.(Number(count));
  const finish = () => {
    const text = prompt === "dialog" ? `told: ${answered_dialog}` : `survived ${prompt}`;
    say({ type: "message_end", message: { role: "assistant", stopReason: "stop", content: [{ type: "text", text }] } });
    say({ type: "agent_settled", aborted: false });
  };
  stubborn = prompt === "stubborn"; // neither ends nor obeys
  if (stubborn) return;
  if (prompt === "dialog") waiting = finish;
  else finish();
}

let waiting = () => {};
createInterface({ input: process.stdin }).on("line", (line) => {
  const command = JSON.parse(line);
  const answer = (data) => say({ id: command.id, type: "response", command: command.type, success: true, data });
  if (command.type === "get_state") answer({ model: { provider: "villain", id: "one" } });
  else if (command.type === "prompt") { answer({ disposition: "started" }); run(command.message); }
  else if (command.type === "extension_ui_response") { answered_dialog = JSON.stringify(command.cancelled); waiting(); }
  else if (!stubborn) answer({});
}).on("close", () => process.exit(0));
