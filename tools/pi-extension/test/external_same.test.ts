// What pi-subagents says of its workers is the same with every worker in a sandbox as without
// one: alone, beside each other, in a worktree, nested, in the background and waited for,
// resumed, out of time, and aborted. Only names that are made up each time are left out.
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { pi_subagents, versions } from "./support/pi_subagents.ts";
import type { pi_rig } from "./support/pi.ts";
import { until } from "./support/processes.ts";
import { calling, workers_rig } from "./support/workers.ts";

const off = { subagents: { provider: "pi-subagents", externalWorkerIsolation: "off" } };
const script = (workflowScript: string, more: object = {}): [string, object] =>
  ["subagent", { workflowScript, async: false, ...more }];
const output = (task: string) => `return (await runs.run("one", { agent: "hand", task: "${task}" })).output`;

const together = calling(script(
  `const one = await runs.run("one", { agent: "hand", task: "JOB-SAME alone" });
   const [a, b] = await runs.all([
     { key: "a", agent: "hand", task: "JOB-SAME beside" },
     { key: "b", agent: "hand", task: "JOB-WRITE in a worktree", worktree: true },
   ]);
   const after = await runs.run("after", { agent: "hand", task: "JOB-SAME after " + a.runId });
   const lead = await runs.run("lead", { agent: "lead", task: "JOB-LEAD" });
   return { one: one.output, a: a.output, b: b.output, after: after.output, lead: lead.output };`,
));
const background = calling(
  ["subagent", { workflowScript:
    `const [a, b] = await runs.all([{ key: "a", agent: "hand", task: "JOB-SAME one" }, { key: "b", agent: "hand", task: "JOB-SAME two" }]);
     return [a.output, b.output];` }],
  ["subagent_wait", { all: true }],
);
const too_slow = calling(script(output("JOB-HANG"), { timeoutMs: 15_000 }));

/** How far a worker comes in that time is the machine's affair. */
const without_turns = (text: string) => text.replace(/,?\n *"turns": \d+/g, "");

type said = { text: string; isError: boolean; details: any };

/** What is said, without names that are made up, times and counts of bytes. */
function plain(dir: string, value: unknown): string {
  return JSON.stringify(value, null, 1)
    .replaceAll(dir, "DIR")
    .replaceAll(dir.replaceAll("/", "-").slice(1), "DIR")
    .replace(/\d{4}-\d\d-\d\dT[\d-]+Z/g, "TIME")
    .replace(/(?:\d+m)?\d+(?:\.\d+)?m?s\b/g, "TIME")
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{8,}\b|\bcall_\w+/g, "ID");
}
/** What ran side by side ends in any order. */
const sorted = (text: string) => text.replace(/(?:^- run .*(?:\n|$))+/gm, (trace) => trace.trim().split("\n").sort().join("\n") + "\n").trim();
const shape = ({ text, isError, details: d }: said) => ({
  text: sorted(text), isError, mode: d?.mode, timedOut: d?.timedOut, stopped: d?.stopped,
  results: d?.results?.map((r: any) => ({ agent: r.agent, exitCode: r.exitCode, error: r.error, output: r.finalOutput, turns: r.usage?.turns })),
  completions: d?.completions?.map((c: any) => ({ state: c.state, success: c.success, results: c.results?.map((r: any) => ({ agent: r.agent, success: r.success })) })),
});

/** What workers' models were asked. */
const heard = (rig: pi_rig) => rig.requests().filter((r) => r.task.includes("JOB-") && !r.task.startsWith("#steps"));

async function everything(version: string, config: object) {
  const w = await workers_rig([], config);
  after(() => w.rig.end());
  const pi = w.rig.rpc({ extensions: [pi_subagents(version)], saved: true });
  const out: Record<string, unknown> = {};
  // A turn that the news of a finished run begins may come between; what is asked comes after it.
  const ask = async (prompt: string, calls: number, meanwhile = async () => {}) => {
    const from = pi.events.length;
    const after = (type: string) => pi.events.slice(from).filter((event) => event.type === type);
    pi.send({ type: "prompt", message: prompt, streamingBehavior: "followUp" });
    await meanwhile();
    await pi.event(() => after("tool_execution_end").length >= calls);
    const last = after("tool_execution_end")[calls - 1]!;
    await pi.event((event) => event.type === "agent_settled" && pi.events.indexOf(event) > pi.events.indexOf(last));
    return after("tool_execution_end").map((event): said => ({
      text: event.result.content.map((part: any) => part.text).join(""), isError: event.isError, details: event.result.details,
    }));
  };
  const run = async (name: string, prompt: string, calls = 1, meanwhile?: () => Promise<void>) => {
    const said = await ask(prompt, calls, meanwhile);
    out[name] = plain(w.rig.dir, said.map(shape));
    return said;
  };
  const [first] = await run("together", together);
  const waited = await run("background", background, 2);
  // The run of one worker, by the trace of the workflow.
  const [, id] = /run one: completed \(([^)]+)\)/.exec(first!.text) ?? [];
  assert.ok(id, first!.text);
  // Resumed, at work, and then waited for.
  await run("resumed", calling(["subagent", { action: "resume", id, message: "JOB-HOLD again" }]));
  await until(w.begun, "the resumed worker has begun", 240_000);
  await run("waited for", calling(["subagent_wait", { all: true }]), 1, async () => {
    const from = pi.events.length;
    await pi.event((event) => event.type === "tool_execution_start" && pi.events.indexOf(event) >= from);
    writeFileSync(join(w.rig.workspace, "go"), "");
  });
  await run("too slow", too_slow);
  out["too slow"] = without_turns(out["too slow"] as string);
  rmSync(join(w.rig.workspace, "begun"), { force: true });
  await run("aborted", calling(script(output("JOB-HANG again"))), 1, async () => {
    await until(w.begun, "the worker has begun", 240_000);
    pi.send({ type: "abort" });
  });
  // Workers' models: `users` counts what a resumed one remembers.
  out.heard = plain(w.rig.dir, heard(w.rig).map(({ task, step, result, users, tools }) => ({ task: task.split("\n", 1)[0], step, result: sorted(result), users, tools }))
    .filter((r) => !r.task.includes("JOB-HANG")).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)));
  out.files = w.git("status", "--short", "--", ".", ":!.pi-subagents");
  await pi.end();
  const memory = heard(w.rig).find((r) => r.task.includes("JOB-HOLD again"))!.users;
  return { out, first: first!, waited, memory };
}

/** Whether waiting says in its details what it waited for. */
const keeps_records = (version: string) => version === "0.49.0";

for (const version of versions)
  test(`${version}: the same as without a sandbox`, { timeout: 580_000 }, async () => {
    const [inside, outside] = await Promise.all([everything(version, {}), everything(version, off)]);
    for (const name of Object.keys(outside.out)) assert.equal(inside.out[name], outside.out[name], name);
    // And it is what it is to be: a background run waited for, with its record; a resumed one
    // that knows what it was told before.
    const [started, ended] = inside.waited;
    assert.match(ended!.text, /Outcome: 1 complete/);
    if (keeps_records(version)) {
      const [record, ...more] = ended!.details.completions;
      assert.deepEqual(more, []);
      assert.deepEqual([record.runId, record.success], [started!.details.asyncId, true]);
      assert.deepEqual(record.results.map((r: any) => r.success), [true, true]);
      // Each worker's own run is told, too.
      assert.equal(new Set([record.runId, ...record.results.map((r: any) => r.runId)].filter((id) => id)).size, 3);
    }
    assert.equal(inside.memory, 2);
    assert.match(inside.first.text, /Workflow completed/);
  });
