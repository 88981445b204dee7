import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { sandbox_environment, worker_environment } from "../src/environment.ts";

test("every name under which Pi itself looks for a credential is withheld", () => {
  const source = new URL("../../../build/pi/node_modules/@earendil-works/pi-ai/dist/env-api-keys.js", import.meta.url);
  const names = new Set(readFileSync(source, "utf8").match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN|CREDENTIALS|TOKEN_FILE)\b/g));
  assert.ok(names.size > 30, `only ${names.size} names were found in Pi's source`);
  const passed = sandbox_environment(Object.fromEntries([...names].map((name) => [name, "x"])));
  assert.deepEqual(passed, {});
});

// tests/sandbox/credentials_test.cpp reads the same list.
test("other credentials and agents are withheld, ordinary variables are not", () => {
  const file = new URL("../../../tests/sandbox/credential_names.json", import.meta.url);
  const { withheld, passed } = JSON.parse(readFileSync(file, "utf8"));
  assert.deepEqual(sandbox_environment({ ...withheld, ...passed, GONE: undefined }), passed);
});

test("a name can be kept", () => {
  assert.deepEqual(sandbox_environment({ NPM_TOKEN: "x", OTHER_TOKEN: "y" }, (name) => name === "NPM_TOKEN"), { NPM_TOKEN: "x" });
});

test("a subagent gets the credentials of its model's provider, and no others", () => {
  const all = {
    OPENAI_API_KEY: "k1", COMPANY_LLM_KEY: "k2", GITHUB_TOKEN: "k3", AWS_SECRET_ACCESS_KEY: "k4", AWS_REGION: "r", LANG: "C", EMPTY_KEY: "",
  };
  const ordinary = { AWS_REGION: "r", LANG: "C" };
  assert.deepEqual(worker_environment(all, "openai", { apiKey: "k1" }), { ...ordinary, OPENAI_API_KEY: "k1" });
  // By whatever name, and where it is sent as a header.
  const headers = { authorization: "Bearer k2", "x-none": null, "x-empty": "" };
  assert.deepEqual(worker_environment(all, "company", { headers }), { ...ordinary, COMPANY_LLM_KEY: "k2" });
  assert.deepEqual(worker_environment(all, "amazon-bedrock", {}), { ...ordinary, AWS_SECRET_ACCESS_KEY: "k4" });
  assert.deepEqual(worker_environment(all, "local", { env: { PROJECT: "p" } }), { ...ordinary, PROJECT: "p" });
});
