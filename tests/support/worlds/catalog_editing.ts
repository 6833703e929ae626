/** Editing of the default catalogue, for pages that are not in front of a whole gateway. */
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import type { CatalogEditing } from "../../../routes/operator/operations/contract/editing.ts";
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import { LiveVault } from "../../../kv/services/vault/live_vault.ts";
import { testConfig } from "../gateways/gateway_in_process.ts";

const masterKeys = await readMasterKeys(newMasterKey());

/** `file`: the contents in force at first; absent: those of a fresh install. */
export function testEditing(
  kv: KeyValueStore,
  clock: Pick<Clock, "nowMs">,
  file?: JsonObject,
): CatalogEditing {
  const { readCatalog, fileContents: fresh } = testConfig();
  const fileContents = file ?? fresh;
  const vault = new LiveVault({ kv, masterKeys });
  return { kv, clock, read: readCatalog, vault, fileContents, refresh: () => Promise.resolve() };
}
