/**
 * Writes a conversation as a Responses request.
 *
 * See docs/internals/WIRE_FORMATS.md#responses and docs/conversion.md#responses.
 */
import { type MembersRead, noneLeft, noneUnhandled } from "../../../lib/base/assert.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { placeAutomaticMark } from "../../fields/fields.ts";
import {
  refuseChoices,
  refusePictures,
  writeEndUserAndTier,
  writeLogprobs,
  writeTemperatureAndTopP,
} from "../../fields/common_fields.ts";
import type { ConversionOptions } from "../../contract/contract.ts";
import type { Conversation } from "../../conversation/mod.ts";
import type { EncodedRequest } from "../../stream/dialect.ts";
import {
  encodeOutputFormat,
  levelOf,
  mentionsJson,
  nearestEffort,
  warnOfLoweredThinking,
  warnOfReasoning,
} from "../../fields/output_format.ts";
import type { FieldOfNoEncoder } from "../../fields/member_fates.ts";
import { carryExtras, samplingPath, stopPath } from "../../fields/field_table.ts";
import { resolveCapabilities, type ResolvedCapabilities } from "../../contract/capabilities.ts";
import { namedSchema } from "../../tools/tool_fields.ts";
import { Warnings } from "../../contract/warnings.ts";
import { encodeInput } from "./encode_items.ts";
import { encodeResponsesTools } from "./encode_tools.ts";
import { encryptedReasoning, textLogprobs } from "./known_fields.ts";
import { defined } from "../../../lib/base/defined.ts";

/** The smallest cap on output tokens that the vendor accepts. */
const leastOutputTokens = 16;

/**
 * The fields of a conversation that go into a Responses request. A new field does not compile until a step below reads
 * it, or the last rows say why it goes no further.
 */
type CarriedField =
  | MembersRead<
    | typeof encodeInput
    | typeof encodeResponsesTools
    | typeof encodeCap
    | typeof encodeSampling
    | typeof encodeReasoning
    | typeof encodeExtras
    | typeof writeEndUserAndTier
    | typeof writeLogprobs
    | typeof refuseChoices
    | typeof refusePictures
  >
  | "stream"
  // placeAutomaticMark() turns it into the mark of a block.
  | "automaticCache"
  | FieldOfNoEncoder;

noneUnhandled<Exclude<keyof Conversation, CarriedField>>();

/** Writes a Responses request. */
export function encodeResponsesRequest(
  given: Conversation,
  options: ConversionOptions,
): EncodedRequest {
  const capabilities = resolveCapabilities("responses", options.capabilities);
  const warnings = new Warnings();
  const conversation = placeAutomaticMark(given, capabilities, warnings);
  const format = encodeOutputFormat(conversation.output, capabilities, warnings, {
    encodeSchema: (requested) => ({
      type: "json_schema",
      ...namedSchema(requested, conversation.from, warnings),
    }),
    modeIsEnough: () => mentionsJson(conversation),
  });
  const { instructions, input } = encodeInput(
    conversation,
    capabilities,
    warnings,
    format.instructions,
  );
  const body: JsonObject = { model: options.upstreamModel };
  if (instructions !== undefined) body["instructions"] = instructions;
  body["input"] = input;
  const hosted = encodeResponsesTools(conversation, capabilities, options, warnings, body);
  encodeCap(conversation, capabilities, options, warnings, body);
  encodeSampling(conversation, capabilities, warnings, body);
  encodeReasoning(conversation, capabilities, warnings, body);
  if (format.field !== undefined) body["text"] = { format: format.field };
  encodeExtras(conversation, capabilities, warnings, body);
  writeEndUserAndTier(conversation, capabilities, warnings, body);
  // Nothing is stored at the vendor: the client sends the whole conversation, including reasoning.
  body["store"] = false;
  const include: string[] = capabilities.efforts.length > 0 ? [encryptedReasoning] : [];
  refusePictures(conversation);
  refuseChoices(conversation);
  writeLogprobs(conversation, capabilities, (top) => {
    include.push(textLogprobs);
    if (top !== undefined) body["top_logprobs"] = top;
  });
  include.push(...hosted);
  if (include.length > 0) body["include"] = include;
  if (conversation.stream) body["stream"] = true;
  return {
    body,
    warnings: warnings.list(),
    memory: { reasoningSigner: capabilities.reasoning_signer },
  };
}

function encodeCap(
  conversation: Pick<Conversation, "from" | "maxTokens">,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
  warnings: Warnings,
  body: JsonObject,
): void {
  const { maxTokens } = conversation;
  if (maxTokens === undefined) return;
  const cap = Math.min(maxTokens, capabilities.max_output ?? Infinity, options.maxOutputTokens);
  if (cap < leastOutputTokens) warnings.add(capPath(conversation));
  body["max_output_tokens"] = Math.max(cap, leastOutputTokens);
}

function capPath(conversation: Pick<Conversation, "from">): string {
  if (conversation.from === "gemini") return "generationConfig.maxOutputTokens";
  return conversation.from === "messages" ? "max_tokens" : "max_completion_tokens";
}

function encodeSampling(
  conversation: Pick<Conversation, "from" | "sampling">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  body: JsonObject,
): void {
  const { topK, stop, temperature, topP, ...rest } = conversation.sampling;
  noneLeft(rest);
  writeTemperatureAndTopP(
    { from: conversation.from, temperature, topP },
    capabilities,
    warnings,
    body,
  );
  if (topK !== undefined) warnings.add(samplingPath(conversation, "top_k"));
  // The style has no stop sequences at all.
  if (stop !== undefined && stop.length > 0) warnings.add(stopPath(conversation));
}

function encodeReasoning(
  { reasoning }: Pick<Conversation, "reasoning">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  body: JsonObject,
): void {
  if (reasoning === undefined) return;
  const wanted = levelOf(reasoning);
  const effort = wanted === undefined ? undefined : nearestEffort(wanted, capabilities.efforts);
  warnOfLoweredThinking(reasoning, effort, warnings);
  if (wanted !== undefined && wanted !== "none" && effort === undefined) {
    warnOfReasoning(reasoning, warnings);
    return;
  }
  // A Messages client that switches thinking on expects to see it; a Chat client has no field to ask for it.
  const shows = reasoning.mode === "on" || reasoning.mode === "adaptive" ||
    reasoning.display !== undefined;
  const display = reasoning.display?.word;
  const hides = display === "omitted" || wanted === "none" || capabilities.efforts.length === 0;
  const summary = shows && !hides ? { summary: summaryWord(display) } : {};
  if (effort === undefined && Object.keys(summary).length === 0) return;
  body["reasoning"] = { ...defined({ effort }), ...summary };
}

function summaryWord(display: string | undefined): string {
  return display === "concise" || display === "detailed" ? display : "auto";
}

/** Carries the extras. `verbosity`, which is at the top in Chat, goes into `text`. */
function encodeExtras(
  conversation: Pick<Conversation, "extras">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  body: JsonObject,
): void {
  const extras: JsonObject = {};
  carryExtras(conversation, capabilities, extras, warnings);
  const { verbosity, ...rest } = extras;
  if (verbosity !== undefined) {
    const text = body["text"];
    body["text"] = { ...(typeof text === "object" ? text : {}), verbosity };
  }
  Object.assign(body, rest);
}
