import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
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
test("PATH never leads into the workspace, by whatever way", () => {
  symlinkSync(join(workspace, "bin"), join(root, "sneaky"));
  const path = ["bin", ".", join(workspace, "bin"), join(root, "sneaky"), join(root, "outside")].join(":");
  const found = find_program(workspace, { PATH: path });
  assert.ok(!found.startsWith(workspace), found);
});
