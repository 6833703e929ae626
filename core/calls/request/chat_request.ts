/**
 * Reads what the gateway must know of a chat request, in each style. All other fields pass unread,
 * unknown ones too: checking them is up to the provider.
 *
 * Agents send to the Chat endpoint in the form of another style, too: Cursor's requests have the `input` and the tools
 * of Responses, with or without members of Chat, and are answered as Chat. {@linkcode chatBody} reads them.
 * {@linkcode firstImagePath} finds pictures, which only models with the Vision label accept, and
 * {@linkcode fieldsLeftOut} keeps features that cost the operator more than tokens away from routes that do not allow
 * them.
 *
 * - Folder `core/calls/request/`: requests of chat calls as they come in: what the gateway must know of them, in each
 *   style.
 * - In: a parsed body, and the style of its endpoint.
 * - Out: the fields that routing, prices and capabilities need, the features that cost extra, refusals.
 * - Never: builds the request to a provider, or writes a prompt to a store or a log; what it keeps in memory is
 *   bounded.
 */
import {
  isExactNumber,
  isJsonObject,
  type Json,
  type JsonObject,
  type Outline,
  type OutlineObject,
} from "../../lib/json/json.ts";
import { defined } from "../../lib/base/defined.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { maxOutputTokensOfCall } from "../../billing/tokens/limits.ts";
import { chatFields } from "../../wire/chat/request/decode_request.ts";
import { responsesFields } from "../../wire/responses/request/known_fields.ts";
import type { ProviderStyle, RouteCapabilities, Style } from "../../wire/contract/contract.ts";
import { convertRequest } from "../../wire/convert/convert.ts";
import { type JsonBody, parseJsonBody, refuseMergedFields } from "../body/json_body.ts";
import { type ErrorCode, GatewayError } from "../../lib/errors/errors.ts";
import { isText } from "../../lib/json/outline.ts";
import { isStoredFile, statelessAdvice } from "../../wire/mod.ts";
import { maxChoices } from "../../wire/contract/limits.ts";
import { maxModelNameChars } from "../../lib/base/limits.ts";
import type { Model, Route } from "../../catalog/catalog.ts";
import {
  type BillableFeature,
  billableFeatureWords,
  hostedToolFeatures,
} from "../../wire/contract/features.ts";
import {
  type AskedFeature,
  askedTier,
  findBillableFeatures,
} from "../../wire/billable_features/asked_for.ts";

/** Parts of one kind, as each style has them. */
interface PartKind {
  readonly types: ReadonlySet<unknown>;
  /** The kinds of Gemini's files. */
  readonly mimeType: RegExp;
}

const images: PartKind = {
  types: new Set(["image", "image_url", "input_image"]),
  mimeType: /^image\//i,
};
/** With the pictures of tools that use a computer, which every model that has such tools takes. */
const imagesOfAll: PartKind = {
  ...images,
  types: new Set([...images.types, "computer_screenshot"]),
};
const files: PartKind = {
  types: new Set(["document", "file", "input_file", "input_audio", "container_upload"]),
  mimeType: /^(?!image\/)/i,
};

