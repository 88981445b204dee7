// What is read in a workflow script before it runs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { read_script } from "../src/workflow_script.ts";

const run = (more: string) => `return await runs.run("x", { agent: "hand", task: "go", ${more} })`;

test("directories that are plain strings", () => {
  for (const [script, directories] of [
    [run(`cwd: "part"`), ["part"]],
    [run(`"cwd" : 'part', async: true`), ["part"]],
    [run("['cwd']: `part`"), ["part"]],
    [`const o = {agent: "hand"}; o.cwd = "part"; o["cwd"]='other'; return runs.run("x", o);`, ["part", "other"]],
    [run(`cwd: "a"`) + run(`cwd: "b"`), ["a", "b"]],
    ["return 'cwd' // cwd", []],
    ["return [a, 'cwd'].includes(b['cwd'])", []],
    [run("output: `the cwd is ${'cwd'.length}`"), []],
    [`return runs.run("x", { agent: "hand", task: "Work there, cwd: /repo, 'cwd'" })`, []],
  ] as const)
    assert.deepEqual(read_script(script), { directories, unclear: false, host_command: false }, script);
});

test("directories that only running it would tell", () => {
  for (const script of [
    run("cwd"), run("cwd: dir"), run(`cwd: "a" + "b"`), run("cwd: `${part}`"), run(`cwd: "p\\x61rt"`), run(`cwd: ok ? "a" : "b"`),
    run(`["cwd"]: dir`), "const o = {}; o.cwd = dir;", `o['cwd'] = dir`, `const { cwd } = settings;`, run("task: `${f({cwd: dir})}`"),
    `const s = "don't"; // isn't it\n` + run("cwd: dir"),
  ])
    assert.equal(read_script(script).unclear, true, script);
});

test("commands on the host", () => {
  for (const script of [
    run(`gate: "npm test"`), run("gate: command"), run("gate"), `runs.run("x", ${JSON.stringify({ agent: "hand", gate: "npm test" })})`, run("['gate']: command"),
    `const o = { agent: "hand", task: "x" }; o.gate = "npm test";`, `o["gate"] = command`, `runs.run("x", { ...base, gate: command })`,
    run(`acceptance: { verify: [{ id: "t", command: "npm test" }] }`), run(`acceptance: { level: "verified", criteria: [{a: 1}], verify }`),
    `const policy = { level: "verified", "verify": checks };`, "acceptance.verify = checks",
  ])
    assert.equal(read_script(script).host_command, true, script);
  for (const script of [
    `const gate = await runs.run("gate", { agent: "hand", task: "gate and verify" }); return { gate, verify: gate.output }`,
    `const [a, b] = await runs.all([{ key: "gate", agent: "hand", task: "x" }]); return { gate: a.output, verify: [b] }`,
    `if (verify === "gate") return gate == 1 ? "verify" : runs.ref(gate)`,
    run(`acceptance: "checked"`), run(`acceptance: { level: "checked", evidence: ["commands-run"] }`),
  ])
    assert.equal(read_script(script).host_command, false, script);
});
