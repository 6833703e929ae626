/**
 * Writes a conversation as a Chat request.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-request and docs/conversion.md#requests-messages-client-chat-model.
 */
import { type MembersRead, noneLeft, noneUnhandled } from "../../../lib/base/assert.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { placeAutomaticMark, refuse, warnOfMark } from "../../fields/fields.ts";
import {
  writeChoices,
  writeEndUserAndTier,
  writeLogprobs,
  writePictures,
  writeTemperatureAndTopP,
} from "../../fields/common_fields.ts";
import type { ConversionOptions, Style } from "../../contract/contract.ts";
import type {
  Conversation,
  HostedTool,
  HostedToolRequest,
  ReasoningRequest,
  Tool,
  ToolChoice,
  WebSearchRequest,
} from "../../conversation/mod.ts";
import type { EncodedRequest } from "../../stream/dialect.ts";
import {
  effortOf,
  encodeOutputFormat,
  formatName,
  levelOf,
  mentionsJson,
  nearestEffort,
  type SchemaFormat,
  warnOfLoweredThinking,
  warnOfReasoning,
} from "../../fields/output_format.ts";
import type { FieldOfNoEncoder } from "../../fields/member_fates.ts";
import { carryExtras, samplingPath, stopPath } from "../../fields/field_table.ts";
import { resolveCapabilities, type ResolvedCapabilities } from "../../contract/capabilities.ts";
import { maxChoices } from "../../contract/limits.ts";
import { allowsStrictChat, functionParameters } from "../../tools/schemas/json_schema.ts";
import {
  carriedChoice,
  carriedHosted,
  isCustomTool,
  refuseForced,
  searchField,
  strictPath,
  warnOfIdleChoice,
  warnOfRequested,
  writeParallelTools,
} from "../../tools/tool_fields.ts";
import { Warnings } from "../../contract/warnings.ts";
import { encodeChatMessages } from "./encode_messages.ts";
import { defined } from "../../../lib/base/defined.ts";

// Writes tools and tool choice as Chat fields.

/** The fields of a conversation that this file reads. */
type ToolFields = Pick<Conversation, "from" | "tools" | "toolChoice" | "parallelTools">;

/** Adds `tools`, `tool_choice` and `parallel_tool_calls` to the body. */
function encodeChatTools(
  conversation: ToolFields,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
  warnings: Warnings,
  body: JsonObject,
): void {
  const tools: JsonObject[] = [];
  for (const tool of conversation.tools) {
    if (tool.type !== "hosted") tools.push(encodeTool(tool, capabilities, warnings));
  }
  encodeHosted(conversation, capabilities, options, warnings, body);
  if (tools.length === 0) return warnOfIdleChoice(conversation.toolChoice, warnings);
  body.tools = tools;
  if (conversation.toolChoice !== undefined) {
    const choice = carriedChoice(conversation.toolChoice, capabilities, warnings);
    body.tool_choice = encodeChoice(choice, conversation.tools);
  }
  writeParallelTools(conversation, capabilities, warnings, body);
}

function encodeTool(
  tool: Exclude<Tool, HostedTool>,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
): JsonObject {
  warnOfMark(tool, warnings);
  const named = {
    name: tool.name,
    ...defined({ description: tool.description }),
  };
  if (tool.type === "custom") {
    return { type: "custom", custom: { ...named, ...customFormat(tool.format) } };
  }
  const parameters = functionParameters(tool.schema);
  // A strict schema of another style may be invalid as one here; it still works without enforcement.
  const isRefused = tool.strict === true &&
    !(capabilities.strict_tools && allowsStrictChat(parameters));
  if (isRefused) warnings.add(strictPath(tool));
  const isSaid = tool.strict !== undefined && capabilities.strict_tools && !isRefused;
  const strict = isSaid ? { strict: tool.strict } : {};
  return { type: "function", function: { ...named, parameters, ...strict } };
}

/** Writes the grammar, which Chat nests one level deeper than the conversation. */
function customFormat(format: JsonObject | undefined): JsonObject {
  if (format === undefined) return {};
  if (format.type !== "grammar") return { format };
  const { type, ...grammar } = format;
  return { format: { type, grammar } };
}

