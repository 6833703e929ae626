/**
 * Reads an answer by the declared shape of its style before a decoder sees it: what plainly is the content is put into
 * the form of the style, what is no content of the style is named, and content of a wrong type makes the answer a
 * failure. Text is only ever text: it is not guessed from a number, an object or a flag.
 *
 * The shapes declare for each style of providers where the content of an answer is, whole and in events of a stream.
 * What is not declared is content that the gateway does not know.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import type { ProviderStyle } from "../contract/contract.ts";

/** Forms that a value of an answer may have. `null` is always absence. */
export type Shape =
  /** Nothing that the model says: any value. */
  | "any"
  /** A text. */
  | "text"
  /** A word of the format: a text, or its number. */
  | "enum"
  /** Arguments of a call: a text, or JSON. */
  | "input"
  /** An object of any members. */
  | "object"
  | ListShape
  | ObjectShape
  | TypedShape
  | TextOrShape;

interface ListShape {
  readonly list: Shape;
}

/** Members with content, and the names of all others that the style or a vendor has. */
interface ObjectShape {
  readonly members: Readonly<Record<string, Shape>>;
  /** Names that hold no content. Absent: any unlisted name may be there, as in an envelope. */
  readonly besides?: ReadonlySet<string>;
  /** Whether the names say what the object is: one without a known name is another kind of part. */
  readonly isKeyed?: true;
  /** It is a call: without a name its decoder passes it over, since no tool can answer it. */
  readonly isCall?: true;
}

/** Objects that differ by their `type`. Other types pass: the decoder names them. */
interface TypedShape {
  readonly types: Readonly<Record<string, ObjectShape>>;
  /** The type of an object without one that has this member. */
  readonly untyped: Readonly<Record<string, string>>;
  /** Other types are named here, since the decoder passes them over. */
  readonly isClosed?: true;
}

/** A text, or else a list of parts. */
interface TextOrShape {
  readonly text: true;
  readonly list: Shape;
}

/** Names of members that are named to the client; a provider may write anything. */
const plainName = /^[\w.-]{1,40}$/;

/** Most names of one answer that are kept: they go into a header. */
const maxNames = 16;

/** Names in a reading that no other style has a place for. */
export class UnknownNames {
  /** Absent where nothing was found, as in nearly all answers. */
  #names: Set<string> | undefined;

  add(name: string): void {
    const names = this.#names ??= new Set();
    if (names.size < maxNames) names.add(plainName.test(name) ? name : "content");
  }

  /** Returns the names that were found since the last time. */
  take(): readonly string[] {
    const names = this.#names;
    if (names === undefined) return nothing;
    this.#names = undefined;
    return [...names];
  }
}

const nothing: readonly string[] = [];

/** Returns the error for an answer whose content at `at` cannot be read. */
export function unreadable(at: string): GatewayError {
  return new GatewayError(
    "upstream_unreachable",
    `The provider of this model sent an answer that cannot be read (${at})`,
  );
}

/**
 * Returns the value in the form of its shape: the same object where it has that form already.
 *
 * @throws {GatewayError} `upstream_unreachable` where content has a wrong type
 *
 * @example
 * ```ts
 * import { type Shape, shaped, UnknownNames } from "./answer_shape.ts";
 * const shape: Shape = { members: { text: "text", parts: { list: "text" } }, besides: new Set(["id"]) };
 * const names = new UnknownNames();
 * const value = shaped(shape, { id: 1, parts: "Hi", sound: { data: "AA" } }, "message", names);
 * if (JSON.stringify(value) !== '{"id":1,"parts":["Hi"],"sound":{"data":"AA"}}') throw new Error("not repaired");
 * if (names.take().join() !== "sound") throw new Error("not named");
 * try {
 *   shaped(shape, { text: 7 }, "message", names);
 *   throw new Error("a number is no text");
 * } catch (error) {
 *   if (!String(error).includes("(text)")) throw error;
 * }
 * ```
 */
export function shaped(shape: Shape, value: Json, at: string, names: UnknownNames): Json {
  if (value === null || shape === "any" || isNothing(value)) return value;
  if (typeof shape === "string") {
    if (!isOfKind[shape](value)) throw unreadable(at);
    return value;
  }
  if ("list" in shape) return shapedList(shape, value, at, names);
  if (!isJsonObject(value)) throw unreadable(at);
  return "types" in shape ? shapedTyped(shape, value, names) : shapedObject(shape, value, names);
}

const isOfKind: Readonly<
  Record<Exclude<Extract<Shape, string>, "any">, (value: Json) => boolean>
> = {
  text: (value) => typeof value === "string",
  enum: (value) => typeof value === "string" || typeof value === "number",
  input: (value) => typeof value === "string" || typeof value === "object",
  object: isJsonObject,
};

/** Whether a value plainly has the form of a shape, so that {@linkcode shaped} returns it and names nothing. */
type Fit = (value: Json) => boolean;

/**
 * Returns the check of a shape for values that have its form, which nearly all have: it takes a fraction of the time of
 * {@linkcode shaped}. Of others it says no more than that they are to be read by that.
 *
 * @example
 * ```ts
 * import { fitOf } from "./answer_shape.ts";
 * const fits = fitOf({ members: { text: "text" }, besides: new Set(["id"]) });
 * if (!fits({ id: 1, text: "Hi", extra: null }) || fits({ text: 7 }) || fits({ extra: "Hi" })) throw new Error("wrong");
 * ```
 */
