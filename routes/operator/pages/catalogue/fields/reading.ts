/** Reads the fields of a form as the entry that they stand for. A member without a field stays as it was shown. */
import { formatVnd } from "../../../../../core/billing/money/micro_vnd.ts";
import {
  parseTypedCount,
  priceProblem,
  readAmount,
} from "../../../../../core/billing/money/read_amount.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../../core/lib/json/json.ts";
import type { PostedForm } from "../../../../dashboard/page/form_data.ts";
import type { Leaf, Members, Shape } from "./shapes.ts";

/** Most rows of a list that a form has: as many as the longest list of the schema, the steps of a price by length. */
export const maxFormRows = 64;

/** The largest whole number of a catalogue. */
const maxWhole = 999_999_999_999;

/** Names a field within another. */
export function fieldName(within: string, name: string | number): string {
  return within === "" ? String(name) : `${within}.${name}`;
}

/** Returns the members of an object; none of what is none. */
export function objectOf(value: Json | undefined): JsonObject {
  return value !== undefined && isJsonObject(value) ? value : {};
}

/** Returns the elements of a list; none of what is none. */
export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** A value as a text, as it was typed or written. */
export function plainText(value: Json | undefined): string {
  if (Array.isArray(value)) return value.map(plainText).join(", ");
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/**
 * Writes what a field has in it. A price with three decimals gets a fourth, so that the form takes it back: three could
 * be thousands.
 */
export function shownText({ kind }: Leaf, value: Json | undefined): string {
  const text = plainText(value);
  const isAmount = kind === "vnd" || kind === "cost";
  return isAmount && typeof value === "number" ? clearAmount(text) : text;
}

/** An amount that reads one way only. */
export function clearAmount(text: string): string {
  return priceProblem(text) === undefined ? text : `${text}0`;
}

/** An amount as a number; a text that is none, or might be two, stays, and is refused by name. */
function amount(text: string): Json {
  const read = readAmount(text, "price");
  return read.ok ? Number(formatVnd(read.microVnd)) : text;
}

/** A whole number, with or without marks between thousands; the schema refuses other texts by name. */
export function whole(text: string): Json {
  if (/^-?\d+$/.test(text)) return Number(text);
  return parseTypedCount(text, maxWhole) ?? text;
}

/** A number that may have a fraction, which no marks group. */
function factor(text: string): Json {
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

/** Splits texts at commas. */
export function commaList(text: string): string[] {
  return text.split(",").map((part) => part.trim()).filter((part) => part !== "");
}

/** Sets a member, or removes it where there is no value. */
export function put(entry: JsonObject, name: string, value: Json | undefined): JsonObject {
  const { [name]: _, ...others } = entry;
  return value === undefined || value === "" ? others : { ...entry, [name]: value };
}

function readLeaf(form: PostedForm, name: string, leaf: Leaf, shown: Json | undefined) {
  if (leaf.kind === "check") {
    const [was] = form.all(`${name}.was`);
    const isOn = form.text(name) === "yes";
    // What says the default anyway stays as it is written, or is not written.
    return was === undefined || (was === "yes") === isOn ? shown : isOn;
  }
  if (leaf.kind === "choices") {
    const [was] = form.all(`${name}.was`);
    const chosen = leaf.options.filter((option) => form.text(`${name}.${option}`) === "yes");
    return was === undefined || was === chosen.join(",") ? shown : chosen;
  }
  if (form.all(name).length === 0) return shown;
  const text = form.text(name);
  if (text === shownText(leaf, shown).trim()) return shown;
  return text === "" ? undefined : typedValue(leaf, text);
}

function typedValue(leaf: Leaf, text: string): Json {
  switch (leaf.kind) {
    case "whole":
      return whole(text);
    case "factor":
      return factor(text);
    case "vnd":
    case "cost":
      return amount(text);
    case "list": {
      const parts = commaList(text);
      const [only] = parts;
      return leaf.mayBeOne === true && parts.length === 1 && only !== undefined ? only : parts;
    }
    case "text":
    case "choice":
    case "check":
    case "choices":
      return text;
  }
}

/** Reads the members of an object; the others stay. */
function readMembers(
  form: PostedForm,
  within: string,
  members: Members,
  shown: JsonObject,
): JsonObject {
  return Object.entries(members).reduce<JsonObject>((entry, [name, shape]) => {
    const value = readShape(form, fieldName(within, name), shape, shown[name]);
    return value === shown[name] ? entry : put(entry, name, value);
  }, shown);
}

/** An object that is empty is left out, unless it was written so. */
function ofMembers(read: JsonObject, shown: Json | undefined): Json | undefined {
  if (Object.keys(read).length > 0) return read;
  return Object.keys(objectOf(shown)).length === 0 ? shown : undefined;
}

function readCases(
  form: PostedForm,
  name: string,
  { by, cases }: Extract<Shape, { readonly kind: "cases" }>,
  shown: Json | undefined,
): Json | undefined {
  const field = fieldName(name, by);
  if (form.all(field).length === 0) return shown;
  const chosen = form.text(field);
  const before = objectOf(shown);
  const former = plainText(before[by]) === chosen ? before : {};
  const members = Object.hasOwn(cases, chosen) ? cases[chosen] : undefined;
  const read = readMembers(form, name, members ?? {}, former);
  return ofMembers(chosen === "" || by in read ? read : { [by]: chosen, ...read }, shown);
}

/** Number of rows of a list that a form was shown with; `undefined` if it has no such list. */
export function sentRows(form: PostedForm, name: string): number | undefined {
  const rows = Number(form.text(`${name}.rows`) || Number.NaN);
  return Number.isNaN(rows) ? undefined : Math.min(rows, maxFormRows);
}

/** A row of a list that is filled in and not removed. */
export interface FilledRow {
  /** Its place in the form. */
  readonly at: number;
  readonly entry: JsonObject;
}

/** Reads the rows of a list that stay: those that are removed or empty have no place in the entry. */
export function filledRows(
  form: PostedForm,
  name: string,
  row: Members,
  shown: Json | undefined,
): FilledRow[] {
  const former = listOf(shown);
  return Array.from({ length: sentRows(form, name) ?? 0 }, (_, at) => at).flatMap((at) => {
    const within = fieldName(name, at);
    if (form.text(`${within}.remove`) === "yes") return [];
    const entry = readMembers(form, within, row, objectOf(former[at]));
    return Object.keys(entry).length === 0 ? [] : [{ at, entry }];
  });
}

function readRows(
  form: PostedForm,
  name: string,
  row: Members,
  shown: Json | undefined,
): Json | undefined {
  if (sentRows(form, name) === undefined) return shown;
  const read = filledRows(form, name, row, shown).map(({ entry }) => entry);
  return read.length === 0 && shown === undefined ? undefined : read;
}

function readFactors(form: PostedForm, name: string, shown: Json | undefined): Json | undefined {
  const rows = Number(form.text(`${name}.rows`) || Number.NaN);
  if (Number.isNaN(rows)) return shown;
  const former = objectOf(shown);
  let read: JsonObject = {};
  for (let i = 0; i < Math.min(rows, maxFormRows); i++) {
    const key = form.text(`${name}.${i}.name`);
    const text = form.text(`${name}.${i}.value`);
    if (key === "" && text === "") continue;
    const before = Object.hasOwn(former, key) ? former[key] : undefined;
    const value = text === plainText(before) && before !== undefined ? before : factor(text);
    read = { ...read, [key]: value };
  }
  return ofMembers(read, shown);
}

/** Reads a field, or several. */
export function readShape(
  form: PostedForm,
  name: string,
  shape: Shape,
  shown: Json | undefined,
): Json | undefined {
  switch (shape.kind) {
    case "group":
      return ofMembers(readMembers(form, name, shape.members, objectOf(shown)), shown);
    case "cases":
      return readCases(form, name, shape, shown);
    case "rows":
      return readRows(form, name, shape.row, shown);
    case "factors":
      return readFactors(form, name, shown);
    default:
      return readLeaf(form, name, shape, shown);
  }
}

/** The field of a path such as `routes.0.cost.tiers.1.amount`, as problems of the catalogue name it. */
export interface FoundField {
  /** The name of the field, or of a group of fields. */
  readonly name: string;
  readonly shape: Shape;
  readonly value: Json | undefined;
}

/** Finds the field of a path; `undefined` if the form has none. */
export function fieldAt(
  path: string,
  shape: Shape,
  entry: Json | undefined,
): FoundField | undefined {
  let found: FoundField | undefined = { name: "", shape, value: entry };
  for (const part of path.split(".")) {
    if (found === undefined) return undefined;
    found = stepInto(found, part);
  }
  return found;
}

function stepInto({ name, shape, value }: FoundField, part: string): FoundField | undefined {
  const inside = (members: Members): FoundField | undefined => {
    const own = Object.entries(members).find(([member]) => member === part)?.[1];
    if (own === undefined) return undefined;
    return { name: fieldName(name, part), shape: own, value: objectOf(value)[part] };
  };
  switch (shape.kind) {
    case "group":
      return inside(shape.members);
    case "cases": {
      if (part === shape.by) {
        const options = Object.keys(shape.cases);
        const choice = { kind: "choice", options } as const;
        return { name: fieldName(name, part), shape: choice, value: objectOf(value)[part] };
      }
      const chosen = plainText(objectOf(value)[shape.by]);
      return inside((Object.hasOwn(shape.cases, chosen) ? shape.cases[chosen] : undefined) ?? {});
    }
    case "rows": {
      if (!/^\d+$/.test(part)) return undefined;
      const row = { kind: "group", members: shape.row } as const;
      return { name: fieldName(name, part), shape: row, value: listOf(value)[Number(part)] };
    }
    case "factors": {
      const at = Object.keys(objectOf(value)).indexOf(part);
      const leaf = { kind: "factor" } as const;
      return { name: `${name}.${at}.value`, shape: leaf, value: objectOf(value)[part] };
    }
    // A problem of an element of a list belongs to its field.
    case "list":
    case "choices":
      return { name, shape, value };
    default:
      return undefined;
  }
}
