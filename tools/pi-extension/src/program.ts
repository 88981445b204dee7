// Where the piorch program is. Never looked for in a place that a sandboxed command can
// write: not in the workspace, and not relative to it.
import { accessSync, constants, readlinkSync, realpathSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/** Beside the package: in an installation's share/piorch, and in a source tree. */
const beside = ["../../../../bin/piorch", "../../../build/bin/piorch"].map((path) => join(here, path));

function is_inside(path: string, dir: string) {
  const way = relative(dir, path);
  return way === "" || (way !== ".." && !way.startsWith("../") && !isAbsolute(way));
}

/**
 * The absolute path of the program, symbolic links resolved.
 * @throws Error that says where it was looked for and what to do
 */
export function find_program(cwd: string, environment: NodeJS.ProcessEnv = process.env): string {
  const named = environment.PIORCH_PROGRAM;
  if (named !== undefined && !isAbsolute(named))
    throw new Error(`PIORCH_PROGRAM must be an absolute path, and is "${named}"`);
  const on_path = (environment.PATH ?? "").split(delimiter).filter(isAbsolute);
  const candidates = named !== undefined ? [named] : [...beside, ...on_path.map((dir) => join(dir, "piorch"))];
  const workspace = realpath(cwd) ?? cwd;
  for (const candidate of candidates) {
    const path = realpath(candidate);
    if (path === undefined) continue;
    // A checkout of piorch that is itself the workspace is protected by the sandbox's
    // policy ("the installed piorch"); a stranger on PATH is not.
    const chosen = named !== undefined || beside.includes(candidate);
    if (!chosen && [...places_to(candidate)].some((place) => is_inside(place, workspace))) continue;
    return path;
  }
  throw new Error(
    named !== undefined
      ? `PIORCH_PROGRAM names no program: ${named}`
      : "the program piorch was not found beside this package or on PATH; build it with tools/quickstart, " +
          "or name it in PIORCH_PROGRAM",
  );
}

/** Every place on the way to what `path` is: a link in the workspace may lead out of it again. */
function* places_to(path: string): Generator<string> {
  const names = path.split("/");
  for (let at = "/", links = 40; names.length > 0; ) {
    const name = names.shift()!;
    const next = join(at, name);
    yield next;
    const target = name === ".." ? undefined : link_target(next);
    at = target === undefined ? next : target.startsWith("/") ? "/" : at;
    if (target !== undefined && links-- > 0) names.unshift(...target.split("/"));
  }
}

function link_target(path: string) {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // no link
  }
}

function realpath(path: string): string | undefined {
  try {
    const real = realpathSync(path);
    accessSync(real, constants.X_OK);
    return real;
  } catch {
    return undefined;
  }
}
