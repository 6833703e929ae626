/**
 * Output items of recent Responses answers, kept in memory so that a client which relies on the vendor's store can
 * refer to them by id. The gateway has no such store and lets no vendor store answers: items are not written
 * anywhere, other instances do not have them, and a restart forgets them.
 */
import type { Clock } from "../../lib/time/clock.ts";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type Outline,
  type OutlineObject,
} from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { maxRequestBodyBytes } from "../../lib/base/limits.ts";
import { type JsonBody, parseJsonBody } from "../body/json_body.ts";

/** Milliseconds for which an item can be referred to: a tool loop continues within minutes. */
export const itemKeptMs = 30 * 60_000;

/** The bounds of the items that are kept. */
export interface RecentItemBounds {
  /** Characters of JSON text that all accounts may keep. */
  readonly totalChars: number;
  /** Characters that one account may keep; its oldest items are removed first. */
  readonly accountChars: number;
}

/**
 * The bounds of a gateway. A turn of an agent is a few thousand characters, so an account keeps about a thousand
 * turns.
 */
const keptChars: RecentItemBounds = { totalChars: 64 * 1024 * 1024, accountChars: 4 * 1024 * 1024 };

interface KeptItem {
  readonly text: string;
  readonly atMs: number;
}

interface AccountItems {
  readonly items: Map<string, KeptItem>;
  chars: number;
}

/**
 * The recent items of one process, by account.
 *
 * @example
 * ```ts
 * import { systemClock } from "../../lib/time/clock.ts";
 * import { RecentItems } from "./recent_items.ts";
 * const items = new RecentItems(systemClock);
 * items.keep("acc_1", { id: "msg_1", type: "message", role: "assistant", content: [] });
 * const input = [{ type: "item_reference", id: "msg_1" }];
 * const own = items.resolved("acc_1", { input })["input"];
 * if (JSON.stringify(own).includes("item_reference")) throw new Error("not resolved");
 * const other = items.resolved("acc_2", { input })["input"];
 * if (!JSON.stringify(other).includes("item_reference")) throw new Error("of another account");
 * ```
 */
export class RecentItems {
  readonly #clock: Clock;
  readonly #bounds: RecentItemBounds;
  /** In the order of their last item: the first is the least recent. */
  readonly #accounts = new Map<string, AccountItems>();
  #chars = 0;

  constructor(clock: Clock, bounds: RecentItemBounds = keptChars) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  /** Characters that are kept now. */
  get chars(): number {
    return this.#chars;
  }

  /** Keeps an item under its id. One without an id, or larger than the share of an account, is not kept. */
  keep(account: string, item: JsonObject): void {
    const { id } = item;
    if (typeof id !== "string") return;
    const text = stringifyExactly(item);
    if (text.length > this.#bounds.accountChars) return;
    const own = this.#accounts.get(account) ?? { items: new Map(), chars: 0 };
    this.#accounts.delete(account);
    this.#accounts.set(account, own);
    this.#drop(own, id);
    own.items.set(id, { text, atMs: this.#clock.monotonicMs() });
    own.chars += text.length;
    this.#chars += text.length;
    this.#trim(own);
  }

  /**
   * Makes a function that keeps items of an account. It is made here because a closure made beside the request would
   * retain the request's body for as long as the stream is open.
   */
  keeper(account: string): (item: JsonObject) => void {
    return (item) => this.keep(account, item);
  }

  /** The ids of references in a body whose items are not kept. */
  missing(account: string, { input }: OutlineObject): string[] {
    if (!Array.isArray(input)) return [];
    const own = this.#accounts.get(account);
    return input.filter(isReference).map((item) => item["id"])
      .filter((id) => typeof id === "string")
      .filter((id) => own === undefined || this.#find(own, id) === undefined);
  }

  /** The items with these ids that are kept. */
  kept(account: string, ids: readonly string[]): JsonObject[] {
    const own = this.#accounts.get(account);
    if (own === undefined) return [];
    return ids.map((id) => this.#find(own, id)).filter((item) => item !== undefined);
  }

  /** Replaces references in a body by the items that they name. A reference to an item that is not kept stays. */
  resolved(account: string, body: JsonObject): JsonObject {
    const { input } = body;
    const own = this.#accounts.get(account);
    if (own === undefined || !Array.isArray(input) || !input.some(isReference)) return body;
    return {
      ...body,
      input: input.map((item) => isReference(item) ? this.#find(own, item["id"]) ?? item : item),
    };
  }

  #find(own: AccountItems, id: Json | undefined): JsonObject | undefined {
    const kept = typeof id === "string" ? own.items.get(id) : undefined;
    if (kept === undefined || this.#clock.monotonicMs() - kept.atMs > itemKeptMs) return undefined;
    return JSON.parse(kept.text);
  }

  #drop(own: AccountItems, id: string): void {
    const kept = own.items.get(id);
    if (kept === undefined) return;
    own.items.delete(id);
    own.chars -= kept.text.length;
    this.#chars -= kept.text.length;
  }

  /** Removes items that are too old or too many. */
  #trim(own: AccountItems): void {
    const oldestMs = this.#clock.monotonicMs() - itemKeptMs;
    for (const [id, { atMs }] of own.items) {
      if (atMs >= oldestMs && own.chars <= this.#bounds.accountChars) break;
      this.#drop(own, id);
    }
    for (const [account, { chars, items }] of this.#accounts) {
      const newest = [...items.values()].at(-1);
      const isOver = newest === undefined || newest.atMs < oldestMs;
      if (!isOver && this.#chars <= this.#bounds.totalChars) break;
      this.#accounts.delete(account);
      this.#chars -= chars;
    }
  }
}

/**
 * Resolves the references of a body, as if the client had sent the items. If the result exceeded the largest body,
 * the references stay.
 */
export function withRecentItems(items: RecentItems, account: string, body: JsonBody): JsonBody {
  if (!namesItems(body.outline)) return body;
  const value = items.resolved(account, body.value);
  if (value === body.value) return body;
  const bytes = new TextEncoder().encode(stringifyExactly(value));
  return bytes.length > maxRequestBodyBytes ? body : parseJsonBody(bytes);
}

/** Whether a body has a reference to an item. */
function namesItems({ input }: OutlineObject): boolean {
  return Array.isArray(input) && input.some(isReference);
}

function isReference(item: Json): item is JsonObject;
function isReference(item: Outline): item is OutlineObject;
function isReference(item: Outline): boolean {
  return isJsonObject(item) && item["type"] === "item_reference";
}
