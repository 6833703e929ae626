/**
 * Which members a strict schema knows, and which a request has, in one notation: `content[text].cache_control` is the
 * mark of a text that stands in a `content`. Members that only tell what their object is are left out.
 */
import { z } from "zod";
import { isJsonObject, type Json } from "../../../../core/lib/json/json.ts";

/** Members that tell what an object is, the stronger one first. */
const tellers = ["role", "type"] as const;

function isTeller(name: string): boolean {
  return tellers.some((teller) => teller === name);
}

function named(holder: string, kind: string, name: string): string {
  return `${holder}${kind === "" ? "" : `[${kind}]`}.${name}`;
}

/** The members of a schema; where an object may be of several kinds, one name for each, of which any will do. */
export function fieldsOfSchema(schema: unknown, holder = ""): string[][] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return fieldsOfSchema(schema.unwrap(), holder);
  }
  if (schema instanceof z.ZodArray) return fieldsOfSchema(schema.element, holder);
  if (schema instanceof z.ZodUnion) {
    return schema.options.flatMap((option) => fieldsOfSchema(option, holder));
  }
  if (!(schema instanceof z.ZodObject)) return [];
  const { shape } = schema;
  const kinds = tellers.map((teller) => wordsOf(shape[teller])).find((words) => words.length > 0);
  return Object.entries(shape).filter(([name]) => !isTeller(name)).flatMap(([name, member]) => [
    (kinds ?? [""]).map((kind) => named(holder, kind, name)),
    ...fieldsOfSchema(member, name),
  ]);
}

function wordsOf(schema: unknown): string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return wordsOf(schema.unwrap());
  }
  if (schema instanceof z.ZodLiteral) return [...schema.values].map(String);
  return schema instanceof z.ZodEnum ? schema.options.map(String) : [];
}

/** The members of a request. */
export function fieldsOfRequest(value: Json, holder = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => fieldsOfRequest(item, holder));
  if (!isJsonObject(value)) return [];
  const kind = tellers.map((teller) => value[teller]).find((word) => typeof word === "string");
  return Object.entries(value).flatMap(([name, member]) =>
    member === undefined ? [] : [
      named(holder, typeof kind === "string" ? kind : "", name),
      ...fieldsOfRequest(member, name),
    ]
  );
}
