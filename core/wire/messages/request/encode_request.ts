/**
 * Writes a conversation as a Messages request.
 *
 * See docs/internals/WIRE_FORMATS.md#messages-request and docs/conversion.md#requests-chat-client-messages-model.
 */
import { type MembersRead, noneUnhandled } from "../../../lib/base/every_member.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import { ephemeralMark } from "../../fields/cache_marks.ts";
import { refuseChoices, refusePictures, writeLogprobs } from "../../fields/common_fields.ts";
import type { ConversionMemory, ConversionOptions } from "../../contract/contract.ts";
import type { Conversation, OutputFormat, ReasoningRequest } from "../../conversation/mod.ts";
import type { EncodedRequest } from "../../stream/dialect.ts";
import { carryExtras } from "../../fields/extras.ts";
import { warnOfTier } from "../../content/service_tiers.ts";
import { resolveCapabilities, type ResolvedCapabilities } from "../../contract/capabilities.ts";
import { answerTool, withAnswerTool } from "../../tools/answer_tool_request.ts";
import { messagesFormatSchema } from "../../tools/schemas/json_schema.ts";
import { Warnings } from "../../contract/warnings.ts";
import { formatInWords } from "../../fields/output_format.ts";
import { placeCacheMarks } from "./auto_cache.ts";
import { BlockWriter } from "./encode_blocks.ts";
import { encodeMessagesSampling, encodeThinking } from "./encode_thinking.ts";
import { encodeMessagesTools } from "./encode_tools.ts";
import { encodeMessagesTurns } from "./encode_turns.ts";

/**
 * Output tokens set in `max_tokens`, which Messages requires, for an answer that is not streamed. Above this
 * the vendor's SDKs refuse to wait for it.
 */
const maxUnstreamedOutputTokens = 21_333;

/**
 * The fields of a conversation that go into a Messages request. A new field does not compile until a step below reads
 * it, or the last rows say why it goes no further.
 */
type CarriedField =
  | MembersRead<
    | typeof outputCap
    | typeof encodeMessagesTools
    | typeof encodeMessagesTurns
    | typeof encodeThinking
    | typeof encodeMessagesSampling
    | typeof encodeIdentity
    | typeof writeLogprobs
    | typeof refuseChoices
    | typeof refusePictures
    | typeof carryExtras
  >
  | "system"
  // encodeFormat()
  | "output"
  // The route's own name of the model goes out.
  | "model"
  // Of the answer only: the client gets it in the form that it asked for.
  | "legacyFunctions"
  | "groupedTools"
  | "searchTool"
  | "streamUsage"
  // The caller of the encoder adds them to those of the encoder.
  | "warnings";

noneUnhandled<Exclude<keyof Conversation, CarriedField>>();
noneUnhandled<
  Exclude<
    keyof ReasoningRequest,
    | "mode"
    | "effort"
    | "budgetTokens"
    | "display"
    | "path"
    | "effortPath"
    // Signatures of thinking come unasked.
    | "encrypted"
  >
>();
noneUnhandled<
  Exclude<
    keyof Extract<OutputFormat, { readonly type: "json_schema" }>,
    | "type"
    | "schema"
    | "description"
    | "path"
    // The style's format has no name, and is always enforced.
    | "name"
    | "strict"
    | "strictPath"
  >
>();

/** Writes a Messages request. */
export function encodeMessagesRequest(
  given: Conversation,
  options: ConversionOptions,
): EncodedRequest {
  const capabilities = resolveCapabilities("messages", options.capabilities);
  const warnings = new Warnings();
  const writer = new BlockWriter(capabilities, warnings);
  const { conversation, memory, format } = encodeFormat(given, capabilities, warnings);
  const body: JsonObject = { model: options.upstreamModel };
  const maxTokens = outputCap(conversation, capabilities, options);
  body.max_tokens = maxTokens;
  // In the vendor's order of caching (tools, system, messages), so that the first four marks are the outer ones.
  const fields: JsonObject = {};
  const betas = encodeMessagesTools(conversation, capabilities, options, writer, warnings, fields);
  const system = conversation.system.map((block) => writer.block(block)).filter((b) =>
    b !== undefined
  );
  if (system.length > 0) body.system = system;
  body.messages = encodeMessagesTurns(conversation, capabilities, writer, warnings);
  Object.assign(body, fields);
  const thinks = encodeThinking(conversation, capabilities, warnings, body, maxTokens);
  encodeMessagesSampling(conversation, capabilities, warnings, body, thinks);
  if (format !== undefined) {
    body.output_config = {
      ...(isJsonObject(body.output_config) ? body.output_config : {}),
      format,
    };
  }
  encodeIdentity(conversation, warnings, body);
  writeLogprobs(conversation, capabilities, () => {});
  refusePictures(conversation);
  refuseChoices(conversation);
  carryExtras(conversation, capabilities, body, warnings);
  if (conversation.stream) body.stream = true;
  const wantsMarks = capabilities.auto_cache && capabilities.cache_marks !== "none";
  if (wantsMarks && !writer.hasMarks && conversation.automaticCache === undefined) {
    placeCacheMarks(body);
  }
  return {
    body,
    warnings: warnings.list(),
    memory: { ...memory, reasoningSigner: capabilities.reasoning_signer },
    betas,
  };
}

/** Returns the cap on output, which Messages requires: the client's, or the model's maximum. */
function outputCap(
  conversation: Pick<Conversation, "maxTokens" | "stream">,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
): number {
  const most = Math.min(capabilities.max_output ?? Infinity, options.maxOutputTokens);
  if (conversation.maxTokens !== undefined) return Math.min(conversation.maxTokens, most);
  return conversation.stream ? most : Math.min(most, maxUnstreamedOutputTokens);
}

interface FormatPlan {
  readonly conversation: Conversation;
  readonly format?: JsonObject;
  readonly memory: ConversionMemory;
}

function encodeFormat(
  conversation: Conversation,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
): FormatPlan {
  const output = describedInSchema(conversation.output);
  if (output === undefined) return { conversation, memory: {} };
  if (output.type === "json_schema" && capabilities.structured === "format") {
    const format = { type: "json_schema", schema: messagesFormatSchema(output.schema) };
    return { conversation, format, memory: {} };
  }
  if (output.type === "json_schema" && capabilities.structured === "tool") {
    return {
      conversation: withAnswerTool(conversation, output.schema, capabilities, warnings),
      memory: { answerTool },
    };
  }
  warnings.add(output.path);
  const instruction = { type: "text" as const, text: formatInWords(output), path: output.path };
  return {
    conversation: { ...conversation, system: [...conversation.system, instruction] },
    memory: {},
  };
}

/** Moves the description of a schema into the schema: the style has no other member for it. */
function describedInSchema(output: OutputFormat | undefined): OutputFormat | undefined {
  if (output?.type !== "json_schema" || output.description === undefined) return output;
  const { description, schema } = output;
  return { ...output, schema: { description, ...schema } };
}

function encodeIdentity(
  { endUser, serviceTier, automaticCache }: Pick<
    Conversation,
    "endUser" | "serviceTier" | "automaticCache"
  >,
  warnings: Warnings,
  body: JsonObject,
): void {
  if (endUser !== undefined) body.metadata = { user_id: endUser.id };
  if (serviceTier?.tier === "auto") body.service_tier = "auto";
  else if (serviceTier?.tier === "default") body.service_tier = "standard_only";
  else if (serviceTier !== undefined) warnOfTier(serviceTier, warnings);
  if (automaticCache !== undefined) body.cache_control = ephemeralMark(automaticCache);
}
