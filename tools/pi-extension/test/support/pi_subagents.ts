// The versions of pi-subagents that tools/ci/pi-subagents-install has put into build/.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const versions = ["0.43.0", "0.44.0", "0.49.0"];
/** Whose workers are no processes. */
export const too_new = "0.67.0";

export function pi_subagents(version: string) {
  const path = fileURLToPath(new URL(`../../../../build/pi-subagents/node_modules/pi-subagents-${version}`, import.meta.url));
  if (!existsSync(path)) throw new Error("pi-subagents is not installed: tools/ci/pi-subagents-install build/pi-subagents");
  return path;
}

/** A module of the package, by the loader that Pi has. */
export async function module_of(version: string, file: string): Promise<any> {
  const { createJiti } = await import(`${pi_subagents(version)}/../jiti/lib/jiti.mjs`);
  return createJiti(import.meta.url, { fsCache: false }).import(`${pi_subagents(version)}/${file}`);
}
