/**
 * Reads the structure of a long JSON text without building its long strings.
 *
 * - Folder `core/lib/json/scan/`: the scanner of long texts: its source (`scan.wat`), the compiled module
 *   (`module.ts`, written by `deno task wasm`) and its caller.
 * - In: JSON as bytes.
 * - Out: the text without its long strings, and where they are.
 * - Never: decides whether a text is JSON: it reports what it validated, and doubts everything else.
 */
import { decodeBase64 } from "../../runtime/built_ins.ts";
import { maxJsonDepth } from "./limits.ts";
import { moduleBase64 } from "./module.ts";

/**
 * Bytes of the longest text that is scanned: agents send up to 500 KB. The memory of the scanner, twice as much for
 * each thread, is never returned. Longer texts consist of pictures, which a parser copies faster than they are scanned:
 * calls with 1 MB of plain text took 300 µs more when they were.
 */
export const maxScannedBytes = 512 * 1024;

/** Bytes above which a string is left out. Below it, parsing it costs less than keeping its place. */
const longStringBytes = 512;

/** A JSON text without its long strings. */
export interface Skeleton {
  /** The text; each long string is a number in it: see {@linkcode longStringIndex}. */
  readonly text: string;
  /** Number of commas and opening brackets. */
  readonly values: number;
  /** Number of names of fields. */
  readonly names: number;
  /** Offsets of the bracket that opens the outermost value, of its colons and commas, and of its closing bracket. */
  readonly top: Int32Array;
  /** For each long string the offset behind its opening quote, and that of its closing quote. */
  readonly longStrings: Int32Array;
  /** Whether a number has eight digits in a row, so that it may be outside double precision. */
  readonly hasLongNumbers: boolean;
}

/** The unit in which numbers count long strings: no other number in a skeleton is as small. */
const markUnit = 1e-300;
/** Between the marks, of which there are at most a few thousand, and other numbers, which have no exponent. */
const largestMark = 1e-200;

/** Returns which long string a number of a skeleton stands for; -1 for a number of the text. */
export function longStringIndex(number: number): number {
  return number > 0 && number < largestMark ? Math.round(number / markUnit) - 1 : -1;
}

/** The memory in bytes: tables and results, places of the top level, places of long strings, then the texts. */
const resultsAt = 128;
const topAt = 1024;
/** More places at the top level than any request has fields. */
const maxTop = 4096;
const longStringsAt = 32 * 1024;
const textAt = 192 * 1024;
/** Spaces behind the text, which the scanner reads in blocks of 64 bytes. */
const paddingBytes = 192;
const pageBytes = 64 * 1024;

/** Flags that the scanner returns, beside its results in memory. */
const flag = { doubtful: 1, longNumbers: 2 } as const;

const decoder = new TextDecoder();

class Scanner {
  readonly #memory: WebAssembly.Memory;
  readonly #scan: (...args: readonly number[]) => unknown;

  constructor() {
    const module = new WebAssembly.Module(decodeBase64(moduleBase64) ?? new Uint8Array(0));
    const { memory, scan } = new WebAssembly.Instance(module).exports;
    if (!(memory instanceof WebAssembly.Memory) || typeof scan !== "function") {
      throw new TypeError("The module exports something else");
    }
    this.#memory = memory;
    this.#scan = (...args) => scan(...args);
  }

  scan(bytes: Uint8Array): Skeleton | undefined {
    const { length } = bytes;
    const skeletonAt = textAt + length + paddingBytes;
    this.#reserve(skeletonAt + length + paddingBytes);
    const memory = new Uint8Array(this.#memory.buffer);
    memory.set(bytes, textAt);
    memory.fill(0x20, textAt + length, skeletonAt);
    const flags = Number(this.#scan(
      textAt,
      length,
      skeletonAt,
      longStringBytes,
      topAt,
      maxTop,
      longStringsAt,
      maxJsonDepth,
    ));
    if ((flags & flag.doubtful) !== 0) return undefined;
    const numbers = new Int32Array(this.#memory.buffer);
    const at = resultsAt / 4;
    const [values = 0, names = 0, top = 0, longStrings = 0, skeletonBytes = 0] = numbers.subarray(
      at,
      at + 5,
    );
    return {
      text: decoder.decode(memory.subarray(skeletonAt, skeletonAt + skeletonBytes)),
      values,
      names,
      top: offsets(numbers, topAt, top),
      longStrings: offsets(numbers, longStringsAt, 2 * longStrings),
      hasLongNumbers: (flags & flag.longNumbers) !== 0,
    };
  }

  #reserve(bytes: number): void {
    const missing = bytes - this.#memory.buffer.byteLength;
    if (missing > 0) this.#memory.grow(Math.ceil(missing / pageBytes));
  }
}

/** Copies places from the memory, as offsets in the text. */
function offsets(numbers: Int32Array, at: number, count: number): Int32Array {
  const found = numbers.slice(at / 4, at / 4 + count);
  for (let i = 0; i < found.length; i++) found[i] = found[i]! - textAt;
  return found;
}

/** `null` on a runtime without WebAssembly or its vectors. */
let scanner: Scanner | null | undefined;

function usableScanner(): Scanner | null {
  try {
    return new Scanner();
  } catch {
    return null;
  }
}

/**
 * Scans a JSON text. It validates UTF-8, and the long strings, completely; whoever uses the result parses the
 * skeleton, which validates the rest.
 *
 * `undefined` for every text that it is not certain about: one that is not JSON, is longer than
 * {@linkcode maxScannedBytes}, may be nested deeper than `maxJsonDepth`, or has a number with an exponent or 32 digits.
 *
 * @example
 * ```ts
 * import { longStringIndex, scanJson } from "./scan.ts";
 * const text = `{"content":"${"long ".repeat(200)}","n":1}`;
 * const skeleton = scanJson(new TextEncoder().encode(text));
 * if (skeleton?.text !== '{"content": 1e-300 ,"n":1}') throw new Error(skeleton?.text);
 * const [start = 0, end = 0] = skeleton.longStrings;
 * if (longStringIndex(1e-300) !== 0 || !text.slice(start, end).startsWith("long")) throw new Error("wrong place");
 * ```
 */
export function scanJson(bytes: Uint8Array): Skeleton | undefined {
  if (bytes.length > maxScannedBytes) return undefined;
  scanner ??= usableScanner() ?? null;
  return scanner?.scan(bytes);
}
