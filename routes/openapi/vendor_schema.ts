/**
 * Makes the schema of a chat request from the zod schema that the strict sandbox validates it with, and from the table
 * of fields that the decoder reads. The gateway takes more than its vendor: unknown fields are allowed everywhere.
 */
import { z } from "zod";
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import type { FieldTable } from "../../core/wire/fields/field_table.ts";

/** What a style adds to its schema. */
export interface RequestSchemaOptions {
  readonly description: string;
  /** Fields that no route takes: the gateway always refuses them, or reads them elsewhere. */
  readonly without: readonly string[];
  readonly descriptions: Readonly<Record<string, string>>;
  /** Members that replace those of a field's schema. */
  readonly overrides?: Readonly<Record<string, JsonObject>>;
}

/**
 * Returns the JSON Schema of a request.
 *
 * @example
 * ```ts
 * import { z } from "zod";
 * import { extra } from "../../core/wire/fields/field_table.ts";
 * import { read } from "../../core/wire/fields/known_fields.ts";
 * import { requestSchema } from "./vendor_schema.ts";
 * const schema = requestSchema(z.strictObject({ model: z.string() }), { model: read, seed: extra() }, {
 *   description: "A request.",
 *   without: [],
 *   descriptions: { model: "The model." },
 * });
 * const expected = { model: { description: "The model.", type: "string" }, seed: {} };
 * if (JSON.stringify(schema["properties"]) !== JSON.stringify(expected)) throw new Error(JSON.stringify(schema));
 * ```
 */
export function requestSchema(
  schema: z.ZodType,
  table: FieldTable,
  { description, without, descriptions, overrides = {} }: RequestSchemaOptions,
): JsonObject {
  const whole = plain(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
  const read = isJsonObject(whole["properties"]) ? whole["properties"] : {};
  const names = [...Object.keys(read), ...Object.keys(table).filter((name) => !(name in read))];
  const properties: JsonObject = {};
  for (const name of names) {
    if (without.includes(name)) continue;
    const own = read[name];
    const said = descriptions[name];
    properties[name] = {
      ...(said === undefined ? {} : { description: said }),
      ...(isJsonObject(own) ? own : {}),
      ...overrides[name],
    };
  }
  const required = Array.isArray(whole["required"]) ? whole["required"] : [];
  return {
    type: "object",
    description,
    required: required.filter((name) => typeof name !== "string" || !without.includes(name)),
    properties,
  };
}

/** Copies what zod wrote as plain JSON, without its bans of unknown members. */
function plain(written: unknown): JsonObject {
  const copied: unknown = JSON.parse(JSON.stringify(written));
  if (!isJsonObject(copied)) throw new TypeError("zod writes schemas as objects");
  const open = withoutBans(copied);
  return isJsonObject(open) ? open : {};
}

function withoutBans(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutBans);
  if (!isJsonObject(value)) return value;
  // The only recursive schema is the one of any JSON value.
  if (typeof value["$ref"] === "string") return {};
  const copy: JsonObject = {};
  for (const [name, member] of Object.entries(value)) {
    const isNoise = name === "$schema" || name === "$defs" || name === "propertyNames" ||
      (name === "additionalProperties" && (member === false || isEmptyObject(member)));
    if (!isNoise && member !== undefined) copy[name] = withoutBans(member);
  }
  return copy;
}

function isEmptyObject(value: Json | undefined): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}
