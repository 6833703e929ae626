/** Eviction: the connections that give their place to new ones when a server has no room. */
import { addressBlock } from "../../../core/net/addresses/ip_address.ts";

/** Facts that decide whether a connection may be closed for another. */
export interface Evictable {
  readonly remoteHost: string;
  /** Bytes that the client owes: `undefined` while a request is served. */
  readonly awaits: "first_byte" | "head" | "next_request" | undefined;
  /** Grows with every beginning of such a wait, over all connections. */
  readonly awaitsSince: number;
}

/** Connections without a complete request that an address may have while there is no room: a browser opens six. */
const fairShare = 16;

/** Connections that are closed at once, so that not every new one needs a search through all of them. */
const maxEvictedAtOnce = 32;
/** Part of the connections that is closed at once, where there are few. */
const evictedPart = 1 / 16;

/**
 * Returns the connections to close, if possible only unfinished heads: first those of addresses beyond their share, the
 * longest wait first. A client that has just connected comes last, since its first byte is on its way.
 */
export function connectionsToEvict<One extends Evictable>(
  connections: ReadonlySet<One>,
): readonly One[] {
  const unfinished = new Map<string, number>();
  const waiting: { readonly one: One; readonly block: string }[] = [];
  for (const one of connections) {
    if (one.awaits === undefined) continue;
    const block = addressBlock(one.remoteHost);
    waiting.push({ one, block });
    if (one.awaits !== "next_request") unfinished.set(block, (unfinished.get(block) ?? 0) + 1);
  }
  const count = Math.min(maxEvictedAtOnce, Math.ceil(connections.size * evictedPart));
  return waiting
    .map(({ one, block }) => ({ one, rank: rankOf(one, (unfinished.get(block) ?? 0) > fairShare) }))
    .sort((a, b) => a.rank - b.rank || a.one.awaitsSince - b.one.awaitsSince)
    .slice(0, count)
    .map(({ one }) => one);
}

function rankOf({ awaits }: Evictable, isBeyondShare: boolean): number {
  if (awaits === "head") return isBeyondShare ? 0 : 2;
  if (awaits === "next_request") return 3;
  return isBeyondShare ? 1 : 4;
}
