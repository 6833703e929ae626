/**
 * Writes a conversation as a Converse request. The model and the choice of streaming, which are in the path, are the
 * members `model` and `stream`.
 *
 * See docs/internals/WIRE_FORMATS.md#converse-request and docs/conversion.md#requests-converse-model.
 */
import { defined } from "../../lib/base/defined.ts";
import { type MembersRead, noneUnhandled } from "../../lib/base/every_member.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";
import { resolveCapabilities, type ResolvedCapabilities } from "../contract/capabilities.ts";
import type { ConversionMemory, ConversionOptions } from "../contract/contract.ts";
import type { Conversation, OutputFormat } from "../conversation/mod.ts";
import { placeAutomaticMark } from "../fields/cache_marks.ts";
import { refuseChoices, refusePictures, writeLogprobs } from "../fields/common_fields.ts";
import { carryExtras } from "../fields/extras.ts";
import { warnOfTier } from "../content/service_tiers.ts";
import { formatInWords, type SchemaFormat } from "../fields/output_format.ts";
import type { EncodedRequest } from "../stream/dialect.ts";
import { answerTool, withAnswerTool } from "../tools/answer_tool_request.ts";
import { messagesFormatSchema } from "../tools/schemas/json_schema.ts";
import { Warnings } from "../contract/warnings.ts";
import { BlockWriter } from "./encode_blocks.ts";
import { encodeInference } from "./encode_inference.ts";
import { encodeReasoning } from "./encode_reasoning.ts";
import { encodeConverseTools } from "./encode_tools.ts";
import { encodeSystem, encodeTurns } from "./encode_turns.ts";

/**
 * The fields of a conversation that go into a Converse request. A new field does not compile until a step below reads
 * it, or the last rows say why it goes no further.
 */
type CarriedField =
  | MembersRead<
    | typeof encodeConverseTools
    | typeof encodeSystem
    | typeof encodeTurns
    | typeof encodeInference
    | typeof encodeReasoning
    | typeof encodeExtras
    | typeof writeLogprobs
    | typeof refuseChoices
    | typeof refusePictures
  >
  | "stream"
  // encodeFormat()
  | "output"
  // placeAutomaticMark() turns it into the mark of a block.
  | "automaticCache"
  // The route's own name of the model goes out.
  | "model"
  // The style has no member for an end user.
  | "endUser"
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
    keyof SchemaFormat,
    | "type"
    | "schema"
    | "name"
    | "description"
    | "path"
    // The style's format is always enforced.
    | "strict"
    | "strictPath"
  >
>();

/** Writes a Converse request. */
export function encodeConverseRequest(
  given: Conversation,
  options: ConversionOptions,
): EncodedRequest {
  const capabilities = resolveCapabilities("converse", options.capabilities);
  const warnings = new Warnings();
  const marked = placeAutomaticMark(given, capabilities, warnings);
  const { conversation, memory, format } = encodeFormat(marked, capabilities, warnings);
  const writer = new BlockWriter(capabilities, warnings);
  const body: JsonObject = { model: options.upstreamModel };
  if (conversation.stream) body.stream = true;
  // In the vendor's order of caching (tools, system, messages), so that the first four marks are the outer ones.
  const toolConfig = encodeConverseTools(conversation, capabilities, options, writer, warnings);
  const system = encodeSystem(conversation, writer);
  if (system.length > 0) body.system = system;
  body.messages = encodeTurns(
    conversation,
    capabilities,
    writer,
    warnings,
    toolConfig !== undefined,
  );
  if (toolConfig !== undefined) body.toolConfig = toolConfig;
  const reasoning = encodeReasoning(conversation, capabilities, options, warnings);
  const thinks = reasoning.thinks === true;
  const inference = encodeInference(conversation, capabilities, options, warnings, thinks);
  if (Object.keys(inference.config).length > 0) body.inferenceConfig = inference.config;
  const outputConfig = defined({ textFormat: format, effort: reasoning.effort });
  if (Object.keys(outputConfig).length > 0) body.outputConfig = outputConfig;
  const more: JsonObject = { ...inference.more, ...reasoning.more };
  writeLogprobs(conversation, capabilities, () => {});
  refusePictures(conversation);
  refuseChoices(conversation);
  encodeExtras(conversation, capabilities, warnings, body, more);
  if (Object.keys(more).length > 0) body.additionalModelRequestFields = more;
  return {
    body,
    warnings: warnings.list(),
    memory: { ...memory, reasoningSigner: capabilities.reasoning_signer },
  };
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
  const { output } = conversation;
  if (output === undefined) return { conversation, memory: {} };
  if (output.type === "json_schema" && capabilities.structured === "format") {
    return { conversation, format: encodeSchema(output), memory: {} };
  }
  if (output.type === "json_schema" && capabilities.structured === "tool") {
    const { schema, description } = output;
    const described = description === undefined ? schema : { description, ...schema };
    return {
      conversation: withAnswerTool(conversation, described, capabilities, warnings),
      memory: { answerTool },
    };
  }
  return { conversation: withInstruction(conversation, output, warnings), memory: {} };
}

function withInstruction(
  conversation: Conversation,
  output: OutputFormat,
  warnings: Warnings,
): Conversation {
  warnings.add(output.path);
  const instruction = { type: "text" as const, text: formatInWords(output), path: output.path };
  return { ...conversation, system: [...conversation.system, instruction] };
}

/** The grammar of the vendor takes what that of the Messages vendor takes. The schema is a text. */
function encodeSchema({ schema, name, description }: SchemaFormat): JsonObject {
  return {
    type: "json_schema",
    structure: {
      jsonSchema: {
        schema: stringifyExactly(messagesFormatSchema(schema)),
        ...(name === undefined || name === "" ? {} : { name }),
        ...(description === undefined || description === "" ? {} : { description }),
      },
    },
  };
}

/** The vendor's names of service tiers. */
const tiers: ReadonlyMap<string, string> = new Map([
  ["default", "default"],
  ["standard", "default"],
  ["flex", "flex"],
  ["priority", "priority"],
  ["reserved", "reserved"],
]);

function encodeExtras(
  { extras, serviceTier }: Pick<Conversation, "extras" | "serviceTier">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  body: JsonObject,
  more: JsonObject,
): void {
  carryExtras({ extras }, capabilities, more, warnings);
  const tier = serviceTier === undefined ? undefined : tiers.get(serviceTier.tier);
  if (tier !== undefined && capabilities.extra_fields.includes("service_tier")) {
    body.serviceTier = { type: tier };
  } else if (serviceTier !== undefined) warnOfTier(serviceTier, warnings);
}
