/**
 * Remembers which route answered a conversation last. Its provider has the signatures of the reasoning and the cached
 * prompt, so the next turn works best on the same route.
 */
import type { PromptPrefixes } from "../calls/bounds/seen_prompts.ts";
import { hourMs } from "../lib/time/durations.ts";

/** Route that answered, and the account at its provider. */
export interface AnsweredBy {
  readonly routeId: string;
  readonly account: string;
}

interface Entry extends AnsweredBy {
  readonly atMs: number;
}

/** Route that answered a prompt or made a sealed item, for the other threads of a process. */
export interface SharedAffinity extends AnsweredBy {
  readonly id: string;
}

/** Sealed items whose makers are remembered, also of conversations that rest for days: about 15 MB. */
const maxSeals = 100_000;
/** The beginning of the id of a sealed item. */
const sealId = "seal ";
/** The maker of a sealed item that was refused: no account reads it. */
export const nobody: AnsweredBy = { routeId: "", account: "" };

/** Entries that are remembered, up to three for each prompt: about 6 MB. */
const maxEntries = 60_000;
/** Milliseconds for which a prompt is remembered: the longest that a vendor keeps a cache at its ordinary price. */
const rememberedMs = hourMs;

/**
 * Routes by API key and prompt. Bounded: evicts the least recently used entry.
 *
 * Only a prompt that continues an answered one has a route here. Calls with the same first message are spread over
 * the routes as usual.
 *
 * @example
 * ```ts
 * import { promptPrefixes } from "../calls/bounds/seen_prompts.ts";
 * import { RouteAffinity } from "./route_affinity.ts";
 * const affinity = new RouteAffinity();
 * const hello = { role: "user", content: "Hello" };
 * const first = promptPrefixes("m", "chat", { messages: [hello] });
 * affinity.note("key_1", first, { routeId: "provider/m", account: "a" }, 0);
 * const next = promptPrefixes("m", "chat", { messages: [hello, { role: "assistant", content: "Hi" }, hello] });
 * if (affinity.find("key_1", next, 1_000)?.routeId !== "provider/m") throw new Error("forgotten");
 * if (affinity.find("key_1", first, 1_000) !== undefined) throw new Error("a first message has no route");
 * ```
 */
export class RouteAffinity {
  /** In the order in which they were last noted. */
  readonly #entries = new Map<string, Entry>();
  readonly #seals = new Map<string, AnsweredBy>();
  readonly #share: ((entry: SharedAffinity) => void) | undefined;

  /** @param share tells the other threads of this process what was noted */
  constructor(share?: (entry: SharedAffinity) => void) {
    this.#share = share;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Remembers the route that began to answer a prompt. */
  note(keyId: string, prompt: PromptPrefixes, by: AnsweredBy, nowMs: number): void {
    if (prompt.whole === undefined) return;
    const at = prompt.messages.length - 1;
    for (const place of places) {
      const hash = place.hashAt(prompt, at);
      if (hash === undefined) continue;
      this.#note({ id: idOf(keyId, place.name, hash), ...by }, nowMs);
    }
  }

  #note(entry: SharedAffinity, nowMs: number): void {
    this.merge(entry, nowMs);
    this.#share?.(entry);
  }

  /** Remembers who made the sealed items of a request that are new. */
  noteSeals(seals: readonly string[], by: AnsweredBy, nowMs: number): void {
    for (const seal of seals) {
      if (this.#seals.has(seal)) continue;
      const { routeId, account } = by;
      this.#note({ id: sealId + seal, routeId, account }, nowMs);
    }
  }

  /** Remembers that sealed items were refused by those who were thought to have made them. */
  disown(seals: readonly string[], nowMs: number): void {
    for (const seal of seals) this.#note({ id: sealId + seal, ...nobody }, nowMs);
  }

  /** Maker of a sealed item, as far as it is known. */
  ownerOf(seal: string): AnsweredBy | undefined {
    return this.#seals.get(seal);
  }

  /** Remembers what another thread has noted. */
  merge({ id, routeId, account }: SharedAffinity, nowMs: number): void {
    if (id.startsWith(sealId)) {
      return this.#mergeSeal(id.slice(sealId.length), { routeId, account });
    }
    this.#entries.delete(id);
    this.#entries.set(id, { routeId, account, atMs: nowMs });
    if (this.#entries.size <= maxEntries) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  #mergeSeal(seal: string, by: AnsweredBy): void {
    this.#seals.delete(seal);
    this.#seals.set(seal, by);
    if (this.#seals.size <= maxSeals) return;
    const [oldest] = this.#seals.keys();
    if (oldest !== undefined) this.#seals.delete(oldest);
  }

  /**
   * Finds who answered the longest known beginning of this prompt, or else of its conversation: the
   * prompts of many agents have a clock or an id in their first lines.
   */
  find(keyId: string, prompt: PromptPrefixes, nowMs: number): AnsweredBy | undefined {
    for (const place of places) {
      for (let at = prompt.messages.length - 2; at >= 0; at--) {
        const hash = place.hashAt(prompt, at);
        const entry = hash === undefined
          ? undefined
          : this.#entries.get(idOf(keyId, place.name, hash));
        if (entry !== undefined && nowMs - entry.atMs <= rememberedMs) return entry;
      }
    }
    return undefined;
  }
}

/** A place by which a conversation is recognised. */
interface Place {
  readonly name: string;
  readonly hashAt: (prompt: PromptPrefixes, at: number) => number | undefined;
}

/** The surest first. */
const places: readonly Place[] = [
  { name: "whole", hashAt: ({ messages }, at) => messages[at]?.hash },
  { name: "turns", hashAt: ({ conversation }, at) => conversation[at]?.turns },
  { name: "pair", hashAt: ({ conversation }, at) => conversation[at]?.pair },
];

function idOf(keyId: string, place: Place["name"], hash: number): string {
  return `${keyId} ${place} ${hash}`;
}
