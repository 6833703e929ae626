/**
 * Computes the most that a chat call can cost, and an estimate of its prompt, before a provider is asked.
 *
 * The bytes of a prompt bound its tokens. That bound is for the reservation, the estimate is for the charge.
 *
 * - Folder `core/calls/bounds/`: what a chat call can cost and how long its output may get.
 * - In: the request, the capabilities and prices of its model, figures of earlier calls.
 * - Out: bounds in tokens and bytes, the amount to reserve, the charge of an ended call.
 * - Never: asks a provider or a wallet, or keeps text of a prompt.
 */
import { isPdfUrl } from "../../wire/fields/content_parts.ts";
import { isJsonObject, type Outline, type OutlineObject } from "../../lib/json/json.ts";
import { LongText } from "../../lib/json/scan/long_text.ts";
import { beginningOf, isText } from "../../lib/json/outline.ts";
import type { Model } from "../../catalog/catalog.ts";
import {
  hasCachePrice,
  maxPerOutputToken,
  type ReservationRange,
  reservedPrice,
  toolPricesOf,
  worstCaseCost,
} from "../../billing/price.ts";
import { askedTier, askedTools } from "../../wire/billable_features/asked_for.ts";
import type { BillableFeature } from "../../wire/contract/features.ts";
import { maxToolFees, type ReservedTool, reservedTools } from "../../billing/usage/hosted_tools.ts";
import type { AppliedPrice } from "../../billing/usage/receipt.ts";
import { roughPromptTokens } from "../../billing/tokens/rough_estimate.ts";
import { type ChatRequest, hostedToolsAskedFor } from "../request/chat_request.ts";
import type { JsonBody } from "../body/json_body.ts";
import { wantedOutputTokens } from "./output_limit.ts";
import { type PromptPrefixes, promptPrefixes } from "./seen_prompts.ts";
import { defined } from "../../lib/base/defined.ts";

/**
 * Bodies of at most this many bytes reserve one input token per byte; longer ones are searched for base64
 * parts.
 */
export const exactBoundBodyBytes = 16 * 1024;

/**
 * Tokens of one picture at most. Vendors bill a picture by its size in pixels, not by its base64, and stay below
 * this. Only parts that are declared as pictures get this bound: documents may hold a book, and a string that merely
 * looks like base64 may be text.
 */
export const tokensPerImage = 6_000;
/**
 * Tokens of one picture that a report can have: small models of one vendor count 25,000 to 48,000 for a large
 * picture.
 */
const believableTokensPerImage = 50_000;
const imagePartTypes: ReadonlySet<unknown> = new Set(["image", "image_url", "input_image"]);

/** Whether a part is a picture. Some clients send a PDF in a part for pictures; conversion makes a document of it. */
function isPicture(part: OutlineObject): boolean {
  return imagePartTypes.has(part["type"]) && !/^data:application\/pdf\b/i.test(pictureUrl(part)) &&
    !isPdfUrl(pictureUrl(part));
}

function pictureUrl({ image_url: held }: OutlineObject): string {
  return beginningOf(isJsonObject(held) ? held["url"] : held);
}

/** Counts the characters of all strings in a value. */
function stringChars(value: Outline | undefined): number {
  if (typeof value === "string") return value.length;
  if (value instanceof LongText) return value.text().length;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + stringChars(item), 0);
  if (!isJsonObject(value)) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + stringChars(item), 0);
}

/** The parts of a request that bound its tokens. */
interface Prompt {
  readonly body: OutlineObject;
  readonly bodyBytes: number;
  readonly contextWindow: number;
  /** Number of hosted tools that it asks for: see `hostedToolsAskedFor`. */
  readonly hostedTools: number;
}

/** Contents whose tokens the bytes of a request do not bound. */
interface Unseen {
  images: number;
  /** Characters of their base64 or their addresses; each is at least a byte of the body. */
  imageChars: number;
  /** Number of files within the request: their bytes do not show how many pages they have. */
  documents: number;
  /** Tokens of what the provider looks up; `Infinity` where only its context bounds them. */
  tokens: number;
  vendorTools: number;
  hasAudio: boolean;
}

/** Tokens that one hosted tool adds to the prompt: search results are some pages, seldom more. */
const tokensPerHostedTool = 100_000;
/**
 * Tokens of the instructions and schema that a vendor adds for one of its own tools (computer, bash, text editor):
 * 250 to 1,250.
 */
