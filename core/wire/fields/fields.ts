/**
 * Reads single fields of a client's JSON. `null` counts as absent: SDKs send it for fields that were not set.
 * A wrong field throws a {@linkcode GatewayError} `invalid_request` that names it.
 *
 * - Folder `core/wire/fields/`: fields that several styles share: read, written and checked once.
 * - In: single fields of a client's JSON, or of the conversation.
 * - Out: typed values, the same fields for another style, warnings for what is lost.
 * - Never: imports the folder of a style.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { isExactNumber, isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import type { Block, CacheMark, Conversation, Turn } from "../conversation/mod.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import type { Warnings } from "../contract/warnings.ts";
import { defined } from "../../lib/base/defined.ts";

// Counts and writes the prompt-cache marks of one request.

/** Most cache marks one request may hold, at every vendor that has them. */
const cacheMarksPerRequest = 4;

/** A block or tool that can have a mark. */
export interface Markable {
  readonly cache?: CacheMark;
}

/** Counts the marks of one request. */
export class CacheMarkCounter {
  readonly #warnings: Warnings;
  #taken = 0;
  #hasShort = false;

  /** Number of marks that have gone out. */
  get taken(): number {
    return this.#taken;
  }

  constructor(warnings: Warnings) {
    this.#warnings = warnings;
  }

  /**
   * Returns the mark of a block or tool if the route takes it. Warns if the route has no marks or the request has the
   * most allowed. Marks are taken in the vendor's order of caching: one that lasts an hour may not follow a shorter one,
   * and is shortened.
   */
  take(part: Markable, routeHasMarks: boolean): CacheMark | undefined {
    if (part.cache === undefined) return undefined;
    if (!routeHasMarks || this.#taken >= cacheMarksPerRequest) {
      warnOfMark(part, this.#warnings);
      return undefined;
    }
    this.#taken++;
    const { ttl, ...short } = part.cache;
    if (ttl !== "1h") this.#hasShort = true;
    else if (this.#hasShort) {
      this.#warnings.add(`${short.path}.ttl`);
      return short;
    }
    return part.cache;
  }
}

/** Warns of a mark that cannot be carried at this place. */
export function warnOfMark(part: Markable, warnings: Warnings): void {
  if (part.cache !== undefined) warnings.add(part.cache.path);
}

/** A mark as Messages vendors, and gateways that follow them, write it. */
export function ephemeralMark({ ttl }: CacheMark): { type: "ephemeral"; ttl?: "5m" | "1h" } {
  return { type: "ephemeral", ...defined({ ttl }) };
}

/**
 * Turns the automatic mark into one that Chat and Responses can carry: it goes onto the last block that can have one,
 * where its own vendor would place it. If there is none, it is named.
 */
export function placeAutomaticMark(
  conversation: Conversation,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
): Conversation {
  const { automaticCache: cache, turns } = conversation;
  if (cache === undefined) return conversation;
  const at = capabilities.cache_marks === "none" ? -1 : turns.findLastIndex(holdsMark);
  const turn = turns[at];
  if (turn === undefined) {
    warnings.add(cache.path);
    return conversation;
  }
  const last = turn.blocks.findLastIndex(canHoldMark);
  const blocks = turn.blocks.map((block, i) =>
    i === last && block.cache === undefined ? { ...block, cache } : block
  );
  return { ...conversation, turns: turns.with(at, { ...turn, blocks }) };
}

function holdsMark(turn: Turn): boolean {
  return turn.role === "user" && turn.blocks.some(canHoldMark);
}

/** Blocks that become text, on which every route with marks takes them. */
function canHoldMark(block: Block): boolean {
  if (block.type === "document") {
    return block.source.kind === "text" || block.source.kind === "blocks";
  }
  return block.type === "text" || block.type === "search_result" || block.type === "tool_result";
}

/** Refuses a field that is wrong in its own style. */
export function invalid(path: string, why: string): never {
  throw new GatewayError("invalid_request", `${path}: ${why}`, { param: path });
}

/** Refuses a field that is right in its style but cannot be carried to the model's. */
export function refuse(path: string, why: string): never {
  throw new GatewayError("conversion_refused", `${path}: ${why}`, { param: path });
}

/**
 * Reads an optional string.
 *
 * @example
 * ```ts
 * import { optionalString } from "./fields.ts";
 * if (optionalString({ a: null }, "a", "a") !== undefined) throw new Error("null is absent");
 * ```
 */
export function optionalString(from: JsonObject, key: string, path: string): string | undefined {
  const value = from[key];
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : invalid(path, "must be a string");
}

/** Reads a required string. */
export function requiredString(from: JsonObject, key: string, path: string): string {
  return optionalString(from, key, path) ?? invalid(path, "is required");
}

/** Reads an optional number. */
export function optionalNumber(from: JsonObject, key: string, path: string): number | undefined {
  const value = from[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number") return value;
  return invalid(path, isExactNumber(value) ? "is too large a number" : "must be a number");
}

/** Reads a whole number of at least `least`. */
export function optionalCount(
  from: JsonObject,
  key: string,
  path: string,
  least = 0,
): number | undefined {
  const value = optionalNumber(from, key, path);
  if (value === undefined) return undefined;
  return Number.isSafeInteger(value) && value >= least
    ? value
    : invalid(path, `must be a whole number of at least ${least}`);
}

/** Reads an optional boolean. */
export function optionalBoolean(from: JsonObject, key: string, path: string): boolean | undefined {
  const value = from[key];
  if (value === undefined || value === null) return undefined;
  return typeof value === "boolean" ? value : invalid(path, "must be true or false");
}

/** Reads an optional object. */
export function optionalObject(
  from: JsonObject,
  key: string,
  path: string,
): JsonObject | undefined {
  const value = from[key];
  if (value === undefined || value === null) return undefined;
  return isJsonObject(value) ? value : invalid(path, "must be an object");
}

/** Reads a required object. */
export function requiredObject(value: Json | undefined, path: string): JsonObject {
  return isJsonObject(value) ? value : invalid(path, "must be an object");
}

/** Reads an optional list. */
export function optionalList(
  from: JsonObject,
  key: string,
  path: string,
): readonly Json[] | undefined {
  const value = from[key];
  if (value === undefined || value === null) return undefined;
  return Array.isArray(value) ? value : invalid(path, "must be a list");
}

/** Whether a value is an empty list or object. */
export function isEmpty(value: Json): boolean {
  return isJsonObject(value)
    ? Object.keys(value).length === 0
    : Array.isArray(value) && value.length === 0;
}

/** Checks that a value is one of a closed set of words. */
export function oneOf<Word extends string>(
  value: string,
  words: readonly Word[],
  path: string,
): Word {
  return words.find((word) => word === value) ??
    invalid(path, `must be one of ${words.join(", ")}`);
}
