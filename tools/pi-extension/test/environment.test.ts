import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { sandbox_environment } from "../src/environment.ts";

test("every name under which Pi itself looks for a credential is withheld", () => {
  const source = new URL("../../../build/pi/node_modules/@earendil-works/pi-ai/dist/env-api-keys.js", import.meta.url);
  const names = new Set(readFileSync(source, "utf8").match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN|CREDENTIALS|TOKEN_FILE)\b/g));
  assert.ok(names.size > 30, `only ${names.size} names were found in Pi's source`);
  const passed = sandbox_environment(Object.fromEntries([...names].map((name) => [name, "x"])), []);
  assert.deepEqual(passed, {});
});

test("other credentials and agents are withheld, ordinary variables are not", () => {
  const secret = {
    AWS_SECRET_ACCESS_KEY: "x", AWS_BEARER_TOKEN_BEDROCK: "x", GITHUB_PAT: "x", DB_PASSWORD: "x", npm_config__authToken: "x",
    SSH_AUTH_SOCK: "/run/agent", DBUS_SESSION_BUS_ADDRESS: "unix:path=/run/bus", KUBECONFIG: "/k", PGPASSFILE: "/p",
    SOME_URL: "https://user:pass@example.org/", BASH_ENV: "/tmp/x", "BASH_FUNC_ls%%": "() { evil; }", PIORCH_PROGRAM: "/x",
  };
  const ordinary = {
    PATH: "/bin", HOME: "/home/me", LANG: "C.UTF-8", PWD: "/w", OLDPWD: "/", TERM: "xterm", EDITOR: "vi", CI: "true",
    KEYBOARD: "de", TOKENIZERS_PARALLELISM: "false", PI_SESSION_ID: "1", MY_URL: "https://example.org/a:b@c", CFLAGS: "-O2",
  };
  assert.deepEqual(sandbox_environment({ ...secret, ...ordinary, GONE: undefined }, []), ordinary);
});

test("a name can be kept", () => {
  assert.deepEqual(sandbox_environment({ NPM_TOKEN: "x", OTHER_TOKEN: "y" }, ["NPM_TOKEN"]), { NPM_TOKEN: "x" });
});
