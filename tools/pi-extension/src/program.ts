// Where the piorch program is. Never looked for in a place that a sandboxed command can
// write: not in the workspace, and not relative to it.
import { accessSync, constants, realpathSync } from "node:fs";
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
    if (named === undefined && !beside.includes(candidate) && is_inside(path, workspace)) continue;
    return path;
  }
  throw new Error(
    named !== undefined
      ? `PIORCH_PROGRAM names no program: ${named}`
      : "the program piorch was not found beside this package or on PATH; build it with tools/quickstart, " +
          "or name it in PIORCH_PROGRAM",
  );
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
