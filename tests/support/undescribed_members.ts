/** Finds members of an answer that its JSON Schema says nothing about. */
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";

function objectsIn(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter((one) => isJsonObject(one)) : [];
}

/** The schema and its alternatives, each of which may describe a member. */
function alternatives(schema: JsonObject): JsonObject[] {
  return [schema, ...objectsIn(schema["anyOf"]), ...objectsIn(schema["oneOf"])];
}

function memberSchemas(schemas: readonly JsonObject[], name: string): JsonObject[] {
  return schemas.flatMap(({ properties, additionalProperties: others }) => {
    if (properties !== undefined && isJsonObject(properties)) {
      const member = properties[name];
      if (member !== undefined && isJsonObject(member)) return [member];
    }
    return others !== undefined && isJsonObject(others) && Object.keys(others).length > 0
      ? [others]
      : [];
  });
}

/**
 * Returns the paths of members that no schema describes. An object whose schema names no member at all is open on
 * purpose.
 */
export function undescribedMembers(
  schemas: readonly JsonObject[],
  value: Json | undefined,
  path = "",
): string[] {
  const all = schemas.flatMap(alternatives);
  if (Array.isArray(value)) {
    const items = all.flatMap(({ items }) =>
      items !== undefined && isJsonObject(items) ? [items] : []
    );
    return value.flatMap((item) => undescribedMembers(items, item, `${path}[]`));
  }
  if (value === undefined || value === null || !isJsonObject(value)) return [];
  const isOpen = all.every(({ properties }) => properties === undefined);
  return Object.entries(value).flatMap(([name, member]) => {
    const found = memberSchemas(all, name);
    if (found.length === 0) return isOpen ? [] : [`${path}.${name}`];
    return undescribedMembers(found, member, `${path}.${name}`);
  });
}
