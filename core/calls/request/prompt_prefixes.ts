/**
 * Hashes the beginning of a prompt: after its tools and instructions, and after each of its last messages. Two calls
 * with the same hash have the same prompt up to there, whatever the order of fields and cache marks in their JSON.
 * Only the hashes of a prompt are kept.
 */
import type { Style } from "../../wire/contract.ts";
import {
  isExactNumber,
  isJsonObject,
  type Outline,
  type OutlineObject,
} from "../../lib/json/json.ts";
import { LongText } from "../../lib/json/long_text.ts";

/** A position in a prompt, and the hash of everything before it. */
export interface PrefixMark {
  /** 53 bits, a safe integer. */
  readonly hash: number;
  /** UTF-16 units of the text up to here, field names included; of long texts the bytes. */
  readonly chars: number;
}

/** Hashes of the beginnings of a prompt, by which repeated prompts are recognised. */
export interface PromptPrefixes {
  /** After tools and instructions, including instructions that are the first messages; absent where there are none. */
  readonly head: PrefixMark | undefined;
  /** After each of the last messages, oldest first. */
  readonly messages: readonly PrefixMark[];
  /** After the last message; absent for a prompt longer than {@linkcode hashedChars}. */
  readonly whole: PrefixMark | undefined;
}

/** UTF-16 units of one prompt that are hashed, in about a millisecond: 250,000 tokens of text. */
const hashedChars = 1_000_000;
/** Marks kept for one prompt: the next turn of a conversation is a few messages longer. */
const messageMarks = 16;
/**
 * UTF-16 units of the longest text that is hashed whole. Of longer ones every fourth unit is hashed, which takes a
 * tenth of a millisecond for an agent's prompt of 20,000 tokens. Two different texts seldom agree in that quarter,
 * and a collision only affects the estimate of one call.
 */
const shortTextChars = 64;
const sampledEvery = 4;
/** Depth of nesting that is hashed; deeper values count as equal. */
const hashedDepth = 64;

/** The fields that a style puts before the messages. */
const headFields: Readonly<Record<Style, readonly string[]>> = {
  messages: ["tools", "system"],
  chat: ["tools", "functions"],
  responses: ["tools", "instructions"],
  gemini: ["tools", "systemInstruction"],
};

/** The field of a style that holds the turns. */
const turnField: Readonly<Record<Style, string>> = {
  messages: "messages",
  chat: "messages",
  responses: "input",
  gemini: "contents",
};

/** Random per process, so that hashes mean nothing outside of it. */
const seeds = crypto.getRandomValues(new Uint32Array(2));

/** Two lanes of FNV-1a over UTF-16 units; long texts are sampled. */
class PrefixHash {
  #a = seeds[0] ?? 0;
  #b = seeds[1] ?? 0;
  chars = 0;

  unit(unit: number): void {
    this.#a = Math.imul(this.#a ^ unit, 0x01000193);
    this.#b = Math.imul(this.#b ^ unit, 0x85ebca6b);
  }

  text(text: string): void {
    let a = this.#a;
    let b = this.#b;
    const step = text.length > shortTextChars ? sampledEvery : 1;
    for (let i = text.length & (step - 1); i < text.length; i += step) {
      const unit = text.charCodeAt(i);
      a = Math.imul(a ^ unit, 0x01000193);
      b = Math.imul(b ^ unit, 0x85ebca6b);
    }
    this.#a = a;
    this.#b = b;
    this.chars += text.length;
    // Distinguishes "ab" + "c" from "a" + "bc".
    this.unit(0x10000 + text.length);
  }

  /**
   * Adds a text that is not decoded: as many of its bytes as of the units of another, four in a row. Its hash is not
   * that of the same text decoded, but a string that is long once is long in every turn.
   */
  literal(bytes: Uint8Array): void {
    let a = this.#a;
    let b = this.#b;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = bytes.length & 15; at < bytes.length; at += 4 * sampledEvery) {
      const unit = view.getInt32(at, true);
      a = Math.imul(a ^ unit, 0x01000193);
      b = Math.imul(b ^ (unit >>> 7), 0x85ebca6b);
    }
    this.#a = a;
    this.#b = b;
    this.chars += bytes.length;
    this.unit(0x10000 + bytes.length);
  }

  get mark(): PrefixMark {
    const high = (this.#b ^ (this.#b >>> 15)) & 0x1fffff;
    return { hash: high * 2 ** 32 + (this.#a >>> 0), chars: this.chars };
  }
}

/** Adds a value; returns `false` once the prompt is longer than what is hashed. */
function add(hash: PrefixHash, value: Outline | undefined, depth: number): boolean {
  if (hash.chars > hashedChars) return false;
  if (typeof value === "string") {
    if (value.length > hashedChars) return false;
    hash.text(value);
  } else if (value instanceof LongText) {
    if (value.byteLength > hashedChars) return false;
    hash.literal(value.literal);
  } else if (Array.isArray(value)) {
    if (depth > hashedDepth) return true;
    hash.unit(0x20000 + value.length);
    for (const item of value) if (!add(hash, item, depth + 1)) return false;
  } else if (isJsonObject(value)) {
    if (depth > hashedDepth) return true;
    return addMembers(hash, value, depth);
  } else if (value !== undefined) {
    hash.text(isExactNumber(value) ? value.rawJSON : String(value));
  }
  return true;
}

function addMembers(hash: PrefixHash, value: OutlineObject, depth: number): boolean {
  for (const name in value) {
    // Cache marks move with every turn and are not part of the text.
    if (name === "cache_control") continue;
    hash.text(name);
    if (!add(hash, value[name], depth + 1)) return false;
  }
  hash.unit(0x30000);
  return true;
}

function isInstruction(message: Outline | undefined): boolean {
  return isJsonObject(message) &&
    (message["role"] === "system" || message["role"] === "developer");
}

/**
 * Hashes the prompt of a request.
 *
 * @param model the id of the model, part of every hash
 *
 * @example
 * ```ts
 * import { promptPrefixes } from "./prompt_prefixes.ts";
 * const hello = { role: "user", content: "Hello" };
 * const first = promptPrefixes("m", "chat", { messages: [hello] });
 * const next = promptPrefixes("m", "chat", { messages: [hello, { role: "assistant", content: "Hi" }] });
 * if (next.messages[0]?.hash !== first.whole?.hash) throw new Error("the second does not begin with the first");
 * ```
 */
export function promptPrefixes(model: string, style: Style, body: OutlineObject): PromptPrefixes {
  const hash = new PrefixHash();
  hash.text(model);
  hash.text(style);
  const before = hash.chars;
  for (const field of headFields[style]) {
    if (!add(hash, body[field], 0)) return { head: undefined, messages: [], whole: undefined };
  }
  let head = hash.chars > before ? hash.mark : undefined;
  const list = body[turnField[style]];
  const messages: PrefixMark[] = [];
  let instructs = true;
  for (const message of Array.isArray(list) ? list : [list]) {
    if (!add(hash, message ?? null, 0)) return { head, messages, whole: undefined };
    const { mark } = hash;
    instructs &&= isInstruction(message);
    if (instructs) head = mark;
    if (messages.length >= messageMarks) messages.shift();
    messages.push(mark);
  }
  return { head, messages, whole: messages.at(-1) };
}
