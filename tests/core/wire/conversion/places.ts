/** Places in a request: the paths of its members, and copies of it that differ in one place. */
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";

export type Step = string | number;

/** Members that hold the client's own JSON: what is inside is data, not fields. */
const freeJson: ReadonlySet<string> = new Set([
  "parameters",
  "input_schema",
  "schema",
  "input",
  "input_examples",
  "logit_bias",
]);

function isFree(key: Step, value: Json): boolean {
  // A Responses request's `input` is its list of items; everywhere else the word means arguments.
  return typeof key === "string" && freeJson.has(key) && !(key === "input" && Array.isArray(value));
}

/** The path of every member of every object, `messages.0.content.1.text` as a list of steps. */
export function fieldPaths(value: Json, path: readonly Step[] = []): Step[][] {
  if (Array.isArray(value)) {
    return value.flatMap((item, i) => fieldPaths(item, [...path, i]));
  }
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const here = [...path, key];
    if (member === undefined) return [];
    return [here, ...(isFree(key, member) ? [] : fieldPaths(member, here))];
  });
}

/** The path of every object that is not the client's own JSON, the request itself first. */
export function objectPaths(value: Json, path: readonly Step[] = []): Step[][] {
  if (Array.isArray(value)) return value.flatMap((item, i) => objectPaths(item, [...path, i]));
  if (!isJsonObject(value)) return [];
  const inner = Object.entries(value).flatMap(([key, member]) =>
    member === undefined || isFree(key, member) ? [] : objectPaths(member, [...path, key])
  );
  return [[...path], ...inner];
}

/** A copy whose object or list at `path` went through `change`. */
export function changedAt(
  value: JsonObject,
  path: readonly Step[],
  change: (object: JsonObject) => JsonObject,
): JsonObject {
  const copy: JsonObject = structuredClone(value);
  const [last, ...before] = path.toReversed();
  if (last === undefined) return change(copy);
  let holder: Json = copy;
  for (const step of before.toReversed()) holder = childOf(holder, step);
  const child = childOf(holder, last);
  if (!isJsonObject(child)) throw new Error(`no object at ${path.join(".")}`);
  if (Array.isArray(holder)) holder[Number(last)] = change(child);
  else if (isJsonObject(holder)) holder[last] = change(child);
  return copy;
}

function childOf(holder: Json, step: Step): Json {
  const child = Array.isArray(holder)
    ? holder[Number(step)]
    : isJsonObject(holder)
    ? holder[step]
    : undefined;
  if (child === undefined) throw new Error(`no place ${step}`);
  return child;
}
