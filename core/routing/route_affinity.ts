/**
 * Remembers which route answered a conversation last. Its provider has the signatures of the reasoning and the cached
 * prompt, so the next turn works best on the same route.
 */
import type { PromptPrefixes } from "../calls/request/prompt_prefixes.ts";
import { hourMs } from "../lib/time/durations.ts";

interface Entry {
  readonly routeId: string;
  readonly atMs: number;
}

/** Which route answered a prompt, for the other threads of a process. */
export interface SharedAffinity {
  readonly id: string;
  readonly routeId: string;
}

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
 * import { promptPrefixes } from "../calls/request/prompt_prefixes.ts";
 * import { RouteAffinity } from "./route_affinity.ts";
 * const affinity = new RouteAffinity();
 * const hello = { role: "user", content: "Hello" };
 * const first = promptPrefixes("m", "chat", { messages: [hello] });
 * affinity.note("key_1", first, "provider/m", 0);
 * const next = promptPrefixes("m", "chat", { messages: [hello, { role: "assistant", content: "Hi" }, hello] });
 * if (affinity.find("key_1", next, 1_000) !== "provider/m") throw new Error("forgotten");
 * if (affinity.find("key_1", first, 1_000) !== undefined) throw new Error("a first message has no route");
 * ```
 */
export class RouteAffinity {
  /** In the order in which they were last noted. */
  readonly #entries = new Map<string, Entry>();
  readonly #share: ((entry: SharedAffinity) => void) | undefined;

  /** @param share tells the other threads of this process what was noted */
  constructor(share?: (entry: SharedAffinity) => void) {
    this.#share = share;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Remembers the route that began to answer a prompt. */
  note(keyId: string, prompt: PromptPrefixes, routeId: string, nowMs: number): void {
    if (prompt.whole === undefined) return;
    const at = prompt.messages.length - 1;
    for (const place of places) {
      const hash = place.hashAt(prompt, at);
      if (hash === undefined) continue;
      const id = idOf(keyId, place.name, hash);
      this.merge({ id, routeId }, nowMs);
      this.#share?.({ id, routeId });
    }
  }

  /** Remembers what another thread has noted. */
  merge({ id, routeId }: SharedAffinity, nowMs: number): void {
    this.#entries.delete(id);
    this.#entries.set(id, { routeId, atMs: nowMs });
    if (this.#entries.size <= maxEntries) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  /**
   * Finds the id of the route that answered the longest known beginning of this prompt, or else of its conversation: the
   * prompts of many agents have a clock or an id in their first lines.
   */
  find(keyId: string, prompt: PromptPrefixes, nowMs: number): string | undefined {
    for (const place of places) {
      for (let at = prompt.messages.length - 2; at >= 0; at--) {
        const hash = place.hashAt(prompt, at);
        const entry = hash === undefined
          ? undefined
          : this.#entries.get(idOf(keyId, place.name, hash));
        if (entry !== undefined && nowMs - entry.atMs <= rememberedMs) return entry.routeId;
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
