/**
 * Recognises prompts that were seen before, by hashes alone.
 *
 * The beginning of a prompt is hashed after its tools and instructions, and after each of its last messages. Two calls
 * with the same hash have the same prompt up to there, whatever the order of fields and cache marks in their JSON.
 * Only the hashes of a prompt are kept.
 *
 * {@linkcode SeenPrompts} remembers what providers reported for recent prompts: how much came from a cache, and how our
 * own count compares. The estimate for a call that broke off uses it, so that a broken call does not cost more than the
 * complete answer.
 */
import type { Style } from "../../wire/contract/contract.ts";
import { billingLineStart, withoutBillingLine } from "../../wire/messages/request/billing_line.ts";
import {
  isExactNumber,
  isJsonObject,
  type Outline,
  type OutlineObject,
} from "../../lib/json/json.ts";
import { LongText } from "../../lib/json/scan/long_text.ts";
import type { EstimateCorrection } from "../../billing/outcome.ts";
import { billedInputTokens, type TokenUsage } from "../../billing/tokens/token_bounds.ts";
import {
  bytesPerEstimatedToken,
  estimateOutputTokens,
} from "../../billing/tokens/rough_estimate.ts";
import { hourMs } from "../../lib/time/durations.ts";

/** A position in a prompt, and the hash of everything before it. */
interface PrefixMark {
  /** 53 bits, a safe integer. */
  readonly hash: number;
  /** UTF-16 units of the text up to here, field names included; of long texts the bytes. */
  readonly chars: number;
}

/**
 * Hashes that a conversation still has when the beginning of its prompt changes, as with a clock, a version or an id in
 * the first lines. They say which conversation it is, and nothing of what a provider has cached.
 */
interface ConversationMark {
  /** Of all turns up to here, without the instructions and without what changes in the first turn. */
  readonly turns: number;
  /** Of this turn and the one before; absent at the first one. */
  readonly pair: number | undefined;
}

/** Hashes of the beginnings of a prompt, by which repeated prompts are recognised. */
export interface PromptPrefixes {
  /** After tools and instructions, including instructions that are the first messages; absent where there are none. */
  readonly head: PrefixMark | undefined;
  /** After each of the last messages, oldest first. */
  readonly messages: readonly PrefixMark[];
  /** At the same messages as `messages`; absent at instructions. */
  readonly conversation: readonly (ConversationMark | undefined)[];
  /** Of the first turn alone, which all turns of a conversation have in common. */
  readonly opening?: number | undefined;
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

/**
 * The same in all threads of a process, which tell each other what they remember of prompts. The hashes stay in memory.
 */
const seedA = 0x811c9dc5;
const seedB = 0x3c6ef372;

const SPACE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;

/** Two lanes of FNV-1a over UTF-16 units; long texts are sampled. */
class PrefixHash {
  #a = seedA;
  #b = seedB;
  chars = 0;

  /** Begins another hash, and goes on counting. */
  restart(): void {
    this.#a = seedA;
    this.#b = seedB;
  }

  unit(unit: number): void {
    this.#a = Math.imul(this.#a ^ unit, 0x01000193);
    this.#b = Math.imul(this.#b ^ unit, 0x85ebca6b);
  }

