/**
 * Writes a conversation as a Gemini request. The model and the choice of streaming, which are in the path, are the members
 * `model` and `stream`.
 *
 * See docs/internals/WIRE_FORMATS.md#gemini-request and docs/conversion.md#requests-gemini-client-and-gemini-model.
 */
import { type MembersRead, noneLeft, noneUnhandled } from "../../../lib/base/assert.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { ConversionOptions } from "../../contract/contract.ts";
import type {
  Conversation,
  Effort,
  FunctionTool,
  HostedToolRequest,
  OutputFormat,
  ReasoningRequest,
  ToolChoice,
} from "../../conversation/mod.ts";
import { resolveCapabilities, type ResolvedCapabilities } from "../../contract/capabilities.ts";
import { placeAutomaticMark, refuse, warnOfMark } from "../../fields/fields.ts";
import { writeChoices, writeLogprobs } from "../../fields/common_fields.ts";
import {
  carriedBudget,
  effortOf,
  encodeOutputFormat,
  nearestEffort,
  type SchemaFormat,
  warnOfLoweredThinking,
  warnOfReasoning,
} from "../../fields/output_format.ts";
import type { FieldOfNoEncoder } from "../../fields/member_fates.ts";
import { carryExtras, samplingPath, stopPath } from "../../fields/field_table.ts";
import { warnOfTier } from "../../content/citations.ts";
import type { EncodedRequest } from "../../stream/dialect.ts";
import { Warnings } from "../../contract/warnings.ts";
import { encodeGeminiContents } from "./encode_contents.ts";
import { carriedSchema } from "./schema.ts";
import { defined } from "../../../lib/base/defined.ts";
import {
  carriedChoice,
  carriedHosted,
  parallelPath,
  refuseForced,
  strictPath,
  warnOfIdleChoice,
  warnOfRequested,
} from "../../tools/tool_fields.ts";

// Writes tools and tool choice as Gemini fields.

/** The fields of a conversation that this file reads. */
type ToolFields = Pick<Conversation, "from" | "tools" | "toolChoice" | "parallelTools">;

/** Adds `tools` and `toolConfig` to the body. Returns whether the vendor runs any of the tools. */
function encodeGeminiTools(
  conversation: ToolFields,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
  warnings: Warnings,
  body: JsonObject,
): boolean {
  const declarations = conversation.tools.flatMap((tool) =>
    // Free-text tools are functions by now: the style has none.
    tool.type === "function" ? [encodeFunction(tool, warnings)] : []
  );
  const hasFunctions = declarations.length > 0;
  const mixing = mixingOf(capabilities);
  const hosted = encodeHosted(conversation, options, warnings, hasFunctions && mixing === "no");
  const tools = [
    ...(hasFunctions ? [{ functionDeclarations: declarations }] : []),
    ...hosted,
  ];
  if (tools.length > 0) body.tools = tools;
  const isHosted = hosted.length > 0;
  if (!hasFunctions) {
    warnOfIdleChoice(conversation.toolChoice, warnings);
    return isHosted;
  }
  const config = encodeToolConfig(
    conversation,
    capabilities,
    warnings,
    isHosted && mixing === "invocations",
  );
  if (Object.keys(config).length > 0) body.toolConfig = config;
  // The style has no switch for it.
  if (conversation.parallelTools === false) warnings.add(parallelPath(conversation));
  return isHosted;
}

/** Mixing of hosted tools with functions that the model takes; models up to 2.5, which think by budget, take none. */
function mixingOf(
  { thinking, mixed_tools }: ResolvedCapabilities,
): ResolvedCapabilities["mixed_tools"] {
  return thinking === "adaptive" ? mixed_tools : "no";
}

function encodeToolConfig(
  { toolChoice }: ToolFields,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  showsInvocations: boolean,
): JsonObject {
  const choice = toolChoice === undefined
    ? undefined
    : encodeChoice(carriedChoice(toolChoice, capabilities, warnings));
  if (!showsInvocations) return choice === undefined ? {} : { functionCallingConfig: choice };
  return {
    // The vendor knows no AUTO beside the calls of its own tools.
    functionCallingConfig: choice === undefined || choice.mode === "AUTO"
      ? { mode: "VALIDATED" }
      : choice,
    includeServerSideToolInvocations: true,
  };
}

function encodeFunction(tool: FunctionTool, warnings: Warnings): JsonObject {
  warnOfMark(tool, warnings);
  if (tool.strict === true) warnings.add(strictPath(tool));
  const { name, description } = tool;
  const carried = tool.schema === undefined ? undefined : carriedSchema(tool.schema);
  if (carried?.isLoose === true) warnings.add(tool.path);
  return { name, ...defined({ description, parametersJsonSchema: carried?.schema }) };
}

function encodeChoice(choice: ToolChoice): JsonObject {
  switch (choice.type) {
    case "auto":
      return { mode: "AUTO" };
    case "none":
      return { mode: "NONE" };
    case "required":
      return { mode: "ANY" };
    case "tool":
      return { mode: "ANY", allowedFunctionNames: [choice.name] };
  }
}