const tokensPerVendorTool = 1_500;
/**
 * Tokens that a provider adds before a prompt: the framing of a conversation, and some hundred about how tools are
 * called.
 */
const hiddenPromptTokens = 2_048;
/**
 * The hidden prompt is at most this many times as long as what was sent: no provider adds thousands of tokens to a
 * greeting.
 */
const hiddenPromptFactor = 3;
/** Types of parts that hold a file. */
const documentTypes: ReadonlySet<unknown> = new Set([
  "document",
  "document_url",
  "file",
  "file_url",
  "input_file",
]);
/** Types of parts that hold sound, whose tokens are no text. */
const audioTypes: ReadonlySet<unknown> = new Set(["input_audio", "audio", "audio_url"]);
/** Types of parts that only refer to content elsewhere. */
const referenceTypes: ReadonlySet<unknown> = new Set([
  "item_reference",
  "container_upload",
  "video_url",
  "input_video",
]);

/**
 * Whether a part refers to content elsewhere. A short URL may name a book, so such content may be as long as the
 * context.
 */
function isReference(part: OutlineObject): boolean {
  if (imagePartTypes.has(part["type"]) && isPdfUrl(pictureUrl(part))) return true;
  if (referenceTypes.has(part["type"])) return true;
  if (isText(part["file_id"])) return true;
  if (isAddress(part["document_url"]) || isAddress(part["file_url"])) return true;
  const { file_data: file, source } = part;
  // Aggregators accept an address in place of the data.
  if (isText(file) && /^\s*https?:/i.test(beginningOf(file))) return true;
  return part["type"] === "document" && isJsonObject(source) &&
    (source["type"] === "url" || source["type"] === "file");
}

/** Whether a value is an address: a string, or an object with one, that is not a data URL. */
function isAddress(value: Outline | undefined): boolean {
  const url = isJsonObject(value) ? value["url"] : value;
  return isText(url) && !/^\s*data:/i.test(beginningOf(url));
}

function addUnseen(value: Outline | undefined, unseen: Unseen): void {
  if (Array.isArray(value)) {
    for (const item of value) addUnseen(item, unseen);
    return;
  }
  if (!isJsonObject(value)) return;
  const type = value["type"];
  if (isPicture(value)) {
    unseen.images++;
    unseen.imageChars += stringChars(value);
    return;
  }
  if (isReference(value)) unseen.tokens = Infinity;
  if (audioTypes.has(type)) unseen.hasAudio = true;
  if (documentTypes.has(type) || imagePartTypes.has(type)) unseen.documents++;
  // Tool arguments are text of the model, whatever they look like.
  if (type === "tool_use" || type === "server_tool_use") return;
  for (const name in value) addUnseen(value[name], unseen);
}

/** Adds the files of a Gemini request, whose parts have no types. */
function addGeminiUnseen(value: Outline | undefined, unseen: Unseen): void {
  if (Array.isArray(value)) {
    for (const item of value) addGeminiUnseen(item, unseen);
    return;
  }
  if (!isJsonObject(value)) return;
  const { inlineData: data, fileData } = value;
  // A short address may name a book or a film.
  if (fileData !== undefined && fileData !== null) unseen.tokens = Infinity;
  if (isJsonObject(data)) {
    const type = data["mimeType"];
    if (typeof type === "string" && /^image\//i.test(type)) {
      unseen.images++;
      unseen.imageChars += stringChars(data);
    } else unseen.documents++;
  }
  const inner = value["functionResponse"];
  addGeminiUnseen(value["parts"], unseen);
  if (isJsonObject(inner)) addGeminiUnseen(inner["parts"], unseen);
}

function unseenOf({ body, hostedTools }: Prompt): Unseen {
  const unseen = {
    images: 0,
    imageChars: 0,
    documents: 0,
    tokens: hostedTools * tokensPerHostedTool,
    vendorTools: 0,
    hasAudio: false,
  };
  for (const field of ["messages", "input", "system"]) addUnseen(body[field], unseen);
  addGeminiUnseen(body["contents"], unseen);
  const { tools } = body;
  for (const tool of Array.isArray(tools) ? tools : []) {
    if (isJsonObject(tool) && isVendorTool(tool)) unseen.vendorTools++;
  }
  return unseen;
}

/** Whether the request names a tool without its schema, so that the vendor adds it. */
function isVendorTool(tool: OutlineObject): boolean {
  return typeof tool["type"] === "string" && tool["input_schema"] === undefined &&
    tool["parameters"] === undefined && tool["function"] === undefined &&
    tool["type"] !== "function" && tool["type"] !== "custom";
}

