// JSON-RPC 2.0, one message a line, over two byte streams. Both sides may ask. Knows
// nothing of what is asked.
import type { Readable, Writable } from "node:stream";

/** As in docs/protocol.md; a line beyond it ends the connection. */
const line_limit_bytes = 16 * 1024 * 1024;

/** The other side answered with an error. */
export class rpc_error extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

type json = Record<string, unknown>;
type waiter = { resolve: (result: never) => void; reject: (error: Error) => void };
export type request_handler = (params: json) => Promise<unknown>;
export type notification_handler = (params: json) => void;

export class rpc_peer {
  readonly requests = new Map<string, request_handler>();
  readonly notifications = new Map<string, notification_handler>();
  #output: Writable;
  #pending = new Map<number, waiter>();
  #next_id = 1;
  #parts: Buffer[] = [];
  #part_bytes = 0;
  #closed: Error | undefined;
  #on_close: (why: Error) => void;

  /** @param on_close called once, after everybody who waits was told */
  constructor(input: Readable, output: Writable, on_close: (why: Error) => void) {
    this.#output = output;
    this.#on_close = on_close;
    input.on("data", (bytes: Buffer) => this.#take(bytes));
    input.on("error", (error) => this.close(error));
    // A peer that has gone shows at the input's end, with a better reason.
    output.on("error", () => {});
  }

  /** Asks, and resolves with the result or rejects with an rpc_error. */
  call<Result>(method: string, params: object): Promise<Result> {
    if (this.#closed) return Promise.reject(this.#closed);
    const id = this.#next_id++;
    return new Promise<Result>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#write({ jsonrpc: "2.0", id, method, params });
    });
  }

  /** Ends the conversation; whoever waits for an answer gets `why`. */
  close(why: Error) {
    if (this.#closed) return;
    this.#closed = why;
    for (const waiter of this.#pending.values()) waiter.reject(why);
    this.#pending.clear();
    this.#on_close(why);
  }

  #write(message: object) {
    if (!this.#closed) this.#output.write(`${JSON.stringify(message)}\n`);
  }

  #take(bytes: Buffer) {
    for (let from = 0; !this.#closed; ) {
      const end = bytes.indexOf(10, from);
      const part = bytes.subarray(from, end < 0 ? undefined : end);
      this.#parts.push(part);
      this.#part_bytes += part.length;
      if (this.#part_bytes > line_limit_bytes)
        return this.close(new Error("piorch sent a line of more than 16 MiB"));
      if (end < 0) return;
      const line = this.#parts.length === 1 ? part : Buffer.concat(this.#parts);
      this.#parts = [];
      this.#part_bytes = 0;
      from = end + 1;
      this.#receive(line.toString("utf8"));
    }
  }

  #receive(line: string) {
    let message: json;
    try {
      message = JSON.parse(line);
    } catch {
      return this.close(new Error(`piorch sent a line that is not JSON: ${line.slice(0, 80)}`));
    }
    if (typeof message !== "object" || message === null || Array.isArray(message))
      return this.close(new Error("piorch sent a line that is no message"));
    const params = (message.params ?? {}) as json;
    if (typeof message.method !== "string") this.#settle(message);
    else if (message.id === undefined) this.notifications.get(message.method)?.(params);
    else void this.#answer(message.id, message.method, params);
  }

  #settle(message: json) {
    const waiter = this.#pending.get(message.id as number);
    if (!waiter) return;
    this.#pending.delete(message.id as number);
    const error = message.error as { code?: number; message?: string; data?: unknown } | undefined;
    if (error) waiter.reject(new rpc_error(error.code ?? 0, error.message ?? "failed", error.data));
    else waiter.resolve(message.result as never);
  }

  async #answer(id: unknown, method: string, params: json) {
    const handler = this.requests.get(method);
    if (!handler) {
      const error = { code: -32601, message: `no such method: ${method}` };
      return this.#write({ jsonrpc: "2.0", id, error });
    }
    try {
      this.#write({ jsonrpc: "2.0", id, result: await handler(params) });
    } catch (thrown) {
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      this.#write({ jsonrpc: "2.0", id, error: { code: -32603, message } });
    }
  }
}
