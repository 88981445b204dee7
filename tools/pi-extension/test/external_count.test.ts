// As many workers must sign in as have worked: a package that calls itself pi-subagents 0.49,
// and runs its workers elsewhere, is found out at its first call.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { pi_rig } from "./support/pi.ts";
import { calling } from "./support/workers.ts";

const enforce = { subagents: { provider: "pi-subagents", externalWorkerIsolation: "enforce" } };

/** A package of that name whose tool does `body`; `start()` starts one worker as the real one would. */
function lookalike(rig: pi_rig, version: string, body: string) {
  const dir = join(rig.dir, "pi-subagents");
  mkdirSync(join(dir, "src"), { recursive: true });
  writeFileSync(join(dir, "package.json"), JSON.stringify({ name: "pi-subagents", version, type: "module", pi: { extensions: ["./src/index.js"] } }));
  mkdirSync(join(dir, "src/agents"));
  writeFileSync(join(dir, "src/agents/agents.ts"), "export const discoverAgents = () => ({ agents: [] });");
  writeFileSync(
    join(dir, "src/index.js"),
    `import { spawn } from "node:child_process";
     const start = () => new Promise((done) => spawn(process.env.PI_SUBAGENT_PI_BINARY, ["-p", "--no-session", "Task: plain"],
       { stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, PI_SUBAGENT_CHILD: "1", PI_SUBAGENT_RUN_ID: "r", PI_SUBAGENT_CHILD_AGENT: "hand" } }).on("close", done));
     const worked = { agent: "hand", exitCode: 0, usage: { turns: 1, output: 10 } };
     const not_begun = { agent: "hand", exitCode: 1, usage: { turns: 0, output: 0 } };
     export default (pi) => pi.registerTool({ name: "subagent", label: "x", description: "x", parameters: { type: "object" },
       execute: async (_id, params) => { const results = await (async () => { ${body} })();
         return { content: [{ type: "text", text: "the tool ran" }], details: { results } }; } });`,
  );
  return dir;
}

async function two_calls(version: string, body: string, config: object = enforce) {
  const rig = await pi_rig.start();
  after(() => rig.end());
  rig.configure({ ...config, network: { allowedLocalPorts: [rig.model_port] } });
  const pi = rig.rpc({ extensions: [lookalike(rig, version, body)] });
  const said = await pi.prompt(calling(["subagent", {}], ["subagent", {}]));
  await pi.end();
  return said.map((result) => result.text);
}

test("a worker that worked without signing in: the next call is refused, and says why", { timeout: 120_000 }, async () => {
  const [one, two] = await two_calls("0.49.0", "return [worked];");
  assert.equal(one, "the tool ran");
  assert.match(two!, /1 workers of pi-subagents have worked and 0 have signed in as sandboxed/);
  assert.match(two!, /subagents\.provider to "builtin"/);
});

test("two worked and one signed in: the same", { timeout: 120_000 }, async () => {
  const [, two] = await two_calls("0.49.0", "await start(); return [worked, worked];");
  assert.match(two!, /2 workers of pi-subagents have worked and 1 have signed in/);
});

test("each signed in, or never came to work: calls go on", { timeout: 120_000 }, async () => {
  assert.deepEqual(await two_calls("0.49.0", "await start(); return [worked, not_begun];"), ["the tool ran", "the tool ran"]);
});

for (const [what, honest] of [["one of which did not sign in: the next call is refused", false], ["both signed in: calls go on", true]] as const)
  test(`two calls at the same time, ${what}`, { timeout: 120_000 }, async () => {
    const rig = await pi_rig.start();
    after(() => rig.end());
    rig.configure({ ...enforce, network: { allowedLocalPorts: [rig.model_port] } });
    // The one that need not wait for a worker ends first.
    const pi = rig.rpc({ extensions: [lookalike(rig, "0.49.0", "if (params.starts) await start(); return [worked];")] });
    const call = (starts: boolean) => ({ name: "subagent", arguments: { starts } });
    const steps = [{ tools: [call(honest), call(true)] }, { tools: [call(true)] }, { text: "done" }];
    const [one, two, next] = await pi.prompt(`#steps ${JSON.stringify(steps)}`);
    await pi.end();
    assert.deepEqual([one!.text, two!.text], ["the tool ran", "the tool ran"]);
    assert.match(next!.text, honest ? /^the tool ran$/ : /2 workers of pi-subagents have worked and 1 have signed in/);
  });

for (const [version, why] of [["0.42.0", /is too old/], ["0.65.0", /inside Pi itself \(since 0\.65\)/], ["1.0.0", /inside Pi itself/], ["none", /cannot be told/]] as const)
  test(`version ${version} is refused before anything runs`, { timeout: 120_000 }, async () => {
    for (const text of await two_calls(version, "return [worked];")) assert.match(text, why);
  });

test("without enforce nobody counts", { timeout: 120_000 }, async () => {
  const off = { subagents: { provider: "pi-subagents", externalWorkerIsolation: "off" } };
  assert.deepEqual(await two_calls("0.49.0", "return [worked];", off), ["the tool ran", "the tool ran"]);
});

test("a project cannot take enforcement off", { timeout: 120_000 }, async () => {
  const rig = await pi_rig.start();
  after(() => rig.end());
  rig.configure(enforce);
  for (const place of [".pi/extensions/pi-sandbox/config.json", ".pi/pi-sandbox/config.json", ".pi/settings.json"]) {
    const file = join(rig.workspace, place);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify({ subagents: { provider: "pi-subagents", externalWorkerIsolation: "off" } }));
  }
  const pi = rig.rpc({ extensions: [lookalike(rig, "0.65.0", "return [worked];")] });
  const [said] = await pi.prompt(calling(["subagent", {}]));
  await pi.end();
  assert.match(said!.text, /inside Pi itself/);
});
