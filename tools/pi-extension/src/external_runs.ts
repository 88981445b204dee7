// Shows workers of pi-subagents in that package's registries of external runs: display only,
// pi-subagents never controls such a run. Up to 0.49 a provider is asked (version 1), from 0.50
// on records are kept in a map (version 2); both are reached by their symbols, which hold for
// every copy of the package. A registry of another shape is left alone.

export interface worker {
  id: string;
  cwd: string;
  agent: string;
  run: string;
  parent?: string;
  pid: number;
  state: "running" | "completed" | "failed" | "stopped";
  startedAt: string;
  endedAt?: string;
  exitCode?: number;
  signal?: number;
  reason?: string;
  /** How many have come so far. */
  number: number;
}

const v1_key = Symbol.for("pi-subagents.external-runs.v1");
const v2_key = Symbol.for("pi-subagents.external-runs.v2");
const name = "piorch";
const rows_max = 20; // what a snapshot of version 2 shows
const v2_rows_max = 100; // of all sources together

const id_of = (worker: worker) => `${name}-${worker.id.slice(0, 16)}`;
const label_of = (worker: worker) => `${worker.agent || "worker"} (sandboxed)`.slice(0, 160);
const time = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text));
const defined = <T extends object>(record: T) =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));

export class external_runs {
  #session = "";
  #workers = new Map<string, worker>();
  #provider = { name, listExternalRuns: () => this.#list() };
  #ours = new Set<string>(); // keys in the map of version 2

  /** `session` is what pi-subagents asks with: the session's file, else its id. */
  open(session: string) {
    this.close();
    this.#session = session;
    const v1 = registry(v1_key, 1, "providers");
    if (v1 && !v1.has(name)) v1.set(name, this.#provider);
  }

  /** Takes out everything that is ours. */
  close() {
    const v1 = registry(v1_key, 1, "providers");
    if (v1?.get(name) === this.#provider) v1.delete(name);
    const v2 = registry(v2_key, 2, "runs");
    for (const key of this.#ours) v2?.delete(key);
    this.#ours.clear();
    this.#workers.clear();
    this.#session = "";
  }

  /** A worker has come or has ended. */
  show(worker: worker) {
    if (!this.#session || this.#session.length > 4096) return;
    this.#workers.delete(worker.id);
    this.#workers.set(worker.id, worker);
    this.#write_v2(worker);
    for (const [id, old] of this.#workers) {
      if (this.#workers.size <= rows_max) break;
      if (old.state === "running") continue;
      this.#workers.delete(id);
      this.#remove_v2(old);
    }
  }

  #list() {
    return [...this.#workers.values()].map((worker) =>
      defined({
        id: id_of(worker),
        sessionId: this.#session,
        source: name,
        state: worker.state,
        command: label_of(worker),
        cwd: worker.cwd,
        startedAt: time(worker.startedAt),
        completedAt: time(worker.endedAt),
        exitCode: worker.exitCode,
        completionReason: worker.state === "running" ? undefined : reason_of(worker),
      }),
    );
  }

  #key = (worker: worker) => `${this.#session}\0${id_of(worker)}`;

  #write_v2(worker: worker) {
    const v2 = registry(v2_key, 2, "runs");
    const key = this.#key(worker);
    if (!v2 || (!v2.has(key) && v2.size >= v2_rows_max) || (v2.has(key) && !this.#ours.has(key))) return;
    this.#ours.add(key);
    v2.set(
      key,
      defined({
        id: id_of(worker),
        sessionId: this.#session,
        source: name,
        label: label_of(worker),
        state: worker.state,
        startedAt: time(worker.startedAt),
        updatedAt: time(worker.endedAt ?? worker.startedAt),
        endedAt: time(worker.endedAt),
        preview: worker.reason?.slice(0, 160),
      }),
    );
  }

  #remove_v2(worker: worker) {
    const key = this.#key(worker);
    if (this.#ours.delete(key)) registry(v2_key, 2, "runs")?.delete(key);
  }
}

function reason_of(worker: worker) {
  if (worker.state === "stopped") return "user-kill";
  return worker.exitCode === undefined ? "crash" : "exit";
}

function registry(key: symbol, version: number, field: string): Map<string, unknown> | undefined {
  const target = globalThis as Record<PropertyKey, unknown>;
  target[key] ??= { version, [field]: new Map() };
  const found = target[key] as Record<string, unknown>;
  return found?.version === version && found[field] instanceof Map ? (found[field] as Map<string, unknown>) : undefined;
}
