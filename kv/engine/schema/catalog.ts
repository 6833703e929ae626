/** Builds keys of the catalogue: its head, its versions, and their contents in pieces. */
import type { StoreKey } from "./store_key.ts";

/** Which version is in force. A row of the control state, since every instance has to know it within two seconds. */
export function catalogHeadKey(): StoreKey {
  return ["control", "catalog"];
}

export function catalogVersionsPrefix(): StoreKey {
  return ["catalog_version"];
}

export function catalogVersionKey(version: number): StoreKey {
  return ["catalog_version", version];
}

/** Returns the version of a key. */
export function versionOfKey(key: Deno.KvKey): number {
  return Number(key[1]);
}

export function catalogContentsPrefix(): StoreKey {
  return ["catalog_content"];
}

/** Key of what is known of the contents of a version: how many pieces they have. */
export function catalogContentKey(contentId: string): StoreKey {
  return ["catalog_content", contentId];
}

/** Returns the contents of a key. */
export function contentIdOf(key: Deno.KvKey): string {
  return String(key[1]);
}

export function catalogPieceKey(contentId: string, at: number): StoreKey {
  return ["catalog_piece", contentId, at];
}
