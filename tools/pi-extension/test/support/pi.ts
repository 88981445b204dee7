// A real Pi with the package loaded, a home of its own, and the scripted model.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const bin = join(root, "build/pi/bin");
const package_dir = join(root, "tools/pi-extension");

export const piorch_program = process.env.PIORCH_TEST_PROGRAM ?? join(root, "build/bin/piorch");

export interface options {
  env?: Record<string, string>;
  /** Extensions loaded before the package. */
  extensions?: string[];
}
export interface rpc_event {
  type: string;
  [key: string]: any;
}

export class pi_rig {
  readonly dir = realpathSync(mkdtempSync(join(tmpdir(), "piorch-pi-")));
  readonly home = join(this.dir, "home");
  readonly workspace = join(this.dir, "workspace");
  readonly agent_dir = join(this.home, ".pi/agent");
  model_port = 0;
  #model: ChildProcess | undefined;
  #pis = new Set<ChildProcess>();

  static async start() {
    const rig = new pi_rig();
    for (const dir of [rig.agent_dir, rig.workspace]) mkdirSync(dir, { recursive: true });
    const args = [join(root, "tools/scripted-model/main.mjs"), "--agent-dir", rig.agent_dir, "--log", join(rig.dir, "model.log")];
    const model = spawn(join(bin, "node"), args, { stdio: ["pipe", "pipe", "inherit"] });
    rig.#model = model;
    const [line] = (await once(createInterface({ input: model.stdout! }), "line")) as [string];
    rig.model_port = Number(line);
    return rig;
  }

  async end() {
    for (const pi of this.#pis) pi.kill("SIGKILL");
    this.#model?.stdin?.end();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Replaces the trusted configuration. */
  configure(config: object | string) {
    const file = join(this.agent_dir, "extensions/pi-sandbox/config.json");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof config === "string" ? config : JSON.stringify(config));
  }

  /** A package that registers a `subagent` tool, in a directory of that name. */
  foreign_subagent(name: string) {
    const file = join(this.dir, name, "index.js");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(
      file,
      `export default (pi) => pi.registerTool({ name: "subagent", label: "x", description: "x", parameters: { type: "object" },
         execute: async () => ({ content: [{ type: "text", text: "foreign answer" }], details: {} }) });`,
    );
    return file;
  }

  /** The requests the model has got: task, result, tools, headers, time. */
  requests(): any[] {
    const file = join(this.dir, "model.log");
    if (!existsSync(file)) return [];
    const entries = readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line));
    return entries.filter((entry) => entry.event === "request");
  }

  #spawn(args: string[], { env = {}, extensions = [] }: options) {
    const loaded = [...extensions, package_dir].flatMap((extension) => ["-e", extension]);
    const pi = spawn(join(bin, "pi"), ["-ne", ...loaded, "--no-session", ...args], {
      cwd: this.workspace,
      stdio: ["pipe", "pipe", "pipe"],
      env: {
        PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`, HOME: this.home, PI_OFFLINE: "1", PIORCH_PROGRAM: piorch_program,
        XDG_RUNTIME_DIR: join(this.dir, "run"), LANG: "C.UTF-8", ...env,
      },
    });
    this.#pis.add(pi);
    pi.on("close", () => this.#pis.delete(pi));
    return pi;
  }

  /** `pi -p` (or another mode) with one prompt, to its end. */
  async run(prompt: string, options: options = {}, mode: string[] = []) {
    const pi = this.#spawn([...mode, "-p", prompt], options);
    pi.stdin!.end();
    let stdout = "";
    let stderr = "";
    pi.stdout!.on("data", (bytes) => (stdout += bytes));
    pi.stderr!.on("data", (bytes) => (stderr += bytes));
    const [code] = await once(pi, "close");
    return { code, stdout: stdout.trim(), stderr: stderr.trim() };
  }

  /** Pi in rpc mode. */
  rpc(options: options = {}) {
    return new rpc_pi(this.#spawn(["--mode", "rpc"], options));
  }
}

export class rpc_pi {
  readonly events: rpc_event[] = [];
  readonly process: ChildProcess;
  #waiting = new Set<() => void>();

  constructor(pi: ChildProcess) {
    this.process = pi;
    createInterface({ input: pi.stdout! }).on("line", (line) => {
      this.events.push(JSON.parse(line));
      for (const look of this.#waiting) look();
    });
    pi.stderr!.resume();
  }

  send(message: object) {
    this.process.stdin!.write(`${JSON.stringify(message)}\n`);
  }

  /** The first event that fits, of those that came or will come. */
  event(fits: (event: rpc_event) => boolean): Promise<rpc_event> {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.events.find(fits);
        if (!found) return;
        this.#waiting.delete(look);
        resolve(found);
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** Runs a prompt to its end: the results of its tool calls, as text. */
  async prompt(message: string) {
    const from = this.events.length;
    this.send({ type: "prompt", message });
    await this.event((event) => event.type === "agent_settled" && this.events.indexOf(event) >= from);
    return this.events
      .slice(from)
      .filter((event) => event.type === "tool_execution_end")
      .map((event) => ({ text: event.result.content.map((part: any) => part.text).join(""), isError: event.isError, details: event.result.details }));
  }

  /** Ends it as its parent would, and waits for it. */
  async end() {
    const gone = this.process.exitCode === null ? once(this.process, "close") : undefined;
    this.process.stdin!.end();
    await gone;
  }
}
