/** Lists what differs between two catalogues as they are written, for pages, the API and commands alike. */
import { isJsonObject, type Json, type JsonObject } from "../lib/json/json.ts";

// Single changes to a catalogue as it is written: what a form of the operator's pages stands for.

/** One change. An entry replaces the one of its name, or is added; without an entry, that one is removed. */
export type CatalogEdit =
  | { readonly edit: "model"; readonly id: string; readonly entry: JsonObject | null }
  | { readonly edit: "provider"; readonly name: string; readonly entry: JsonObject | null }
  /** Everything besides models and providers. */
  | { readonly edit: "settings"; readonly entry: JsonObject }
  | { readonly edit: "whole"; readonly entry: JsonObject };

function withModel(catalog: JsonObject, id: string, entry: JsonObject | null): JsonObject {
  const models = Array.isArray(catalog["models"]) ? catalog["models"] : [];
  const at = models.findIndex((model) => isJsonObject(model) && model["id"] === id);
  const changed = [...models];
  if (entry === null) {
    if (at >= 0) changed.splice(at, 1);
  } else if (at >= 0) changed[at] = entry;
  else changed.push(entry);
  return { ...catalog, models: changed };
}

function withProvider(catalog: JsonObject, name: string, entry: JsonObject | null): JsonObject {
  const { providers: written } = catalog;
  const providers = written !== undefined && isJsonObject(written) ? written : {};
  // A changed one keeps its place among the others.
  if (entry !== null) return { ...catalog, providers: { ...providers, [name]: entry } };
  const { [name]: _, ...others } = providers;
  return { ...catalog, providers: others };
}

/**
 * Returns the changed catalogue. It is not validated.
 *
 * @example
 * ```ts
 * import { editedCatalog } from "./diff.ts";
 * const before = { models: [{ id: "m" }], providers: { a: {} } };
 * const after = editedCatalog(before, { edit: "model", id: "m", entry: null });
 * if (JSON.stringify(after) !== '{"models":[],"providers":{"a":{}}}') throw new Error("it is there");
 * ```
 */
export function editedCatalog(catalog: JsonObject, change: CatalogEdit): JsonObject {
  switch (change.edit) {
    case "model":
      return withModel(catalog, change.id, change.entry);
    case "provider":
      return withProvider(catalog, change.name, change.entry);
    case "settings": {
      const { models = [], providers = {} } = catalog;
      return { ...change.entry, providers, models };
    }
    case "whole":
      return change.entry;
  }
}

/** Part that a change is about: an entry of the catalogue, or one of its settings. */
export type ChangedPart =
  | { readonly part: "settings" }
  | { readonly part: "provider"; readonly name: string }
  | { readonly part: "model"; readonly name: string };

/** One difference. Values are JSON, or absent where there is none. */
export type CatalogChange = ChangedPart & {
  readonly kind: "added" | "removed" | "changed";
  /** The changed member, such as `price.vndPerMtok` or `routes.vendor/m.weight`; empty for a whole entry. */
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
};

/** The lists whose entries have names, and how an entry is called. */
const namedLists: Readonly<Record<string, (entry: JsonObject, model: JsonObject) => string>> = {
  routes: ({ provider, model, style }, { id }) => {
    const styles = style === undefined ? "" : `#${[style].flat().join("+")}`;
    return `${String(provider)}/${String(model ?? id)}${styles}`;
  },
  // Steps of a price by length, so that each has its change, and its per cent of it.
  "price.tiers": ({ fromSeconds, toSeconds }) => `${String(fromSeconds)}-${String(toSeconds)}`,
};

function objectOf(value: Json | undefined): JsonObject {
  return value !== undefined && isJsonObject(value) ? value : {};
}

/** The entries of a list by name; `undefined` if they have no names, or two have the same. */
function byName(
  list: Json | undefined,
  nameOf: (entry: JsonObject) => string,
): ReadonlyMap<string, JsonObject> | undefined {
  if (!Array.isArray(list)) return undefined;
  const named = new Map<string, JsonObject>();
  for (const entry of list) {
    if (!isJsonObject(entry)) return undefined;
    named.set(nameOf(entry), entry);
  }
  return named.size === list.length ? named : undefined;
}