const hostedNames: ReadonlyMap<HostedToolRequest["tool"], string> = new Map(
  [
    ["web_search", "googleSearch"],
    ["web_fetch", "urlContext"],
    ["code_execution", "codeExecution"],
  ] as const,
);

/** Writes the hosted tools that the vendor has too. They take no options, and none can be forced beside others. */
function encodeHosted(
  conversation: ToolFields,
  options: ConversionOptions,
  warnings: Warnings,
  isExcluded: boolean,
): JsonObject[] {
  const has = ({ tool }: HostedToolRequest) => !isExcluded && hostedNames.has(tool);
  return carriedHosted(conversation, options, warnings, has).flatMap(({ requested, ...tool }) => {
    if (conversation.tools.length > 1) refuseForced(tool, conversation.toolChoice);
    if (requested.tool === "web_search") {
      const { allowedDomains, blockedDomains, location, maxUses, contextSize } = requested;
      warnOfRequested([allowedDomains, blockedDomains, location, maxUses, contextSize], warnings);
    }
    for (const path of requested.others) warnings.add(path);
    const name = hostedNames.get(requested.tool);
    return name === undefined ? [] : [{ [name]: {} }];
  });
}

/**
 * The fields of a conversation that go into a Gemini request. A new field does not compile until a step below reads it,
 * or the last rows say why it goes no further.
 */
type CarriedField =
  | MembersRead<
    | typeof encodeGeminiContents
    | typeof encodeGeminiTools
    | typeof encodeSampling
    | typeof encodeThinking
    | typeof encodeExtras
    | typeof writeLogprobs
    | typeof writeChoices
  >
  | "maxTokens"
  | "output"
  | "pictures"
  | "stream"
  // placeAutomaticMark() turns it into the mark of a block.
  | "automaticCache"
  // The style has no member for an end user.
  | "endUser"
  | FieldOfNoEncoder;

noneUnhandled<Exclude<keyof Conversation, CarriedField>>();

/** Answers of one call: the vendor refuses more. */
const maxCandidates = 8;

/** Writes a Gemini request. */
export function encodeGeminiRequest(
  given: Conversation,
  options: ConversionOptions,
): EncodedRequest {
  const capabilities = resolveCapabilities("gemini", options.capabilities);
  const warnings = new Warnings();
  const conversation = placeAutomaticMark(given, capabilities, warnings);
  const body: JsonObject = { model: options.upstreamModel };
  if (conversation.stream) body.stream = true;
  const format = encodeOutputFormat(
    describedInSchema(conversation.output),
    capabilities,
    warnings,
    {
      encodeSchema: (output) => encodeSchema(output, warnings),
      modeIsEnough: () => true,
    },
  );
  Object.assign(
    body,
    encodeGeminiContents(conversation, capabilities, warnings, format.instructions),
  );
  const hosted = encodeGeminiTools(conversation, capabilities, options, warnings, body);
  const config: JsonObject = {};
  const cap = Math.min(capabilities.max_output ?? Infinity, options.maxOutputTokens);
  if (conversation.maxTokens !== undefined) {
    config.maxOutputTokens = Math.min(conversation.maxTokens, cap);
  }
  encodeSampling(conversation, capabilities, warnings, config);
  encodeThinking(conversation, capabilities, warnings, config);
  if (format.field !== undefined) {
    config.responseMimeType = "application/json";
    const { schema } = format.field;
    if (schema !== undefined) config.responseJsonSchema = schema;
  }
  writeLogprobs(conversation, capabilities, (top) => {
    config.responseLogprobs = true;
    // The vendor counts alternatives from 1.
    if (top !== undefined && top > 0) config.logprobs = top;
  });
  writeChoices(conversation, capabilities, maxCandidates, (count) => {
    config.candidateCount = count;
  });
  if (conversation.pictures !== undefined) config.responseModalities = ["TEXT", "IMAGE"];
  encodeExtras(conversation, capabilities, warnings, body, config);
  if (Object.keys(config).length > 0) body.generationConfig = config;
  return {
    body,
    warnings: warnings.list(),
    memory: {
      reasoningSigner: capabilities.reasoning_signer,
      ...(hosted ? {} : { withoutSources: true }),
    },
  };
}

/** Moves the description of a schema into the schema: the style has no other member for it. */
function describedInSchema(output: OutputFormat | undefined): OutputFormat | undefined {
  if (output?.type !== "json_schema" || output.description === undefined) return output;
  const { description, schema } = output;
  return { ...output, schema: { description, ...schema } };
}

function encodeSchema(
  // The style's format has no name, and is always enforced.
  {
    type: _,
    schema,
    name: _name,
    description: _told,
    strict: _strict,
    strictPath: _strictPath,
    path,
    ...rest
  }: SchemaFormat,
  warnings: Warnings,
): JsonObject {
  noneLeft(rest);
  const carried = carriedSchema(schema);
  if (carried.isLoose) warnings.add(path);
  return { schema: carried.schema };
}

