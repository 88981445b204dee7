// A network of the tests' own: this machine's loopback and one web server at
// www.example.org, and nothing else. Nothing leaves the machine.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** What an ordinary user needs to make and enter namespaces. */
const as_root = process.getuid!() === 0 ? [] : ["--map-root-user"];
const enter_as_root = process.getuid!() === 0 ? [] : ["--user", "--preserve-credentials"];

const web = `require("node:http").createServer((_, answer) => answer.end("the page\\n")).listen(80, () => console.log("up"))`;
const script = `set -eu
ip link set lo up
mkfifo "$1/web"
unshare --net "$2" -e '${web}' > "$1/web" &
read -r _ < "$1/web"
ip link add here type veth peer name there
ip link set there netns $!
ip addr add 192.0.2.1/24 dev here
ip link set here up
nsenter --net --target $! ip addr add 192.0.2.80/24 dev there
nsenter --net --target $! ip link set there up
echo 192.0.2.80 www.example.org > "$1/hosts"
mount --bind "$1/hosts" /etc/hosts
echo ready
read -r _ || kill $!`;

export class world {
  readonly #holder: ChildProcess;

  private constructor(holder: ChildProcess) {
    this.#holder = holder;
  }

  /** @param dir for its files; must exist */
  static async start(dir: string) {
    const holder = spawn("unshare", [...as_root, "--net", "--mount", "sh", "-c", script, "sh", dir, process.execPath], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const [line] = await Promise.race([once(createInterface({ input: holder.stdout! }), "line"), once(holder, "exit")]);
    if (line !== "ready") throw new Error("no network namespace could be made");
    return new world(holder);
  }

  /** The words that start a program in it, in the directory `cwd`; it keeps the process id. */
  entry(cwd: string) {
    const target = String(this.#holder.pid);
    return ["nsenter", ...enter_as_root, "--net", "--mount", "--target", target, "sh", "-c", 'cd "$0" && exec "$@"', cwd];
  }

  async end() {
    const gone = once(this.#holder, "exit");
    this.#holder.stdin!.end();
    await gone;
  }
}
