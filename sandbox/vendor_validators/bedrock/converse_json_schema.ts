/** What the Converse vendor requires of a tool's JSON Schema: an object at its root, without a union there. */
import type { Json } from "../../../core/lib/json/json.ts";

const rootUnions = ["anyOf", "oneOf", "allOf"] as const;

/** The vendor's refusal of a schema, or `undefined`. */
export function schemaProblem(schema: Readonly<Record<string, Json | undefined>>) {
  if (schema["type"] !== "object") {
    return "The value at inputSchema.json.type must be one of the following: object.";
  }
  return rootUnions.some((name) => schema[name] !== undefined)
    ? "inputSchema does not support oneOf, allOf, or anyOf at the top level"
    : undefined;
}
