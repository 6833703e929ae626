/**
 * Bounds of a JSON body that its bytes do not set. 20 MB that are all brackets or all names take the engine seconds, in
 * which nothing else runs, and fifty times their size in memory; so they are counted before anyone parses them.
 */
import { GatewayError } from "../errors.ts";
import { limits } from "../limits.ts";

const colon = 0x3a;
const backslash = 0x5c;

function refusal(problem: string): GatewayError {
  return new GatewayError("invalid_json", `The request body ${problem}`);
}

/** What a walk over a body has met so far. */
export class JsonCount {
  #values = 1;
  #fields = 0;

  /**
   * A bracket that opens, or a comma: there are no more values than these.
   *
   * @throws {GatewayError} `invalid_json` when there are more than `limits.jsonValues`
   */
  addValue(): void {
    if (++this.#values > limits.jsonValues) {
      throw refusal(`has more than ${limits.jsonValues} values`);
    }
  }

  /** @throws {GatewayError} `invalid_json` for more than `limits.jsonDepth` levels */
  checkDepth(depth: number): void {
    if (depth > limits.jsonDepth) {
      throw refusal(`is nested deeper than ${limits.jsonDepth} levels`);
    }
  }

  /** A name of a field. */
  addField(): void {
    this.#fields++;
  }

  /**
   * To be called when the walk has seen all of `text`.
   *
   * @throws {GatewayError} `invalid_json` when more than `limits.jsonNames` of its names differ
   */
  checkNames(text: string): void {
    // Nearly always all of them are fewer than may differ.
    if (this.#fields > limits.jsonNames) refuseManyNames(text);
  }
}

function refuseManyNames(text: string): void {
  const names = new DistinctNames();
  let at = text.indexOf('"');
  while (at !== -1) {
    const end = closingQuote(text, at);
    if (end === -1) return; // no JSON: the parser will say so
    if (isBeforeColon(text, end)) names.add(text, at + 1, end);
    at = text.indexOf('"', end + 1);
  }
}

/** The quote that ends the string which begins at `from`; -1 if none does. */
function closingQuote(text: string, from: number): number {
  let at = from;
  for (;;) {
    at = text.indexOf('"', at + 1);
    if (at === -1) return -1;
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === backslash) escapes++;
    if (escapes % 2 === 0) return at;
  }
}

function isBeforeColon(text: string, end: number): boolean {
  let at = end + 1;
  while (text.charCodeAt(at) <= 0x20) at++;
  return text.charCodeAt(at) === colon;
}

/** Differs between processes, so that nobody can look for names that fall together. */
const hashSeed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;

/** Twenty places per name that is allowed: few fall together. */
const hashBits = 20;

/** Counts names that differ, by their hashes: maybe a few too few, never too many. */
class DistinctNames {
  readonly #seen = new Uint8Array(2 ** hashBits / 8);
  #count = 0;

  /** Adds the name that lies between two positions. */
  add(text: string, start: number, end: number): void {
    let hash = hashSeed;
    for (let at = start; at < end; at++) {
      hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    }
    const place = (hash ^ (hash >>> 15)) & (2 ** hashBits - 1);
    const bit = 1 << (place & 7);
    const byte = this.#seen[place >>> 3] ?? 0;
    if ((byte & bit) !== 0) return;
    this.#seen[place >>> 3] = byte | bit;
    if (++this.#count > limits.jsonNames) {
      throw refusal(`has fields of more than ${limits.jsonNames} different names`);
    }
  }
}
