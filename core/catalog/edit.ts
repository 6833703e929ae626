/** Single changes to a catalogue as it is written: what a form of the operator's pages stands for. */
import { isJsonObject, type JsonObject } from "../lib/json/json.ts";

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
 * import { editedCatalog } from "./edit.ts";
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
