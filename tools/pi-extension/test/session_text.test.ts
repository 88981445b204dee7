// What workers and commands write is shown, and moves nothing on a person's terminal.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { orchestrator } from "../src/orchestrator.ts";
import { progress } from "../src/progress.ts";
import { line, table, visible, visible_prose, type session_document } from "../src/session_text.ts";

const evil = "\x1b[2K\r\x9b\u202e";
const harmless = "\\u{1b}[2K\\u{d}\\u{9b}\\u{202e}";

test("what could move the cursor or hide the end is shown", () => {
  assert.equal(visible("a\u001b[2Kb\nc\u202ed\r", 100), "a\\u{1b}[2Kb⏎c\\u{202e}d\\u{d}");
  assert.equal(visible("x".repeat(12), 10), "xxxxxxxxxx… (2 more characters)");
  assert.equal(line(` a\t${evil}b\nsecond`, 80), `a ${harmless}b`);
  assert.equal(line("x".repeat(12), 10), "xxxxxxxxx…");
});

test("prose keeps its lines, and letters that are joined", () => {
  assert.equal(visible_prose(`one\n\ttwo ${evil}\n👩\u200d🚀`), `one\n    two ${harmless}\n👩\u200d🚀`);
});

test("the steps and the table of sessions, whatever a worker calls its tools", () => {
  const server = { notifications: new Map(), connect: () => Promise.reject(new Error("none")) };
  let steps: string[] = [];
  progress(server as unknown as orchestrator)("s", (now) => (steps = now));
  for (const event of [
    { type: "toolStart", tool: evil, arguments: { command: evil } },
    { type: "toolEnd", tool: `${evil}${"x".repeat(200)}`, isError: true },
    { type: "message", text: evil + "said" },
    { type: "warning", text: evil + "warned" },
    { type: "text", delta: `first\n${evil}last` },
  ])
    server.notifications.get("session.event")({ sessionId: "s", event });
  assert.deepEqual(steps.map((step) => step.replaceAll(harmless, "EVIL").replace(/x+/, "x")), [
    "EVIL EVIL", "EVILx… failed", "EVILsaid", "EVILwarned", "EVILlast",
  ]);
  const session = { id: "1", state: "failed", task: `t${evil}`, text: "", error: `e${evil}` } as session_document;
  assert.equal(table([session]), `1 failed: t${harmless}\n  last: e${harmless}`);
});
