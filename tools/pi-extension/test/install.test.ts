// The package as people install it: beside the program by `cmake --install`, and from the
// tarball that npm would publish, both with `pi install`.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { piorch_program, pi_rig, type rpc_pi } from "./support/pi.ts";
import { child } from "./support/processes.ts";

const rig = await pi_rig.start();
after(() => rig.end());
before(() => rig.configure({ network: { allowedLocalPorts: [rig.model_port] } }));
const source = fileURLToPath(new URL("..", import.meta.url));
const prefix = join(rig.dir, "prefix");
const installed = join(prefix, "share/piorch/pi-extension");

/** Bash and subagents work, by which program? */
async function works(pi: rpc_pi) {
  assert.equal((await pi.prompt("#bash echo sandbox $PIORCH_SANDBOX"))[0]!.text, "sandbox 1\n");
  assert.equal((await pi.prompt('#tool subagent {"task":"#plain from the subagent"}'))[0]!.text, "from the subagent");
  const program = readlinkSync(`/proc/${child(pi.process.pid!, "piorch-serve")}/exe`);
  await pi.end();
  return program;
}

test("cmake --install puts package and programs where they find each other", { timeout: 120_000 }, async () => {
  const build = join(piorch_program, "../..");
  execFileSync("cmake", ["--install", build, "--prefix", prefix], { stdio: ["ignore", "ignore", "inherit"] });
  assert.deepEqual(readdirSync(installed).sort(), ["README.md", "package.json", "src"]);
  assert.deepEqual(readdirSync(join(installed, "src")).sort(), readdirSync(join(source, "src")).sort());
  rig.pi("install", installed);
  assert.match(rig.pi("list"), /share\/piorch\/pi-extension/);
  assert.equal(await works(rig.rpc({ installed: true })), join(prefix, "libexec/piorch/piorch-serve"));
  rig.pi("remove", installed);
});

test("the tarball that npm packs is complete, and finds the program on PATH", { timeout: 120_000 }, async () => {
  // Of a copy: where this comes from may be read-only.
  const copy = join(rig.dir, "copy");
  cpSync(source, copy, { recursive: true });
  const tarballs = join(rig.dir, "tarballs");
  mkdirSync(tarballs);
  const npm = (...args: string[]) => execFileSync("npm", args, { cwd: copy, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  npm("pack", "--silent", "--ignore-scripts", "--pack-destination", tarballs);
  const [tarball] = readdirSync(tarballs);
  rig.pi("install", `npm:piorch-pi-extension@file:${join(tarballs, tarball!)}`);
  const there = join(rig.agent_dir, "npm/node_modules/piorch-pi-extension");
  assert.deepEqual(readdirSync(there).sort(), ["README.md", "package.json", "src"]);
  assert.deepEqual(readdirSync(join(there, "src")).sort(), readdirSync(join(source, "src")).sort());
  assert.equal(JSON.parse(readFileSync(join(there, "package.json"), "utf8")).dependencies, undefined);

  // Without a program it says what to do, and with one on PATH it works.
  const without = rig.rpc({ installed: true });
  const [refused] = await without.prompt("#bash true");
  assert.match(refused!.text, /the program piorch was not found beside this package or on PATH; build it with/);
  await without.end();
  const path = `${join(prefix, "bin")}:${process.env.PATH}`;
  assert.equal(await works(rig.rpc({ installed: true, env: { PATH: path } })), join(prefix, "libexec/piorch/piorch-serve"));
});
