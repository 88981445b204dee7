// A real Pi with the package loaded, a home of its own, and the scripted model.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { give_compiled, keep_compiled } from "./compiled.ts";
import { screen } from "./screen.ts";
import { world } from "./world.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const bin = join(root, "build/pi/bin");
const package_dir = join(root, "tools/pi-extension");
const usual_agent_dir = "home/.pi/agent";

export const piorch_program = process.env.PIORCH_TEST_PROGRAM ?? join(root, "build/bin/piorch");

export interface options {
  env?: Record<string, string>;
  /** Extensions loaded before the package, and after it. */
  extensions?: string[];
  later_extensions?: string[];
  /** The packages that were installed with `pi install`, and nothing named by the rig. */
  installed?: boolean;
  /** The words of a program that starts Pi. */
  within?: string[];
  /** Pi keeps its sessions in files, as it does for a person. */
  saved?: boolean;
}
export interface rpc_event {
  type: string;
  [key: string]: any;
}

export class pi_rig {
  readonly dir = realpathSync(mkdtempSync(join(tmpdir(), "piorch-pi-")));
  readonly home = join(this.dir, "home");
  readonly workspace = join(this.dir, "workspace");
  readonly agent_dir: string;
  readonly temp_dir = join(this.dir, "tmp");
  readonly runtime_dir = join(this.dir, "run");
  model_port = 0;
  #world: world | undefined;
  #model: ChildProcess | undefined;
  #pis = new Set<ChildProcess>();

  private constructor(agent_dir: string) {
    this.agent_dir = join(this.dir, agent_dir);
  }

  /**
   * @param agent_dir Pi's directory, relative to that of the rig
   * @param network a network of its own, with a web server at www.example.org
   * @param model_options for the scripted model
   */
  static async start({ agent_dir = usual_agent_dir, network = false, model_options = [] as string[] } = {}) {
    const rig = new pi_rig(agent_dir);
    for (const dir of [rig.home, rig.agent_dir, rig.workspace, rig.temp_dir, rig.runtime_dir]) mkdirSync(dir, { recursive: true, mode: 0o700 });
    give_compiled(rig.temp_dir);
    if (network) rig.#world = await world.start(rig.dir);
    const model_args = ["--agent-dir", rig.agent_dir, "--log", join(rig.dir, "model.log"), ...model_options];
    const [program, ...args] = rig.#words([join(bin, "node"), join(root, "tools/scripted-model/main.mjs"), ...model_args]);
    const model = spawn(program!, args, { stdio: ["pipe", "pipe", "inherit"] });
    rig.#model = model;
    const [line] = (await once(createInterface({ input: model.stdout! }), "line")) as [string];
    rig.model_port = Number(line);
    return rig;
  }

  async end() {
    for (const pi of this.#pis) pi.kill("SIGKILL");
    this.#model?.stdin?.end();
    await this.#world?.end();
    keep_compiled(this.temp_dir);
    // What has been killed may still be on its way out.
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }

  /** Replaces the trusted configuration, which lies in the home wherever else Pi has its directory. */
  configure(config: object | string) {
    const file = join(this.home, ".pi/agent/extensions/pi-sandbox/config.json");
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

  /** A named pipe in the workspace, to meet a sandboxed command at. */
  pipe(name: string) {
    const file = join(this.workspace, name);
    execFileSync("mkfifo", [file]);
    return {
      /** Resolves with what one writer wrote. */
      written: async () => {
        const reader = spawn("cat", [file], { stdio: ["ignore", "pipe", "inherit"] });
        let text = "";
        reader.stdout.on("data", (bytes) => (text += bytes));
        await once(reader, "close");
        return text.trim();
      },
      /** Waits for the one who reads. */
      write: (text: string) => execFileSync("sh", ["-c", 'printf %s "$1" > "$0"', file, text]),
    };
  }

  /** The requests the model has got: task, result, tools, headers, time. */
  requests(): any[] {
    const file = join(this.dir, "model.log");
    if (!existsSync(file)) return [];
    const entries = readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line));
    return entries.filter((entry) => entry.event === "request");
  }

  /** A command line, run in the network of the tests' own where there is one. */
  #words(words: string[]) {
    return [...(this.#world?.entry(this.workspace) ?? []), ...words];
  }

  #command(args: string[], { env = {}, extensions = [], later_extensions = [], installed = false, saved = false, within = [] }: options) {
    const loaded = [...extensions, package_dir, ...later_extensions].flatMap((extension) => ["-e", extension]);
    const packages = installed ? [] : ["-ne", ...loaded];
    return {
      words: this.#words([...within, join(bin, "pi"), ...packages, ...(saved ? [] : ["--no-session"]), ...args]),
      env: { ...this.#environment(), ...(installed ? {} : { PIORCH_PROGRAM: piorch_program }), ...env },
    };
  }

  #environment() {
    return {
      PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`, HOME: this.home, PI_OFFLINE: "1", XDG_RUNTIME_DIR: this.runtime_dir,
      TMPDIR: this.temp_dir, LANG: "C.UTF-8",
      ...(this.agent_dir === join(this.dir, usual_agent_dir) ? {} : { PI_CODING_AGENT_DIR: this.agent_dir }),
    };
  }

  #spawn(args: string[], options: options) {
    const { words: [program, ...rest], env } = this.#command(args, options);
    const pi = spawn(program!, rest, { cwd: this.workspace, stdio: ["pipe", "pipe", "pipe"], env });
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

  /** What `pi ARGS` prints: install, list, remove. */
  pi(...args: string[]) {
    return execFileSync(join(bin, "pi"), args, { cwd: this.workspace, encoding: "utf8", env: this.#environment() });
  }

  /** What `piorch ARGS` prints for a person at another terminal. */
  piorch(...args: string[]) {
    const [program, ...words] = this.#words([piorch_program, ...args]);
    return execFileSync(program!, words, { encoding: "utf8", env: this.#environment() });
  }

  /** Pi in rpc mode. */
  rpc(options: options = {}) {
    return new rpc_pi(this.#spawn(["--mode", "rpc"], options));
  }

  /** Pi on a terminal. */
  tui(options: options = {}) {
    const { words, env } = this.#command([], options);
    return screen.start(words, { ...env, TERM: "xterm-256color" }, this.workspace);
  }
}

/** The question that Pi's interface would show; the questions there were. */
export const question = (pi: rpc_pi) => pi.event(is_question);
export const questions = (pi: rpc_pi) => pi.events.filter(is_question);
const is_question = (event: rpc_event) => event.type === "extension_ui_request" && event.method === "select";
export const allow_once = "Allow this exact operation once";

/** Answers it as a person would: one of the options, or undefined to dismiss it. */
export function answer(pi: rpc_pi, asked: rpc_event, value: string | undefined) {
  pi.send({ type: "extension_ui_response", id: asked.id, ...(value === undefined ? { cancelled: true } : { value }) });
  return asked;
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
      .map((event) => ({ text: event.result.content.map((part: any) => part.text).join("") as string, isError: event.isError as boolean, details: event.result.details }));
  }

  /** Ends it as its parent would, and waits for it. */
  async end() {
    const gone = this.process.exitCode === null ? once(this.process, "close") : undefined;
    this.process.stdin!.end();
    await gone;
  }
}
