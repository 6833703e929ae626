/** Shared by the whole requests of all styles. */
import type { JsonObject } from "../../../../core/lib/json/json.ts";

/** A picture of nothing. */
export const png = "iVBORw0KGgo=";
/** A cache mark with every member. */
export const mark = { type: "ephemeral", ttl: "1h" };
/** A closed schema: any vendor's grammar holds it. */
export const schema: JsonObject = {
  type: "object",
  properties: { a: { type: "string" } },
  required: ["a"],
  additionalProperties: false,
};
