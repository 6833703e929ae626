/** Turns the fields of forms into entries of the catalogue. What a form has no field for stays as it was. */
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import {
  ambiguousNumbers,
  parseTypedCount,
  readAmount,
} from "../../../../core/billing/money/read_amount.ts";
import type { CatalogEdit } from "../../../../core/catalog/diff.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import type { PostedForm } from "../../../dashboard/page/form_data.ts";
import { withKeySource } from "./key_source.tsx";

/** Fields of a price that have a place in the form, by unit. The others are edited as JSON. */
export const priceFields = {
  token: ["vndPerMtok", "outputVndPerMtok", "cacheReadVndPerMtok", "cacheWriteVndPerMtok"],
  request: ["vnd"],
  image: ["vnd"],
  search: ["vnd"],
  second: ["vndPerMinute"],
  video: [],
} as const satisfies Readonly<Record<string, readonly PriceField[]>>;

/** A field of a price in the form. */
export type PriceField =
  | "vndPerMtok"
  | "outputVndPerMtok"
  | "cacheReadVndPerMtok"
  | "cacheWriteVndPerMtok"
  | "vnd"
  | "vndPerMinute";

/** A unit of prices. */
export type PriceUnit = keyof typeof priceFields;

export function isPriceUnit(text: string): text is PriceUnit {
  return Object.hasOwn(priceFields, text);
}

/** Most routes that a form shows fields for; the schema's own bound. */
const maxRoutes = 32;

/** A price as a number; a text that is none, or might be two, stays, and is refused by name. */
function amount(text: string): Json {
  const read = readAmount(text, "price");
  return read.ok ? Number(formatVnd(read.microVnd)) : text;
}

/** The largest whole number of a catalogue. */
const maxWhole = 999_999_999_999;

/** A whole number, with or without marks between thousands; the schema refuses other texts by name. */
function whole(text: string): Json {
  if (/^-?\d+$/.test(text)) return Number(text);
  return parseTypedCount(text, maxWhole) ?? text;
}

/** A number that may have a fraction, which no marks group. */
function factor(text: string): Json {
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

/** Sets a member, or removes it where the field is empty. */
function put(entry: JsonObject, name: string, value: Json | undefined): JsonObject {
  const { [name]: _, ...others } = entry;
  return value === undefined || value === "" ? others : { ...entry, [name]: value };
}

function listOf(text: string): string[] {
  return text.split(",").map((part) => part.trim()).filter((part) => part !== "");
}

function priceOf(form: PostedForm, before: Json | undefined): JsonObject {
  const unit = form.text("unit");
  const former = before !== undefined && isJsonObject(before) && before["unit"] === unit
    ? before
    : { unit };
  if (!isPriceUnit(unit)) return former;
  return priceFields[unit].reduce<JsonObject>((price, field) => {
    const text = form.text(`price.${field}`);
    return put(price, field, text === "" ? undefined : amount(text));
  }, former);
}

function routesOf(form: PostedForm, before: Json | undefined): JsonObject[] {
  const former = Array.isArray(before) ? before.filter((route) => isObject(route)) : [];
  const routes: JsonObject[] = [];
  for (let i = 0; i < Math.min(former.length + 1, maxRoutes); i++) {
    const field = (name: string) => form.text(`route${i}.${name}`);
    const provider = field("provider");
    if (provider === "" || field("remove") === "yes") continue;
    const styles = listOf(field("style"));
    const optional = (read: (text: string) => Json, text: string) =>
      text === "" ? undefined : read(text);
    let route = put(former[i] ?? {}, "provider", provider);
    route = put(route, "model", field("model"));
    route = put(route, "style", styles.length > 1 ? styles : styles[0]);
    route = put(route, "priority", optional(whole, field("priority")));
    routes.push(put(route, "weight", optional(factor, field("weight"))));
  }
  return routes;
}

function isObject(value: Json): value is JsonObject {
  return isJsonObject(value);
}

function modelOf(form: PostedForm, before: JsonObject): JsonObject {
  const number = (name: string) => form.text(name) === "" ? undefined : whole(form.text(name));
  let entry = put(before, "id", form.text("id"));
  entry = put(entry, "kind", form.text("kind"));
  entry = put(entry, "family", form.text("family"));
  entry = put(entry, "displayName", form.text("displayName"));
  entry = put(entry, "contextWindow", number("contextWindow"));
  entry = put(entry, "maxOutputTokens", number("maxOutputTokens"));
  const hasVision = form.text("vision") === "yes";
  // A member that says what is the default anyway stays as it is written.
  if (hasVision || before["vision"] === true) entry = put(entry, "vision", hasVision || undefined);
  const aliases = listOf(form.text("aliases"));
  entry = put(entry, "aliases", aliases.length === 0 ? undefined : aliases);
  return {
    ...entry,
    price: priceOf(form, before["price"]),
    routes: routesOf(form, before["routes"]),
  };
}

function providerOf(form: PostedForm, before: JsonObject): JsonObject {
  const kind = form.text("kind");
  if (kind === "sandbox") return { ...before, kind };
  const keys = listOf(form.text("apiKeyEnv"));
  let entry = put(before, "kind", before["kind"] === undefined ? undefined : kind);
  entry = put(entry, "preset", form.text("preset"));
  entry = put(entry, "baseUrl", form.text("baseUrl"));
  entry = put(entry, "region", form.text("region"));
  return withKeySource(form, entry, keys.length > 1 ? keys : keys[0]);
}

function settingsOf(form: PostedForm, before: JsonObject): JsonObject {
  const entry = put(before, "listRate", form.text("listRate") && whole(form.text("listRate")));
  const named = put(entry, "defaultModel", form.text("defaultModel"));
  return put(named, "webSearchModel", form.text("webSearchModel"));
}

/** Everything of a catalogue besides models and providers. */
export function settingsEntry({ models: _, providers: __, ...settings }: JsonObject): JsonObject {
  return settings;
}

/** The entry of a model; `undefined` if there is none. */
export function modelEntry({ models }: JsonObject, id: string): JsonObject | undefined {
  const list = Array.isArray(models) ? models.filter((model) => isObject(model)) : [];
  return list.find((model) => model["id"] === id);
}

/** The entries of all providers by name. */
export function providerEntries({ providers }: JsonObject): [string, JsonObject][] {
  if (providers === undefined || !isJsonObject(providers)) return [];
  return Object.entries(providers).flatMap(([name, entry]): [string, JsonObject][] =>
    entry !== undefined && isJsonObject(entry) ? [[name, entry]] : []
  );
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

/** The entry of a model as a form has it, whether or not it can be one. */
export function typedModel(form: PostedForm, contents: JsonObject): JsonObject {
  return modelOf(form, modelEntry(contents, form.text("name")) ?? {});
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
  const entry = written ?? modelOf(form, modelEntry(contents, name) ?? {});
  const id = name === "" ? entry["id"] : name;
  return typeof id === "string" && id !== "" ? { edit: "model", id, entry } : "no_name";
}
