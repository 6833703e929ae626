/** Stores before and after a backup, row by row. */
import { systemClock } from "../../../core/lib/time/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import { openStore, type Store } from "../../../kv/engine/opening/store.ts";
import { encodeValue } from "../../../kv/engine/parts/tuple_key.ts";

/** Opens the store of a configuration, which nobody else may have open. */
export async function openedStore(config: Config): Promise<Store> {
  const opened = await openStore(config.store, systemClock);
  if (!opened.ok) throw new Error(opened.reason);
  return opened.store;
}

/** Every row of a store in key order, without the given kinds: the key and its value in hexadecimal digits. */
export async function rowsOf(
  config: Config,
  without: readonly string[] = [],
): Promise<ReadonlyMap<string, string>> {
  using store = await openedStore(config);
  const rows = new Map<string, string>();
  for await (const { key, value } of store.kv.list({ prefix: [] })) {
    if (!without.includes(String(key[0]))) rows.set(key.join(" "), encodeValue(value).toHex());
  }
  return rows;
}
