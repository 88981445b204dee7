// The mirror of workers in pi-subagents' registries, read back by that package's own code.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { external_runs, type worker } from "../src/external_runs.ts";
import { module_of } from "./support/pi_subagents.ts";

const v1 = await module_of("0.49.0", "src/api/external-runs.ts");
const v2 = await module_of("0.67.0", "src/api/external-runs.ts");
const session = "/home/u/.pi/agent/sessions/--p--/s.jsonl";

const worker = (id: string, more: Partial<worker> = {}): worker => ({
  id: id.padEnd(64, "0"), cwd: "/p", agent: "scout", run: "r", pid: 1, state: "running",
  startedAt: "2026-01-01T00:00:00.000Z", number: 1, ...more,
});
const shown = () => [v1.snapshotExternalRuns(session), v2.snapshotExternalRuns(session)] as any[][];

beforeEach(() => {
  for (const version of [1, 2]) delete (globalThis as any)[Symbol.for(`pi-subagents.external-runs.v${version}`)];
});

test("a worker is one row, with its true end", () => {
  const runs = new external_runs();
  runs.open(session);
  runs.show(worker("a"));
  for (const rows of shown()) assert.deepEqual(rows.map((row) => row.state), ["running"]);
  runs.show(worker("a", { state: "failed", endedAt: "2026-01-01T00:00:01.000Z", exitCode: 3, reason: "x" }));
  runs.show(worker("b", { state: "stopped", endedAt: "2026-01-01T00:00:01.000Z", signal: 15 }));
  runs.show(worker("c", { state: "completed", endedAt: "2026-01-01T00:00:01.000Z", exitCode: 0 }));
  const [one, two] = shown();
  assert.deepEqual(one!.map((row) => [row.state, row.exitCode, row.completionReason]), [
    ["failed", 3, "exit"], ["stopped", undefined, "user-kill"], ["completed", 0, "exit"],
  ]);
  assert.deepEqual(two!.map((row) => row.state).sort(), ["completed", "failed", "stopped"]);
  assert.equal(one![0].completedAt, Date.parse("2026-01-01T00:00:01.000Z"));
});

test("rows of others stay, rows of another session do not show, and nothing of ours is left", () => {
  v2.registerExternalRun({ id: "x", sessionId: session, source: "other", label: "other", state: "running", startedAt: 1 });
  const end = v1.registerExternalRunProvider({ name: "other", listExternalRuns: () => [{ id: "x", sessionId: session, source: "o", state: "running" }] });
  const runs = new external_runs();
  runs.open("/elsewhere.jsonl");
  runs.show(worker("a"));
  for (const rows of shown()) assert.deepEqual(rows.map((row) => row.id), ["x"]);
  runs.open(session);
  runs.show(worker("b"));
  for (const rows of shown()) assert.equal(rows.length, 2);
  runs.close();
  for (const rows of shown()) assert.deepEqual(rows.map((row) => row.id), ["x"]);
  end();
});

test("the list stays short, and running ones stay in it", () => {
  const runs = new external_runs();
  runs.open(session);
  runs.show(worker("running"));
  for (let n = 0; n < 200; n++)
    runs.show(worker(`w${n}`, { state: "completed", endedAt: "2026-01-01T00:00:01.000Z", exitCode: 0 }));
  for (const rows of shown()) {
    assert.equal(rows.length, 20);
    assert.ok(rows.some((row) => row.state === "running"));
  }
});

test("a full or a foreign registry is left alone", () => {
  for (let n = 0; n < 100; n++)
    v2.registerExternalRun({ id: `x${n}`, sessionId: "s", source: "other", label: "o", state: "running", startedAt: 1 });
  (globalThis as any)[Symbol.for("pi-subagents.external-runs.v1")] = { version: 7, providers: "no" };
  const runs = new external_runs();
  runs.open(session);
  runs.show(worker("a"));
  assert.deepEqual(v2.snapshotExternalRuns(session), []);
  runs.close();
  assert.equal((globalThis as any)[Symbol.for("pi-subagents.external-runs.v2")].runs.size, 100);
});