/**
 * Writes the field for web search, which some models of this style take. They search for every answer then, so a
 * choice that forces the search is dropped by name, unless the model could call another tool instead.
 */
function encodeHosted(
  conversation: ToolFields,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
  warnings: Warnings,
  body: JsonObject,
): void {
  const has = (requested: HostedToolRequest) =>
    requested.tool === "web_search" && capabilities.extra_fields.includes(searchField);
  // The operator chose the field for the route; its cost is checked when the request goes out.
  const { allow: _, ...open } = options;
  for (const { requested, ...tool } of carriedHosted(conversation, open, warnings, has)) {
    if (requested.tool !== "web_search") continue;
    if (conversation.tools.length > 1) refuseForced(tool, conversation.toolChoice);
    body[searchField] = writeSearchOptions(requested, warnings);
  }
}

function writeSearchOptions(requested: WebSearchRequest, warnings: Warnings): JsonObject {
  const {
    tool: _,
    contextSize,
    location,
    allowedDomains,
    blockedDomains,
    maxUses,
    others,
    ...rest
  } = requested;
  noneLeft(rest);
  warnOfRequested([allowedDomains, blockedDomains, maxUses], warnings);
  for (const path of others) warnings.add(path);
  return {
    ...defined({ search_context_size: contextSize?.value }),
    ...(location === undefined
      ? {}
      : { user_location: { type: "approximate", approximate: location.value } }),
  };
}

function encodeChoice(choice: ToolChoice, tools: readonly Tool[]): JsonObject | string {
  if (choice.type !== "tool") return choice.type;
  const { name } = choice;
  return isCustomTool(tools, name)
    ? { type: "custom", custom: { name } }
    : { type: "function", function: { name } };
}

/**
 * The fields of a conversation that go into a Chat request. A new field does not compile until a step below reads it,
 * or the last rows say why it goes no further.
 */
type CarriedField =
  | MembersRead<
    | typeof encodeChatMessages
    | typeof encodeChatTools
    | typeof encodeSampling
    | typeof encodeReasoning
    | typeof carryExtras
    | typeof writeEndUserAndTier
    | typeof writeLogprobs
    | typeof writePictures
    | typeof writeChoices
  >
  | "maxTokens"
  | "output"
  | "stream"
  // placeAutomaticMark() turns it into the mark of a block.
  | "automaticCache"
  | FieldOfNoEncoder;

noneUnhandled<Exclude<keyof Conversation, CarriedField>>();

/** Writes a Chat request. */
export function encodeChatRequest(
  given: Conversation,
  options: ConversionOptions,
): EncodedRequest {
  const capabilities = resolveCapabilities("chat", options.capabilities);
  const warnings = new Warnings();
  const conversation = placeAutomaticMark(given, capabilities, warnings);
  const body: JsonObject = { model: options.upstreamModel };
  const format = encodeOutputFormat(conversation.output, capabilities, warnings, {
    encodeSchema: (output) => encodeSchema(output, conversation.from, warnings),
    modeIsEnough: () => mentionsJson(conversation),
  });
  body.messages = encodeChatMessages(conversation, capabilities, warnings, format.instructions);
  const cap = Math.min(capabilities.max_output ?? Infinity, options.maxOutputTokens);
  if (conversation.maxTokens !== undefined) {
    body[capabilities.max_tokens_field] = Math.min(conversation.maxTokens, cap);
  }
  encodeChatTools(conversation, capabilities, options, warnings, body);
  encodeSampling(conversation, capabilities, warnings, body);
  encodeReasoning(conversation, capabilities, warnings, body);
  if (format.field !== undefined) body.response_format = format.field;
  carryExtras(conversation, capabilities, body, warnings);
  writeEndUserAndTier(conversation, capabilities, warnings, body);
  writePictures(conversation, capabilities, body);
  writeChoices(conversation, capabilities, maxChoices, (count) => {
    body.n = count;
  });
  writeLogprobs(conversation, capabilities, (top) => {
    body.logprobs = true;
    if (top !== undefined) body.top_logprobs = top;
  });
  if (capabilities.prefill === "continue_final_message" && endsWithAssistant(conversation)) {
    body.continue_final_message = true;
    body.add_generation_prompt = false;
  }
  if (conversation.stream) {
    body.stream = true;
    if (capabilities.include_usage) body.stream_options = { include_usage: true };
  }
  return {
    body,
    warnings: warnings.list(),
    memory: { reasoningSigner: capabilities.reasoning_signer },
  };
}