  /** Adds another hash as a whole. */
  fold(other: PrefixHash): void {
    this.#a = Math.imul(this.#a ^ other.#a, 0x01000193) ^ (this.#a >>> 15);
    this.#b = Math.imul(this.#b ^ other.#b, 0x85ebca6b) ^ (this.#b >>> 13);
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

  /** Adds the words of a text that have no digit; what is not above a space separates them. */
  words(length: number, unitAt: (i: number) => number): void {
    let hasDigit = false;
    let a = this.#a;
    let b = this.#b;
    for (let i = 0; i <= length; i++) {
      const unit = i < length ? unitAt(i) : SPACE;
      if (unit > SPACE) {
        hasDigit ||= unit >= ZERO && unit <= NINE;
        a = Math.imul(a ^ unit, 0x01000193);
        b = Math.imul(b ^ unit, 0x85ebca6b);
        continue;
      }
      if (hasDigit) {
        a = this.#a;
        b = this.#b;
      } else if (a !== this.#a || b !== this.#b) {
        this.#a = a = Math.imul(a ^ SPACE, 0x01000193);
        this.#b = b = Math.imul(b ^ SPACE, 0x85ebca6b);
      }
      hasDigit = false;
    }
  }

  get hash(): number {
    const high = (this.#b ^ (this.#b >>> 15)) & 0x1fffff;
    return high * 2 ** 32 + (this.#a >>> 0);
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

/** Members of a text block that say no more than its text. */
const plainMembers: ReadonlySet<string> = new Set(["type", "text", "cache_control"]);

/** A message whose content is one text, in one form: clients write it as a list where they mark it for the cache. */
function plainMessage(message: Outline): Outline {
  if (!isJsonObject(message)) return message;
  const { content } = message;
  const [only, ...others] = Array.isArray(content) ? content : [];
  if (!isJsonObject(only) || others.length > 0 || only["type"] !== "text") return message;
  if (!Object.keys(only).every((name) => plainMembers.has(name))) return message;
  return { ...message, content: only["text"] ?? "" };
}

function isInstruction(message: Outline | undefined): boolean {
  return isJsonObject(message) &&
    (message["role"] === "system" || message["role"] === "developer");
}

/** Instructions without the line that is no part of the prompt; see `core/wire/messages/request/billing_line.ts`. */
function promptedSystem(system: Outline | undefined): Outline | undefined {
  if (typeof system === "string") return withoutBillingLine(system);
  if (system instanceof LongText) {
    return system.startsWith(billingLineStart) ? withoutBillingLine(system.text()) : system;
  }
  if (!Array.isArray(system)) return system;
  const isLine = (block: Outline) => isJsonObject(block) && block["text"] !== promptedText(block);
  if (!system.some(isLine)) return system;
  return system.flatMap((block): Outline[] => {
    if (!isJsonObject(block)) return [block];
    const text = promptedText(block);
    if (text === block["text"]) return [block];
    return text === "" ? [] : [{ ...block, text: text ?? "" }];
  });
}

function promptedText(block: OutlineObject): Outline | undefined {
  const text = block["text"];
  return Array.isArray(text) ? text : promptedSystem(text);
}

/** UTF-16 units of a text of the first turn that are read for what stays, from its end. */
const steadyChars = 4_096;
/** Texts of the first turn that are read for what stays. */
const steadyTexts = 64;

/**
 * Adds the words of a turn that have no digit: times, versions, ids and checks have one, and they are what changes. The
 * length of a text is not added, since it changes with them.
 */
function addSteadyWords(hash: PrefixHash, turn: Outline): void {
  let texts = 0;
  const walk = (value: Outline | undefined, depth: number): void => {
    if (texts >= steadyTexts || depth > hashedDepth) return;
    if (typeof value === "string") {
      texts++;
      const from = Math.max(0, value.length - steadyChars);
      hash.words(value.length - from, (i) => value.charCodeAt(from + i));
    } else if (value instanceof LongText) {
      texts++;
      const end = value.literal.subarray(-steadyChars);
      hash.words(end.length, (i) => end[i] ?? 0);
    } else if (Array.isArray(value)) {
      for (const item of value) walk(item, depth + 1);
    } else if (isJsonObject(value)) {
      for (const name in value) if (name !== "cache_control") walk(value[name], depth + 1);
    }
  };
  walk(turn, 0);
}

/** Hashes the turns of a conversation apart from the rest of its prompt. */
class ConversationHash {
  readonly #turns = new PrefixHash();
  readonly #pair = new PrefixHash();
  readonly #last = new PrefixHash();
  #count = 0;

  constructor(model: string, style: Style) {
    this.#turns.text(model);
    this.#turns.text(style);
  }

  /** Adds a turn, and returns its mark. */
  add(turn: Outline, own: PrefixHash): ConversationMark {
    if (this.#count++ === 0) addSteadyWords(this.#turns, turn);
    else this.#turns.fold(own);
    const pair = this.#count > 1 ? this.#pairWith(own) : undefined;
    this.#last.restart();
    this.#last.fold(own);
    return { turns: this.#turns.hash, pair };
  }

  #pairWith(own: PrefixHash): number {
    this.#pair.restart();
    this.#pair.fold(this.#last);
    this.#pair.fold(own);
    return this.#pair.hash;
  }
}

/**
 * Hashes the prompt of a request.
 *
 * @param model the id of the model, part of every hash
 *
 * @example
 * ```ts
 * import { promptPrefixes } from "./seen_prompts.ts";
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
    const value = field === "system" ? promptedSystem(body[field]) : body[field];
    if (!add(hash, value, 0)) {
      return { head: undefined, messages: [], conversation: [], whole: undefined };
    }
  }
  let head = hash.chars > before ? { hash: hash.hash, chars: hash.chars } : undefined;
  const list = body[turnField[style]];
  const messages: PrefixMark[] = [];
  const conversation: (ConversationMark | undefined)[] = [];
  const turns = new ConversationHash(model, style);
  const own = new PrefixHash();
  own.chars = hash.chars;
  let instructs = true;
  let opening: number | undefined;
  for (const sent of Array.isArray(list) ? list : [list]) {
    const message = plainMessage(sent ?? null);
    own.restart();
    if (!add(own, message, 0)) {
      return { head, messages, conversation, opening, whole: undefined };
    }
    hash.fold(own);
    const mark = { hash: hash.hash, chars: own.chars };
    instructs &&= isInstruction(message);
    if (instructs) head = mark;
    if (messages.length >= messageMarks) {
      messages.shift();
      conversation.shift();
    }
    messages.push(mark);
    if (!instructs) opening ??= own.hash;
    conversation.push(instructs ? undefined : turns.add(message, own));
  }
  return { head, messages, conversation, opening, whole: messages.at(-1) };
}

/** A completed call with a plausible report. */
export interface ReportedCall {
  readonly usage: TokenUsage;
  /** Our own count of its prompt. */
  readonly estimatedInputTokens: number;
  readonly outputBytes: number;
  /**
   * The provider may cache prompts by itself, without a report of what it writes: all that it read and wrote can come
   * from the cache in the next call. Absent: it caches what it reports.
   */
  readonly cachesAll?: boolean;
  /** The same prompt was sent before, so a cache hit of the report is all that the provider caches of it. */
  readonly wasSent?: boolean;
}

interface Entry extends EstimateCorrection {
  readonly atMs: number;
}

/** Entries that are remembered, two for each prompt: about 4 MB. */
const maxEntries = 40_000;
/** Milliseconds for which a prompt is remembered: the longest that a vendor keeps a cache at its ordinary price. */
const rememberedMs = hourMs;
/**
 * Lowest factor by which a report corrects our count. Text has at most about eight bytes per token on average, twice
 * what we count with. A lower factor comes from runs of one character, and would be wrong for other text behind the
 * same instructions.
 */
const leastScale = 0.5;

/**
 * The recent prompts, by API key and hash. Bounded: the entry noted longest ago is removed first.
 *
 * @example
 * ```ts
 * import { promptPrefixes } from "./seen_prompts.ts";
 * import { SeenPrompts } from "./seen_prompts.ts";
 * const seen = new SeenPrompts();
 * const prompt = promptPrefixes("m", "chat", { messages: [{ role: "user", content: "Hello" }] });
 * const usage = { input: 10, cacheRead: 90, cacheWrite: 0, output: 5, reasoning: 0 };
 * seen.note("key_1", prompt, { usage, estimatedInputTokens: 100, outputBytes: 20 }, 0);
 * if (seen.find("key_1", prompt, 1_000)?.cachedTokens !== 90) throw new Error("forgotten");
 * if (seen.find("key_2", prompt, 1_000) !== undefined) throw new Error("told to another key");
 * ```
 */
export class SeenPrompts {
  /** In the order in which they were last noted. */
  readonly #entries = new Map<string, Entry>();

  get size(): number {
    return this.#entries.size;
  }

  /** Remembers what a provider reported for a completed call. */
  note(keyId: string, prompt: PromptPrefixes, call: ReportedCall, nowMs: number): void {
    const { usage, estimatedInputTokens, outputBytes } = call;
    const cachedTokens = cachedNextTime(call);
    const scales = {
      inputScale: scale(billedInputTokens(usage), estimatedInputTokens),
      outputScale: scale(usage.output, estimateOutputTokens(outputBytes)),
    };
    if (prompt.whole !== undefined) {
      const known = {
        knownTokens: billedInputTokens(usage),
        knownEstimate: estimatedInputTokens,
      };
      this.#enter(idOf(keyId, prompt.whole.hash), {
        ...scales,
        ...known,
        cachedTokens,
        atMs: nowMs,
      });
    }
    if (prompt.head === undefined) return;
    const headTokens = Math.ceil(prompt.head.chars / bytesPerEstimatedToken);
    this.#enter(idOf(keyId, prompt.head.hash), {
      ...scales,
      cachedTokens: Math.min(cachedTokens, headTokens),
      atMs: nowMs,
    });
  }

  /**
   * Notes that a provider that may cache prompts by itself has read a prompt, whether or not it will report usage.
   *
   * @returns whether the prompt was seen before
   */
  noteSent(
    keyId: string,
    { whole }: PromptPrefixes,
    estimatedInputTokens: number,
    nowMs: number,
  ): boolean {
    if (whole === undefined) return false;
    const id = idOf(keyId, whole.hash);
    const entry = this.#entries.get(id);
    const wasSent = entry !== undefined && nowMs - entry.atMs <= rememberedMs;
    const unreported = { cachedTokens: estimatedInputTokens, inputScale: 1, outputScale: 1 };
    this.#enter(id, { ...(wasSent ? entry : unreported), atMs: nowMs });
    return wasSent;
  }

  /** Finds what is known of the longest beginning of this prompt that was seen before. */
  find(keyId: string, prompt: PromptPrefixes, nowMs: number): EstimateCorrection | undefined {
    const { head, messages } = prompt;
    for (let i = messages.length - 1; i >= -1; i--) {
      const mark = i < 0 ? head : messages[i];
      const entry = mark && this.#entries.get(idOf(keyId, mark.hash));
      if (entry !== undefined && nowMs - entry.atMs <= rememberedMs) return entry;
    }
    return undefined;
  }

  #enter(id: string, entry: Entry): void {
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    if (this.#entries.size <= maxEntries) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}

function idOf(keyId: string, hash: number): string {
  return `${keyId} ${hash}`;
}

function scale(reported: number, counted: number): number {
  return counted === 0 ? 1 : Math.min(1, Math.max(leastScale, reported / counted));
}

/** Computes how much of a prompt the provider can read from its cache in the next call that begins with it. */
function cachedNextTime({ usage, cachesAll, wasSent }: ReportedCall): number {
  // Tokens that were written to the cache will be read from it next time.
  const reported = usage.cacheRead + usage.cacheWrite;
  if (cachesAll !== true || (wasSent === true && usage.cacheRead > 0)) return reported;
  return billedInputTokens(usage) + usage.output;
}
