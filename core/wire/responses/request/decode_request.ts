/**
 * Reads a Responses request into a conversation.
 *
 * See docs/internals/WIRE_FORMATS.md#responses and docs/conversion.md#responses.
 *
 * - Folder `core/wire/responses/request/`: requests of the Responses style.
 * - In: requests of Responses clients, or conversations.
 * - Out: conversations, or requests for Responses servers; the members that an answer repeats.
 * - Never: sends a request, or imports the folder of another style.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import {
  readDisplay,
  readEffort,
  readEndUser,
  readOutputFormat,
  readServiceTier,
  readTemperatureAndTopP,
} from "../../fields/common_fields.ts";
import type {
  Conversation,
  Extra,
  OutputFormat,
  ReasoningRequest,
  TextBlock,
} from "../../conversation/mod.ts";
import {
  optionalBoolean,
  optionalCount,
  optionalList,
  optionalObject,
  optionalString,
  refuse,
  requiredObject,
  requiredString,
} from "../../fields/fields.ts";
import { statelessAdvice } from "../../fields/stateless_advice.ts";
import { Warnings } from "../../contract/warnings.ts";
import { extraOf, extrasOf, warnUnread } from "../../fields/field_table.ts";
import { decodeInput, updatedEffort } from "./decode_items.ts";
import { decodeResponsesTools, offeredTools } from "./decode_tools.ts";
import {
  encryptedReasoning,
  isMet,
  responsesFields,
  textLogprobs,
  verbosity,
} from "./known_fields.ts";
import type { responseMembers } from "../answer/response_object.ts";
import { defined } from "../../../lib/base/defined.ts";

// Selects the members of a request that a Responses answer repeats, as at the vendor.

/** Members with a single short value. */
const repeated = [
  "max_output_tokens",
  "parallel_tool_calls",
  "prompt_cache_key",
  "prompt_cache_retention",
  "safety_identifier",
  "temperature",
  "top_logprobs",
  "top_p",
  "user",
] as const satisfies readonly (keyof typeof responseMembers)[];

/** Most characters of a repeated text, as for values of `metadata`. It is kept as long as the call lasts. */
const textChars = 512;
/** Most pairs of `metadata`, as at the vendor. */
const metadataPairs = 16;

/**
 * Returns the members of a request that its answer repeats. They are few and short, and none of them is a prompt.
 *
 * @example
 * ```ts
 * import { echoOf } from "./decode_request.ts";
 * const echo = echoOf({ model: "m", input: "Hi", user: "u", metadata: { a: "b" } });
 * if (JSON.stringify(echo) !== '{"user":"u","metadata":{"a":"b"}}') throw new Error(JSON.stringify(echo));
 * ```
 */
export function echoOf(body: JsonObject): JsonObject {
  const echo: JsonObject = {};
  for (const name of repeated) {
    const value = body[name];
    if (isShort(value)) echo[name] = value;
  }
  const { metadata } = body;
  if (isJsonObject(metadata)) {
    const pairs = Object.entries(metadata);
    const fits = pairs.length <= metadataPairs &&
      pairs.every(([key, value]) => isShort(key) && typeof value === "string" && isShort(value));
    if (fits) echo["metadata"] = metadata;
  }
  return echo;
}

function isShort(value: Json | undefined): value is string | number | boolean {
  return typeof value === "string"
    ? value.length <= textChars
    : typeof value === "number" || typeof value === "boolean";
}

/** Reads a Responses request. */
export function decodeResponsesRequest(body: JsonObject): Conversation {
  const warnings = new Warnings();
  refuseStored(body, warnings);
  const offered = offeredTools(body);
  const { system, turns } = decodeInput(body["input"], offered.nameOf);
  const instructions = optionalString(body, "instructions", "instructions");
  const maxTokens = optionalCount(body, "max_output_tokens", "max_output_tokens", 1);
  const sampling = readTemperatureAndTopP(body);
  const tier = readServiceTier(body);
  const text = optionalObject(body, "text", "text") ?? {};
  const { encrypted, logprobs } = decodeInclude(body, warnings);
  const reasoning = decodeReasoning(body, encrypted);
  const output = decodeFormat(text);
  warnUnread(body, responsesFields, warnings);
  return {
    from: "responses",
    model: requiredString(body, "model", "model"),
    system: [...instructionBlocks(instructions), ...system],
    turns,
    ...decodeResponsesTools(body, offered),
    ...defined({ maxTokens }),
    sampling,
    ...defined({ reasoning, output }),
    stream: optionalBoolean(body, "stream", "stream") ?? false,
    streamUsage: true,
    ...readEndUser(body),
    ...tier,
    ...logprobs,
    extras: decodeExtras(body, text),
    warnings: warnings.list(),
  };
}

