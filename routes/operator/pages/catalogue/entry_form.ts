/** Turns the fields of forms into entries of the catalogue. What a form has no field for stays as it was. */
import { ambiguousNumbers } from "../../../../core/billing/money/read_amount.ts";
import type { CatalogEdit } from "../../../../core/catalog/diff.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import type { PostedForm } from "../../../dashboard/page/form_data.ts";
import { commaList, objectOf, put, readShape, whole } from "./fields/reading.ts";
import { modelShape, settingsShape } from "./fields/shapes.ts";
import { withKeySource } from "./key_source.tsx";

/** The field of a model's form with the entry that it was shown with, as JSON: what the fields are about. */
export const shownField = "shown";

function modelOf(form: PostedForm, before: JsonObject): JsonObject {
  return objectOf(readShape(form, "", modelShape, before));
}

function providerOf(form: PostedForm, before: JsonObject): JsonObject {
  const kind = form.text("kind");
  const currency = form.all("currency").length === 0 ? before["currency"] : form.text("currency");
  if (kind === "sandbox") return put({ ...before, kind }, "currency", currency);
  const keys = commaList(form.text("apiKeyEnv"));
  let entry = put(before, "kind", before["kind"] === undefined ? undefined : kind);
  entry = put(entry, "preset", form.text("preset"));
  entry = put(entry, "baseUrl", form.text("baseUrl"));
  entry = put(entry, "region", form.text("region"));
  entry = put(entry, "currency", currency);
  return withKeySource(form, entry, keys.length > 1 ? keys : keys[0]);
}

function settingsOf(form: PostedForm, before: JsonObject): JsonObject {
  const shown = objectOf(readShape(form, "", settingsShape, before));
  const entry = put(shown, "listRate", form.text("listRate") && whole(form.text("listRate")));
  const named = put(entry, "defaultModel", form.text("defaultModel"));
  return put(named, "webSearchModel", form.text("webSearchModel"));
}

/** Everything of a catalogue besides models and providers. */
export function settingsEntry({ models: _, providers: __, ...settings }: JsonObject): JsonObject {
  return settings;
}

/** The entry of a model; `undefined` if there is none. */
export function modelEntry({ models }: JsonObject, id: string): JsonObject | undefined {
  const list = Array.isArray(models) ? models.filter((model) => isJsonObject(model)) : [];
  return list.find((model) => model["id"] === id);
}

/** The entries of all providers by name. */
export function providerEntries({ providers }: JsonObject): [string, JsonObject][] {
  if (providers === undefined || !isJsonObject(providers)) return [];
  return Object.entries(providers).flatMap(([name, entry]): [string, JsonObject][] =>
    entry !== undefined && isJsonObject(entry) ? [[name, entry]] : []
  );
}

/** The currencies in which providers may charge: those with a rate. */
export function currencyCodes({ currencies }: JsonObject): string[] {
  return Object.keys(objectOf(currencies));
}

/** Parses the JSON of an entry; `undefined` if it is no object. */
export function parsedEntry(text: string): JsonObject | undefined {
  try {
    const value: Json = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The entry that a form was shown with; by itself, the one in force. */
function formerModel(form: PostedForm, contents: JsonObject): JsonObject {
  return parsedEntry(form.text(shownField)) ?? modelEntry(contents, form.text("name")) ?? {};
}

/** The entry of a model as a form has it, whether or not it can be one. */
export function typedModel(form: PostedForm, contents: JsonObject): JsonObject {
  return modelOf(form, formerModel(form, contents));
}

/** The entry of a provider as a form has it. */
export function typedProvider(form: PostedForm, contents: JsonObject): JsonObject {
  return providerOf(form, new Map(providerEntries(contents)).get(form.text("name")) ?? {});
}

/**
 * Reads the change that a form stands for.
 *
 * @param contents the catalogue in force
 * @returns why it is none, in place of a change
 */
export function readEdit(
  form: PostedForm,
  contents: JsonObject,
): CatalogEdit | "not_json" | "no_name" | { readonly ambiguous: readonly string[] } {
  const edit = form.text("edit");
  const name = form.text("name");
  const json = form.text("json");
  const written = json === "" ? undefined : parsedEntry(json);
  if (json !== "" && written === undefined) return "not_json";
  const ambiguous = ambiguousNumbers(json);
  if (ambiguous.length > 0) return { ambiguous };
  if (edit === "whole") return written === undefined ? "not_json" : { edit, entry: written };
  if (edit === "settings") {
    return { edit, entry: written ?? settingsOf(form, settingsEntry(contents)) };
  }
  const isRemoval = form.text("remove") === "yes";
  if (edit === "provider") {
    const named = name === "" ? form.text("newName") : name;
    if (named === "") return "no_name";
    if (isRemoval) return { edit, name: named, entry: null };
    const before = new Map(providerEntries(contents)).get(named) ?? {};
    return { edit, name: named, entry: written ?? providerOf(form, before) };
  }
  if (isRemoval) return { edit: "model", id: name, entry: null };
  const entry = written ?? modelOf(form, formerModel(form, contents));
  const id = name === "" ? entry["id"] : name;
  return typeof id === "string" && id !== "" ? { edit: "model", id, entry } : "no_name";
}
