/**
 * The declared shape of an answer in each style of providers: where its content is, whole and in events of a stream. What
 * is not declared here is content that the gateway does not know. See `answer_shape.ts` for what follows.
 */
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import type { ProviderStyle } from "../contract/contract.ts";
import { type Fit, fitOf, type Shape, shaped, type UnknownNames } from "./answer_shape.ts";

/** A whole answer, and the events of its streams by their type. */
export interface StyleShapes {
  /** Of events without a type: members of which each has at least one. */
  readonly eventMembers?: readonly string[];
  readonly whole: Shape;
  /** By type; `every` where the events of a style have no type. */
  readonly events: Readonly<Record<string, Shape>>;
}

const names = (...lists: readonly string[]): ReadonlySet<string> =>
  new Set(lists.flatMap((list) => list.split(" ")));

// Chat.

/** A function's call; in streams its pieces have no name. */
const chatFunction = (isWhole: boolean): Shape => ({
  members: { name: "text", arguments: "input" },
  besides: names("id type index parameters description"),
  ...(isWhole && { isCall: true }),
});

const chatCall = (isWhole: boolean): Shape => ({
  members: {
    function: chatFunction(isWhole),
    custom: { members: { name: "text", input: "input" }, besides: names("id type index") },
  },
  besides: names("id type index extra_content provider_specific_fields caller"),
});

const partMembers = names("type id index annotations citations logprobs signature cache_control");

const chatPart: Shape = {
  types: {
    text: { members: { text: "text" }, besides: partMembers },
    output_text: { members: { text: "text" }, besides: partMembers },
    refusal: { members: { refusal: "text" }, besides: partMembers },
    thinking: {
      members: {
        thinking: { text: true, list: { members: { text: "text" } } },
      },
      besides: names("type id index signature closed"),
    },
    image_url: { members: { image_url: "any" }, besides: names("type id index") },
  },
  untyped: { text: "text", thinking: "thinking", refusal: "refusal", image_url: "image_url" },
};

const chatMessage = (isWhole: boolean): Shape => ({
  members: {
    content: { text: true, list: chatPart },
    refusal: "text",
    reasoning_content: "text",
    reasoning: "text",
    reasoning_details: { list: "object" },
    tool_calls: { list: chatCall(isWhole) },
    function_call: chatFunction(isWhole),
    images: { list: "object" },
    audio: "object",
  },
  besides: names(
    "role name id type index object model created status tool_call_id prefix partial weight",
    "annotations citations search_results context executed_tools parsed metadata end_turn",
    "provider_specific_fields thinking_blocks padding obfuscation token_ids logprobs signature",
    "finish_reason stop_reason usage service_tier system_fingerprint content_filter_results",
  ),
});

const chatAnswer = (isWhole: boolean): Shape => ({
  members: {
    choices: {
      list: {
        members: {
          message: chatMessage(isWhole),
          delta: chatMessage(isWhole),
          finish_reason: "text",
        },
        besides: names(
          "index logprobs usage error stop_reason native_finish_reason matched_stop seed stop",
          "content_filter_results content_filter_result content_filter_offsets token_ids",
          "prompt_token_ids routed_experts moderation flag",
        ),
      },
    },
  },
});

// Messages.

const blockMembers = names("type id index citations signature caller cache_control");

const messagesBlock: Shape = {
  types: {
    text: { members: { text: "text" }, besides: blockMembers },
    thinking: { members: { thinking: "text" }, besides: blockMembers },
    redacted_thinking: { members: { data: "text" }, besides: blockMembers },
    tool_use: {
      members: { name: "text", input: "input" },
      besides: names("type id index caller toolset_name cache_control"),
      isCall: true,
    },
  },
  untyped: { text: "text", thinking: "thinking", name: "tool_use", data: "redacted_thinking" },
};

const messagesDelta: Shape = {
  types: {
    text_delta: { members: { text: "text" }, besides: blockMembers },
    thinking_delta: { members: { thinking: "text" }, besides: names("type estimated_tokens") },
    input_json_delta: { members: { partial_json: "text" }, besides: blockMembers },
    signature_delta: { members: { signature: "text" }, besides: blockMembers },
    citations_delta: { members: { citation: "any" }, besides: blockMembers },
    // Compacted context is of no use to another style, and no word of the answer.
    compaction_delta: { members: { content: "any" } },
  },
  untyped: {
    text: "text_delta",
    thinking: "thinking_delta",
    partial_json: "input_json_delta",
    signature: "signature_delta",
    citation: "citations_delta",
  },
  isClosed: true,
};

const eventMembers = names("type index usage");

