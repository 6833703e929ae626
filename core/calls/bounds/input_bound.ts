/** Bounds the tokens of a prompt from its bytes alone: for the reservation, not for the charge. */
import { isPdfUrl } from "../../wire/fields/content_parts.ts";
import { isJsonObject, type Outline, type OutlineObject } from "../../lib/json/json.ts";
import { LongText } from "../../lib/json/scan/long_text.ts";
import { beginningOf, isText } from "../../lib/json/outline.ts";

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
const tokensPerImage = 6_000;
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
export interface Prompt {
  readonly body: OutlineObject;
  readonly bodyBytes: number;
  readonly contextWindow: number;
  /** How many hosted tools it asks for: see `hostedToolsAskedFor`. */
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
/** Fields with the address of a file, or the file itself as a data URL. */
const urlMembers = ["document_url", "file_url"] as const;
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
  if (urlMembers.some((member) => isAddress(part[member]))) return true;
  // Aggregators accept an address in place of the data.
  if (/^\s*https?:/i.test(beginningOf(part["file_data"]))) return true;
  const { source } = part;
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
  for (const item of Object.values(value)) addUnseen(item, unseen);
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
export interface InputBound {
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
 * import { inputBound } from "./input_bound.ts";
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
