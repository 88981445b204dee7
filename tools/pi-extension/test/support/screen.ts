// A terminal that a test looks at and types into: tmux in control mode, which tells when
// something was drawn, so that nobody has to look again and again.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** A server of our own. */
const server = ["-L", `piorch-test-${process.pid}`, "-f", "/dev/null"];
const columns = 140;
const rows = 50;

export class screen {
  readonly #tmux: ChildProcess;
  /** What the last look showed. */
  text = "";
  #looking = false;
  #drawn = false;
  #block: string[] | undefined;
  #waiting = new Set<() => void>();
  readonly ended: Promise<void>;

  private constructor(tmux: ChildProcess) {
    this.#tmux = tmux;
    this.ended = new Promise((resolve) => tmux.on("close", () => resolve()));
    createInterface({ input: tmux.stdout! }).on("line", (line) => this.#take(line));
  }

  static start(words: string[], env: Record<string, string>, cwd: string) {
    const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    const args = [...server, "-C", "new-session", "-x", `${columns}`, "-y", `${rows}`, `exec ${quoted}`];
    const tmux = spawn("tmux", args, { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
    const self = new screen(tmux);
    self.#say(`refresh-client -C ${columns}x${rows}`);
    return self;
  }

  /** The process in it. */
  get pid() {
    return Number(execFileSync("tmux", [...server, "display-message", "-p", "#{pane_pid}"]));
  }

  type(text: string) {
    this.#say(`send-keys -l '${text.replaceAll("'", "'\\''")}'`);
  }
  /** As tmux names it: Enter, Down, C-c … */
  key(name: string) {
    this.#say(`send-keys ${name}`);
  }
  enter(text: string) {
    this.type(text);
    this.key("Enter");
  }

  /** Resolves with the text once it fits. */
  shows(what: RegExp): Promise<string> {
    return new Promise((resolve) => {
      const look = () => {
        if (!what.test(this.text)) return;
        this.#waiting.delete(look);
        resolve(this.text);
      };
      this.#waiting.add(look);
      look();
    });
  }

  end() {
    this.#say("kill-server");
    return this.ended;
  }

  #say(command: string) {
    this.#tmux.stdin!.write(`${command}\n`);
  }

  #look() {
    if (this.#looking) return void (this.#drawn = true);
    this.#looking = true;
    this.#say("capture-pane -p");
  }

  // %output tells of drawing; what a command prints comes between %begin and %end.
  #take(line: string) {
    if (line.startsWith("%begin")) this.#block = [];
    else if (/^%(?:end|error)/.test(line)) {
      const block = this.#block ?? [];
      this.#block = undefined;
      if (!this.#looking || block.length < rows) return;
      this.#looking = false;
      this.text = block.join("\n");
      for (const look of [...this.#waiting]) look();
      if (this.#drawn) {
        this.#drawn = false;
        this.#look();
      }
    } else if (this.#block) this.#block.push(line);
    else if (line.startsWith("%output")) this.#look();
  }
}
