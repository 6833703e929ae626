/**
 * Builds the ids of an answer and of its tool calls. They are pure functions of the request id and of the upstream's
 * ids, so a streamed and a whole answer get the same.
 */
import { hashHex } from "../../lib/hash/short_hash.ts";

/** `prefix` and the changing part of the request id, e.g. `msg_…`, `chatcmpl-…`. */
export function answerId(prefix: string, requestId: string): string {
  return prefix + requestId.replace(/^req_/, "").replace(/[^a-zA-Z0-9]/g, "");
}

/**
 * Assigns the ids of one answer's tool calls. An id of the upstream is kept if the client's style
 * accepts it; missing and repeated ones (some servers repeat them) are replaced.
 *
 * @example
 * ```ts
 * import { CallIds } from "./answer_ids.ts";
 * const ids = new CallIds("req_1", "call_", (id) => id);
 * const given = [ids.next("a"), ids.next("a"), ids.next("")];
 * if (new Set(given).size !== 3 || given[0] !== "a") throw new Error(given.join());
 * ```
 */
export class CallIds {
  readonly #requestId: string;
  readonly #prefix: string;
  readonly #legal: (id: string) => string;
  readonly #used = new Set<string>();

  constructor(requestId: string, prefix: string, legal: (id: string) => string) {
    this.#requestId = requestId;
    this.#prefix = prefix;
    this.#legal = legal;
  }

  next(upstreamId: string): string {
    const base = upstreamId === ""
      ? this.#prefix + hashHex(`${this.#requestId} ${this.#used.size}`)
      : this.#legal(upstreamId);
    let id = base;
    for (let n = 2; this.#used.has(id); n++) id = `${base}_${n}`;
    this.#used.add(id);
    return id;
  }
}
