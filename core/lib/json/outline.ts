/**
 * JSON whose long strings are not decoded.
 *
 * Of a prompt of 100 KB the gateway reads roles, types, names and addresses, a few KB in all. Decoding and parsing the
 * texts between them costs more than everything else that it does with the prompt.
 */
import { isJsonObject, type Json, type Outline, type OutlineObject } from "./json.ts";
import { withExactNumbers } from "./exact_json.ts";
import { LongText } from "./scan/long_text.ts";
import { longStringIndex, type Skeleton } from "./scan/scan.ts";

/** Whether a value is a string of JSON, decoded or not. */
export function isText(value: Outline | undefined): value is string | LongText {
  return typeof value === "string" || value instanceof LongText;
}

/**
 * Returns how a text begins, in at least 170 characters; `""` for what is no text.
 *
 * @example
 * ```ts
 * import { beginningOf } from "./outline.ts";
 * if (beginningOf("data:image/png") !== "data:image/png" || beginningOf(7) !== "") throw new Error("wrong");
 * ```
 */
export function beginningOf(value: Outline | undefined): string {
  if (typeof value === "string") return value;
  return value instanceof LongText ? value.head() : "";
}

/** Decodes all long strings within a value. */
export function wholeOf(value: Outline): Json {
  if (value instanceof LongText) return value.text();
  if (Array.isArray(value)) return value.map(wholeOf);
  if (!isJsonObject(value)) return value;
  const members: [string, Json][] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) members.push([name, wholeOf(member)]);
  }
  // An assignment to `__proto__` would set the prototype where the runtime has such an accessor.
  return Object.fromEntries(members);
}

/** Decides which long strings are decoded at once. */
export interface OutlineRules {
  /** Names of top-level fields in which long strings are left out. */
  readonly left: ReadonlySet<string>;
  /** Names of members that are decoded everywhere. */
  readonly decoded: ReadonlySet<string>;
  /** Whether a string is decoded because of how it begins; called only for {@linkcode mayBegin}. */
  readonly isDecoded: (head: string) => boolean;
  /** Whether a literal with this first byte may be one for `isDecoded`. */
  readonly mayBegin: (firstByte: number) => boolean;
}

/**
 * Parses a skeleton into an outline; `undefined` if it is no JSON object.
 *
 * @throws {SyntaxError} as `withExactNumbers`
 */
export function outlineOf(
  bytes: Uint8Array,
  skeleton: Skeleton,
  rules: OutlineRules,
): OutlineObject | undefined {
  let value: Json;
  try {
    value = JSON.parse(skeleton.text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  if (skeleton.hasLongNumbers) value = withExactNumbers(value, skeleton.text);
  if (skeleton.longStrings.length === 0) return value;
  const filling = new Filling(bytes, skeleton.longStrings, rules);
  const outline: OutlineObject = value;
  for (const name in outline) filling.fill(outline, name, rules.left.has(name));
  return outline;
}

/** Puts long strings in place of their marks. */
class Filling {
  readonly #bytes: Uint8Array;
  readonly #places: Int32Array;
  readonly #rules: OutlineRules;

  constructor(bytes: Uint8Array, places: Int32Array, rules: OutlineRules) {
    this.#bytes = bytes;
    this.#places = places;
    this.#rules = rules;
  }

  fill(object: OutlineObject, name: string, isLeft: boolean): void {
    const value = object[name];
    if (typeof value === "number") {
      const index = longStringIndex(value);
      if (index < 0) return;
      object[name] = this.#string(index, isLeft && !this.#rules.decoded.has(name));
    } else if (typeof value === "object" && value !== null) {
      this.#within(value, isLeft);
    }
  }

  /** The depth is bounded by the scanner. */
  #within(value: Exclude<Outline, number | string | boolean | null>, isLeft: boolean): void {
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) {
        const item = value[i];
        if (typeof item === "number") {
          const index = longStringIndex(item);
          if (index >= 0) value[i] = this.#string(index, isLeft);
        } else if (typeof item === "object" && item !== null) {
          this.#within(item, isLeft);
        }
      }
    } else if (isJsonObject(value)) {
      for (const name in value) this.fill(value, name, isLeft);
    }
  }

  #string(index: number, isLeft: boolean): string | LongText {
    const start = this.#places[2 * index] ?? 0;
    const text = new LongText(this.#bytes, start, this.#places[2 * index + 1] ?? start);
    if (!isLeft) return text.text();
    const { mayBegin, isDecoded } = this.#rules;
    return mayBegin(this.#bytes[start] ?? 0) && isDecoded(text.head()) ? text.text() : text;
  }
}
