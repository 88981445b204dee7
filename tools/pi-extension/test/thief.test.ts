// With a real Pi whose model was told to look for credentials: whatever the command tries,
// it finds none; without the sandbox each way would lead to one.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, test } from "node:test";
import { pi_rig } from "./support/pi.ts";
import { child } from "./support/processes.ts";

const thief = fileURLToPath(new URL("support/thief.py", import.meta.url));
const ways = [...readFileSync(thief, "utf8").matchAll(/^def (\w+)\(\):/gm)].map((found) => found[1]!);

/** Pi's own bash under another name. */
const own_bash = `import { createBashToolDefinition } from "@earendil-works/pi-coding-agent";
   export default (pi) => pi.registerTool({ ...createBashToolDefinition(process.cwd()), name: "own" });`;

/** Of the ways into a process those that this machine leaves open, here tried at one of our own. */
function ways_into_a_process() {
  const dir = mkdtempSync(join(tmpdir(), "piorch-thief-"));
  const victim = spawn("sleep", ["1000"], { stdio: ["pipe", "ignore", "ignore"] });
  try {
    const args = [thief, dir, dir, dir, `${victim.pid}`, `${victim.pid}`];
    return execFileSync("python3", args, { cwd: dir, encoding: "utf8" }).trim().split("\n");
  } finally {
    victim.kill("SIGKILL");
    rmSync(dir, { recursive: true });
  }
}

const places = [
  ["Pi's directory in the home", {}],
  ["Pi's directory outside of the home (PI_CODING_AGENT_DIR)", { agent_dir: "elsewhere/agent" }],
] as const;
for (const [where, place] of places)
  test(`no way leads from a command to credentials: ${where}`, { timeout: 120_000 }, async () => {
    const rig = await pi_rig.start(place);
    after(() => rig.end());
    rig.configure({ network: { allowedLocalPorts: [rig.model_port] } });
    const own = join(rig.dir, "own.ts");
    writeFileSync(own, own_bash);
    writeFileSync(join(rig.home, ".netrc"), "machine example.org password secret-of-the-home\n");
    copyFileSync(thief, join(rig.workspace, "thief.py"));
    writeFileSync(join(rig.agent_dir, "auth.json"), '{"provider":{"type":"api_key","key":"secret-of-the-file"}}');
    mkdirSync(join(rig.agent_dir, "sessions/earlier"), { recursive: true });
    writeFileSync(join(rig.agent_dir, "sessions/earlier/1.jsonl"), '{"text":"secret-of-a-conversation"}\n');
    const keys = { ANTHROPIC_API_KEY: "secret-of-the-environment", GITHUB_TOKEN: "secret-of-the-environment" };
    const pi = rig.rpc({ env: keys, extensions: [own] });
    await pi.prompt("#bash true"); // the orchestrator is there to be found
    const pids = [pi.process.pid!, child(pi.process.pid!, "piorch-serve")];
    const command = `python3 thief.py ${rig.home} ${rig.agent_dir} ${rig.runtime_dir} ${pids.join(" ")} 2>&1`;

    const [outside] = await pi.prompt(`#tool own ${JSON.stringify({ command })}`);
    const [inside] = await pi.prompt(`#bash ${command}`);
    assert.deepEqual(inside!.text.trim().split("\n"), ["tried"]);
    const worked = outside!.text.trim().split("\n");
    // Not every kernel lets one process of a user into another, nor every container.
    const open = ways_into_a_process();
    const closed = ["memory_of_pi", "tracing_pi", "a_descriptor_taken_from_pi"].filter((way) => !open.includes(way));
    const expected = ways.filter((way) => way !== "inherited_descriptors" && !closed.includes(way));
    assert.deepEqual(expected.filter((way) => !worked.includes(way)), [], "a way that proves nothing");

    // A subagent's own Pi needs the key of its model; there is nothing else for it either.
    const task = `#bash ${command}; env; cat $PI_CODING_AGENT_DIR/*`;
    const [worker] = await pi.prompt(`#tool subagent ${JSON.stringify({ task })}`);
    assert.match(worker!.text, /tried[^]*sk-scripted/);
    assert.doesNotMatch(worker!.text, /secret-of-/);
    assert.deepEqual(worker!.text.split("\n").filter((line) => ways.includes(line)), []);
    await pi.end();
  });
