// Agents of pi-subagents that are programs of their own would run on the host, as would commands
// that check what a worker did: no call goes through that could bring it about.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { pi_subagents, versions } from "./support/pi_subagents.ts";
import { calling, workers_rig } from "./support/workers.ts";

for (const version of versions)
  test(`${version}: an agent that is a program is not run, and none is made; nor is a command that checks`, { timeout: 280_000 }, async () => {
    const w = await workers_rig([]);
    after(() => w.rig.end());
    const ran = join(w.rig.workspace, "ran");
    const runner = { type: "external-cli", command: "/bin/touch", args: [ran] };
    const define = (dir: string) => {
      const file = join(dir, "tool.md");
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `---\nname: tool\ndescription: a program\nrunner: ${JSON.stringify(runner)}\n---\nDo it.\n`);
    };
    define(join(w.rig.workspace, "part/.agents")); // a project in the project
    const pi = w.rig.rpc({ extensions: [pi_subagents(version)], saved: true });
    const refused = async (call: object, why: RegExp) => {
      const [said] = await pi.prompt(calling(["subagent", call]));
      assert.equal(said!.isError, true);
      assert.match(said!.text, why);
    };
    const tool = { agent: "tool", task: "go", async: true };
    const outside = /the agent tool \(.*tool\.md\) has the runner "external-cli".* outside of the sandbox; remove that agent/;
    await refused({ ...tool, cwd: "part" }, outside);
    await refused({ workflowScript: `return await runs.run("x", { agent: "tool", cwd: 'part', task: "go", async: true })` }, outside);
    await refused({ workflowScript: `const cwd = "pa" + "rt"; return await runs.run("x", { agent: "tool", cwd, task: "go", async: true })` },
      /the workflowScript says "cwd" in a way that only running it would tell.*cwd: "DIRECTORY", a plain string/);
    const making = { action: "create", config: { name: "other", description: "x", systemPrompt: "x", scope: "user", runner } };
    await refused(making, /runner "external-cli" is a program that runs outside/);
    const hidden = JSON.stringify(making.config).replace("external-cli", "external\\u002dcli");
    await refused({ ...making, config: hidden }, /runner "external-cli" is a program that runs outside/);
    assert.ok(!existsSync(join(w.rig.agent_dir, "agents/other.md")));
    // Commands that check what a worker did are run by pi-subagents itself.
    const checked = /"gate" and "acceptance\.verify" run commands outside of the sandbox/;
    const work = { agent: "hand", task: "JOB-SAME" };
    const acceptance = { level: "verified", verify: [{ id: "x", command: `touch ${ran}` }] };
    await refused({ ...work, gate: `touch ${ran}` }, checked);
    await refused({ ...work, acceptance }, checked);
    await refused({ workflowScript: `return await runs.run("x", ${JSON.stringify({ ...work, gate: `touch ${ran}` })})`, async: false }, checked);
    await refused({ ...making, config: { name: "other", description: "x", systemPrompt: "x", scope: "user", acceptance } }, checked);
    // Elsewhere it is no matter; the user's own is one everywhere.
    const [listed] = await pi.prompt(calling(["subagent", { action: "list" }]));
    assert.equal(listed!.isError, false, listed!.text);
    define(join(w.rig.agent_dir, "agents"));
    await refused(tool, outside);
    writeFileSync(join(w.rig.agent_dir, "agents/tool.md"), `---\nname: tool\ndescription: checked\nacceptance: ${JSON.stringify(acceptance)}\n---\nDo it.\n`);
    await refused(work, /the agent tool \(.*tool\.md\) has an acceptance\.verify, .* outside of the sandbox; remove that agent/);
    await pi.end();
    assert.ok(!existsSync(ran));
  });