/** Members that are written in another order are the same. */
function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((entry, i) => isSame(entry, other[i]));
  }
  if (one === undefined || other === undefined || !isJsonObject(one) || !isJsonObject(other)) {
    return false;
  }
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => isSame(one[name], other[name]));
}

type Step = Pick<CatalogChange, "kind" | "path" | "before" | "after">;

function step(path: string, before: Json | undefined, after: Json | undefined): Step {
  const kind = before === undefined ? "added" : after === undefined ? "removed" : "changed";
  return {
    kind,
    path,
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
  };
}

/** Compares member by member; lists without names are compared as a whole. */
function compare(
  before: Json | undefined,
  after: Json | undefined,
  path: string,
  model: JsonObject,
): Step[] {
  if (isSame(before, after)) return [];
  const join = (name: string) => path === "" ? name : `${path}.${name}`;
  const nameOf = namedLists[path];
  if (nameOf !== undefined) {
    const one = byName(before, (entry) => nameOf(entry, model));
    const other = byName(after, (entry) => nameOf(entry, model));
    if (one !== undefined && other !== undefined) {
      const names = new Set([...one.keys(), ...other.keys()]);
      const steps = [...names].flatMap((name) =>
        compare(one.get(name), other.get(name), join(name), model)
      );
      // The same entries in another order.
      return steps.length > 0 ? steps : [step(path, before, after)];
    }
  }
  if (
    before === undefined || after === undefined || !isJsonObject(before) || !isJsonObject(after)
  ) {
    return [step(path, before, after)];
  }
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => compare(before[name], after[name], join(name), model));
}

function compareEntries(
  part: "provider" | "model",
  before: ReadonlyMap<string, JsonObject>,
  after: ReadonlyMap<string, JsonObject>,
): CatalogChange[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].flatMap((name) => {
    const model = after.get(name) ?? {};
    return compare(before.get(name), after.get(name), "", model)
      .map((found): CatalogChange => ({ part, name, ...found }));
  });
}

function modelsOf({ models }: JsonObject): ReadonlyMap<string, JsonObject> {
  return byName(models, ({ id }) => String(id)) ?? new Map();
}

function providersOf({ providers }: JsonObject): ReadonlyMap<string, JsonObject> {
  return new Map(
    Object.entries(objectOf(providers)).map(([name, entry]) => [name, objectOf(entry)]),
  );
}

function settingsOf({ models: _, providers: __, $schema: ___, ...settings }: JsonObject) {
  return settings;
}

/**
 * Compares two catalogues: first the settings, then providers, then models in the order of the file.
 *
 * @example
 * ```ts
 * import { catalogChanges } from "./diff.ts";
 * const at = (vnd: number) => ({ models: [{ id: "m", price: { unit: "request", vnd } }] });
 * const [change, ...others] = catalogChanges(at(5), at(7));
 * if (change?.path !== "price.vnd" || change.before !== 5 || change.after !== 7) throw new Error();
 * if (others.length > 0) throw new Error("more than the price");
 * ```
 */
export function catalogChanges(before: JsonObject, after: JsonObject): CatalogChange[] {
  const changes = [
    ...compare(settingsOf(before), settingsOf(after), "", {})
      .map((found): CatalogChange => ({ part: "settings", ...found })),
    ...compareEntries("provider", providersOf(before), providersOf(after)),
    ...compareEntries("model", modelsOf(before), modelsOf(after)),
  ];
  return changes;
}

/** Most characters of a value in a line. */
const maxValueChars = 200;

/** A value as it is shown: texts and numbers as they are, the rest as JSON. */
export function shownValue(value: Json | undefined): string {
  if (value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > maxValueChars ? `${text.slice(0, maxValueChars)}…` : text;
}

/** A change in one line of plain text, for terminals and programs. */
export function changeLine(change: CatalogChange): string {
  const what = change.part === "settings" ? "settings" : `${change.part} ${change.name}`;
  const place = change.path === "" ? what : `${what} ${change.path}`;
  switch (change.kind) {
    case "added":
      return `+ ${place}: ${shownValue(change.after)}`;
    case "removed":
      return `- ${place}: ${shownValue(change.before)}`;
    case "changed":
      return `~ ${place}: ${shownValue(change.before)} → ${shownValue(change.after)}`;
  }
}
