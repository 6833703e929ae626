/** Counts the prompt-cache marks of one request. */
import type { CacheMark } from "./conversation/mod.ts";
import type { Notes } from "./notes.ts";

/** Most cache marks one request may hold, at every vendor that has them. */
const cacheMarksPerRequest = 4;

export class CacheMarkCounter {
  readonly #notes: Notes;
  #taken = 0;

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  /**
   * The mark of a block or tool, if it has one that can go out. Named in the notes when the route has none or the
   * request is full.
   */
  take(
    part: { readonly cache?: CacheMark; readonly path: string },
    routeHasMarks: boolean,
  ): CacheMark | undefined {
    if (part.cache === undefined) return undefined;
    if (!routeHasMarks || this.#taken >= cacheMarksPerRequest) {
      this.#notes.add(`${part.path}.cache_control`);
      return undefined;
    }
    this.#taken++;
    return part.cache;
  }
}

/** A mark as Messages vendors write it, and the gateways that follow them. */
export function ephemeralMark({ ttl }: CacheMark): { type: "ephemeral"; ttl?: "5m" | "1h" } {
  return { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) };
}