function endsWithAssistant(conversation: Pick<Conversation, "turns">): boolean {
  return conversation.turns.at(-1)?.role === "assistant";
}

/** Values of other styles that leave the form of shown reasoning open. */
const openDisplays: ReadonlySet<string> = new Set(["auto", "summarized"]);

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
  if (topK !== undefined) {
    if (capabilities.sampling !== "fixed" && capabilities.extra_fields.includes("top_k")) {
      body.top_k = topK;
    } else warnings.add(samplingPath(conversation, "top_k"));
  }
  if (stop === undefined || stop.length === 0) return;
  if (capabilities.stop_max === 0) warnings.add(stopPath(conversation));
  else if (stop.length > capabilities.stop_max) {
    refuse(
      stopPath(conversation),
      `this model takes at most ${capabilities.stop_max} stop sequences`,
    );
  } else body.stop = [...stop];
}

/** What switches thinking off, by the field of the route. */
const thinkingOff: Readonly<
  Record<ResolvedCapabilities["thinking_switch"], JsonObject | undefined>
> = {
  none: undefined,
  thinking: { thinking: { type: "disabled" } },
  reasoning: { reasoning: { enabled: false } },
  enable_thinking: { enable_thinking: false },
};

function encodeReasoning(
  { reasoning }: Pick<Conversation, "reasoning">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  body: JsonObject,
): void {
  const withTools = body.tools !== undefined && capabilities.effort_with_tools === "none" &&
    capabilities.efforts.length > 0;
  const wanted = reasoning === undefined ? undefined : levelOf(reasoning);
  if (withTools) {
    // Omitting the field is not enough: the vendor's default also fails with tools.
    body.reasoning_effort = "none";
    if (reasoning !== undefined && wanted !== "none") warnOfReasoning(reasoning, warnings);
    return;
  }
  if (reasoning === undefined) return;
  // The server chooses what it shows, which satisfies a client that leaves it open.
  const { display } = reasoning;
  if (display !== undefined && !openDisplays.has(display.word)) warnings.add(display.path);
  if (wanted === undefined) return;
  if (wanted === "none" && !capabilities.efforts.includes("none")) {
    const off = thinkingOff[capabilities.thinking_switch];
    if (off !== undefined) {
      Object.assign(body, off);
      return;
    }
  }
  const effort = nearestEffort(wanted, capabilities.efforts);
  warnOfLoweredThinking(reasoning, effort, warnings);
  if (effort !== undefined) body.reasoning_effort = effort;
  // A server with a switch thinks by itself, as much as the model likes.
  else if (
    wanted !== "none" && !(isLeftOpen(reasoning) && capabilities.thinking_switch !== "none")
  ) {
    warnOfReasoning(reasoning, warnings);
  }
}

/** Whether the client asks for thinking without saying how much. */
function isLeftOpen(reasoning: ReasoningRequest): boolean {
  return reasoning.mode === "adaptive" && effortOf(reasoning) === undefined;
}

function encodeSchema(
  { type: _, schema, name, description, strict, strictPath: at, path, ...rest }: SchemaFormat,
  from: Style,
  warnings: Warnings,
): JsonObject {
  noneLeft(rest);
  const enforced = strict !== false && allowsStrictChat(schema);
  // Without `strict` neither style enforces a schema; Messages always does, and has no such field.
  const isSaid = strict !== undefined || from === "messages";
  if (strict === true && !enforced) {
    warnings.add(strictPath({ path, ...defined({ strictPath: at }) }));
  }
  const json_schema = {
    name: formatName(name),
    ...defined({ description }),
    schema,
    ...(isSaid ? { strict: enforced } : {}),
  };
  return { type: "json_schema", json_schema };
}
