/**
 * Bounds the values, names and depth of JSON before it is parsed.
 *
 * Its length is not enough: 20 MB of brackets or of names block the engine for seconds and take fifty times their size
 * in memory.
 */
import { GatewayError } from "./errors.ts";
import { JsonScanner, token } from "../json/exact_json.ts";
import { maxJsonDepth, maxJsonNames, maxJsonValues } from "../json/scan/limits.ts";

function refusal(problem: string): GatewayError {
  return new GatewayError("invalid_json", `The request body ${problem}`);
}

/**
 * Counts the values and names in the JSON of one request: in its body, and in texts of the body that are JSON.
 *
 * @example
 * ```ts
 * import { GatewayError } from "./errors.ts";
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
   * Counts an opening bracket or a comma. Their number is that of the values, or larger where brackets are empty.
   *
   * @throws {GatewayError} `invalid_json` beyond the maximum, which is `maxJsonValues` unless set otherwise
   */
  addValue(): void {
    if (++this.#values > this.#maxValues) {
      throw refusal(`has more than ${this.#maxValues} values`);
    }
  }

  /** Checks the depth of nesting. @throws {GatewayError} `invalid_json` for more than `maxJsonDepth` levels */
  checkDepth(depth: number): void {
    if (depth > maxJsonDepth) {
      throw refusal(`is nested deeper than ${maxJsonDepth} levels`);
    }
  }

  /** Counts a name of a field. */
  addField(): void {
    this.#fields++;
  }

  /**
   * Checks the number of different names, once all of `text` was counted.
   *
   * @throws {GatewayError} `invalid_json` when more than `maxJsonNames` names differ
   */
  checkNames(text: string): void {
    // Most texts have fewer names in all than may differ.
    if (this.#fields <= maxJsonNames) return;
    this.#names ??= new DistinctNames();
    this.#names.addAll(text);
  }

  /**
   * Counts a whole text that may be JSON. It skips strings, so it costs a small part of what parsing costs.
   *
   * @throws {GatewayError} `invalid_json` when a bound is exceeded
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

/** Differs between processes, so that an attacker cannot search for names with equal hashes. */
const hashSeed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;

/** Twenty places for each allowed name, so that few names share one. */
const hashBits = 20;

/** Counts different names by their hashes. The count may be slightly too low, never too high. */
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

  /** Adds the name between two positions. */
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
