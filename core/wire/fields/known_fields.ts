/**
 * Names what a decoder does not read. The table of a style lists which members of its objects the decoder reads; what a
 * request has beyond that list goes into the warnings by its path, so that nothing is lost silently.
 */
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import type { Warnings } from "../contract/warnings.ts";

/** Warns of the parts of a value that the decoder does not read. */
export type FieldCheck = (value: Json, path: string, warnings: Warnings) => void;

/** Accepts any value: the decoder reads all of it, or it is the client's own JSON. */
export const read: FieldCheck = () => {};

/** Ignores a value that the decoder does not read and that changes no answer. */
export const silent: FieldCheck = () => {};

/** Warns of a value that the decoder does not read, unless it asks for nothing. */
export function unread(asksForNothing: (value: Json) => boolean = () => false): FieldCheck {
  return (value, path, warnings) => {
    if (!asksForNothing(value)) warnings.add(path);
  };
}

/** Checks the members of an object; warns of all others, and of a value that is not an object. */
export function object(members: Readonly<Record<string, FieldCheck>>): FieldCheck {
  const checks = new Map(Object.entries(members));
  return (value, path, warnings) => {
    if (!isJsonObject(value)) return warnings.add(path);
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined || member === null) continue;
      const check = checks.get(name);
      if (check === undefined) warnings.add(`${path}.${name}`);
      else check(member, `${path}.${name}`, warnings);
    }
  };
}

/** Accepts a string; checks any other value. */
export function textOr(check: FieldCheck): FieldCheck {
  return (value, path, warnings) => {
    if (typeof value !== "string") check(value, path, warnings);
  };
}

/** Checks each entry of a list. The decoder deals with any other value: content may be a string. */
export function each(item: FieldCheck): FieldCheck {
  return (value, path, warnings) => {
    if (Array.isArray(value)) value.forEach((one, i) => item(one, `${path}.${i}`, warnings));
  };
}

/**
 * Checks an object by its kind, which is the member `key`. The decoder deals with kinds that are not listed: it refuses
 * them, or names them as a whole.
 */
export function byKind(
  key: string,
  kinds: Readonly<Record<string, FieldCheck>>,
  usual?: string,
): FieldCheck {
  const checks = new Map(Object.entries(kinds));
  return (value, path, warnings) => {
    if (!isJsonObject(value)) return;
    const kind = value[key] ?? usual;
    if (typeof kind === "string") checks.get(kind)?.(value, path, warnings);
  };
}
