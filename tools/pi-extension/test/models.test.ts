import assert from "node:assert/strict";
import { test } from "node:test";
import { name_of, resolve_model } from "../src/models.ts";

const models = [
  { provider: "anthropic", id: "opus" },
  { provider: "router", id: "anthropic/opus" },
  { provider: "router", id: "free:high" },
  { provider: "router", id: "twice" },
  { provider: "local", id: "twice" },
  { provider: "local", id: "thrice:v2" },
];
const resolved = (text: string) => {
  const { model, suffix } = resolve_model(text, models, current);
  return name_of(model) + suffix;
};
const current = { provider: "local", id: "thrice:v2" };

for (const [text, expected] of [
  ["anthropic/opus", "anthropic/opus"], // exactly, although it is also an id of router's
  ["router/anthropic/opus", "router/anthropic/opus"],
  ["opus", "anthropic/opus"],
  [" opus ", "anthropic/opus"],
  ["twice", "local/twice"], // the current provider's
  ["thrice:v2", "local/thrice:v2"],
  ["opus:high", "anthropic/opus:high"],
  ["free:high", "router/free:high"], // an id, not a thinking level
  ["free:high:low", "router/free:high:low"],
  ["router/free:high", "router/free:high"],
  ["anthropic/opus:off", "anthropic/opus:off"],
] as const) {
  test(`${text} is ${expected}`, () => assert.equal(resolved(text), expected));
}

for (const [text, reason] of [
  ["opux", /no model "opux"\. Use provider\/model, for example .*anthropic\/opus/],
  ["opus:hot", /no model "opus:hot"/],
  ["ANTHROPIC/OPUS", /no model/],
  ["", /no model ""/],
  [":high", /no model ":high"/],
] as const) {
  test(`"${text}" is refused`, () => assert.throws(() => resolve_model(text, models, current), reason));
}

test("a bare id that several providers have must be qualified", () => {
  const elsewhere = { provider: "anthropic", id: "opus" };
  assert.throws(() => resolve_model("twice", models, elsewhere), /Several providers have "twice".*router\/twice, local\/twice/);
  assert.throws(() => resolve_model("twice:low", models, elsewhere), /Several providers have "twice"/);
  assert.throws(() => resolve_model("x", [], undefined), /No model is configured/);
});
