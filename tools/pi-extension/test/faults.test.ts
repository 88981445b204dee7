// What the package does when `piorch serve` does what it must never do. The real one is in
// pi.test.ts.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { sandboxed_bash } from "../src/bash.ts";
import { orchestrator } from "../src/orchestrator.ts";

let piorch: orchestrator;
function bash_with(fault: string) {
  process.env.PIORCH_PROGRAM = fileURLToPath(new URL("support/faulty_peer.mjs", import.meta.url));
  process.env.FAULT = fault;
  piorch = new orchestrator("/");
  return new sandboxed_bash(piorch).operations(undefined);
}
afterEach(() => piorch.end());

async function run(fault: string, signal?: AbortSignal) {
  const output: Buffer[] = [];
  const bash = bash_with(fault);
  const options = { onData: (bytes: Buffer) => void output.push(bytes), env: {}, ...(signal && { signal }) };
  const { exitCode } = await bash.exec("true", "/", options);
  return { exitCode, output: Buffer.concat(output).toString() };
}

test("output arrives byte by byte, and a signal as 128 + its number", async () => {
  assert.deepEqual(await run("none"), { exitCode: 137, output: "grüße\n" });
});

test("a program that is not there is named", async () => {
  const bash = bash_with("none");
  process.env.PIORCH_PROGRAM = "/nonexistent/piorch";
  await assert.rejects(bash.exec("true", "/", { onData() {} }), /PIORCH_PROGRAM names no program: \/nonexistent\/piorch/);
});

for (const [fault, reason] of [
  ["dies", /ended with status 4: piorch: the reason, on the last line/],
  ["old", /speaks version 1 of piorch's protocol, and piorch 0/],
  ["garbage", /a line that is not JSON: this is no JSON/],
  ["endless", /a line of more than 16 MiB/],
  ["half", /ended with status 0/],
  ["killed", /was ended by SIGKILL/],
  ["refuses", /user namespaces are forbidden/],
] as const) {
  test(`${fault}: the command fails with the reason`, async () => {
    await assert.rejects(run(fault), reason);
  });
}

test("after a crash the next command gets a new orchestrator", async () => {
  const bash = bash_with("killed");
  await assert.rejects(bash.exec("true", "/", { onData() {} }), /SIGKILL/);
  process.env.FAULT = "none";
  assert.equal((await bash.exec("true", "/", { onData() {} })).exitCode, 137);
});

test("a cancelled command that is never answered is given up", { timeout: 10_000 }, async () => {
  const abort = new AbortController();
  setTimeout(() => abort.abort(), 300);
  await assert.rejects(run("deaf", abort.signal), { message: "aborted" });
});

test("a signal that has fired already starts nothing", async () => {
  await assert.rejects(run("dies", AbortSignal.abort()), { message: "aborted" });
});

test("an orchestrator that does not leave is killed", { timeout: 15_000 }, async () => {
  const bash = bash_with("stays");
  await bash.exec("true", "/", { onData() {} });
  const { info } = await piorch.connect();
  await piorch.end();
  assert.throws(() => process.kill(info.server.pid, 0), { code: "ESRCH" });
  await assert.rejects(piorch.connect(), /has ended with its Pi session/);
});
