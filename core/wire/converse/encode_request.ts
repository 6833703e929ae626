/**
 * Writes a conversation as a Converse request. The model and the choice of streaming, which are in the path, are the
 * members `model` and `stream`.
 *
 * See docs/internals/WIRE_FORMATS.md#converse-request and docs/conversion.md#requests-converse-model.
 */
import { defined } from "../../lib/base/defined.ts";
import { type MembersRead, noneLeft, noneUnhandled } from "../../lib/base/assert.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { resolveCapabilities, type ResolvedCapabilities } from "../contract/capabilities.ts";
import type { ConversionMemory, ConversionOptions } from "../contract/contract.ts";
import type {
  Conversation,
  FunctionTool,
  OutputFormat,
  Sampling,
  ToolChoice,
} from "../conversation/mod.ts";
import { placeAutomaticMark, refuse } from "../fields/fields.ts";
import { refuseChoices, refusePictures, writeLogprobs } from "../fields/common_fields.ts";
import type { FieldOfNoEncoder } from "../fields/member_fates.ts";
import { carryExtras, samplingPath, stopPath } from "../fields/field_table.ts";
import { warnOfTier } from "../content/citations.ts";
import { formatInWords, type SchemaFormat } from "../fields/output_format.ts";
import type { EncodedRequest } from "../stream/dialect.ts";
import { answerTool, isToolSchema, withAnswerTool } from "../tools/answer_tool.ts";
import { allowsStrictMessages, messagesFormatSchema } from "../tools/schemas/json_schema.ts";
import { Warnings } from "../contract/warnings.ts";
import { BlockWriter, encodeSystem, encodeTurns } from "./encode_blocks.ts";
import { encodeReasoning } from "./encode_reasoning.ts";
import {
  carriedChoice,
  carriedHosted,
  parallelPath,
  strictPath,
  warnOfIdleChoice,
} from "../tools/tool_fields.ts";

// Writes the bound on output and the sampling as `inferenceConfig`, and what the model has under a name of its own.

/** `inferenceConfig`, and fields of the model. */
export interface EncodedInference {
  readonly config: JsonObject;
  readonly more: JsonObject;
}

/** Names under which models take `top_k`, as `extra_fields` says them. */
const topKFields: Readonly<Record<string, (topK: number) => JsonObject>> = {
  top_k: (topK) => ({ top_k: topK }),
  k: (topK) => ({ k: topK }),
  "inferenceConfig.topK": (topK) => ({ inferenceConfig: { topK } }),
};

/**
 * Writes the options that all models share, and `top_k`.
 *
 * @param thinks whether the model thinks in a way that takes no other sampling than its own
 */
function encodeInference(
  conversation: Pick<Conversation, "from" | "maxTokens" | "sampling">,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
  warnings: Warnings,
  thinks: boolean,
): EncodedInference {
  const { temperature, topP, topK, stop, ...rest } = conversation.sampling;
  noneLeft(rest);
  const config: JsonObject = {};
  const { maxTokens } = conversation;
  if (maxTokens !== undefined) {
    config.maxTokens = Math.min(
      maxTokens,
      capabilities.max_output ?? Infinity,
      options.maxOutputTokens,
    );
  }
  const warn = (field: "temperature" | "top_p" | "top_k") =>
    warnings.add(samplingPath(conversation, field));
  const isFixed = capabilities.sampling === "fixed" || thinks;
  if (temperature !== undefined) {
    // The style's own range ends at 1.
    if (!isFixed) config.temperature = Math.min(temperature, 1);
    if (temperature > 1 || (isFixed && temperature !== 1)) warn("temperature");
  }
  if (topP !== undefined) {
    const isExcluded = capabilities.temp_top_p_exclusive && temperature !== undefined;
    if (!isFixed && !isExcluded) config.topP = topP;
    else if (topP !== 1) warn("top_p");
  }
  encodeStop(conversation, stop, capabilities, warnings, config);
  if (topK === undefined) return { config, more: {} };
  const write = topKFields[
    Object.keys(topKFields).find((name) => capabilities.extra_fields.includes(name)) ?? ""
  ];
  if (write === undefined || isFixed) {
    warn("top_k");
    return { config, more: {} };
  }
  return { config, more: write(topK) };
}

function encodeStop(
  conversation: Pick<Conversation, "from">,
  stop: Sampling["stop"],
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  config: JsonObject,
): void {
  const path = stopPath(conversation);
  const real = stop?.filter((text) => text !== "") ?? [];
  if (stop !== undefined && real.length < stop.length) warnings.add(path);
  if (real.length === 0) return;
  if (capabilities.stop_max === 0) warnings.add(path);
  else if (real.length > capabilities.stop_max) {
    refuse(path, `this model takes at most ${capabilities.stop_max} stop sequences`);
  } else config.stopSequences = real;
}

// Writes tools and tool choice as `toolConfig`.

/**
 * Returns `toolConfig`; `undefined` if the model may call no tool. The style cannot forbid calls otherwise, so a choice
 * of none leaves the tools out.
 */
function encodeConverseTools(
  conversation: Pick<Conversation, "from" | "tools" | "toolChoice" | "parallelTools">,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
  writer: BlockWriter,
  warnings: Warnings,
): JsonObject | undefined {
  // The vendor's system tools are others.
  carriedHosted(conversation, options, warnings, () => false);
  // Free-text tools are functions by now: the style has none.
  const functions = conversation.tools.filter((tool) => tool.type === "function");
  const { toolChoice } = conversation;
  if (functions.length === 0) {
    warnOfIdleChoice(toolChoice, warnings);
    return undefined;
  }
  if (conversation.parallelTools === false) warnings.add(parallelPath(conversation));
  if (toolChoice?.type === "none") {
    warnings.add("tools");
    return undefined;
  }
  const tools = functions.flatMap((tool) => [
    { toolSpec: encodeFunction(tool, capabilities, warnings) },
    ...writer.mark(tool),
  ]);
  const choice = toolChoice === undefined
    ? undefined
    : encodeChoice(carriedChoice(toolChoice, capabilities, warnings));
  return { tools, ...(choice === undefined ? {} : { toolChoice: choice }) };
}

function encodeFunction(
  tool: FunctionTool,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
): JsonObject {
  const { name, description } = tool;
  const schema = tool.schema ?? { type: "object", properties: {} };
  const isStrict = tool.strict === true && capabilities.strict_tools &&
    allowsStrictMessages(schema);
  if (tool.strict === true && !isStrict) warnings.add(strictPath(tool));
  return {
    name,
    // An empty one is refused.
    ...(description === undefined || description === "" ? {} : { description }),
    inputSchema: { json: schema },
    ...(isStrict ? { strict: true } : {}),
  };
}

function encodeChoice(choice: ToolChoice): JsonObject | undefined {
  switch (choice.type) {
    case "auto":
      return { auto: {} };
    case "required":
      return { any: {} };
    case "tool":
      return { tool: { name: choice.name } };
    case "none":
      return undefined;
  }
}

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
  // The style has no member for an end user.
  | "endUser"
  | FieldOfNoEncoder;

noneUnhandled<Exclude<keyof Conversation, CarriedField>>();

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
  if (isToolSchema(output) && capabilities.structured === "tool") {
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