/** Bounds on the input of a request, known before it is sent. */
interface InputBound {
  /** Tokens to reserve: never more than the context window. */
  readonly tokens: number;
  /**
   * Tokens that a provider can have read, whatever the window; `Infinity` where it looks something up. Larger than
   * `tokens` by what the provider itself adds before a prompt.
   */
  readonly believableTokens: number;
  /** The input is only the text of the request, so a report beyond `believableTokens` is false. */
  readonly isText: boolean;
  /** The request names documents or other content that it does not contain. */
  readonly namesUnseen: boolean;
}

/**
 * Computes an upper bound of the input tokens of a request, and of what a provider may report for it.
 *
 * A token has at least one byte, a picture counts as `tokensPerImage`, what the provider fetches itself counts as much as
 * the context holds, and no request counts as more than that. Many calls at once on a small balance would get for free
 * what is not reserved here.
 *
 * Short bodies are bounded by their length; in long ones the base64 of pictures is left out, which would reserve far too
 * much.
 *
 * @example
 * ```ts
 * import { inputBound } from "./chat_bounds.ts";
 * const prompt = { body: { model: "m" }, bodyBytes: 13, contextWindow: 1_000_000, hostedTools: 0 };
 * if (inputBound(prompt).tokens !== 13) throw new Error("short bodies count by length");
 * ```
 */
export function inputBound(prompt: Prompt): InputBound {
  const { bodyBytes, contextWindow } = prompt;
  const unseen = unseenOf(prompt);
  const { images, documents, vendorTools } = unseen;
  const pictures = bodyBytes > exactBoundBodyBytes ? unseen.imageChars : 0;
  const sent = bodyBytes - pictures + images * tokensPerImage + unseen.tokens;
  // The bytes of a file do not bound its pages, and some vendors cut a picture into very many tiles.
  const isText = images === 0 && documents === 0 && !unseen.hasAudio && Number.isFinite(sent);
  const hidden = sent * hiddenPromptFactor;
  return {
    tokens: Math.min(sent, contextWindow),
    believableTokens: sent + (documents > 0 ? hidden : Math.min(hidden, hiddenPromptTokens)) +
      vendorTools * tokensPerVendorTool + images * believableTokensPerImage,
    isText,
    namesUnseen: unseen.tokens === Infinity,
  };
}

/** The bounds of a chat call that are known before it is sent. */
export interface ChatBounds {
  /** Output tokens of all answers together. */
  readonly outputTokens: number;
  /** The most output tokens that the caller can want: see {@linkcode wantedOutputTokens}. */
  readonly wantedOutputTokens: number;
  readonly input: InputBound;
  /** Our own count of the prompt's tokens, for a provider that reports none. An estimate, not a bound. */
  readonly estimatedInputTokens: number;
  /** Hosted tools that the request asks for: they may add more to the prompt than is in the request. */
  readonly hostedTools: readonly BillableFeature[];
  /** Of these, the tools that have a fee. */
  readonly tools: readonly ReservedTool[];
  /** The most that their fees can be; a part of `costMicroVnd`. */
  readonly toolFeesMicroVnd: bigint;
  /**
   * Hashes of the beginning of the prompt. For a stream, which may break after some output; and for a whole answer after
   * which the provider may have the prompt in its cache, at a price of its own.
   */
  readonly prefixes?: PromptPrefixes | undefined;
  /** The conversation may come to another account at a provider: there are several routes or keys. */
  readonly mayMove: boolean;
  /** The tier of service that the request asks for. */
  readonly tier: string;
  /** The price at which money is reserved: with the highest factor of a tier that the call may get. */
  readonly reservedPrice: AppliedPrice;
  /** The most that the call can cost; see `initial_reservation.ts` for what is reserved. */
  readonly costMicroVnd: bigint;
}

/** Lowers the bounds of a call to fewer output tokens, of all answers together. */
export function withinOutput(bounds: ChatBounds, outputTokens: number): ChatBounds {
  const { reservedPrice, input, toolFeesMicroVnd } = bounds;
  const most = { inputTokens: input.tokens, outputTokens, isText: input.isText };
  return {
    ...bounds,
    outputTokens,
    wantedOutputTokens: outputTokens,
    costMicroVnd: worstCaseCost(reservedPrice, most) + toolFeesMicroVnd,
  };
}

