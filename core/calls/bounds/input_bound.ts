/** How many tokens a prompt can be, from its bytes alone: for the reservation, not for the bill. */
import { isPdfUrl } from "../../wire/fields/content_parts.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";

/**
 * Bodies of at most this many bytes reserve one input token per byte; longer ones are searched for base64
 * parts.
 */
export const exactBoundBodyBytes = 16 * 1024;

/**
 * A picture is billed by what it shows, not by its base64; vendors stay below this. Only parts that say they are
 * pictures get this rule: documents may hold a book, and a string that merely looks like base64 may be text.
 */
const tokensPerImage = 6_000;
/** Small models of one vendor count 25,000 to 48,000 tokens for a large picture. */
const believableTokensPerImage = 50_000;
const imagePartTypes: ReadonlySet<unknown> = new Set(["image", "image_url", "input_image"]);

/** Some clients send a PDF in a part for pictures; conversion makes a document of it. */
function isPicture(part: JsonObject): boolean {
  return imagePartTypes.has(part["type"]) && !/^data:application\/pdf\b/i.test(pictureUrl(part)) &&
    !isPdfUrl(pictureUrl(part));
}

function pictureUrl({ image_url: held }: JsonObject): string {
  const url = isJsonObject(held) ? held["url"] : held;
  return typeof url === "string" ? url : "";
}

/** Characters of all strings in a value. */
function stringChars(value: Json | undefined): number {
  if (typeof value === "string") return value.length;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + stringChars(item), 0);
  if (!isJsonObject(value)) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + stringChars(item), 0);
}

/** A request, in what bounds its tokens. */
export interface Prompt {
  readonly body: JsonObject;
  readonly bodyBytes: number;
  readonly contextWindow: number;
  /** How many tools of the provider it asks for; see `hostedToolsAskedFor`. */
  readonly hostedTools: number;
}

/** Contents that the bytes of a request only name. */
interface Unseen {
  images: number;
  /** Their base64, or their addresses; each character is a byte of the body at least. */
  imageChars: number;
  /** Files within the request: their bytes do not say how many pages they have. */
  documents: number;
  /** Tokens of what the provider looks up: `Infinity` where nothing but its context bounds them. */
  tokens: number;
  vendorTools: number;
}

/** What one hosted tool brings into the prompt unasked: search results are some pages, seldom more. */
const tokensPerHostedTool = 100_000;
/** Instructions and schema that a vendor adds for a tool of its own (computer, bash, text editor): 250 to 1,250. */
const tokensPerVendorTool = 1_500;
/**
 * What a provider puts before a prompt of its own accord: the frame of a conversation, some hundred tokens about how
 * tools are called.
 */
const hiddenPromptTokens = 2_048;
/** The hidden prompt is at most this many times what was sent: a greeting does not come with thousands of tokens. */
const hiddenPromptFactor = 3;
/** Parts that hold a file. */
const documentTypes: ReadonlySet<unknown> = new Set([
  "document",
  "document_url",
  "file",
  "file_url",
  "input_file",
]);
/** Members that say where a file is, unless they hold it. */
const urlMembers = ["document_url", "file_url"] as const;
/** Parts that are nothing but a reference. */
const referenceTypes: ReadonlySet<unknown> = new Set([
  "item_reference",
  "container_upload",
  "video_url",
  "input_video",
]);

/** A book is a short URL: what stands elsewhere may be as long as the context. */
function isReference(part: JsonObject): boolean {
  if (imagePartTypes.has(part["type"]) && isPdfUrl(pictureUrl(part))) return true;
  if (referenceTypes.has(part["type"])) return true;
  if (typeof part["file_id"] === "string") return true;
  if (urlMembers.some((member) => isAddress(part[member]))) return true;
  // Aggregators take an address in the place of the data.
  const { file_data: data } = part;
  if (typeof data === "string" && /^\s*https?:/i.test(data)) return true;
  const { source } = part;
  return part["type"] === "document" && isJsonObject(source) &&
    (source["type"] === "url" || source["type"] === "file");
}

/** A string, or an object around one, that is no data URL. */
function isAddress(value: Json | undefined): boolean {
  const url = isJsonObject(value) ? value["url"] : value;
  return typeof url === "string" && !/^\s*data:/i.test(url);
}

function addUnseen(value: Json | undefined, unseen: Unseen): void {
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
  if (documentTypes.has(type) || imagePartTypes.has(type)) unseen.documents++;
  // Arguments of a tool are words of the model, whatever they look like.
  if (type === "tool_use" || type === "server_tool_use") return;
  for (const item of Object.values(value)) addUnseen(item, unseen);
}

function unseenOf({ body, hostedTools }: Prompt): Unseen {
  const unseen = {
    images: 0,
    imageChars: 0,
    documents: 0,
    tokens: hostedTools * tokensPerHostedTool,
    vendorTools: 0,
  };
  for (const field of ["messages", "input", "system"]) addUnseen(body[field], unseen);
  const { tools } = body;
  for (const tool of Array.isArray(tools) ? tools : []) {
    if (isJsonObject(tool) && isVendorTool(tool)) unseen.vendorTools++;
  }
  return unseen;
}

/** A tool that the request names without saying what it takes. */
function isVendorTool(tool: JsonObject): boolean {
  return typeof tool["type"] === "string" && tool["input_schema"] === undefined &&
    tool["parameters"] === undefined && tool["function"] === undefined &&
    tool["type"] !== "function" && tool["type"] !== "custom";
}

/** What is known of the input of a request before it is sent. */
export interface InputBound {
  /** What is reserved: never more than the context window. */
  readonly tokens: number;
  /**
   * What a provider can have read, whatever the window; `Infinity` where it looks something up. Larger than what is
   * reserved by what it puts before a prompt itself.
   */
  readonly believableTokens: number;
  /** Nothing but the text of the request bounds it: a report beyond `believableTokens` is false. */
  readonly isText: boolean;
  /** It names documents or other things that are not in it. */
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
  // A file may have a page for each of its bytes, a picture more tiles than most vendors make.
  const isText = images === 0 && documents === 0 && Number.isFinite(sent);
  const hidden = sent * hiddenPromptFactor;
  return {
    tokens: Math.min(sent, contextWindow),
    believableTokens: sent + (documents > 0 ? hidden : Math.min(hidden, hiddenPromptTokens)) +
      vendorTools * tokensPerVendorTool + images * believableTokensPerImage,
    isText,
    namesUnseen: unseen.tokens === Infinity,
  };
}
