/** Reads and writes JSON of providers at paths such as `a.b.0.c`. */
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";

/**
 * Returns the value at a path; `undefined` if any step is missing.
 *
 * @example
 * ```ts
 * import { readPointer } from "./json_pointer.ts";
 * if (readPointer({ data: [{ url: "u" }] }, "data.0.url") !== "u") throw new Error("not found");
 * ```
 */
export function readPointer(value: Json, pointer: string): Json | undefined {
  let current: Json | undefined = value;
  for (const step of pointer.split(".")) {
    if (Array.isArray(current)) {
      current = /^\d{1,4}$/.test(step) ? current[Number(step)] : undefined;
    } else if (isJsonObject(current) && Object.hasOwn(current, step)) current = current[step];
    else return undefined;
  }
  return current;
}

/**
 * Sets the value at a path and creates the objects on the way. Paths come from the operator, not
 * from clients.
 */
export function writePointer(target: JsonObject, pointer: string, value: Json): void {
  const steps = pointer.split(".");
  const last = steps.pop() ?? pointer;
  let current = target;
  for (const step of steps) {
    const next = current[step];
    if (isJsonObject(next)) {
      current = next;
      continue;
    }
    const made: JsonObject = {};
    current[step] = made;
    current = made;
  }
  current[last] = value;
}