/**
 * Computes the bounds of a request. Everything that needs the prompt is computed here, so that a stream need not keep
 * the prompt in memory for its settlement.
 *
 * @param hasSeveralKeys whether a provider of the model has several keys, of which a conversation keeps one
 */
export function chatBounds(
  request: ChatRequest,
  body: JsonBody,
  model: Model,
  price: AppliedPrice,
  hasSeveralKeys = false,
): ChatBounds {
  const { outline, bytes } = body;
  const { maxOutputTokens, contextWindow } = model;
  const outputTokens = Math.min(request.maxTokens ?? maxOutputTokens, maxOutputTokens) *
    request.choices;
  const hostedTools = hostedToolsAskedFor({ style: request.style, body: outline });
  const prices = toolPricesOf(model.price);
  const tools = hostedTools.length === 0 || prices === undefined
    ? []
    : reservedTools(prices, askedTools(request.style, outline), request.choices);
  const toolFeesMicroVnd = tools.length === 0 ? 0n : maxToolFees(tools);
  const tier = askedTier(request.style, outline);
  const reserved = reservedPrice(price, tier);
  const input = inputBound({
    body: outline,
    bodyBytes: bytes.length,
    contextWindow,
    hostedTools: hostedTools.length,
  });
  const mayMove = model.routes.length > 1 || hasSeveralKeys;
  return {
    outputTokens,
    wantedOutputTokens: wantedOutputTokens(request, model),
    input,
    estimatedInputTokens: roughPromptTokens(outline),
    hostedTools,
    tools,
    tier,
    reservedPrice: reserved,
    toolFeesMicroVnd,
    mayMove,
    prefixes: (price.unit === "token" && (request.stream || hasCachePrice(price))) ||
        mayMove
      ? promptPrefixes(model.id, request.style, outline)
      : undefined,
    costMicroVnd:
      worstCaseCost(reserved, { inputTokens: input.tokens, outputTokens, isText: input.isText }) +
      toolFeesMicroVnd,
  };
}

// Computes how much money a chat call reserves when it begins, and which limit of output the provider gets if that is
// less than the call may cost.

/**
 * Fewest output tokens of one answer that a lowered limit leaves: the least that the Responses vendor takes, and too
 * few for an answer of any use.
 */
const leastLimitTokens = 16;

/** First reservation of a chat call. */
export interface InitialReservation {
  readonly range: ReservationRange;
  /**
   * The output follows the reservation: the stream can be stopped when its money is used up. Any other call gets a limit
   * that the reservation covers.
   */
  readonly isStoppable: boolean;
  /**
   * Reserved if the money does not cover the lowest limit that the request allows: what is expected, and all that there
   * is beyond. The request keeps its limit, and what it costs beyond its money becomes debt, as far as the account may
   * owe. Absent if the lowest limit is below what is expected.
   */
  readonly unlimited: ReservationRange | undefined;
}

/** Facts that decide the first reservation, beside the bounds. */
interface ReservationBasis {
  readonly stream: boolean;
  /** Output tokens to reserve for a stream; `Infinity` if its output is hidden. See `OutputExpectations.tokens`. */
  readonly expectedTokens: number;
  /** Output tokens that a call usually has. See `OutputExpectations.usualTokens`. */
  readonly usualTokens: number;
  /** Fewest output tokens of all answers together with which the call makes sense. See {@linkcode leastOutputTokens}. */
  readonly leastTokens: number;
  /** `false`: see `ReservationRange.waits`. */
  readonly waits?: boolean | undefined;
}

type QuotedBounds = Pick<
  ChatBounds,
  "input" | "outputTokens" | "toolFeesMicroVnd" | "costMicroVnd" | "reservedPrice"
>;

/**
 * Computes the first reservation of a call. Input is charged as soon as the call is sent, so all of its bound is
 * reserved; fees of hosted tools as well. The output of a stream can be stopped, so only the expected output is
 * reserved, and more as it comes. A call that is not streamed, or whose output is hidden, cannot be stopped, so all
 * that it may cost is reserved if there is so much money. If not, the call begins with less, and the provider gets the
 * limit that is paid for.
 *
 * @example
 * ```ts
 * import { initialReservation } from "./chat_bounds.ts";
 * import { applyPrice } from "../../billing/price.ts";
 * const reservedPrice = applyPrice({ unit: "token", vndPerMtok: 8_300 });
 * const input = { tokens: 100, believableTokens: 100, isText: true, namesUnseen: false };
 * const bounds = { input, outputTokens: 128_000, toolFeesMicroVnd: 0n, costMicroVnd: 1_063_230_000n, reservedPrice };
 * const basis = { stream: true, expectedTokens: 2_000, usualTokens: 2_000, leastTokens: 16 };
 * if (initialReservation(bounds, basis).range.wantedMicroVnd !== 17_430_000n) throw new Error("all of it");
 * const whole = initialReservation(bounds, { ...basis, stream: false });
 * if (whole.range.wantedMicroVnd !== 1_063_230_000n) throw new Error("not the worst case");
 * if (whole.range.expectedMicroVnd !== 17_430_000n) throw new Error("not what is usual");
 * ```
 */
