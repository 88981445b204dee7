// When the isolation of pi-subagents' workers is established, and what becomes of their variables.
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { external_workers } from "../src/external_workers.ts";
import { orchestrator } from "../src/orchestrator.ts";
import { pi_rig, piorch_program } from "./support/pi.ts";
import { pi_subagents } from "./support/pi_subagents.ts";

const rig = await pi_rig.start();
after(() => rig.end());
const binary = "PI_SUBAGENT_PI_BINARY";
Object.assign(process.env, { HOME: rig.home, XDG_RUNTIME_DIR: rig.runtime_dir, TMPDIR: rig.temp_dir, PIORCH_PROGRAM: piorch_program });
beforeEach(() => void delete process.env[binary]);

/** A real orchestrator, how often it was asked to supervise workers, and what happens meanwhile. */
function supervised() {
  const piorch = new orchestrator(rig.workspace);
  after(() => piorch.end());
  const asked = { times: 0, meanwhile: () => {} };
  let connection: Awaited<ReturnType<orchestrator["connect"]>>;
  const connect = piorch.connect.bind(piorch);
  piorch.connect = async () => {
    const { info, call } = await connect();
    return (connection ??= {
      info,
      call(method, params) {
        if (method === "worker.supervise") asked.times++;
        asked.meanwhile();
        return call(method, params);
      },
    });
  };
  const workers = new external_workers(piorch);
  const tool = { sourceInfo: { path: `${pi_subagents("0.49.0")}/src/extension/index.ts` } };
  return { asked, workers, establish: () => workers.establish(rig.workspace, "session", tool as never) };
}

test("calls at the same time establish it once", async () => {
  const { asked, workers, establish } = supervised();
  await establish();
  assert.equal(asked.times, 1);
  delete process.env[binary]; // lost
  assert.deepEqual(await Promise.all([workers.problem(), workers.problem()]), [undefined, undefined]);
  assert.equal(asked.times, 2);
  assert.match(process.env[binary]!, /piorch-pi$/);
  workers.release();
  assert.equal(process.env[binary], undefined);
});

test("until it is established workers are refused, and a session that ended meanwhile leaves nothing", async () => {
  const { asked, workers, establish } = supervised();
  asked.meanwhile = () => {
    assert.match(process.env[binary]!, /piorch-pi$/);
    assert.equal(process.env.PI_SANDBOX_EXTERNAL_SUPERVISOR_SOCKET, undefined);
    workers.release();
  };
  await establish();
  assert.equal(asked.times, 1);
  assert.equal(process.env[binary], undefined);
});
