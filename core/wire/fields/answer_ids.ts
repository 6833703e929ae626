/**
 * Builds the ids of an answer and of its tool calls. They are pure functions of the request id and of the upstream's
 * ids, so a streamed and a whole answer get the same.
 */
import { hashHex } from "../../lib/hash/short_hash.ts";

/** Begins ids that a client of a narrow style got in place of the model's own. */
export const spelledMark = "ugwid_";

/** Longer ids are hashed: no model writes any. */
const maxSpelledChars = 128;

const utf8 = new TextEncoder();

/**
 * Spells an id in `[a-zA-Z0-9_-]`, as Messages clients take it, for {@linkcode modelId} to undo.
 *
 * Kimi numbers its calls in their ids (`functions.Bash:0`), and copies what the history has.
 *
 * @returns `undefined` for an id that is too long
 *
 * @example
 * ```ts
 * import { modelId, spelledId } from "./answer_ids.ts";
 * const id = spelledId("functions.Bash:0");
 * if (id !== "ugwid_functions-2eBash-3a0") throw new Error(id);
 * if (modelId(id) !== "functions.Bash:0" || modelId("call_1") !== "call_1") throw new Error("not restored");
 * ```
 */
export function spelledId(id: string): string | undefined {
  const spelled = Array.from(utf8.encode(id), (byte) => {
    const letter = String.fromCharCode(byte);
    return /\w/.test(letter) ? letter : `-${byte.toString(16).padStart(2, "0")}`;
  }).join("");
  return spelled.length > maxSpelledChars ? undefined : spelledMark + spelled;
}

/** Returns the model's own form of an id that {@linkcode spelledId} wrote; any other as it is. */
export function modelId(id: string): string {
  if (!id.startsWith(spelledMark)) return id;
  const escaped = id.slice(spelledMark.length).replace(/-([0-9a-f]{2})/g, "%$1");
  try {
    return decodeURIComponent(escaped);
  } catch {
    return id;
  }
}

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