const messagesEvents: Readonly<Record<string, Shape>> = {
  message_start: { members: {} },
  content_block_start: { members: { content_block: messagesBlock }, besides: eventMembers },
  content_block_delta: { members: { delta: messagesDelta }, besides: eventMembers },
  content_block_stop: { members: {} },
  message_delta: { members: { delta: { members: { stop_reason: "text" } } } },
  message_stop: { members: {} },
  ping: { members: {} },
};

// Responses.

const responsesPart: Shape = {
  types: {
    output_text: { members: { text: "text" }, besides: partMembers },
    text: { members: { text: "text" }, besides: partMembers },
    refusal: { members: { refusal: "text" }, besides: partMembers },
    reasoning_text: { members: { text: "text" }, besides: partMembers },
    summary_text: { members: { text: "text" }, besides: partMembers },
  },
  untyped: { text: "output_text", refusal: "refusal" },
};

const itemMembers = names(
  "id type status call_id namespace role phase encrypted_content created_by caller agent summary",
  "output_index internal_metadata",
);

const responsesItem: Shape = {
  types: {
    message: { members: { content: { list: responsesPart } }, besides: itemMembers },
    reasoning: {
      members: { summary: { list: responsesPart }, content: { list: responsesPart } },
      besides: itemMembers,
    },
    function_call: { members: { name: "text", arguments: "input" }, besides: itemMembers },
    custom_tool_call: { members: { name: "text", input: "input" }, besides: itemMembers },
    image_generation_call: {
      members: { result: "text" },
      besides: new Set([
        ...itemMembers,
        ...names("output_format background quality size revised_prompt action partial_image_b64"),
      ]),
    },
  },
  untyped: {
    content: "message",
    arguments: "function_call",
    summary: "reasoning",
    input: "custom_tool_call",
  },
};

const responsesAnswer: Shape = {
  members: { output: { list: responsesItem }, status: "text" },
};

const responsesDelta: Shape = { members: { delta: "text" } };
const responsesClosing: Shape = { members: { response: responsesAnswer } };

const responsesEvents: Readonly<Record<string, Shape>> = {
  ping: { members: {} },
  keepalive: { members: {} },
  "response.output_item.added": { members: { item: responsesItem } },
  "response.output_item.done": { members: { item: responsesItem } },
  "response.content_part.done": { members: { part: responsesPart } },
  "response.output_text.delta": responsesDelta,
  "response.refusal.delta": responsesDelta,
  "response.reasoning_summary_text.delta": responsesDelta,
  "response.reasoning_text.delta": responsesDelta,
  "response.function_call_arguments.delta": responsesDelta,
  "response.custom_tool_call_input.delta": responsesDelta,
  "response.output_text.done": { members: { text: "text" } },
  "response.refusal.done": { members: { refusal: "text" } },
  "response.function_call_arguments.done": { members: { arguments: "text" } },
  "response.custom_tool_call_input.done": { members: { input: "text" } },
  "response.completed": responsesClosing,
  "response.incomplete": responsesClosing,
};

// Gemini.

const geminiPart: Shape = {
  members: {
    text: "text",
    functionCall: {
      members: { name: "text", args: "input" },
      besides: names("id partialArgs willContinue"),
      isCall: true,
    },
    inlineData: "object",
    fileData: "object",
    executableCode: "object",
    codeExecutionResult: "object",
    toolCall: "object",
    toolResponse: "object",
    functionResponse: "object",
  },
  besides: names("thought thoughtSignature partMetadata videoMetadata mediaResolution"),
  isKeyed: true,
};

const geminiAnswer: Shape = {
  members: {
    candidates: {
      list: {
        members: {
          content: { members: { parts: { list: geminiPart } }, besides: names("role") },
          finishReason: "enum",
        },
        besides: names(
          "index tokenCount avgLogprobs logprobsResult safetyRatings citationMetadata score",
          "groundingMetadata groundingAttributions urlContextMetadata finishMessage",
          "urlRetrievalMetadata",
        ),
      },
    },
  },
};

// Converse.

const converseMembers = {
  text: "text",
  image: "object",
  audio: "object",
  video: "object",
  document: "object",
  citationsContent: { members: { content: { list: { members: { text: "text" } } } } },
  toolResult: "any",
  cachePoint: "any",
  guardContent: "any",
} as const satisfies Readonly<Record<string, Shape>>;

const converseBlock: Shape = {
  members: {
    ...converseMembers,
    toolUse: {
      members: { name: "text", input: "input" },
      besides: names("toolUseId type"),
      isCall: true,
    },
    reasoningContent: {
      members: {
        reasoningText: { members: { text: "text" }, besides: names("signature") },
        redactedContent: "text",
      },
      besides: new Set(),
    },
  },
  besides: new Set(),
  isKeyed: true,
};

