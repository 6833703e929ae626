/**
 * Rules about the text of requests: a text that a rule's pattern matches refuses the request, or is masked in it before
 * anything else reads it. Nothing but the name of a rule leaves this module, and a masked request differs from the one that
 * was sent at the matched text alone.
 *
 * Text is whatever string stands in the prompt of a request of any style: system prompts, messages, calls of tools and
 * their results, inputs of embeddings. Data of pictures and files, addresses, ids and what a provider has signed are none.
 */
import { makeRoom } from "../../lib/base/make_room.ts";
import {
  type LinearPattern,
  type PatternMatch,
  type PatternSearch,
  readPattern,
} from "../../lib/base/linear_pattern.ts";
import { invariant } from "../../lib/base/assert.ts";
import { sleep } from "../../lib/time/sleep.ts";
import { joined } from "../../lib/bytes/byte_parts.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { JsonCursor, jsonKey } from "../../lib/json/json_cursor.ts";
import { parseJsonBody } from "../body/json_body.ts";
import { readForm } from "../body/multipart.ts";

/** Effects of a rule. */
export const ruleActions = ["refuse", "mask"] as const;

/** A rule as it is set. */
export interface TextRule {
  /** Its name in refusals, masks and receipts. */
  readonly name: string;
  readonly action: typeof ruleActions[number];
  /** In the syntax of `core/lib/base/linear_pattern.ts`. */
  readonly pattern: string;
}

/** Most rules of an organisation, a team or a key: each is run on every text. */
export const maxTextRules = 10;
/** Most characters of a rule's name: a receipt has several of them in one tag. */
const maxRuleNameChars = 30;
/** The form of a rule's name, which can stand in a tag and in a JSON text as it is. */
export const ruleNameForm = new RegExp(`^[A-Za-z0-9_.-]{1,${maxRuleNameChars}}$`);

/** Read patterns that a process keeps: those of the customers who call; the largest take some 100 KB each. */
const maxReadPatterns = 200;
const readPatterns = new Map<string, LinearPattern>();

/** Returns a pattern that was found right when it was set; reads it again if it was not used for long. */
function patternOf(text: string): LinearPattern {
  const known = readPatterns.get(text);
  const pattern = known ?? readPattern(text);
  invariant(typeof pattern !== "string", "patterns are checked before they are stored");
  if (known !== undefined) readPatterns.delete(text);
  else makeRoom(readPatterns, maxReadPatterns);
  readPatterns.set(text, pattern);
  return pattern;
}

/** Steps of all rules for a request of any size: some tens of milliseconds. */
const freeSteps = 2_000_000;
/** Steps of all rules for each byte of a request: many times what patterns that people write take. */
const stepsPerByte = 16;
/** Steps of all rules for the largest request: some 0.7 s of a processor. */
const maxSteps = 40_000_000;
/** Steps after which other calls have their turn: some 10 ms. */
const stepsPerTurn = 500_000;

/** Members of requests that hold their prompts, in every style. */
const promptFields: ReadonlySet<string> = new Set([
  ...["system", "messages", "prediction", "instructions", "input", "prompt", "suffix"],
  ...["systemInstruction", "system_instruction", "contents", "content", "requests"],
  ...["generateContentRequest", "generate_content_request", "query", "documents"],
]);

/** Members that are no text: names of kinds, ids, addresses, data, and what a provider has signed or written. */
const noText: ReadonlySet<string> = new Set([
  ...["type", "role", "id", "name", "model", "call_id", "tool_call_id", "tool_use_id", "status"],
  ...["signature", "thoughtSignature", "thought_signature", "encrypted_content", "thinking"],
  ...["data", "url", "image_url", "file_url", "file_id", "file_data", "input_audio", "audio"],
  ...["inlineData", "inline_data", "fileData", "file_data", "mimeType", "mime_type", "media_type"],
  ...["cache_control", "detail", "phase", "tools", "generationConfig", "taskType", "container"],
]);

/** Members with the caller's own objects, all of whose strings are text. */
const ownObjects: ReadonlySet<string> = new Set(["args", "response", "input"]);

/** Forms may be in any encoding: bytes that are no UTF-8 are read, and written where something is masked, as U+FFFD. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

const typeKey = jsonKey("type");

/** A text in the bytes: a string literal without its quotes, or a field of a form. */
interface Literal {
  readonly start: number;
  readonly end: number;
}

