// Outer isolation of the workers of pi-subagents (subagents.externalWorkerIsolation "enforce"):
// that package starts piorch-pi in place of Pi, by its variable PI_SUBAGENT_PI_BINARY, and each
// of them signs in with the orchestrator of this Pi. Until that is established, and whenever
// what is seen does not fit it, calls of `subagent` are blocked with the reason.
import type { ToolInfo } from "@earendil-works/pi-coding-agent";
import { accessSync, constants, existsSync, readFileSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { external_runs, type worker } from "./external_runs.ts";
import type { connection, orchestrator } from "./orchestrator.ts";
import { agent_discovery, outside_agent } from "./outside_agents.ts";
import { find_program } from "./program.ts";

/** What was tried: docs/pi-subagents.md says how a new version gets in here. */
const versions = { from: [0, 43], below: [0, 65] } as const;
const binary = "PI_SUBAGENT_PI_BINARY";
const other_ways =
  'set subagents.provider to "builtin" for piorch\'s own subagents, or use pi-subagents 0.49 (pi install npm:pi-subagents@0.49.0)';

export class external_workers {
  #piorch: orchestrator;
  #problem: string | undefined = "the Pi session has not started";
  #violation: string | undefined;
  #established: connection | undefined;
  #cwd = "";
  #tool: ToolInfo | undefined;
  #discover: ReturnType<typeof agent_discovery> | undefined;
  #owned = new Map<string, string>();
  #runs = new external_runs();
  #came = 0; // workers that have signed in, nested ones not counted
  #calls = new Set<string>(); // those that have not ended
  #before = 0; // #came when the first of the calls began that overlap
  #worked = 0; // workers of these calls that have worked
  #check: Promise<string | undefined> | undefined;
  #sessions = 0; // that were begun or have ended

  constructor(piorch: orchestrator) {
    this.#piorch = piorch;
    piorch.notifications.set("worker.changed", (params) => this.#changed((params as { worker: worker }).worker));
  }

  /** Of a new Pi session. `session` is its file, else its id. Never throws: see problem(). */
  async establish(cwd: string, session: string, tool: ToolInfo | undefined) {
    await this.#check;
    this.refuse_all(cwd);
    this.#tool = tool;
    this.#discover = undefined;
    this.#violation = undefined;
    this.#runs.open(session);
    await this.problem();
  }

  /** Nothing is established for this session, nor will it be: workers that no tool call starts are refused. */
  refuse_all(cwd: string) {
    this.release();
    this.#cwd = cwd;
    this.#own_refusal();
  }

  /** Why a call with this input must not go through, or undefined. */
  async refusal(input: unknown): Promise<string | undefined> {
    const problem = await this.problem();
    if (problem) return problem;
    try {
      return outside_agent(await this.#discover!, this.#cwd, input);
    } catch (error) {
      return `pi-subagents cannot say which agents it has: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  /**
   * Why no call must go through, or undefined. Establishes anew what was lost. Who asks meanwhile
   * gets the same answer: another `worker.supervise` would take the first one's place.
   */
  async problem(): Promise<string | undefined> {
    if (this.#violation) return this.#violation;
    return (this.#check ??= this.#establish_what_is_lost().finally(() => (this.#check = undefined)));
  }

  async #establish_what_is_lost() {
    const now = this.#established && (await this.#piorch.connect().catch(() => undefined));
    if (!now || now !== this.#established || !this.#owns_variables()) await this.#try();
    return this.#problem;
  }

  /** A call begins, and has ended: as many workers must have signed in as have worked. */
  begin(call: string) {
    if (this.#calls.size === 0) {
      this.#before = this.#came;
      this.#worked = 0;
    }
    this.#calls.add(call);
  }
  end(call: string, details: unknown) {
    if (!this.#calls.delete(call)) return;
    const results = (details as { results?: unknown } | undefined)?.results;
    this.#worked += Array.isArray(results) ? results.filter(has_worked).length : 0;
    // Calls that overlap share what came, and are counted together. Those that go on may have
    // brought workers already, so that fewer than worked is proof at any time.
    const came = this.#came - this.#before;
    if (this.#worked > came)
      this.#violation =
        `${this.#worked} workers of pi-subagents have worked and ${came} have signed in as sandboxed: they run ` +
        `outside of the sandbox; ${other_ways}`;
  }

  /** Takes back what is still ours. */
  release() {
    this.#sessions++;
    this.#disown();
    this.#runs.close();
    this.#established = undefined;
    this.#problem = "the Pi session has ended";
    this.#calls.clear();
  }

  async #try() {
    const session = this.#sessions;
    this.#established = undefined;
    try {
      const package_dir = checked_package(this.#tool);
      const program = find_wrapper(this.#cwd);
      const named = process.env[binary]?.trim();
      if (named && named !== this.#owned.get(binary))
        throw new Error(`${binary} names ${named} already, which is not piorch's; unset it`);
      const connection = await this.#piorch.connect();
      const place = await connection.call<{ socket: string; capability: string }>("worker.supervise", {
        cwd: this.#cwd,
        worktreeDirs: worktree_dirs(),
      });
      if (session !== this.#sessions) return; // it ended meanwhile, and nothing is ours any more
      const entry = process.argv[1];
      this.#own({
        [binary]: program,
        PI_SANDBOX_EXTERNAL_REAL_PI_BINARY: process.execPath,
        PI_SANDBOX_EXTERNAL_REAL_PI_PREFIX: JSON.stringify(entry && existsSync(entry) ? [realpathSync(entry)] : []),
        PI_SANDBOX_EXTERNAL_SUPERVISOR_SOCKET: place.socket,
        PI_SANDBOX_EXTERNAL_SUPERVISOR_CAPABILITY: place.capability,
      });
      this.#discover ??= agent_discovery(package_dir);
      this.#discover.catch(() => {}); // told at the first call
      this.#established = connection;
      this.#problem = undefined;
    } catch (error) {
      if (session !== this.#sessions) return;
      this.#problem =
        `subagents.externalWorkerIsolation is "enforce", and the workers of pi-subagents cannot be run in a sandbox: ` +
        (error instanceof Error ? error.message : String(error));
      this.#own_refusal();
    }
  }

  /**
   * Workers that no tool call starts (slash commands, schedules) must not run outside either:
   * piorch-pi refuses them, as no supervisor is named.
   */
  #own_refusal() {
    const named = process.env[binary]?.trim();
    if (named && named !== this.#owned.get(binary)) return; // somebody else's, who answers for it
    this.#disown();
    let program = "/piorch-pi-is-missing";
    try {
      program = find_wrapper(this.#cwd);
    } catch {} // starting what is not there fails as well
    this.#own({ [binary]: program });
  }

  #disown() {
    for (const [name, value] of this.#owned) if (process.env[name] === value) delete process.env[name];
    this.#owned.clear();
  }

  #own(variables: Record<string, string>) {
    for (const [name, value] of Object.entries(variables)) {
      process.env[name] = value;
      this.#owned.set(name, value);
    }
  }

  #owns_variables() {
    return this.#owned.size > 0 && [...this.#owned].every(([name, value]) => process.env[name] === value);
  }

  #changed(worker: worker) {
    if (worker.state === "running" && worker.parent === undefined) this.#came++;
    this.#runs.show(worker);
  }
}

/** A child that has had an answer of its model, whatever became of it. */
function has_worked(result: unknown) {
  const usage = (result as { usage?: { turns?: number; output?: number } } | undefined)?.usage;
  return (usage?.turns ?? 0) > 0 || (usage?.output ?? 0) > 0;
}

/** The directory of the package, of a version whose workers can be isolated. */
function checked_package(tool: ToolInfo | undefined): string {
  if (!tool) throw new Error("that package is not loaded: pi install npm:pi-subagents@0.49.0");
  const found = package_of(tool.sourceInfo.path);
  const [major, minor] = (found?.version ?? "").split(".").map(Number);
  if (found === undefined || major === undefined || minor === undefined || Number.isNaN(major + minor))
    throw new Error(`the version of the package at ${tool.sourceInfo.path} cannot be told`);
  if (before([major, minor], versions.from)) throw new Error(`pi-subagents ${found.version} is too old; ${other_ways}`);
  if (!before([major, minor], versions.below))
    throw new Error(
      `pi-subagents ${found.version} runs its workers inside Pi itself (since 0.65), where nothing can isolate them; ${other_ways}`,
    );
  return found.dir;
}

const before = (a: readonly [number, number], b: readonly [number, number]) => a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);

function package_of(file: string): { dir: string; version: string } | undefined {
  for (let dir = dirname(file); dir !== dirname(dir); dir = dirname(dir)) {
    const manifest = join(dir, "package.json");
    if (!existsSync(manifest)) continue;
    const { name, version } = JSON.parse(readFileSync(manifest, "utf8")) as { name?: unknown; version?: unknown };
    return name === "pi-subagents" && typeof version === "string" ? { dir, version } : undefined;
  }
  return undefined;
}

/** piorch-pi lies beside piorch. */
function find_wrapper(cwd: string) {
  const program = join(dirname(find_program(cwd)), "piorch-pi");
  try {
    accessSync(program, constants.X_OK);
  } catch {
    throw new Error(`${program} is missing; install piorch again`);
  }
  return program;
}

function worktree_dirs() {
  const own = process.env.PI_SUBAGENTS_WORKTREE_DIR;
  return [tmpdir(), ...(own && isAbsolute(own) ? [own] : [])];
}
