/**
 * Adapts JSON Schemas to the part of the standard that this vendor takes, and reads its own older form of a schema.
 *
 * See docs/internals/WIRE_FORMATS.md#gemini-schemas.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { maxJsonDepth } from "../../../lib/json/scan/limits.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import { eachChild } from "../../tools/schemas/json_schema.ts";
import { defined } from "../../../lib/base/defined.ts";
import type {
  Conversation,
  FunctionTool,
  HostedTool,
  HostedToolRequest,
  Tool,
  ToolChoice,
} from "../../conversation/mod.ts";
import {
  invalid,
  optionalList,
  optionalObject,
  optionalString,
  requiredObject,
  requiredString,
} from "../../fields/fields.ts";

/** Keywords that the vendor takes. */
const taken: ReadonlySet<string> = new Set([
  "$id",
  "$defs",
  "$ref",
  "$anchor",
  "type",
  "format",
  "title",
  "description",
  "enum",
  "items",
  "prefixItems",
  "minItems",
  "maxItems",
  "minimum",
  "maximum",
  "pattern",
  "minLength",
  "maxLength",
  "uniqueItems",
  "anyOf",
  "oneOf",
  "properties",
  "additionalProperties",
  "required",
  "propertyOrdering",
]);

/** Keywords without which a schema accepts the same values, and the model knows the same. */
const meaningless: ReadonlySet<string> = new Set(["$schema", "$comment"]);

/** Keywords that restrict nothing: the description says the same to the model. */
const advice: ReadonlySet<string> = new Set(["default", "examples"]);

/** A schema that the vendor takes. */
export interface CarriedSchema {
  readonly schema: JsonObject;
  /** Whether it keeps less than the client's: the rest is told to the model in descriptions. */
  readonly isLoose: boolean;
}

/**
 * Adapts a schema: keywords that the vendor does not take move into the description, which the model reads.
 *
 * @example
 * ```ts
 * import { carriedSchema } from "./schema.ts";
 * const { schema, isLoose } = carriedSchema({ type: "string", not: {}, const: "ab" });
 * if (!isLoose || JSON.stringify(schema) !== '{"type":"string","enum":["ab"],"description":"not: {}"}') {
 *   throw new Error(JSON.stringify(schema));
 * }
 * ```
 */
export function carriedSchema(schema: JsonObject): CarriedSchema {
  const state = { isLoose: false };
  const adapted = adapt(schema, state, 0);
  return { schema: adapted, isLoose: state.isLoose };
}

function adapt(schema: JsonObject, state: { isLoose: boolean }, depth: number): JsonObject {
  if (depth > maxJsonDepth) return schema;
  const out: JsonObject = {};
  const told: string[] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined || meaningless.has(key)) continue;
    if (key === "definitions") {
      out["$defs"] = eachChild(key, value, (child) => adapt(child, state, depth + 1));
    } else if (key === "$ref" && typeof value === "string") {
      out[key] = value.replace(/^#\/definitions\//, "#/$defs/");
    } else if (key === "const" && (typeof value === "string" || typeof value === "number")) {
      out["enum"] = [value];
    } else if (!taken.has(key)) {
      told.push(`${key}: ${stringifyExactly(value)}`);
      if (!advice.has(key)) state.isLoose = true;
    } else out[key] = eachChild(key, value, (child) => adapt(child, state, depth + 1));
  }
  if (told.length === 0) return out;
  const { description } = schema;
  const before = typeof description === "string" && description !== "" ? [description] : [];
  return { ...out, description: [...before, told.join(", ")].join("\n") };
}

/**
 * Reads the vendor's own form of a schema as a JSON Schema: its types are upper case, bounds are texts, and `nullable`
 * is a member.
 *
 * @example
 * ```ts
 * import { jsonSchemaOf } from "./schema.ts";
 * const schema = jsonSchemaOf({ type: "OBJECT", properties: { a: { type: "STRING", nullable: true, maxLength: "3" } } });
 * if (JSON.stringify(schema) !== '{"type":"object","properties":{"a":{"type":["string","null"],"maxLength":3}}}') {
 *   throw new Error(JSON.stringify(schema));
 * }
 * ```
 */
export function jsonSchemaOf(schema: JsonObject, depth = 0): JsonObject {
  if (depth > maxJsonDepth) return schema;
  const out: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined || key === "nullable" || key === "propertyOrdering") continue;
    if (key === "type") out[key] = typeOf(value, schema["nullable"] === true);
    else if (key === "example") out["examples"] = [value];
    else if (counts.has(key)) out[key] = countOf(value);
    else out[key] = eachChild(key, value, (child) => jsonSchemaOf(child, depth + 1));
  }
  return out;
}

