/**
 * Writes a conversation as a Chat request: its turns as messages, then the fields beside them.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-request,
 * docs/internals/WIRE_FORMATS.md#chat-messages and docs/conversion.md#requests-messages-client-chat-model.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { JsonCount } from "../../../lib/errors/json_bounds.ts";
import type {
  Block,
  Conversation,
  DocumentBlock,
  HostedTool,
  HostedToolRequest,
  ImageBlock,
  ReasoningBlock,
  ReasoningRequest,
  TextBlock,
  Tool,
  ToolCallBlock,
  ToolChoice,
  ToolResultBlock,
  ToolResultContent,
  Turn,
  WebSearchRequest,
} from "../../conversation/mod.ts";
import {
  CacheMarkCounter,
  ephemeralMark,
  type Markable,
  placeAutomaticMark,
  refuse,
  warnOfMark,
} from "../../fields/fields.ts";
import { carryExtras, renderForeign, samplingPath, stopPath } from "../../fields/field_table.ts";
import { resolveCapabilities, type ResolvedCapabilities } from "../../contract/capabilities.ts";
import { renderHostedCall } from "../../tools/hosted_calls.ts";
import { Warnings } from "../../contract/warnings.ts";
import {
  effortOf,
  encodeOutputFormat,
  levelOf,
  mentionsJson,
  nearestEffort,
  requirePrefill,
  warnOfLoweredThinking,
  warnOfReasoning,
  withInstructions,
} from "../../fields/output_format.ts";
import {
  carriedChoice,
  carriedHosted,
  historyArguments,
  isCustomTool,
  namedSchema,
  refuseForced,
  searchField,
  strictPath,
  warnOfIdleChoice,
  warnOfRequested,
  writeParallelTools,
} from "../../tools/tool_fields.ts";
import { replayReasoning, thoughtSignatures } from "../answer/reasoning_details.ts";
import { writeInputAudio } from "../../fields/audio.ts";
import { writeDataUrl } from "../../content/citations.ts";
import {
  documentFileName,
  documentHeading,
  imageUrl,
  refuseForeignFile,
  requireDocuments,
  searchResultText,
} from "../../fields/content_parts.ts";
import { defined } from "../../../lib/base/defined.ts";
import { type MembersRead, noneLeft, noneUnhandled } from "../../../lib/base/assert.ts";
import {
  writeChoices,
  writeEndUserAndTier,
  writeLogprobs,
  writePictures,
  writeTemperatureAndTopP,
} from "../../fields/common_fields.ts";
import type { ConversionOptions } from "../../contract/contract.ts";
import type { EncodedRequest } from "../../stream/dialect.ts";
import type { FieldOfNoEncoder } from "../../fields/member_fates.ts";
import { maxChoices } from "../../contract/limits.ts";
import { allowsStrictChat, functionParameters } from "../../tools/schemas/json_schema.ts";

// Writes content blocks as Chat content: strings, text parts, images, files.

/** A text part of a Chat message. */
interface TextPart extends JsonObject {
  type: "text";
  text: string;
}
/** An image, sound or file part of a Chat message. */
interface MediaPart extends JsonObject {
  type: "image_url" | "file" | "input_audio";
}
/** A content part of a Chat message. */
type Part = TextPart | MediaPart;

/** Detail in which the model looks at a picture; `original` is a word of Responses. */
const details: ReadonlyMap<string, string> = new Map([
  ["auto", "auto"],
  ["low", "low"],
  ["high", "high"],
  ["original", "high"],
]);

/** Writes the parts of one request. */
class PartWriter {
  readonly #capabilities: ResolvedCapabilities;
  readonly #warnings: Warnings;
  readonly #marks: CacheMarkCounter;

  constructor(capabilities: ResolvedCapabilities, warnings: Warnings) {
    this.#capabilities = capabilities;
    this.#warnings = warnings;
    this.#marks = new CacheMarkCounter(warnings);
  }

  /** Writes texts: as a string if the route takes no parts or one is enough, else as parts. */
  joinTexts(parts: readonly TextPart[]): string | TextPart[] {
    const [first] = parts;
    if (first === undefined) return "";
    if (parts.length === 1 && !isMarked(first)) return first.text;
    return this.#capabilities.text_parts ? [...parts] : parts.map((part) => part.text).join("\n\n");
  }

  /** Writes any content: as a string if it is one plain text, else as parts. */
  content(parts: readonly Part[]): string | Part[] {
    return parts.every((part) => part.type === "text") ? this.joinTexts(parts) : [...parts];
  }

