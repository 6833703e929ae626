/**
 * Joins surrogate pairs that a provider split over two pieces of a stream. Each half is legal JSON (`\ud83d`), but
 * strict readers refuse a stream with a piece that ends in half a character.
 */
import type { StreamEvent } from "../conversation/mod.ts";
import type { EventSink } from "../stream/dialect.ts";

type Piece = Extract<StreamEvent, { readonly json: string }>;

/** The first half of a pair, as the last escape of the literal: ten bits of a character beyond the 65,536th. */
const firstHalf = /\\u[dD][89abAB][0-9a-fA-F]{2}"$/;
const secondHalf = /^"\\u[dD][c-fC-F][0-9a-fA-F]{2}/;
/** Characters of one escape. */
const escapeChars = 6;
/** Replaces half a character whose other half never came (U+FFFD). */
const replacement = "\\ufffd";

/**
 * Passes events on. The first half of a pair at the end of a piece waits for the next piece of its block: six characters
 * for each open block. A half without its partner becomes U+FFFD.
 *
 * @example
 * ```ts
 * import { joiningSink } from "./surrogate_pairs.ts";
 * const out: string[] = [];
 * const sink = joiningSink((event) => "json" in event && out.push(event.json));
 * sink({ type: "text", block: 0, json: '"a\\ud83d"' });
 * sink({ type: "text", block: 0, json: '"\\ude00b"' });
 * if (out.join() !== '"a","\\ud83d\\ude00b"') throw new Error(out.join());
 * ```
 */
export function joiningSink(emit: EventSink): EventSink {
  const joining = new Joining(emit);
  return (event) => joining.take(event);
}

/** Whether a literal begins or ends with an escape that may be half a pair, which is rare. */
function mayBeSplit(json: string): boolean {
  return json.charCodeAt(json.length - 1 - escapeChars) === 0x5c || json.charCodeAt(1) === 0x5c;
}

class Joining {
  readonly #emit: EventSink;
  /** First halves that wait, by block. */
  readonly #held = new Map<number, Piece>();

  constructor(emit: EventSink) {
    this.#emit = emit;
  }

  take(event: StreamEvent): void {
    if ("json" in event) {
      if (this.#held.size === 0 && !mayBeSplit(event.json)) this.#emit(event);
      else this.#piece(event);
      return;
    }
    if (this.#held.size > 0) this.#settle(event);
    this.#emit(event);
  }

  /** Replaces the halves that no partner can follow after this event. */
  #settle(event: Exclude<StreamEvent, Piece>): void {
    if (event.type === "citation") return;
    if ("block" in event) this.#release(event.block);
    else if (event.type === "stop" || event.type === "end" || event.type === "error") {
      for (const block of [...this.#held.keys()]) this.#release(block);
    }
  }

  #piece(event: Piece): void {
    const { block } = event;
    const held = this.#held.get(block);
    if (held !== undefined && held.type !== event.type) this.#release(block);
    const half = this.#held.get(block);
    this.#held.delete(block);
    const whole = this.#joined(half, event);
    if (!endsInHalf(whole.json)) return this.#emit(whole);
    const at = whole.json.length - 1 - escapeChars;
    this.#held.set(block, { ...whole, json: `"${whole.json.slice(at)}` });
    if (at > 1) this.#emit(withoutLogprobs({ ...whole, json: `${whole.json.slice(0, at)}"` }));
  }

  #joined(half: Piece | undefined, event: Piece): Piece {
    const followed = secondHalf.test(event.json);
    if (half === undefined) {
      if (!followed) return event;
      return { ...event, json: `"${replacement}${event.json.slice(1 + escapeChars)}` };
    }
    const first = followed ? half.json.slice(1, -1) : replacement;
    const joined = { ...event, json: `"${first}${event.json.slice(1)}` };
    if (half.type !== "text" || joined.type !== "text") return joined;
    const logprobs = [half.logprobs, joined.logprobs].filter((list) => list !== undefined);
    return logprobs.length === 0
      ? joined
      : { ...joined, logprobs: `[${logprobs.map((list) => list.slice(1, -1)).join()}]` };
  }

  /** Replaces the waiting half of a block: no more of its text can follow. */
  #release(block: number): void {
    const half = this.#held.get(block);
    if (half === undefined) return;
    this.#held.delete(block);
    this.#emit({ ...half, json: `"${replacement}"` });
  }
}

/** Keeps log probabilities with the waiting half: their token may be the one that was split. */
function withoutLogprobs(piece: Piece): Piece {
  if (piece.type !== "text") return piece;
  const { logprobs: _, ...rest } = piece;
  return rest;
}

function endsInHalf(json: string): boolean {
  if (!firstHalf.test(json)) return false;
  // An even number of backslashes before the `u` are backslashes themselves.
  let at = json.length - 1 - escapeChars;
  let slashes = 0;
  for (; json.charCodeAt(at) === 0x5c; at--) slashes++;
  return slashes % 2 === 1;
}
