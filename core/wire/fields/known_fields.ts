/**
 * Names what a decoder does not read. The table of a style lists which members of its objects the decoder reads; what a
 * request has beyond that list goes into the warnings by its path, so that nothing is lost silently.
 */
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import type { Warnings } from "../warnings.ts";

/** Looks at one value of a request and names what of it is not read. */
export type FieldCheck = (value: Json, path: string, warnings: Warnings) => void;

/** The decoder reads the value, or it is the client's own JSON. */
export const read: FieldCheck = () => {};

/** Nobody reads the value, and no answer changes for it. */
export const silent: FieldCheck = () => {};

/** Nobody reads the value: it is named, unless it asks for nothing. */
export function unread(asksForNothing: (value: Json) => boolean = () => false): FieldCheck {
  return (value, path, warnings) => {
    if (!asksForNothing(value)) warnings.add(path);
  };
}

/** An object: what is not among `members` is named. So is a value that is no object, and was therefore not read. */
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

/** A string that is read, or a value to be checked. */
export function textOr(check: FieldCheck): FieldCheck {
  return (value, path, warnings) => {
    if (typeof value !== "string") check(value, path, warnings);
  };
}

/** A list of such values. Anything else is the decoder's affair: content may be a string. */
export function each(item: FieldCheck): FieldCheck {
  return (value, path, warnings) => {
    if (Array.isArray(value)) value.forEach((one, i) => item(one, `${path}.${i}`, warnings));
  };
}

/**
 * An object of the kind that its member `key` tells. Kinds that are not listed are the decoder's affair: it refuses
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
