/**
 * Bounds of JSON that its length does not set. 20 MB that are all brackets or all names take the engine seconds, in which
 * nothing else runs, and fifty times their size in memory; so they are counted before anyone parses them.
 */
import { GatewayError } from "../../errors.ts";
import { JsonScanner, token } from "./json_scanner.ts";
import { maxJsonDepth, maxJsonNames, maxJsonValues } from "./limits.ts";

function refusal(problem: string): GatewayError {
  return new GatewayError("invalid_json", `The request body ${problem}`);
}

/**
 * Counts what is in the JSON of one request: the body itself, and texts in it that are JSON again.
 *
 * @example
 * ```ts
 * import { GatewayError } from "../../errors.ts";
 * import { JsonCount } from "./json_bounds.ts";
 * new JsonCount().addText(`{"text":"${"[".repeat(5_000_000)}"}`);
 * try {
 *   new JsonCount().addText(`{"list":[${"{},".repeat(5_000_000)}{}]}`);
 *   throw new Error("not refused");
 * } catch (error) {
 *   if (!(error instanceof GatewayError)) throw error;
 * }
 * ```
 */
export class JsonCount {
  readonly #maxValues: number;
  #values = 1;
  #fields = 0;
  #names: DistinctNames | undefined;

  constructor(maxValues: number = maxJsonValues) {
    this.#maxValues = maxValues;
  }

  /**
   * A bracket that opens, or a comma: there are no more values than these, and as many unless some brackets are empty.
   *
   * @throws {GatewayError} `invalid_json` when there are too many, by itself `maxJsonValues`
   */
  addValue(): void {
    if (++this.#values > this.#maxValues) {
      throw refusal(`has more than ${this.#maxValues} values`);
    }
  }

  /** @throws {GatewayError} `invalid_json` for more than `maxJsonDepth` levels */
  checkDepth(depth: number): void {
    if (depth > maxJsonDepth) {
      throw refusal(`is nested deeper than ${maxJsonDepth} levels`);
    }
  }

  /** A name of a field. */
  addField(): void {
    this.#fields++;
  }

  /**
   * To be called when all of `text` was counted.
   *
   * @throws {GatewayError} `invalid_json` when more than `maxJsonNames` names differ
   */
  checkNames(text: string): void {
    // Nearly always all of them are fewer than may differ.
    if (this.#fields <= maxJsonNames) return;
    this.#names ??= new DistinctNames();
    this.#names.addAll(text);
  }

  /**
   * Counts a whole text that may be JSON. Strings are jumped over: a small part of what parsing costs.
   *
   * @throws {GatewayError} `invalid_json` when there is too much of something
   */
  addText(text: string): void {
    let depth = 0;
    const scanner = JsonScanner.ofText(text);
    for (let found = scanner.next(); found !== token.end; found = scanner.next()) {
      if (found === token.comma) this.addValue();
      else if (found === token.colon) this.addField();
      else if (found === token.close) depth--;
      else if (found === token.open) {
        this.addValue();
        this.checkDepth(++depth);
      }
    }
    this.checkNames(text);
  }
}

/** Differs between processes, so that nobody can look for names that fall together. */
const hashSeed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;

/** Twenty places per name that is allowed: few fall together. */
const hashBits = 20;

/** Counts names that differ, by their hashes: maybe a few too few, never too many. */
class DistinctNames {
  readonly #seen = new Uint8Array(2 ** hashBits / 8);
  #count = 0;

  /** Adds all names of fields in a text that may be JSON. */
  addAll(text: string): void {
    const scanner = JsonScanner.ofText(text);
    let found = scanner.next();
    while (found !== token.end) {
      const { start, end } = scanner;
      const isString = found === token.string;
      found = scanner.next();
      if (isString && found === token.colon) this.#add(scanner, start + 1, end - 1);
    }
  }

  /** Adds the name that lies between two positions. */
  #add(scanner: JsonScanner, start: number, end: number): void {
    let hash = hashSeed;
    for (let at = start; at < end; at++) {
      hash = Math.imul(hash ^ scanner.unitAt(at), 0x01000193);
    }
    const place = (hash ^ (hash >>> 15)) & (2 ** hashBits - 1);
    const bit = 1 << (place & 7);
    const byte = this.#seen[place >>> 3] ?? 0;
    if ((byte & bit) !== 0) return;
    this.#seen[place >>> 3] = byte | bit;
    if (++this.#count > maxJsonNames) {
      throw refusal(`has fields of more than ${maxJsonNames} different names`);
    }
  }
}
