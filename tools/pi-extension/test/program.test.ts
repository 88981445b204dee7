import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { find_program } from "../src/program.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "piorch-program-")));
after(() => rmSync(root, { recursive: true }));
function program(path: string) {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), "#!/bin/sh\n");
  chmodSync(join(root, path), 0o755);
  return join(root, path);
}
const outside = program("outside/piorch");
program("workspace/bin/piorch");
const workspace = join(root, "workspace");

test("the named one, links resolved", () => {
  symlinkSync(outside, join(root, "link"));
  assert.equal(find_program(workspace, { PIORCH_PROGRAM: join(root, "link") }), outside);
});
test("a relative name is refused", () => {
  assert.throws(() => find_program(workspace, { PIORCH_PROGRAM: "bin/piorch" }), /must be an absolute path/);
});
test("PATH never leads into the workspace, by whatever way", async () => {
  // Of a package that has no program beside it.
  const alone = join(root, "an/installed/package/src/program.ts");
  mkdirSync(join(alone, ".."), { recursive: true });
  copyFileSync(new URL("../src/program.ts", import.meta.url), alone);
  const { find_program } = (await import(alone)) as typeof import("../src/program.ts");

  // What lies in the workspace and leads out of it again: to a program that is no piorch, and to
  // a directory where somebody else has one. The latter two ways begin outside.
  mkdirSync(join(workspace, "links"));
  symlinkSync("/bin/sh", join(workspace, "links/piorch"));
  program("strangers/piorch");
  symlinkSync("../strangers", join(workspace, "elsewhere"));
  symlinkSync("workspace/bin", join(root, "sneaky"));
  symlinkSync("workspace/elsewhere", join(root, "around"));
  mkdirSync(join(root, "far"));
  symlinkSync("../workspace/links/piorch", join(root, "far/piorch"));
  const within = ["workspace/bin", "sneaky", "workspace/links", "workspace/elsewhere", "around", "far", "far/../workspace/links"];
  for (const dir of ["bin", ".", ...within.map((dir) => `${root}/${dir}`)])
    assert.equal(find_program(workspace, { PATH: `${dir}:${root}/outside` }), outside, dir);
  // A way outside is as long as it likes.
  symlinkSync("./outside/../outside", join(root, "other"));
  assert.equal(find_program(workspace, { PATH: join(root, "other") }), outside);
});
