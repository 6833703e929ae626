/** Says beside which field of a form a problem of the catalogue belongs, in words. */
import type { CatalogEdit } from "../../../../core/catalog/diff.ts";
import { readAmount } from "../../../../core/billing/money/read_amount.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import type { CatalogueTexts } from "./texts.ts";

/** What is wrong with an entry. */
export interface EntryProblems {
  /** By the name of the field. */
  readonly fields: Readonly<Record<string, string>>;
  /** Those that no field of the form is about. */
  readonly others: readonly string[];
}

export const noProblems: EntryProblems = { fields: {}, others: [] };

/** Fields that take a whole number. */
const wholeFields: ReadonlySet<string> = new Set([
  "contextWindow",
  "maxOutputTokens",
  "listRate",
  "priority",
]);

/** Fields with words of their own in a catalogue's problem. */
const plainFields: ReadonlySet<string> = new Set([
  "id",
  "displayName",
  "family",
  "kind",
  "aliases",
  "preset",
  "baseUrl",
  "region",
  "apiKeyEnv",
  "apiKeyVault",
  "defaultModel",
  "webSearchModel",
  "provider",
  "model",
  "style",
  "weight",
]);

/** The place of an entry in the catalogue, as problems name it. */
function placeOf(change: CatalogEdit, after: JsonObject): string {
  switch (change.edit) {
    case "model": {
      const models = Array.isArray(after["models"]) ? after["models"] : [];
      const id = change.entry?.["id"] ?? change.id;
      const at = models.findLastIndex((model) => isJsonObject(model) && model["id"] === id);
      return `models.${at}.`;
    }
    case "provider":
      return `providers.${change.name}.`;
    case "settings":
    case "whole":
      return "";
  }
}

/** The member of an entry at a path such as `routes.0.model`. */
function valueAt(entry: JsonObject, path: string): Json | undefined {
  let value: Json | undefined = entry;
  for (const part of path.split(".")) {
    value = Array.isArray(value)
      ? value[Number(part)]
      : value !== undefined && isJsonObject(value) && Object.hasOwn(value, part)
      ? value[part]
      : undefined;
  }
  return value;
}

/** Words for what is typed into a field; `undefined`: the form has no such field. */
function wordsOf(path: string, entry: JsonObject, message: string, t: CatalogueTexts) {
  if (path.startsWith("price.")) {
    const typed = valueAt(entry, path);
    const read = readAmount(String(typed ?? ""), "price");
    if (typed === undefined) return t.priceMissing;
    return !read.ok && read.why === "ambiguous" ? t.priceAmbiguous(...read.readings) : t.priceWrong;
  }
  const name = path.replace(/^routes\.\d+\./, "");
  if (wholeFields.has(name)) return t.wholeWrong;
  return plainFields.has(name) ? message : undefined;
}

/**
 * Sorts problems by the fields of the form that they are about.
 *
 * @param problems as the catalogue writes them: a place, a colon, what is wrong
 */
export function entryProblems(
  problems: readonly string[],
  change: CatalogEdit,
  after: JsonObject,
  t: CatalogueTexts,
): EntryProblems {
  const fields: Record<string, string> = {};
  const others: string[] = [];
  const place = placeOf(change, after);
  for (const problem of problems) {
    const at = place === "" ? 0 : problem.indexOf(place);
    const [, path = "", message = ""] =
      /^(?:catalogue )?([\w.]+): (.*)$/s.exec(at < 0 ? "" : problem.slice(at + place.length)) ?? [];
    const words = path === "" || change.entry === null
      ? undefined
      : wordsOf(path, change.entry, message, t);
    if (words === undefined) others.push(at > 0 ? problem.slice(at + place.length) : problem);
    else fields[path.replace(/^routes\.(\d+)\./, "route$1.")] ??= words;
  }
  return { fields, others };
}
