/** Builds keys of what instances tell each other of the use of rate limits. */
import type { StoreKey } from "./store_key.ts";

export function rateUsePrefix(): StoreKey {
  return ["rate_use"];
}

/** Key of one page of what an instance tells. */
export function rateUseKey(instance: string, page: number): StoreKey {
  return ["rate_use", instance, page];
}

/** Returns the instance and the page of a key. */
export function rateUseOf(key: Deno.KvKey): { readonly instance: string; readonly page: number } {
  return { instance: String(key[1]), page: Number(key[2]) };
}