export function fitOf(shape: Shape): Fit {
  if (typeof shape === "string") return shape === "any" ? fitsAny : isOfKind[shape];
  if ("list" in shape) return fitOfList(fitOf(shape.list), "text" in shape);
  return "types" in shape ? fitOfTyped(shape) : fitOfObject(shape);
}

const fitsAny: Fit = () => true;

function fitOfList(fits: Fit, isText: boolean): Fit {
  return (value) => {
    if (!Array.isArray(value)) return isText && typeof value === "string";
    for (const one of value) {
      // A text may stand for a part.
      if (typeof one !== "object" || one === null || !fits(one)) return false;
    }
    return true;
  };
}

function fitOfTyped({ types, isClosed }: TypedShape): Fit {
  const fits = new Map(Object.entries(types).map(([type, shape]) => [type, fitOfObject(shape)]));
  return (value) => {
    if (!isObject(value)) return false;
    const { type } = value;
    if (typeof type !== "string" || type === "") return false;
    const fitsType = fits.get(type);
    return fitsType === undefined ? isClosed !== true : fitsType(value);
  };
}

function fitOfObject({ members, besides, isCall }: ObjectShape): Fit {
  const fits = new Map(Object.entries(members).map(([name, shape]) => [name, fitOf(shape)]));
  if (besides === undefined) return fitOfEnvelope([...fits.keys()], [...fits.values()]);
  for (const name of besides) fits.set(name, fits.get(name) ?? fitsAny);
  return (value) => {
    if (!isObject(value) || (isCall === true && !value["name"])) return false;
    for (const name in value) {
      const member = value[name];
      if (member === undefined || member === null || member === "") continue;
      const fitsMember = fits.get(name);
      if (
        fitsMember === undefined
          ? typeof member === "string" || typeof member === "object"
          : !fitsMember(member)
      ) return false;
    }
    return true;
  };
}

/** Of an object of which only some members matter. */
function fitOfEnvelope(names: readonly string[], fits: readonly Fit[]): Fit {
  return (value) => {
    if (!isObject(value)) return false;
    let isSeen = false;
    for (let i = 0; i < names.length; i++) {
      const member = value[names[i]!];
      if (member === undefined || member === null) continue;
      if (!fits[i]!(member)) return false;
      isSeen = true;
    }
    // A number has no members.
    return isSeen || isJsonObject(value);
  };
}

/** Whether a value is an object, or a number beyond double precision, whose one member no shape knows. */
function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is an empty one of any type, as servers write for what they leave out. */
function isNothing(value: Json): boolean {
  if (value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

function shapedList(
  shape: ListShape | TextOrShape,
  value: Json,
  at: string,
  names: UnknownNames,
): Json {
  if ("text" in shape && typeof value === "string") return value;
  // One part without a list around it, or a bare text in place of a part, is plainly the content.
  const list = Array.isArray(value) ? value : [value];
  let changed: Json[] | undefined = list === value ? undefined : [...list];
  for (let i = 0; i < list.length; i++) {
    const one = list[i] ?? null;
    const read = shaped(shape.list, asPart(shape.list, one), at, names);
    if (read !== one) (changed ??= [...list])[i] = read;
  }
  return changed ?? list;
}

/** A text in place of a part. */
function asPart(shape: Shape, value: Json): Json {
  if (typeof value !== "string" || typeof shape === "string" || "list" in shape) return value;
  if ("types" in shape) {
    const type = shape.untyped["text"];
    return type === undefined ? value : { type, text: value };
  }
  return shape.isKeyed === true ? { text: value } : value;
}

function shapedObject(
  { members, besides, isKeyed, isCall }: ObjectShape,
  value: JsonObject,
  names: UnknownNames,
): JsonObject {
  let changed: JsonObject | undefined;
  let unknown: string[] | undefined;
  let isKnown = isKeyed !== true;
  for (const name of Object.keys(value)) {
    const member = value[name] ?? null;
    const shape = Object.hasOwn(members, name) ? members[name] : undefined;
    if (shape !== undefined) {
      isKnown = true;
      const read = shaped(shape, member, name, names);
      if (read !== member) (changed ??= { ...value })[name] = read;
    } else if (besides !== undefined && !besides.has(name) && holds(member)) {
      (unknown ??= []).push(name);
    }
  }
  if (
    isCall === true && !value["name"] && Object.keys(members).some((m) => holds(value[m] ?? null))
  ) {
    names.add("tool_call");
  }
  // A part of which no member is known is one of another kind, which its decoder names.
  if (unknown !== undefined && isKnown) { for (const name of unknown) names.add(name); }
  return changed ?? value;
}

/** Whether a member of an unknown name holds something that may have been said. */
function holds(value: Json): boolean {
  return (typeof value === "string" || (typeof value === "object" && value !== null)) &&
    !isNothing(value);
}

function shapedTyped(
  shape: TypedShape,
  value: JsonObject,
  names: UnknownNames,
): JsonObject {
  const { types, untyped, isClosed } = shape;
  const { type } = value;
  if (typeof type === "string" && type !== "") {
    const known = Object.hasOwn(types, type) ? types[type] : undefined;
    if (known === undefined && isClosed === true) names.add(type);
    return known === undefined ? value : shapedObject(known, value, names);
  }
  const member = Object.keys(untyped).find((name) => holds(value[name] ?? null));
  const inferred = member === undefined ? undefined : untyped[member];
  if (inferred === undefined) {
    if (!isNothing(value)) names.add("part");
    return value;
  }
  return shapedTyped(shape, { ...value, type: inferred }, names);
}

/** A whole answer, and the events of its streams by their type. */
interface StyleShapes {
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