function encodeSampling(
  conversation: Pick<Conversation, "from" | "sampling">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  config: JsonObject,
): void {
  const { temperature, topP, topK, stop, ...rest } = conversation.sampling;
  noneLeft(rest);
  const isFixed = capabilities.sampling === "fixed";
  if (temperature !== undefined) {
    if (!isFixed) config.temperature = temperature;
    else if (temperature !== 1) warnings.add(samplingPath(conversation, "temperature"));
  }
  if (topP !== undefined) {
    if (!isFixed) config.topP = topP;
    else if (topP !== 1) warnings.add(samplingPath(conversation, "top_p"));
  }
  if (topK !== undefined) {
    // The vendor counts from 1.
    if (!isFixed && topK > 0) config.topK = topK;
    else warnings.add(samplingPath(conversation, "top_k"));
  }
  if (stop === undefined || stop.length === 0) return;
  if (capabilities.stop_max === 0) warnings.add(stopPath(conversation));
  else if (stop.length > capabilities.stop_max) {
    refuse(
      stopPath(conversation),
      `this model takes at most ${capabilities.stop_max} stop sequences`,
    );
  } else config.stopSequences = [...stop];
}

/** The value of `display` for thinking that is not shown. */
const hidden: ReadonlySet<string> = new Set(["omitted", "none"]);

/**
 * Adds `thinkingConfig`: by level for models that have levels, by budget for earlier ones. Thoughts are shown to clients
 * that asked for thinking in any form, unless they hide it.
 */
function encodeThinking(
  { reasoning }: Pick<Conversation, "reasoning">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  config: JsonObject,
): void {
  if (reasoning === undefined) return;
  const wanted = effortOf(reasoning);
  if (capabilities.thinking === "none") {
    if (wanted !== "none") warnOfReasoning(reasoning, warnings);
    return;
  }
  const { display } = reasoning;
  const shows = wanted !== "none" && !(display !== undefined && hidden.has(display.word));
  const thinking: JsonObject = shows ? { includeThoughts: true } : {};
  if (capabilities.thinking === "budget") {
    thinking.thinkingBudget = geminiBudget(reasoning, wanted, capabilities, warnings);
  } else if (wanted !== undefined) {
    const level = nearestEffort(wanted, capabilities.efforts);
    warnOfLoweredThinking(reasoning, level, warnings);
    if (level !== undefined && level !== "none") thinking.thinkingLevel = level.toUpperCase();
    else if (wanted !== "none") warnOfReasoning(reasoning, warnings);
  }
  if (Object.keys(thinking).length > 0) config.thinkingConfig = thinking;
}

/** The budget with which the model decides for itself. */
const dynamicBudget = -1;

/** The largest budget that every model takes (https://ai.google.dev/gemini-api/docs/thinking). */
const maxCommonBudgetTokens = 24_576;

function geminiBudget(
  reasoning: ReasoningRequest,
  wanted: Effort | undefined,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
): number {
  const { thinking_budget_min: min = 0, thinking_budget_max: max } = capabilities;
  if (wanted === "none") {
    if (capabilities.thinking_off !== "no") return 0;
    warnOfReasoning(reasoning, warnings);
    return min;
  }
  if (wanted === undefined) return dynamicBudget;
  const budget = carriedBudget(reasoning, wanted, capabilities, warnings);
  if (max !== undefined || budget <= maxCommonBudgetTokens) return budget;
  if (reasoning.budgetTokens !== undefined) warnOfReasoning(reasoning, warnings);
  return dynamicBudget;
}

/** Fields that Chat servers have under another name. */
const configNames: ReadonlyMap<string, string> = new Map([
  ["seed", "seed"],
  ["presence_penalty", "presencePenalty"],
  ["frequency_penalty", "frequencyPenalty"],
]);

/** The vendor's names of service tiers. */
const tiers: ReadonlyMap<string, string> = new Map([
  ["default", "standard"],
  ["standard", "standard"],
  ["flex", "flex"],
  ["priority", "priority"],
]);

function encodeExtras(
  { extras, serviceTier }: Pick<Conversation, "extras" | "serviceTier">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  body: JsonObject,
  config: JsonObject,
): void {
  const carried: JsonObject = {};
  carryExtras({ extras }, capabilities, carried, warnings);
  for (const [name, value] of Object.entries(carried)) {
    const known = configNames.get(name);
    if (known === undefined) body[name] = value;
    else config[known] = value;
  }
  const tier = serviceTier === undefined ? undefined : tiers.get(serviceTier.tier);
  if (tier !== undefined && capabilities.extra_fields.includes("service_tier")) {
    body.serviceTier = tier;
  } else if (serviceTier !== undefined) warnOfTier(serviceTier, warnings);
}
