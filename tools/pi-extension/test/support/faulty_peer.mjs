#!/usr/bin/env node
// Stands where `piorch serve --stdio` stands and does what it must never do. FAULT says what.
import { createInterface } from "node:readline";

const fault = process.env.FAULT;
/** @param {object} message */
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const info = {
  protocolVersion: fault === "old" ? 0 : 1,
  server: { name: "piorch", version: "test", pid: process.pid },
  limits: { maxLiveSessions: 4, maxDepth: 3 },
  sandbox: { platform: "linux", available: true },
};

if (fault === "dies") {
  console.error("piorch: the reason, on the last line");
  process.exit(4);
}
createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (fault === "mute") return;
    if (method === "initialize") return say({ id, result: info });
    if (method === "shutdown") return fault === "stays" ? undefined : say({ id, result: {} });
    if (method === "command.run") return run(id, params);
    if (method === "command.cancel") return fault === "deaf" ? undefined : say({ id, result: {} });
    return undefined;
  })
  .on("close", () => {
    if (fault !== "stays") process.exit(0);
  });
// Keeps a process that shall stay alive.
setInterval(() => {}, 1 << 30);

/** @param {number} id @param {{id: string, command: string}} params */
function run(id, params) {
  switch (fault) {
    case "garbage":
      return process.stdout.write("this is no JSON\n");
    case "endless":
      // No line end ever: in the reader's memory without a bound.
      return process.stdout.write("x".repeat(17 << 20));
    case "half":
      return process.stdout.write('{"jsonrpc":"2.0","id":', () => process.exit(0));
    case "killed":
      return process.kill(process.pid, "SIGKILL");
    case "refuses":
      return say({ id, error: { code: -32005, message: "no sandbox: user namespaces are forbidden" } });
    case "deaf":
      return undefined;
    default: {
      // Split within a character and within a line: bytes are bytes.
      const bytes = Buffer.from("grüße\n");
      for (const part of [bytes.subarray(0, 3), bytes.subarray(3)])
        say({ method: "command.output", params: { id: params.id, stream: "stdout", data: part.toString("base64") } });
      say({ method: "command.output", params: { id: "of somebody else", stream: "stdout", data: "bm8=" } });
      const result = { exitCode: null, signal: 9, timedOut: false, cancelled: false, ranOnHost: false, durationMs: 1, network: [] };
      return say({ id, result });
    }
  }
}
