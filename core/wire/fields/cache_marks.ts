/** Counts and writes the prompt-cache marks of one request. */
import type { Block, CacheMark, Conversation, Turn } from "../conversation/mod.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import type { Warnings } from "../contract/warnings.ts";
import { defined } from "../../lib/base/defined.ts";

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

  /** How many marks have gone out. */
  get taken(): number {
    return this.#taken;
  }

  constructor(warnings: Warnings) {
    this.#warnings = warnings;
  }

  /**
   * Returns the mark of a block or tool if the route takes it. Warns if the route has no marks or the request has the
   * most allowed.
   */
  take(part: Markable, routeHasMarks: boolean): CacheMark | undefined {
    if (part.cache === undefined) return undefined;
    if (!routeHasMarks || this.#taken >= cacheMarksPerRequest) {
      warnOfMark(part, this.#warnings);
      return undefined;
    }
    this.#taken++;
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
