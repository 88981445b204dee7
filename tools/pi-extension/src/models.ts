// Which model a subagent gets, decided before anything is started.

/** What is needed of Pi's Model. */
export interface known_model {
  provider: string;
  id: string;
}

const thinking_levels = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

export interface choice<Model extends known_model> {
  model: Model;
  /** Of a thinking level, or "". */
  suffix: string;
}

/**
 * The model that a reference means, and its `:thinking` suffix. An exact `provider/id` comes first (ids may contain slashes and colons), then a
 * bare id of the current provider, then a bare id that only one provider has.
 * @throws Error that says what would be accepted
 */
export function resolve_model<Model extends known_model>(
  reference: string,
  models: readonly Model[],
  current: known_model | undefined,
): choice<Model> {
  const text = reference.trim();
  const colon = text.lastIndexOf(":");
  const suffix = colon < 0 ? "" : text.slice(colon);
  const whole = find(text, models, current);
  if (whole.length === 1) return { model: whole[0]!, suffix: "" };
  if (whole.length === 0 && thinking_levels.includes(suffix.slice(1))) {
    const base = find(text.slice(0, colon), models, current);
    if (base.length === 1) return { model: base[0]!, suffix };
    if (base.length > 1) throw ambiguous(text.slice(0, colon), base);
  }
  if (whole.length > 1) throw ambiguous(text, whole);
  throw new Error(`There is no model "${text}". ${available(text, models)}`);
}

export const name_of = (model: known_model) => `${model.provider}/${model.id}`;

function find<Model extends known_model>(text: string, models: readonly Model[], current: known_model | undefined) {
  const exact = models.filter((model) => name_of(model) === text);
  if (exact.length > 0) return exact.slice(0, 1);
  const bare = models.filter((model) => model.id === text);
  const own = bare.filter((model) => model.provider === current?.provider);
  return own.length > 0 ? own.slice(0, 1) : bare;
}

function ambiguous(text: string, found: known_model[]) {
  return new Error(`Several providers have "${text}": say which, as one of ${found.map(name_of).join(", ")}.`);
}

/** At most ten names, the similar ones first. */
function available(text: string, models: readonly known_model[]) {
  if (models.length === 0) return "No model is configured (no provider has credentials).";
  const wanted = text.toLowerCase().split(/[/:]/).filter(Boolean);
  const likeness = (name: string) => wanted.filter((word) => name.toLowerCase().includes(word)).length;
  const names = models.map(name_of).sort((a, b) => likeness(b) - likeness(a));
  const more = names.length > 10 ? ` and ${names.length - 10} more` : "";
  return `Use provider/model, for example ${names.slice(0, 10).join(", ")}${more}; or leave it out.`;
}
