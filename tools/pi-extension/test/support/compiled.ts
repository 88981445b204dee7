// What Pi has compiled of its extensions, kept from one test to the next: else each of them
// would compile pi-subagents anew, which takes longer than what is tested. Both caches check
// what they find against what it was made of.
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const kept = fileURLToPath(new URL("../../../../build/extension-compiled", import.meta.url));
const caches = ["jiti", "node-compile-cache"];

/** Into the directory for temporary files of a Pi that has not started. */
export function give_compiled(temp_dir: string) {
  for (const cache of caches)
    if (existsSync(join(kept, cache))) cpSync(join(kept, cache), join(temp_dir, cache), { recursive: true });
}

/** Of a Pi that has ended. Tests run side by side: a file is there as a whole, or not. */
export function keep_compiled(temp_dir: string) {
  for (const cache of caches.filter((name) => existsSync(join(temp_dir, name))))
    for (const entry of readdirSync(join(temp_dir, cache), { recursive: true, withFileTypes: true })) {
      const from = join(entry.parentPath, entry.name);
      const to = join(kept, from.slice(temp_dir.length));
      if (!entry.isFile() || existsSync(to)) continue;
      mkdirSync(dirname(to), { recursive: true });
      const half = join(kept, `${process.pid}`); // beside the caches
      copyFileSync(from, half);
      renameSync(half, to);
    }
}