const converseDelta: Shape = {
  members: {
    ...converseMembers,
    citation: "any",
    toolUse: { members: { input: "text" }, besides: names("toolUseId name type") },
    reasoningContent: {
      members: { text: "text", redactedContent: "text", signature: "text" },
      besides: new Set(),
    },
  },
  besides: new Set(),
  isKeyed: true,
};

const converseEvents: Readonly<Record<string, Shape>> = {
  messageStart: { members: {} },
  contentBlockStart: {
    members: { start: { members: { toolUse: { members: { name: "text" } } } } },
    besides: names("contentBlockIndex p"),
  },
  contentBlockDelta: { members: { delta: converseDelta }, besides: names("contentBlockIndex p") },
  contentBlockStop: { members: {} },
  messageStop: { members: { stopReason: "text" } },
  metadata: { members: {} },
};

/** The shape of each style. */
export const answerShapes: Readonly<Record<ProviderStyle, StyleShapes>> = {
  chat: {
    whole: chatAnswer(true),
    events: { every: chatAnswer(false) },
    eventMembers: ["choices", "usage", "x_groq"],
  },
  messages: {
    whole: { members: { content: { list: messagesBlock }, stop_reason: "text" } },
    events: messagesEvents,
  },
  responses: { whole: responsesAnswer, events: responsesEvents },
  gemini: {
    whole: geminiAnswer,
    events: { every: geminiAnswer },
    eventMembers: ["candidates", "usageMetadata", "promptFeedback"],
  },
  converse: {
    whole: {
      members: {
        output: {
          members: {
            message: { members: { content: { list: converseBlock } }, besides: names("role") },
          },
          besides: new Set(),
        },
        stopReason: "text",
      },
    },
    events: converseEvents,
  },
};

/** A shape, and whether a value has it already. */
interface Form {
  readonly shape: Shape;
  readonly fits: Fit;
}

interface StyleForms {
  readonly whole: Form;
  readonly events: ReadonlyMap<string, Form>;
  /** The form of all events of a style without types. */
  readonly every: Form | undefined;
  readonly eventMembers: readonly string[] | undefined;
}

const formOf = (shape: Shape): Form => ({ shape, fits: fitOf(shape) });

const formsOf = ({ whole, events, eventMembers }: StyleShapes): StyleForms => {
  const forms = new Map(Object.entries(events).map(([type, shape]) => [type, formOf(shape)]));
  return { whole: formOf(whole), events: forms, every: forms.get("every"), eventMembers };
};

const answerForms: Readonly<Record<ProviderStyle, StyleForms>> = {
  chat: formsOf(answerShapes.chat),
  messages: formsOf(answerShapes.messages),
  responses: formsOf(answerShapes.responses),
  gemini: formsOf(answerShapes.gemini),
  converse: formsOf(answerShapes.converse),
};

/**
 * Returns a whole answer in the form of its style; see {@linkcode shaped}.
 *
 * @throws {GatewayError} `upstream_unreachable` where content has a wrong type
 */
export function shapedAnswer(
  style: ProviderStyle,
  body: JsonObject,
  unknown: UnknownNames,
): JsonObject {
  return read(answerForms[style].whole, body, "answer", unknown);
}

function read(
  { shape, fits }: Form,
  value: JsonObject,
  at: string,
  unknown: UnknownNames,
): JsonObject {
  if (fits(value)) return value;
  const read = shaped(shape, value, at, unknown);
  return isJsonObject(read) ? read : value;
}

/** Whether events of a style have this type. */
export function isKnownEvent(style: ProviderStyle, type: string | undefined): boolean {
  return type !== undefined && answerForms[style].events.has(type);
}

function hasNone(event: JsonObject, names: readonly string[]): boolean {
  for (const name of names) if (event[name] !== undefined) return false;
  return true;
}

/**
 * Returns an event of a stream in the form of its style, and names events that may have content and that the style does not
 * have.
 *
 * @param type the type by which the style knows its events; absent where it has none
 * @throws {GatewayError} `upstream_unreachable` where content has a wrong type
 */
export function shapedEvent(
  style: ProviderStyle,
  type: string | undefined,
  event: JsonObject,
  unknown: UnknownNames,
): JsonObject {
  const { events, every, eventMembers } = answerForms[style];
  if (eventMembers !== undefined && hasNone(event, eventMembers)) unknown.add("event");
  const form = every ?? events.get(type ?? "");
  if (form !== undefined) return read(form, event, type ?? "event", unknown);
  // Whatever else a Responses server tells, its `done` events have all content.
  if (style !== "responses" || type?.startsWith("response.") !== true) unknown.add(type ?? "");
  return event;
}
