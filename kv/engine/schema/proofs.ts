/** Builds keys of proofs: signing keys, signed days, and the chunks of their trees. */
import type { StoreKey } from "./store_key.ts";

export function proofKeysPrefix(): StoreKey {
  return ["proof_key"];
}

export function proofKeyKey(id: string): StoreKey {
  return ["proof_key", id];
}

export function proofDaysPrefix(): StoreKey {
  return ["proof_day"];
}

/** @param day `YYYY-MM-DD` in Vietnam time: it sorts as text */
export function proofDayKey(day: string): StoreKey {
  return ["proof_day", day];
}

/** Selects the signed days before a day. */
export function proofDaysBefore(day: string): Deno.KvListSelector {
  return { prefix: ["proof_day"], end: ["proof_day", day] };
}

/** Names the last signed day, so that two processes never sign two days after the same one. */
export function proofHeadKey(): StoreKey {
  return ["proof_head", "last"];
}

/** Returns the day that a row of a signed day is stored for. */
export function dayOfProof(key: Deno.KvKey): string {
  return String(key[1]);
}

/** Selects the chunks of a tree in pages. */
export function proofChunksPrefix(day: string, tree: string): StoreKey {
  return ["proof_chunk", day, tree];
}

export function proofChunksKey(day: string, tree: string, page: number): StoreKey {
  return ["proof_chunk", day, tree, page];
}

/** Selects the pages of a tree from one on. */
export function proofChunksFrom(day: string, tree: string, page: number): Deno.KvListSelector {
  return { prefix: proofChunksPrefix(day, tree), start: proofChunksKey(day, tree, page) };
}

/** Selects the balances at the end of a day, a chunk of the tree to a row. */
export function proofBalancesPrefix(day: string): StoreKey {
  return ["proof_balances", day];
}

export function proofBalancesKey(day: string, chunk: number): StoreKey {
  return ["proof_balances", day, chunk];
}

/** Selects the balances of a day from a chunk on. */
export function proofBalancesFrom(day: string, chunk: number): Deno.KvListSelector {
  return { prefix: proofBalancesPrefix(day), start: proofBalancesKey(day, chunk) };
}

/** Selects the balances of all days before a day. */
export function proofBalancesBefore(day: string): Deno.KvListSelector {
  return { prefix: ["proof_balances"], end: ["proof_balances", day] };
}

/** Returns the day of a row of balances. */
export function dayOfProofBalances(key: Deno.KvKey): string {
  return String(key[1]);
}