const counts: ReadonlySet<string> = new Set([
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "minProperties",
  "maxProperties",
]);

function countOf(value: Json): Json {
  return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
}

function typeOf(type: Json, nullable: boolean): Json {
  if (typeof type !== "string") return type;
  const name = type.toLowerCase();
  return nullable ? [name, "null"] : name;
}

// Reads tools and tool choice of a Gemini request.

/** Reads the tools and the tool choice. */
export function decodeGeminiTools(body: JsonObject): Pick<Conversation, "tools" | "toolChoice"> {
  const tools = (optionalList(body, "tools", "tools") ?? [])
    .flatMap((tool, i) => decodeEntry(requiredObject(tool, `tools.${i}`), `tools.${i}`));
  return { tools, ...decodeChoice(body.toolConfig) };
}

/** Reads one entry of `tools`, which may hold several functions and hosted tools. */
function decodeEntry(entry: JsonObject, path: string): Tool[] {
  return Object.entries(entry).flatMap(([kind, value]): Tool[] => {
    if (value === undefined || value === null) return [];
    const at = `${path}.${kind}`;
    if (kind !== "functionDeclarations") return [hostedTool(kind, value, at)];
    const list = Array.isArray(value) ? value : invalid(at, "must be a list");
    return list.map((one, i) => decodeFunction(requiredObject(one, `${at}.${i}`), `${at}.${i}`));
  });
}

function decodeFunction(tool: JsonObject, path: string): FunctionTool {
  const own = optionalObject(tool, "parameters", `${path}.parameters`);
  const schema = optionalObject(tool, "parametersJsonSchema", `${path}.parametersJsonSchema`) ??
    (own === undefined ? undefined : jsonSchemaOf(own));
  const description = optionalString(tool, "description", `${path}.description`);
  return {
    type: "function",
    path,
    name: requiredString(tool, "name", `${path}.name`),
    ...defined({ description, schema }),
  };
}

const sharedTools: ReadonlyMap<string, "web_search" | "web_fetch" | "code_execution"> = new Map(
  [
    ["googleSearch", "web_search"],
    ["googleSearchRetrieval", "web_search"],
    ["urlContext", "web_fetch"],
    ["codeExecution", "code_execution"],
  ] as const,
);

function hostedTool(kind: string, value: Json, path: string): HostedTool {
  const raw = isJsonObject(value) ? value : {};
  const tool = sharedTools.get(kind);
  const others = Object.keys(raw).map((name) => `${path}.${name}`);
  const requested: HostedToolRequest | undefined = tool === undefined
    ? undefined
    : { tool, others };
  return {
    type: "hosted",
    style: "gemini",
    path,
    kind,
    runs: kind === "computerUse" ? "client" : "server",
    raw,
    ...defined({ requested }),
  };
}

function decodeChoice(config: Json | undefined): { readonly toolChoice?: ToolChoice } {
  if (config === undefined || config === null) return {};
  const path = "toolConfig.functionCallingConfig";
  const calling = optionalObject(
    requiredObject(config, "toolConfig"),
    "functionCallingConfig",
    path,
  );
  if (calling === undefined) return {};
  const names = optionalList(calling, "allowedFunctionNames", `${path}.allowedFunctionNames`) ?? [];
  const allowed = names.map((name) =>
    typeof name === "string"
      ? name
      : invalid(`${path}.allowedFunctionNames`, "must be a list of names")
  );
  const only = allowed.length === 0 ? {} : { allowed };
  const mode = optionalString(calling, "mode", `${path}.mode`)?.toUpperCase() ?? "AUTO";
  switch (mode) {
    case "MODE_UNSPECIFIED":
    case "AUTO":
    // The vendor checks the arguments of the calls; it may still answer without one.
    case "VALIDATED":
      return { toolChoice: { type: "auto", ...only, path } };
    case "NONE":
      return { toolChoice: { type: "none", path } };
    case "ANY": {
      const [name] = allowed;
      return allowed.length === 1 && name !== undefined
        ? { toolChoice: { type: "tool", name, path } }
        : { toolChoice: { type: "required", ...only, path } };
    }
    default:
      return invalid(`${path}.mode`, "must be one of AUTO, ANY, NONE, VALIDATED");
  }
}
