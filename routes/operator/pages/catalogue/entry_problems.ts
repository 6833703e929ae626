/** Says beside which field of a form a problem of the catalogue belongs, in words. */
import type { CatalogEdit } from "../../../../core/catalog/diff.ts";
import { readAmount } from "../../../../core/billing/money/read_amount.ts";
import { isJsonObject, type JsonObject } from "../../../../core/lib/json/json.ts";
import {
  clearAmount,
  fieldAt,
  fieldName,
  type FoundField,
  objectOf,
  plainText,
} from "./fields/reading.ts";
import { modelShape, settingsShape } from "./fields/shapes.ts";
import type { CatalogueTexts } from "./texts.ts";

/** Problems of an entry. */
export interface EntryProblems {
  /** By the name of the field. */
  readonly fields: Readonly<Record<string, string>>;
  /** Problems that no field of the form is about. */
  readonly others: readonly string[];
}

export const noProblems: EntryProblems = { fields: {}, others: [] };

/** Fields of providers and settings with words of their own in a catalogue's problem. */
const plainFields: ReadonlySet<string> = new Set([
  "preset",
  "baseUrl",
  "region",
  "currency",
  "apiKeyEnv",
  "apiKeyVault",
  "defaultModel",
  "webSearchModel",
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

/** A field of a form with what is wrong with it. */
interface FieldProblem {
  readonly field: string;
  readonly words: string;
}

/** Words for what is typed into an amount, a number, or another field. */
function wordsOf({ shape, value }: FoundField, message: string, t: CatalogueTexts): string {
  switch (shape.kind) {
    case "vnd":
    case "cost": {
      if (value === undefined) return shape.kind === "vnd" ? t.priceMissing : t.costMissing;
      const read = readAmount(plainText(value), "price");
      if (!read.ok && read.why === "ambiguous") {
        const [thousands, decimal] = read.readings;
        return t.priceAmbiguous(thousands, clearAmount(decimal));
      }
      return shape.kind === "vnd" ? t.priceWrong : t.costWrong;
    }
    case "whole":
      // A number that is whole is out of its bounds, which the message names.
      return Number.isSafeInteger(value) ? message : t.wholeWrong;
    default:
      return message;
  }
}

/** The amount of a group that cannot be read: the schema says of some groups only that none of their forms matches. */
function unreadableIn({ name, shape, value }: FoundField): FoundField | undefined {
  if (shape.kind !== "group") return undefined;
  const typed = objectOf(value);
  const field = Object.entries(shape.members).find(([member, { kind }]) =>
    (kind === "vnd" || kind === "cost") && typed[member] !== undefined &&
    !readAmount(plainText(typed[member]), "price").ok
  );
  return field && { name: fieldName(name, field[0]), shape: field[1], value: typed[field[0]] };
}

/** Finds the field that a problem is about; `undefined`: the form has none. */
function fieldProblem(
  path: string,
  { edit, entry }: CatalogEdit,
  message: string,
  t: CatalogueTexts,
): FieldProblem | undefined {
  if (entry === null || path === "") return undefined;
  if (edit === "model" || edit === "settings") {
    const found = fieldAt(path, edit === "model" ? modelShape : settingsShape, entry);
    if (found === undefined) return plainProblem(path, message, t);
    const own = unreadableIn(found) ?? found;
    return { field: own.name, words: wordsOf(own, message, t) };
  }
  return plainProblem(path, message, t);
}

function plainProblem(path: string, message: string, t: CatalogueTexts): FieldProblem | undefined {
  if (path === "listRate") return { field: path, words: t.wholeWrong };
  return plainFields.has(path) ? { field: path, words: message } : undefined;
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
    const found = fieldProblem(path, change, message, t);
    if (found === undefined) others.push(at > 0 ? problem.slice(at + place.length) : problem);
    else fields[found.field] ??= found.words;
  }
  return { fields, others };
}
