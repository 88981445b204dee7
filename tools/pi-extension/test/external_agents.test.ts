// Agents of pi-subagents that are programs of their own would run on the host: no call goes
// through while there is one, wherever it is defined, and none makes one.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { pi_subagents, versions } from "./support/pi_subagents.ts";
import { calling, workers_rig } from "./support/workers.ts";

for (const version of versions)
  test(`${version}: an agent that is a program is not run, and none is made`, { timeout: 280_000 }, async () => {
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
    const making = { action: "create", config: { name: "other", description: "x", systemPrompt: "x", scope: "user", runner } };
    await refused(making, /runner "external-cli" is a program that runs outside/);
    const hidden = JSON.stringify(making.config).replace("external-cli", "external\\u002dcli");
    await refused({ ...making, config: hidden }, /runner "external-cli" is a program that runs outside/);
    assert.ok(!existsSync(join(w.rig.agent_dir, "agents/other.md")));
    // Elsewhere it is no matter; the user's own is one everywhere.
    const [listed] = await pi.prompt(calling(["subagent", { action: "list" }]));
    assert.equal(listed!.isError, false, listed!.text);
    define(join(w.rig.agent_dir, "agents"));
    await refused(tool, outside);
    await pi.end();
    assert.ok(!existsSync(ran));
  });
