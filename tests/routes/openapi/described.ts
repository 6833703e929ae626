/** Compares an answer with the schema that the document has for it. */
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";

/** The types of JSON Schema that a value has. */
function typesOf(value: Json): readonly string[] {
  if (value === null) return ["null"];
  if (Array.isArray(value)) return ["array"];
  return Number.isInteger(value) ? ["integer", "number"] : [typeof value];
}

function listed(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

/** Follows a reference of the document; any other part is returned as it is. */
export function referredTo(schema: JsonObject, document: JsonObject): JsonObject {
  const { $ref: reference } = schema;
  if (typeof reference !== "string") return schema;
  let found: Json | undefined = document;
  for (const step of reference.split("/").slice(1)) {
    found = isJsonObject(found) ? found[step] : undefined;
  }
  if (!isJsonObject(found)) throw new Error(`The document lacks ${reference}`);
  return found;
}

function memberProblems(
  value: JsonObject,
  { required, properties, additionalProperties }: JsonObject,
  inside: (member: Json, schema: JsonObject, name: string) => string[],
  path: string,
): string[] {
  const missing = listed(required).filter((name) => !(String(name) in value));
  const problems = missing.map((name) => `${path}.${name} is required and not sent`);
  if (!isJsonObject(properties)) return problems;
  for (const [name, member = null] of Object.entries(value)) {
    const schema = properties[name] ?? additionalProperties;
    if (!isJsonObject(schema)) problems.push(`${path}.${name} is sent and not described`);
    else problems.push(...inside(member, schema, name));
  }
  return problems;
}

/**
 * Returns what is wrong with an answer by its schema: a wrong type or value, a required member that is missing, and a
 * member that the schema does not describe. Of several schemas the one counts that fits best. Objects whose schema has
 * no `properties` may have any.
 */
export function answerProblems(
  value: Json,
  written: JsonObject,
  document: JsonObject,
  path = "answer",
): string[] {
  const schema = referredTo(written, document);
  const alternatives = listed(schema["anyOf"]).filter(isJsonObject);
  if (alternatives.length > 0) {
    const found = alternatives.map((one) => answerProblems(value, one, document, path));
    return found.toSorted((one, other) => one.length - other.length)[0] ?? [];
  }
  const types = listed(schema["type"]);
  if (types.length > 0 && !typesOf(value).some((type) => types.includes(type))) {
    return [`${path} is ${JSON.stringify(value)}, not of type ${types.join(" or ")}`];
  }
  const { const: only, enum: values, pattern } = schema;
  if (only !== undefined && value !== only) return [`${path} is not ${JSON.stringify(only)}`];
  if (Array.isArray(values) && !values.includes(value)) return [`${path} is none of the values`];
  if (typeof pattern === "string" && typeof value === "string" && !RegExp(pattern).test(value)) {
    return [`${path} does not match ${pattern}`];
  }
  const { items } = schema;
  if (Array.isArray(value) && isJsonObject(items)) {
    return value.flatMap((one, at) => answerProblems(one, items, document, `${path}.${at}`));
  }
  if (!isJsonObject(value)) return [];
  return memberProblems(
    value,
    schema,
    (member, inner, name) => answerProblems(member, inner, document, `${path}.${name}`),
    path,
  );
}