  parts(block: ToolResultContent): Part[] {
    switch (block.type) {
      case "text":
        return [this.#text(block)];
      case "image":
        return [this.#image(block)];
      case "audio":
        return [{ ...writeInputAudio(block, this.#capabilities), ...this.mark(block) }];
      case "document":
        return this.#document(block);
      case "search_result":
        if (block.citations === true) this.#warnings.add(`${block.path}.citations`);
        return [{ type: "text", text: searchResultText(block), ...this.mark(block) }];
      case "foreign": {
        const text = renderForeign(block, this.#warnings);
        return text === undefined ? [] : [{ type: "text", text }];
      }
    }
  }

  /** Writes the cache mark of a block in the route's form, as an object to spread; warns if the route has none. */
  mark(block: Markable): JsonObject {
    const kind = this.#capabilities.cache_marks;
    // A string cannot be marked.
    const mark = this.#marks.take(block, kind !== "none" && this.#capabilities.text_parts);
    if (mark === undefined) return {};
    if (kind === "breakpoint") return { prompt_cache_breakpoint: { mode: "explicit" } };
    return { cache_control: ephemeralMark(mark) };
  }

  #text(block: TextBlock): TextPart {
    return { type: "text", text: block.text, ...this.mark(block) };
  }

  #image(block: ImageBlock): MediaPart {
    const detail = details.get(block.detail ?? "");
    const url = imageUrl(block, this.#capabilities);
    return {
      type: "image_url",
      image_url: { url, ...defined({ detail }) },
      // The vendor refuses breakpoints on images.
      ...(this.#capabilities.cache_marks === "cache_control"
        ? this.mark(block)
        : this.#unmarked(block)),
    };
  }

  #unmarked(block: ImageBlock): JsonObject {
    warnOfMark(block, this.#warnings);
    return {};
  }

  /** Moves the mark of a block that became several parts to the last of them. */
  markLast(block: Markable, parts: readonly Part[]): void {
    if (block.cache === undefined) return;
    const last = parts.at(-1);
    const cannotHold = last?.type === "image_url" &&
      this.#capabilities.cache_marks !== "cache_control";
    if (last === undefined || cannotHold) warnOfMark(block, this.#warnings);
    else if (!isMarked(last)) Object.assign(last, this.mark(block));
  }

  #document(block: DocumentBlock): Part[] {
    const { source, path } = block;
    if (block.citations === true) this.#warnings.add(`${path}.citations`);
    switch (source.kind) {
      case "text":
        return [{ type: "text", text: documentHeading(block) + source.text, ...this.mark(block) }];
      case "blocks": {
        const head = documentHeading(block);
        const parts = source.blocks.flatMap((inner) => this.parts(inner));
        if (head !== "") parts.unshift({ type: "text", text: head.trimEnd() });
        this.markLast(block, parts);
        return parts;
      }
      case "file":
        return refuseForeignFile(path);
      case "url":
        return refuse(path, "this model takes documents only as data, not by URL");
      case "base64":
        return [this.#file(block, source.mediaType, source.data)];
    }
  }

  #file(block: DocumentBlock, mediaType: string, data: string): MediaPart {
    requireDocuments(block.path, this.#capabilities);
    // The part has a member only for a name.
    if (block.context !== undefined) this.#warnings.add(`${block.path}.context`);
    return {
      type: "file",
      file: {
        filename: documentFileName(block, mediaType),
        file_data: writeDataUrl(mediaType, data),
      },
      ...this.mark(block),
    };
  }
}

function isMarked(part: Part): boolean {
  return part.cache_control !== undefined || part.prompt_cache_breakpoint !== undefined;
}

/** Writes all messages of a conversation, instructions first. */
function encodeChatMessages(
  { system: instructions, turns }: Pick<Conversation, "system" | "turns">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  moreInstructions: readonly string[],
): JsonObject[] {
  const writer = new MessageWriter(capabilities, warnings);
  const system = withInstructions(instructions, moreInstructions);
  const messages = writer.system(system);
  for (const turn of turns) messages.push(...writer.turn(turn));
  const lastTurn = turns.at(-1);
  if (lastTurn?.role === "assistant") writer.prefill(lastTurn, messages.at(-1));
  return messages;
}

class MessageWriter {
  readonly #capabilities: ResolvedCapabilities;
  readonly #warnings: Warnings;
  readonly #parts: PartWriter;
  /** Counts the parsed arguments of calls. */
  readonly #count = new JsonCount();

  constructor(capabilities: ResolvedCapabilities, warnings: Warnings) {
    this.#capabilities = capabilities;
    this.#warnings = warnings;
    this.#parts = new PartWriter(capabilities, warnings);
  }

  system(blocks: readonly Block[]): JsonObject[] {
    const parts = blocks.flatMap((block) =>
      block.type === "text" || block.type === "foreign" ? this.#parts.parts(block) : []
    );
    if (parts.length === 0) return [];
    return [{ role: this.#capabilities.system_role, content: this.#parts.content(parts) }];
  }

  turn(turn: Turn): JsonObject[] {
    if (turn.role === "system") return this.system(turn.blocks);
    return turn.role === "user" ? this.#user(turn) : this.#assistant(turn);
  }

  /** Adds what the server needs to continue a trailing assistant message. */
  prefill(turn: Turn, message: JsonObject | undefined): void {
    requirePrefill(turn.path, this.#capabilities);
    if (this.#capabilities.prefill === "plain") this.#warnings.add(turn.path);
    if (this.#capabilities.prefill === "prefix" && message?.role === "assistant") {
      message.prefix = true;
    }
  }

  /** Writes all tool messages, then one user message with their attachments and the rest of the turn. */
  #user(turn: Turn): JsonObject[] {
    const messages: JsonObject[] = [];
    const rest: Part[] = [];
    for (const block of turn.blocks) {
      if (block.type === "tool_result") messages.push(this.#toolResult(block, rest));
    }
    for (const block of turn.blocks) {
      if (block.type === "tool_result" || block.type === "tool_call") continue;
      if (block.type === "hosted_call") {
        rest.push({ type: "text", text: renderHostedCall(block, this.#warnings) });
      } else if (block.type !== "reasoning") rest.push(...this.#parts.parts(block));
    }
    if (rest.length > 0) messages.push({ role: "user", content: this.#parts.content(rest) });
    return messages;
  }

  /** Tool messages hold only text: images and files go to `attachments`, which follow the last tool message. */
  #toolResult(block: ToolResultBlock, attachments: Part[]): JsonObject {
    const texts: TextPart[] = [];
    const media: Part[] = [];
    for (const part of block.content.flatMap((content) => this.#parts.parts(content))) {
      if (part.type === "text") {
        if (part.text !== "") texts.push(part);
        continue;
      }
      media.push(part);
      texts.push({ type: "text", text: `[${attachmentName(part)} attached below]` });
    }
    if (media.length > 0) {
      const label = `Attached to the result of tool call ${block.callId}:`;
      attachments.push({ type: "text", text: label }, ...media);
    }
    if (block.isError) this.#markError(block, texts);
    if (texts.length === 0) {
      texts.push({ type: "text", text: this.#capabilities.empty_tool_result });
    }
    this.#parts.markLast(block, texts);
    return {
      role: "tool",
      tool_call_id: block.callId,
      content: this.#parts.joinTexts(texts),
    };
  }

  /** Marks a failed call in the text, because Chat has no field for it: the model would repeat the call. */
  #markError(block: ToolResultBlock, texts: TextPart[]): void {
    this.#warnings.add(`${block.path}.is_error`);
    const first = texts[0];
    if (first === undefined) texts.push({ type: "text", text: "Error" });
    else if (!/^\W*error/i.test(first.text)) first.text = `Error: ${first.text}`;
  }

  #assistant(turn: Turn): JsonObject[] {
    const reasoning: ReasoningBlock[] = [];
    const calls: ToolCallBlock[] = [];
    let text = "";
    for (const block of turn.blocks) {
      if (block.type === "reasoning") reasoning.push(block);
      else if (block.type === "tool_call") calls.push(block);
      else text += this.#assistantText(block);
      warnOfMark(block, this.#warnings);
    }
    const replayed = replayReasoning(reasoning, calls.length > 0, this.#capabilities);
    if (text === "" && calls.length === 0 && replayed === undefined) return [];
    const signatures = thoughtSignatures(turn.blocks, this.#capabilities);
    const empty = calls.length > 0 && this.#capabilities.tool_call_content === "null" ? null : "";
    const message: JsonObject = { role: "assistant", content: text === "" ? empty : text };
    if (replayed !== undefined) message[replayed.field] = replayed.value;
    if (calls.length > 0) {
      message.tool_calls = calls.map((call) => this.#call(call, signatures.get(call)));
    }
    return [message];
  }

  /** Writes a call of the history. `extra` is what the route's vendor attached to it. */
  #call(call: ToolCallBlock, extra: Json | undefined): JsonObject {
    const { id, name, input } = call;
    const more = extra === undefined ? {} : { extra_content: extra };
    if (input.kind === "text") {
      return { id, type: "custom", custom: { name, input: input.text }, ...more };
    }
    const given = historyArguments(call, this.#count, this.#warnings);
    return { id, type: "function", function: { name, arguments: given }, ...more };
  }

  /** Joins the texts of an assistant message into one string: many servers refuse parts there. */
  #assistantText(block: Block): string {
    if (block.type === "text") return block.text;
    if (block.type === "hosted_call") return renderHostedCall(block, this.#warnings);
    if (block.type === "foreign") {
      const rendered = renderForeign(block, this.#warnings);
      return rendered === undefined ? "" : `${rendered}\n\n`;
    }
    // No vendor takes images from the assistant, and no style sends one.
    this.#warnings.add(block.path);
    return "";
  }
}

/** Names the attachment of a tool message for the model, which may know a file by its name. */
function attachmentName(part: MediaPart): string {
  if (part.type === "image_url") return "image";
  if (part.type === "input_audio") return "sound";
  const name = isJsonObject(part.file) ? part.file.filename : undefined;
  return typeof name === "string" ? `file ${name}` : "file";
}

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
    encodeSchema: (output) => ({
      type: "json_schema",
      json_schema: namedSchema(output, conversation.from, warnings),
    }),
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

/** Values that switch thinking off, by the field of the route. */
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
