// The one `piorch serve --stdio` of this Pi: started when it is first needed, started anew
// when it was lost, ended with the Pi session. While it cannot be had every call is
// refused with the reason; nothing ever runs on the host instead.
import { spawn, type ChildProcess } from "node:child_process";
import { find_program } from "./program.ts";
import { rpc_peer, type notification_handler, type request_handler } from "./rpc.ts";
import { version } from "./version.ts";

const start_limit_ms = 15_000;
/** Time for `shutdown`, then for the end of the input, before the process is killed. */
const end_limit_ms = 2_000;

export interface server_info {
  protocolVersion: number;
  server: { name: string; version: string; pid: number };
  limits: { maxLiveSessions: number; maxDepth: number };
  sandbox: { platform: string; available: boolean; reason?: string };
}

export interface connection {
  readonly info: server_info;
  call<Result>(method: string, params: object): Promise<Result>;
}

interface running {
  child: ChildProcess;
  peer: rpc_peer;
  exited: Promise<void>;
  ready: Promise<connection>;
}

export class orchestrator {
  /** Handlers of what the server asks and tells; set before the first connect(). */
  readonly requests = new Map<string, request_handler>();
  readonly notifications = new Map<string, notification_handler>();
  #cwd: string;
  #running: running | undefined;
  #ended = false;

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** @throws Error why there is none, with the remedy */
  connect(): Promise<connection> {
    if (this.#ended) return Promise.reject(new Error("piorch has ended with its Pi session"));
    try {
      this.#running ??= this.#start();
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#running.ready;
  }

  /** Ends everything that runs; returns when the process is gone. */
  async end() {
    this.#ended = true;
    const running = this.#running;
    if (!running) return;
    await within(end_limit_ms, running.peer.call("shutdown", {}).catch(() => {}));
    running.child.stdin?.end();
    if ((await within(end_limit_ms, running.exited)) === "late") {
      running.child.kill("SIGKILL");
      await running.exited;
    }
  }

  #start(): running {
    const program = find_program(this.#cwd);
    // Its directory is no workspace, so that none is kept busy or read by accident.
    const child = spawn(program, ["serve", "--stdio"], { cwd: "/", stdio: ["pipe", "pipe", "pipe"] });
    let last_words = "";
    child.stderr.on("data", (bytes: Buffer) => {
      last_words = (last_words + bytes.toString("utf8")).slice(-4096);
    });
    const peer = new rpc_peer(child.stdout, child.stdin, () => {
      if (this.#running === running) this.#running = undefined;
      child.kill("SIGKILL"); // it is of no use any more
    });
    for (const [method, handler] of this.requests) peer.requests.set(method, handler);
    for (const [method, handler] of this.notifications) peer.notifications.set(method, handler);

    const exited = new Promise<void>((resolve) => {
      child.on("error", (error) => {
        peer.close(new Error(`piorch could not be started: ${error.message}`));
        resolve();
      });
      child.on("close", (code, signal) => {
        const last_line = last_words.trim().split("\n").at(-1);
        const how = signal ? `was ended by ${signal}` : `ended with status ${code}`;
        peer.close(new Error(`piorch serve ${how}${last_line ? `: ${last_line}` : ""}`));
        resolve();
      });
    });
    const running: running = { child, peer, exited, ready: this.#initialize(peer) };
    running.ready.catch((error) => peer.close(error));
    return running;
  }

  async #initialize(peer: rpc_peer): Promise<connection> {
    const info = await within(
      start_limit_ms,
      peer.call<server_info>("initialize", {
        protocolVersion: 1,
        client: { name: "pi-extension", version },
        capabilities: { approvals: true },
      }),
    );
    if (info === "late") throw new Error(`piorch serve did not answer within ${start_limit_ms / 1000} s`);
    if (info.protocolVersion !== 1)
      throw new Error(`this package speaks version 1 of piorch's protocol, and piorch ${info.protocolVersion}; update both`);
    return { info, call: (method, params) => peer.call(method, params) };
  }
}

async function within<Value>(ms: number, promise: Promise<Value>): Promise<Value | "late"> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => (timer = setTimeout(resolve, ms, "late")));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