function instructionBlocks(instructions: string | undefined): TextBlock[] {
  return instructions === undefined || instructions.trim() === ""
    ? []
    : [{ type: "text", text: instructions, path: "instructions" }];
}

/** Refuses what depends on storage at a provider, and what clients rely on and no other style has. */
function refuseStored(body: JsonObject, warnings: Warnings): void {
  for (const field of ["previous_response_id", "conversation", "prompt"]) {
    if (body[field] !== undefined && body[field] !== null) {
      refuse(field, statelessAdvice(field, "send the whole conversation as input"));
    }
  }
  if (optionalBoolean(body, "background", "background") === true) {
    refuse("background", statelessAdvice("background", "leave it out"));
  }
  if (optionalBoolean(body, "store", "store") === true) warnings.add("store");
}

/** Reads `include`, which asks for more output. Results of hosted tools and encrypted reasoning are always sent. */
function decodeInclude(
  body: JsonObject,
  warnings: Warnings,
): { readonly encrypted: boolean; readonly logprobs: Pick<Conversation, "logprobs"> } {
  const include = optionalList(body, "include", "include") ?? [];
  if (!include.every(isMet)) warnings.add("include");
  const encrypted = include.includes(encryptedReasoning);
  const top = optionalCount(body, "top_logprobs", "top_logprobs");
  const given = top === undefined ? {} : { top };
  if (include.includes(textLogprobs)) {
    return { encrypted, logprobs: { logprobs: { path: "include", ...given } } };
  }
  const asks = top !== undefined && top > 0;
  return { encrypted, logprobs: asks ? { logprobs: { path: "top_logprobs", top } } : {} };
}

function decodeReasoning(body: JsonObject, encrypted: boolean): ReasoningRequest | undefined {
  const updated = updatedEffort(body["input"]);
  const reasoning = optionalObject(body, "reasoning", "reasoning") ??
    (updated === undefined ? undefined : {});
  if (reasoning === undefined) return undefined;
  const path = "reasoning.effort";
  const effort = updated?.effort ??
    readEffort(optionalString(reasoning, "effort", path), path);
  const display = {
    ...readDisplay(reasoning, "generate_summary", "reasoning"),
    ...readDisplay(reasoning, "summary", "reasoning"),
  };
  if (effort === undefined && display.display === undefined) return undefined;
  return {
    ...defined({ effort }),
    ...display,
    ...(encrypted ? { encrypted } : {}),
    ...defined({ effortPath: updated?.effortPath }),
    path: "reasoning",
  };
}

function decodeFormat(text: JsonObject): OutputFormat | undefined {
  const path = "text.format";
  const format = optionalObject(text, "format", path);
  return readOutputFormat(format, path, (given) => decodeSchema(given, path));
}

function decodeSchema(format: JsonObject, path: string): OutputFormat {
  const name = optionalString(format, "name", `${path}.name`);
  const description = optionalString(format, "description", `${path}.description`);
  const strict = optionalBoolean(format, "strict", `${path}.strict`);
  return {
    type: "json_schema",
    path,
    schema: requiredObject(format["schema"], `${path}.schema`),
    ...defined({ name, description, strict }),
  };
}

function decodeExtras(body: JsonObject, text: JsonObject): Extra[] {
  const value = text["verbosity"];
  const extras = extrasOf(body, responsesFields, "responses");
  if (value === undefined || value === null) return extras;
  return [extraOf("verbosity", "text.verbosity", value, verbosity), ...extras];
}