function inContent(
  content: Outline | undefined,
  kind: PartKind,
  path: string,
): string | undefined {
  if (!Array.isArray(content)) return undefined;
  for (const [i, part] of content.entries()) {
    if (!isJsonObject(part)) continue;
    if (kind.types.has(part["type"])) return `${path}.${i}`;
    // Pictures inside tool results and documents are one level deeper, in the styles that have them.
    const { source } = part;
    const nested = part["content"] ?? part["output"] ??
      (isJsonObject(source) ? source["content"] : undefined);
    const found = Array.isArray(nested)
      ? inContent(nested, kind, `${path}.${i}.content`)
      : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Finds the path of the first picture; `undefined` if there is none. Reads only the types of parts, not their
 * contents.
 *
 * @example
 * ```ts
 * import { firstImagePath } from "./chat_request.ts";
 * const content = [{ type: "text", text: "What is this?" }, { type: "image_url", image_url: { url: "https://x" } }];
 * const path = firstImagePath({ messages: [{ role: "user", content }] });
 * if (path !== "messages.0.content.1") throw new Error(path);
 * ```
 */
export function firstImagePath(body: OutlineObject): string | undefined {
  return firstPartPath(body, images);
}

/** Settings that let a request have no parts of a kind. */
interface PartRules {
  readonly noImages?: boolean;
  readonly noFiles?: boolean;
}

/**
 * Refuses the pictures and files of a request whose settings allow none.
 *
 * @throws {GatewayError} `permission_denied` naming the first
 */
export function refuseParts(body: OutlineObject, { noImages, noFiles }: PartRules): void {
  const kinds = [
    ...(noImages === true ? [["images", imagesOfAll] as const] : []),
    ...(noFiles === true ? [["files", files] as const] : []),
  ];
  for (const [name, kind] of kinds) {
    const path = firstPartPath(body, kind);
    if (path === undefined) continue;
    throw new GatewayError(
      "permission_denied",
      `${path}: the settings of calls of this API key allow no ${name}`,
      { param: path },
    );
  }
}

function firstPartPath(body: OutlineObject, kind: PartKind): string | undefined {
  for (const field of ["messages", "input"]) {
    const list = body[field];
    if (!Array.isArray(list)) continue;
    for (const [i, item] of list.entries()) {
      if (!isJsonObject(item)) continue;
      const inner = item["content"] ?? item["output"];
      const parts = isJsonObject(inner) ? [inner] : inner;
      const found = inContent(parts, kind, `${field}.${i}.content`);
      if (found !== undefined) return found;
    }
  }
  return inGeminiContents(body["contents"], kind);
}

function inGeminiContents(contents: Outline | undefined, kind: PartKind): string | undefined {
  const list = Array.isArray(contents) ? contents : [contents];
  for (const [i, content] of list.entries()) {
    const parts = isJsonObject(content) ? content["parts"] : undefined;
    const found = Array.isArray(parts) ? inParts(parts, kind, `contents.${i}.parts`) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function inParts(
  parts: readonly Outline[],
  kind: PartKind,
  path: string,
): string | undefined {
  for (const [i, part] of parts.entries()) {
    if (!isJsonObject(part)) continue;
    if (isFileOf(kind, part["inlineData"]) || isFileOf(kind, part["fileData"])) {
      return `${path}.${i}`;
    }
    const result = part["functionResponse"];
    const nested = isJsonObject(result) ? result["parts"] : undefined;
    const found = Array.isArray(nested)
      ? inParts(nested, kind, `${path}.${i}.functionResponse.parts`)
      : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function isFileOf({ mimeType }: PartKind, file: Outline | undefined): boolean {
  if (!isJsonObject(file)) return false;
  const type = file["mimeType"];
  return mimeType.test(typeof type === "string" ? type : "");
}

/** The header with preferences of the route. */
export const routeHeader = "x-gateway-route";

const everyStyle = ["models", "provider", "providerOptions"];
/** Fields of styles that take LiteLLM's `fallbacks`; the Messages vendor has another form under the same name. */
const withFallbacks = [...everyStyle, "fallbacks"];

/** The top-level fields of each style in which a caller has a say in the route; see `route_preferences.ts`. */
export const preferenceFields: Readonly<Record<Style, readonly string[]>> = {
  messages: everyStyle,
  chat: withFallbacks,
  responses: withFallbacks,
  gemini: everyStyle,
};

/** Whether a request may hold preferences of the route: nearly all hold none, and are asked nothing else. */
export function mayPreferRoutes(style: Style, { fields }: JsonBody): boolean {
  const names = preferenceFields[style];
  for (let i = 0; i < names.length; i++) if (fields.has(names[i]!)) return true;
  return false;
}

/** A body in the form of the Chat style. */
interface ChatBody {
  readonly body: JsonBody;
  /** Fields that were sent in another form and that Chat has no place for. */
  readonly dropped: readonly string[];
}

/** Chat as its vendor defines it: what a route cannot carry is decided when the route is chosen. */
const wholeChat: RouteCapabilities = {
  custom_tools: true,
  efforts: ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
  tool_id: "any",
  tool_name_max: 256,
  stop_max: 1024,
};

/**
 * Brings a body into the form of the Chat style; one that has it is returned as it is.
 *
 * @throws {GatewayError} `invalid_request` or `conversion_refused` for items that Chat cannot express
 *
 * @example
 * ```ts
 * import { chatBody } from "./chat_request.ts";
 * import { parseJsonBody } from "../body/json_body.ts";
 * const sent = parseJsonBody(new TextEncoder().encode('{"model":"m","input":"Hi","stream":true}'));
 * const { body } = chatBody(sent);
 * if (JSON.stringify(body.value["messages"]) !== '[{"role":"user","content":"Hi"}]') {
 *   throw new Error(JSON.stringify(body.value));
 * }
 * ```
 */
export function chatBody(sent: JsonBody): ChatBody {
  const { outline } = sent;
  if (isAbsent(outline["messages"]) && !isAbsent(outline["input"])) return ofInput(sent.value);
  const { tools } = outline;
  const isOther = Array.isArray(tools) && tools.some(isFlat);
  return isOther ? { body: bodyOf(withNestedTools(sent.value)), dropped: [] } : {
    body: sent,
    dropped: [],
  };
}

function isAbsent(value: Outline | undefined): boolean {
  return value === undefined || value === null;
}

function bodyOf(value: JsonObject): JsonBody {
  return parseJsonBody(new TextEncoder().encode(stringifyExactly(value)));
}

/** Converts a request with `input`. Members that only Chat has are not part of the conversion. */
function ofInput(value: JsonObject): ChatBody {
  const converted: JsonObject = {};
  const own: JsonObject = {};
  for (const [name, member] of Object.entries(value)) {
    if (name === "stream_options" || (name in chatFields && !(name in responsesFields))) {
      own[name] = member;
    } else converted[name] = member;
  }
  const { messages: _, ...ofChat } = own;
  const { tools, tool_choice: choice } = converted;
  if (Array.isArray(tools)) converted["tools"] = tools.map(flatTool);
  if (isJsonObject(choice)) converted["tool_choice"] = flatTool(choice);
  const conversion = convertRequest("responses", "chat", converted, {
    capabilities: wholeChat,
    upstreamModel: typeof value["model"] === "string" ? value["model"] : "",
    maxOutputTokens: maxOutputTokensOfCall,
  });
  if (!conversion.ok) throw conversion.error;
  const { body: { stream_options: _usage, ...chat }, dropped } = conversion.request;
  return { body: bodyOf({ ...chat, ...ofChat }), dropped };
}

/** Whether a tool is declared as in Responses or Messages: its name is beside its type. */
function isFlat(tool: Outline): boolean {
  if (!isJsonObject(tool) || typeof tool["name"] !== "string") return false;
  const { type = "function" } = tool;
  return (type === "function" || type === "custom") && !isJsonObject(tool[type]);
}

function withNestedTools(value: JsonObject): JsonObject {
  const { tools, tool_choice: choice } = value;
  return {
    ...value,
    ...(Array.isArray(tools) && { tools: tools.map(nestedTool) }),
    ...(isJsonObject(choice) && { tool_choice: nestedTool(choice) }),
  };
}

/** Moves the declaration of a tool, or the name of a chosen one, into the member that Chat has for its type. */
function nestedTool(tool: Json): Json {
  if (!isJsonObject(tool) || !isFlat(tool)) return tool;
  const { type, name, description, format, parameters, input_schema: schema, strict, ...rest } =
    tool;
  const declared = defined({ name, description });
  if (type === "custom" && schema === undefined) {
    return { ...rest, type, custom: { ...declared, ...defined({ format: nestedFormat(format) }) } };
  }
  return {
    ...rest,
    type: "function",
    function: { ...declared, ...defined({ parameters: parameters ?? schema, strict }) },
  };
}

function nestedFormat(format: Json | undefined): Json | undefined {
  if (!isJsonObject(format) || format["type"] !== "grammar") return format;
  if (isJsonObject(format["grammar"])) return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}

function flatTool(tool: Json): Json {
  if (!isJsonObject(tool)) return tool;
  const { type = "function" } = tool;
  const inner = type === "function" || type === "custom" ? tool[type] : undefined;
  if (!isJsonObject(inner)) return tool;
  const { function: _function, custom: _custom, ...rest } = tool;
  return { ...rest, type, ...inner };
}

/**
 * Whether a request ends with tool results, so that its answer continues a turn that has begun.
 *
 * @example
 * ```ts
 * import { continuesTurn } from "./chat_request.ts";
 * const result = { role: "tool", tool_call_id: "call_1", content: "5" };
 * if (!continuesTurn("chat", { messages: [result] })) throw new Error("not seen");
 * if (continuesTurn("chat", { messages: [{ role: "user", content: "5" }] })) throw new Error("a new turn");
 * ```
 */
export function continuesTurn(style: Style, body: OutlineObject): boolean {
  const list = body[style === "responses" ? "input" : style === "gemini" ? "contents" : "messages"];
  const last = Array.isArray(list) ? list.at(-1) : undefined;
  if (!isJsonObject(last)) return false;
  switch (style) {
    case "messages":
      return Array.isArray(last["content"]) && last["content"].some(isToolResult);
    case "chat":
      return last["role"] === "tool" || last["role"] === "function";
    case "responses":
      return typeof last["type"] === "string" && last["type"].endsWith("_output");
    case "gemini":
      return Array.isArray(last["parts"]) &&
        last["parts"].some((part) => isJsonObject(part) && isJsonObject(part["functionResponse"]));
  }
}

function isToolResult(block: Outline): boolean {
  return isJsonObject(block) && block["type"] === "tool_result";
}

/** Most messages or items of one request: the largest limit of any vendor. */
export const maxMessages = 100_000;

/** The fields of a chat request that are common to all styles. */
export interface ChatRequest {
  readonly style: Style;
  readonly model: string;
  readonly stream: boolean;
  /** The client's own bound on output tokens, if it set one. */
  readonly maxTokens: number | undefined;
  /** Number of answers that the provider produces: `n`, or `best_of`, of which it returns the best. */
  readonly choices: number;
  /** Chat: whether the client asked for the usage chunk itself. */
  readonly wantsUsage: boolean;
  /** Gemini: the client wants the stream as one JSON array. */
  readonly inArray?: boolean;
  /** The answer has its cost in its usage. */
  readonly tellsCost?: boolean;
  /** Responses: the id of the turn that the request continues, which its answer repeats. */
  readonly continues?: string | undefined;
  /** Responses: the conversation is compacted. Such a request has no field for a limit of output. */
  readonly compacts?: true;
}

function invalid(param: string, problem: string): GatewayError {
  return new GatewayError("invalid_request", `${param}: ${problem}`, { param });
}

function optionalInteger(
  body: OutlineObject,
  field: string,
  bounds: { readonly min: number; readonly max: number },
): number | undefined {
  const value = body[field];
  if (value === undefined || value === null) return undefined;
  const isTooLarge = isExactNumber(value);
  if (!isTooLarge && (typeof value !== "number" || !Number.isInteger(value))) {
    throw invalid(field, "must be a whole number");
  }
  if (isTooLarge || value < bounds.min || value > bounds.max) {
    throw invalid(field, `must be from ${bounds.min} to ${bounds.max}`);
  }
  return value;
}

function optionalBoolean(body: OutlineObject, field: string): boolean {
  const value = body[field];
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw invalid(field, "must be true or false");
  return value;
}

function readModel(body: OutlineObject): string {
  const { model } = body;
  if (model === undefined) throw invalid("model", "is required");
  if (typeof model !== "string" || model === "") {
    throw invalid("model", "must be a non-empty string");
  }
  if (model.length > maxModelNameChars) {
    throw invalid("model", `must have at most ${maxModelNameChars} characters`);
  }
  return model;
}

function checkContent(content: Outline | undefined, path: string): void {
  if (content === undefined || content === null || isText(content)) return;
  if (!Array.isArray(content)) throw invalid(path, "must be a string or a list of parts");
  for (const [i, part] of content.entries()) {
    if (!isJsonObject(part)) throw invalid(`${path}.${i}`, "must be an object");
    if (typeof part["type"] !== "string") throw invalid(`${path}.${i}.type`, "must be a string");
  }
}

function checkMessages(body: OutlineObject, contentRequired: boolean): void {
  const { messages } = body;
  if (messages === undefined) throw invalid("messages", "is required");
  if (!Array.isArray(messages)) throw invalid("messages", "must be a list");
  if (messages.length === 0) throw invalid("messages", "must have at least one message");
  if (messages.length > maxMessages) {
    throw invalid("messages", `must have at most ${maxMessages} messages`);
  }
  for (const [i, message] of messages.entries()) {
    if (!isJsonObject(message)) throw invalid(`messages.${i}`, "must be an object");
    if (typeof message["role"] !== "string") {
      throw invalid(`messages.${i}.role`, "must be a string");
    }
    if (contentRequired && (message["content"] === undefined || message["content"] === null)) {
      throw invalid(`messages.${i}.content`, "is required");
    }
    checkContent(message["content"], `messages.${i}.content`);
  }
}

/**
 * Refuses references to state stored at the provider. It is stored under the one account that all our customers share
 * there, so a customer who knows an id could read another's conversation; and a few bytes of reference can name a
 * prompt of any length.
 */
function refuseStoredState(
  body: OutlineObject,
  fields: readonly string[],
  instead: string,
  code: ErrorCode = "invalid_request",
): void {
  for (const param of fields) {
    if (body[param] !== undefined && body[param] !== null) {
      const problem = statelessAdvice(param, `send the whole conversation as ${instead}`);
      throw new GatewayError(code, `${param}: ${problem}`, { param });
    }
  }
}

/**
 * Reads how many answers are requested. The fields are those of Chat and older completions, but read in all styles,
 * since servers that speak several accept each other's fields.
 */
function readChoices(body: OutlineObject): number {
  const bounds = { min: 1, max: maxChoices };
  const returned = optionalInteger(body, "n", bounds) ?? 1;
  return Math.max(returned, optionalInteger(body, "best_of", bounds) ?? 1);
}

const tokenBounds = { min: 1, max: maxOutputTokensOfCall };

function readMessages(body: OutlineObject, counting: boolean): ChatRequest {
  checkMessages(body, true);
  refuseStoredState(body, ["thread"], "messages", "thread_unsupported");
  const maxTokens = optionalInteger(body, "max_tokens", { ...tokenBounds, min: 0 });
  if (maxTokens === undefined && !counting) throw invalid("max_tokens", "is required");
  return {
    style: "messages",
    model: readModel(body),
    stream: optionalBoolean(body, "stream"),
    maxTokens,
    choices: readChoices(body),
    wantsUsage: false,
  };
}

function readChat(body: OutlineObject): ChatRequest {
  checkMessages(body, false);
  const older = optionalInteger(body, "max_tokens", tokenBounds);
  const newer = optionalInteger(body, "max_completion_tokens", tokenBounds);
  // If both are given, providers differ in which one they use, so the larger is reserved.
  const maxTokens = older === undefined || newer === undefined
    ? newer ?? older
    : Math.max(older, newer);
  const options = body["stream_options"];
  if (options !== undefined && options !== null && !isJsonObject(options)) {
    throw invalid("stream_options", "must be an object");
  }
  return {
    style: "chat",
    model: readModel(body),
    stream: optionalBoolean(body, "stream"),
    maxTokens,
    choices: readChoices(body),
    wantsUsage: isJsonObject(options) && options["include_usage"] === true,
  };
}

const storedItem =
  "is a reference to an item that is not held here (any more); send the item itself (in the AI SDK: store: false)";

function readResponses(body: OutlineObject): ChatRequest {
  const { input } = body;
  refuseStoredState(body, ["previous_response_id", "conversation", "prompt"], "input");
  if (input === undefined || input === null) throw invalid("input", "is required");
  if (!isText(input)) {
    if (!Array.isArray(input)) throw invalid("input", "must be a string or a list of items");
    if (input.length > maxMessages) {
      throw invalid("input", `must have at most ${maxMessages} items`);
    }
    for (const [i, item] of input.entries()) {
      if (!isJsonObject(item)) throw invalid(`input.${i}`, "must be an object");
      if (item["type"] === "item_reference") {
        throw invalid(`input.${i}`, storedItem);
      }
    }
  }
  if (optionalBoolean(body, "background")) {
    // The response to a background request has no usage: the answer would be delivered later, without a debit.
    throw invalid("background", statelessAdvice("background", "leave it out"));
  }
  return {
    style: "responses",
    model: readModel(body),
    stream: optionalBoolean(body, "stream"),
    maxTokens: optionalInteger(body, "max_output_tokens", tokenBounds),
    choices: readChoices(body),
    wantsUsage: false,
  };
}

/**
 * Reads a request to compact a conversation: one of the Responses style whose answer is whole.
 *
 * @throws {GatewayError} `invalid_request` naming the field
 */
export function readCompactRequest(body: OutlineObject): ChatRequest {
  refuseMergedFields(body);
  const request = readResponses(body);
  if (request.stream) throw invalid("stream", "a compacted conversation is not streamed");
  return { ...request, compacts: true };
}

/** Refuses files of the provider's storage, anywhere in the contents: see {@linkcode refuseStoredState}. */
function refuseStoredFiles(value: Outline | undefined, path: string): void {
  if (Array.isArray(value)) {
    value.forEach((item, i) => refuseStoredFiles(item, `${path}.${i}`));
    return;
  }
  if (!isJsonObject(value)) return;
  const { fileData, parts, functionResponse: result } = value;
  const uri = isJsonObject(fileData) ? fileData["fileUri"] : undefined;
  if (typeof uri === "string" && isStoredFile(uri)) {
    throw invalid(`${path}.fileData.fileUri`, "is not supported; send the data or a public URL");
  }
  refuseStoredFiles(parts, `${path}.parts`);
  if (isJsonObject(result)) refuseStoredFiles(result["parts"], `${path}.functionResponse.parts`);
}

/**
 * Reads a Gemini request, with the members of its path and the field names of the vendor's reference; see
 * `core/calls/exchange/gemini_body.ts`.
 */
function readGemini(body: OutlineObject): ChatRequest {
  const { contents, generationConfig: config = {} } = body;
  if (contents === undefined || contents === null) throw invalid("contents", "is required");
  if (Array.isArray(contents)) {
    if (contents.length === 0) throw invalid("contents", "must have at least one content");
    if (contents.length > maxMessages) {
      throw invalid("contents", `must have at most ${maxMessages} contents`);
    }
  }
  refuseStoredState(body, ["cachedContent"], "contents");
  refuseStoredFiles(contents, "contents");
  if (config !== null && !isJsonObject(config)) {
    throw invalid("generationConfig", "must be an object");
  }
  const options = config ?? {};
  return {
    style: "gemini",
    model: readModel(body),
    stream: optionalBoolean(body, "stream"),
    maxTokens: optionalInteger(options, "maxOutputTokens", tokenBounds),
    choices: optionalInteger(options, "candidateCount", { min: 1, max: maxChoices }) ?? 1,
    wantsUsage: true,
  };
}

/**
 * Reads a chat request of the given style.
 *
 * @throws {GatewayError} `invalid_request` naming the field
 */
export function readChatRequest(style: Style, body: OutlineObject): ChatRequest {
  refuseMergedFields(body);
  switch (style) {
    case "messages":
      return readMessages(body, false);
    case "chat":
      return readChat(body);
    case "responses":
      return readResponses(body);
    case "gemini":
      return readGemini(body);
  }
}

/**
 * Reads a `count_tokens` request: a Messages request that needs no `max_tokens`
 * (docs/internals/WIRE_FORMATS.md#messages-token-counting).
 */
export function readCountTokensRequest(body: OutlineObject): ChatRequest {
  return readMessages(body, true);
}

/** A request in one wire style. */
export interface StyledRequest {
  readonly style: ProviderStyle;
  readonly body: OutlineObject;
}

/** A request on its way to a route, to be checked for billable features. */
interface BillableCheck {
  readonly model: Model;
  readonly route: Route;
  /** The request as it would go to the provider. */
  readonly sent: StyledRequest;
  /** The request of the client: a refusal names the fields as the client wrote them. */
  readonly asked: StyledRequest;
  /** Features that the gateway provides itself. */
  readonly except?: readonly BillableFeature[];
}

/**
 * Lists the top-level fields that must not go to this route; nearly every call has none.
 *
 * @throws {GatewayError} `invalid_request` naming the first place that the model does not offer on any route,
 * `feature_unavailable` if another route offers it: the call moves on to that one, if it is in service
 */
export function fieldsLeftOut(check: BillableCheck): readonly string[] {
  const fields: string[] = [];
  for (const found of findBillableFeatures(check.sent.style, check.sent.body)) {
    if (check.except?.includes(found.feature) === true) continue;
    if (check.route.allow.has(found.feature) && hasFactor(check, found)) continue;
    if (!found.spare) throw refusal(check, found);
    fields.push(found.path);
  }
  return fields;
}

/** Whether a tier of service has a price. A price without any factors leaves the tiers to the route. */
function hasFactor({ model: { price }, sent }: BillableCheck, { feature }: AskedFeature): boolean {
  if (feature !== "service_tier" || price.unit !== "token") return true;
  const { serviceTiers } = price;
  return serviceTiers === undefined ||
    Object.hasOwn(serviceTiers, askedTier(sent.style, sent.body));
}

/** Lists the hosted tools that a request asks for; a route that allows them runs them. */
export function hostedToolsAskedFor(asked: StyledRequest): readonly BillableFeature[] {
  return findBillableFeatures(asked.style, asked.body)
    .map(({ feature }) => feature)
    .filter((feature) => hostedToolFeatures.has(feature));
}

function refusal(check: BillableCheck, found: AskedFeature): GatewayError {
  const { model, sent, asked } = check;
  const { feature } = found;
  const said = sent.body === asked.body
    ? found
    : findBillableFeatures(asked.style, asked.body).find((one) => one.feature === feature) ?? found;
  const subject = `${said.path}: ${billableFeatureWords[feature]}`;
  const param = said.path;
  if (hasFactor(check, found) && model.routes.some((route) => route.allow.has(feature))) {
    return new GatewayError(
      "feature_unavailable",
      `${subject} is out of service for this model at the moment`,
      { param },
    );
  }
  const offer = feature === "web_search"
    ? " (the operator can, by allow of a route or by webSearchModel in gateway.json)"
    : "";
  const hint = feature === "web_search" && asked.style === "responses"
    ? ' (in Codex: web_search = "disabled")'
    : "";
  return new GatewayError(
    "invalid_request",
    `${subject} costs extra at the provider, and this gateway does not offer it for this model${offer}; leave it out${hint}`,
    { param },
  );
}