/** Finds the texts in a value. */
class TextFinder {
  readonly literals: Literal[] = [];
  readonly #bytes: Uint8Array;
  readonly #cursor = new JsonCursor();

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  find({ start, end }: Literal): void {
    this.#cursor.reset(this.#bytes, start, end);
    this.#value(false);
  }

  #value(isOwn: boolean): void {
    const cursor = this.#cursor;
    if (cursor.isString) {
      const start = cursor.at + 1;
      cursor.skip();
      this.literals.push({ start, end: cursor.at - 1 });
    } else if (cursor.enterArray()) {
      while (cursor.nextElement()) this.#value(isOwn);
    } else if (cursor.enterObject()) {
      while (cursor.nextMember()) this.#member(isOwn);
    } else cursor.skip();
  }

  #member(isOwn: boolean): void {
    const cursor = this.#cursor;
    const name = this.#name();
    if (isOwn) this.#value(true);
    else if (name === "source" && cursor.first === 0x7b) this.#source();
    else if (noText.has(name)) cursor.skip();
    else this.#value(ownObjects.has(name));
  }

  /** The source of a document: its data are text if it says so. */
  #source(): void {
    const probe = new JsonCursor();
    probe.reset(this.#bytes, this.#cursor.at, this.#bytes.length);
    probe.enterObject();
    let isText = false;
    while (probe.nextMember()) {
      if (!probe.keyIs(typeKey)) probe.skip();
      else isText = probe.takeBeginning(5) === "text";
    }
    this.#cursor.enterObject();
    while (this.#cursor.nextMember()) {
      if (isText && this.#name() === "data") this.#value(false);
      else this.#member(false);
    }
  }

  #name(): string {
    const start = this.#cursor.keyStart;
    let end = start + 1;
    while (this.#bytes[end] !== 0x22) end += this.#bytes[end] === 0x5c ? 2 : 1;
    const written = decoder.decode(this.#bytes.subarray(start + 1, end));
    return unescaped(written);
  }
}

function unescaped(written: string): string {
  if (!written.includes("\\")) return written;
  const text: unknown = JSON.parse(`"${written}"`);
  return typeof text === "string" ? text : "";
}

/** The place in a literal of each UTF-16 unit of its text: an escape is several characters, and one unit. */
function placesIn(written: string): (unit: number) => number {
  if (!written.includes("\\")) return (unit) => unit;
  const places: number[] = [];
  let at = 0;
  while (at < written.length) {
    places.push(at);
    at += written[at] !== "\\" ? 1 : written[at + 1] === "u" ? 6 : 2;
  }
  places.push(at);
  return (unit) => places[unit] ?? at;
}

interface Mask extends PatternMatch {
  readonly name: string;
}

/** Joins masks that overlap under the name of the first. */
function withoutOverlaps(masks: readonly Mask[]): Mask[] {
  const sorted = masks.toSorted((one, other) => one.start - other.start || other.end - one.end);
  const apart: Mask[] = [];
  for (const mask of sorted) {
    const last = apart.at(-1);
    if (last === undefined || mask.start >= last.end) apart.push(mask);
    else if (mask.end > last.end) apart[apart.length - 1] = { ...last, end: mask.end };
  }
  return apart;
}

/** A rule whose pattern was read. */
interface ReadRule extends Pick<TextRule, "name" | "action"> {
  readonly search: PatternSearch;
}

/** Runs rules over the texts of one request. */
class RuleRun {
  readonly masked = new Set<string>();
  readonly #rules: readonly ReadRule[];
  /** Steps until others have their turn. */
  readonly #turn = { left: stepsPerTurn };
  readonly #pause: () => Promise<void>;
  /** Steps after this turn. */
  #left: number;

  constructor(rules: readonly TextRule[], bytes: number, pause: () => Promise<void>) {
    // What refuses is known first: a request that is refused is not masked.
    this.#rules = rules.toSorted((one, other) =>
      Number(one.action === "mask") - Number(other.action === "mask")
    ).map(({ pattern, ...rule }) => ({ ...rule, search: patternOf(pattern).search() }));
    this.#left = Math.min(maxSteps, freeSteps + stepsPerByte * bytes) - stepsPerTurn;
    this.#pause = pause;
  }

  async masksOf(text: string): Promise<Mask[]> {
    const masks: Mask[] = [];
    for (const { name, action, search } of this.#rules) {
      search.begin(text);
      for (let found = search.next(this.#turn); found !== undefined;) {
        if (found === "paused") await this.#endTurn(name);
        else if (action === "refuse") throw refusedBy(name);
        else {
          masks.push({ ...found, name });
          this.masked.add(name);
        }
        found = search.next(this.#turn);
      }
    }
    return withoutOverlaps(masks);
  }

  /** Lets others have their turn; refuses a request whose rules have had all of theirs. */
  async #endTurn(name: string): Promise<void> {
    this.#left += this.#turn.left;
    if (this.#left <= 0) throw tooMuchFor(name);
    const next = Math.min(stepsPerTurn, this.#left);
    this.#left -= next;
    this.#turn.left = next;
    await this.#pause();
  }
}

function refusedBy(name: string): GatewayError {
  return new GatewayError("permission_denied", `The rule ${name} refuses this request`);
}

function tooMuchFor(name: string): GatewayError {
  return new GatewayError(
    "permission_denied",
    `The rule ${name} cannot be checked on a request of this size`,
  );
}

/** Finds the texts in the JSON of a request. */
function textsOfJson(bytes: Uint8Array): readonly Literal[] {
  const finder = new TextFinder(bytes);
  for (const [name, span] of parseJsonBody(bytes).fields) {
    if (promptFields.has(name)) finder.find(span);
  }
  return finder.literals;
}

/** Finds the texts in a form: the prompt of edited pictures, of a video, of a transcription. */
function textsOfForm(bytes: Uint8Array, boundary: string): readonly Literal[] {
  const texts = readForm(bytes, boundary).filter(({ name, fileName }) =>
    fileName === undefined && promptFields.has(name)
  );
  return texts.map(({ body }) => {
    const start = body.byteOffset - bytes.byteOffset;
    return { start, end: start + body.length };
  });
}

/** A request after its rules. */
interface RuledRequest {
  readonly bytes: Uint8Array;
  /** The rules that masked something, each once. */
  readonly masked: readonly string[];
}

/**
 * Applies rules to a request; its bytes are the same ones if nothing is masked.
 *
 * @param boundary of a form; a request without one is JSON
 * @param pause resolves once others have had their turn
 * @throws {GatewayError} `permission_denied` with the name of the rule that refuses it
 * @throws {GatewayError} `invalid_json` for what is no JSON object, `invalid_request` for a form that cannot be read
 *
 * @example
 * ```ts
 * import { withTextRules } from "./text_rules.ts";
 * const pattern = "[0-9]{4}-[0-9]{4}";
 * const sent = new TextEncoder().encode('{"model": "1234-5678", "input": "Card\\n1234-5678!"}');
 * const rules = [{ name: "card", action: "mask", pattern }] as const;
 * const { bytes, masked } = await withTextRules(sent, rules, undefined, () => Promise.resolve());
 * const text = new TextDecoder().decode(bytes);
 * if (text !== '{"model": "1234-5678", "input": "Card\\n[card]!"}') throw new Error(text);
 * if (masked.join() !== "card") throw new Error("not named");
 * ```
 */
export async function withTextRules(
  bytes: Uint8Array,
  rules: readonly TextRule[],
  boundary?: string,
  pause: () => Promise<void> = () => sleep(0),
): Promise<RuledRequest> {
  const isForm = boundary !== undefined;
  const texts = isForm ? textsOfForm(bytes, boundary) : textsOfJson(bytes);
  const run = new RuleRun(rules, bytes.length, pause);
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const { start, end } of texts) {
    const written = decoder.decode(bytes.subarray(start, end));
    const masks = await run.masksOf(isForm ? written : unescaped(written));
    if (masks.length === 0) continue;
    const placeOf = isForm ? (unit: number) => unit : placesIn(written);
    pieces.push(bytes.subarray(from, start), encoder.encode(masked(written, masks, placeOf)));
    from = end;
  }
  if (pieces.length === 0) return { bytes, masked: [] };
  pieces.push(bytes.subarray(from));
  return { bytes: joined(pieces), masked: [...run.masked] };
}

/** Writes the names of rules in the place of what they matched. */
function masked(
  written: string,
  masks: readonly Mask[],
  placeOf: (unit: number) => number,
): string {
  let text = "";
  let from = 0;
  for (const { start, end, name } of masks) {
    text += `${written.slice(from, placeOf(start))}[${name}]`;
    from = placeOf(end);
  }
  return text + written.slice(from);
}