export function initialReservation(
  bounds: QuotedBounds,
  basis: ReservationBasis,
): InitialReservation {
  const { stream, expectedTokens, usualTokens, leastTokens } = basis;
  const waits = defined({ waits: basis.waits });
  const isStoppable = stream && Number.isFinite(expectedTokens);
  if (isStoppable) {
    const expectedMicroVnd = costOf(bounds, expectedTokens);
    const leastMicroVnd = costOf(bounds, leastLimitTokens);
    return {
      isStoppable,
      range: { wantedMicroVnd: expectedMicroVnd, expectedMicroVnd, leastMicroVnd, ...waits },
      unlimited: undefined,
    };
  }
  const { costMicroVnd } = bounds;
  const leastMicroVnd = costOf(bounds, leastTokens);
  const usualMicroVnd = costOf(bounds, usualTokens);
  const isUsual = leastMicroVnd <= usualMicroVnd;
  const range = {
    wantedMicroVnd: costMicroVnd,
    expectedMicroVnd: isUsual ? usualMicroVnd : leastMicroVnd,
    leastMicroVnd,
    ...waits,
  };
  const unlimited = {
    wantedMicroVnd: costMicroVnd,
    expectedMicroVnd: usualMicroVnd,
    leastMicroVnd: usualMicroVnd,
    takesAll: true,
    ...waits,
  };
  return { isStoppable, range, unlimited: isUsual ? undefined : unlimited };
}

/** Computes the most that a call with so many output tokens can cost; calls priced by other units have one price. */
function costOf(bounds: QuotedBounds, tokens: number): bigint {
  const { outputTokens, input, toolFeesMicroVnd, costMicroVnd, reservedPrice } = bounds;
  if (reservedPrice.unit !== "token" || tokens >= outputTokens) return costMicroVnd;
  const most = { inputTokens: input.tokens, outputTokens: tokens, isText: input.isText };
  return worstCaseCost(reservedPrice, most) + toolFeesMicroVnd;
}

/** Computes the output tokens that a reserved amount pays for. */
export function paidOutputTokens(bounds: QuotedBounds, amountMicroVnd: bigint): number {
  if (amountMicroVnd >= bounds.costMicroVnd) return bounds.outputTokens;
  const forOutput = amountMicroVnd - costOf(bounds, 0);
  const tokenMicroVnd = maxPerOutputToken(bounds.reservedPrice, bounds.input.tokens);
  if (forOutput <= 0n || tokenMicroVnd === 0n) return 0;
  return Math.min(Number(forOutput / tokenMicroVnd), bounds.outputTokens);
}

/**
 * Computes the limit of one answer that a reserved amount pays for; `undefined` if the request does not allow a limit
 * that low.
 */
export function paidLimit(
  bounds: QuotedBounds,
  request: Pick<ChatRequest, "style" | "choices" | "compacts">,
  body: OutlineObject,
  amountMicroVnd: bigint,
): number | undefined {
  const paidTokens = paidOutputTokens(bounds, amountMicroVnd);
  const leastTokens = Math.min(leastOutputTokens(request, body), bounds.outputTokens);
  return paidTokens < leastTokens ? undefined : Math.floor(paidTokens / request.choices);
}

/**
 * Computes the fewest output tokens, of all answers together, to which a call can be limited. The Messages style
 * requires more than the budget for thinking. Infinite where no limit can be sent.
 */
export function leastOutputTokens(
  { style, choices, compacts }: Pick<ChatRequest, "style" | "choices" | "compacts">,
  body: OutlineObject,
): number {
  if (compacts === true) return Infinity;
  return (leastLimitTokens + (style === "messages" ? thinkingBudget(body) : 0)) * choices;
}

function thinkingBudget({ thinking }: OutlineObject): number {
  if (!isJsonObject(thinking)) return 0;
  const { budget_tokens: budget } = thinking;
  return typeof budget === "number" && budget > 0 ? budget : 0;
}
