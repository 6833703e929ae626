/** Opens what a gateway needs before it can be assembled: the store, with its rows up to date, and the master keys. */
import type { Config } from "../../../core/config/config.ts";
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { errorLine } from "../../../core/lib/base/assert.ts";
import { sleep } from "../../../core/lib/time/sleep.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { endSandboxMoney, findSandboxMoney } from "../../../kv/money/ledger/sandbox_money.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { prepareStore } from "../../../kv/engine/opening/schema_version.ts";
import { areSealedByOthers } from "../../../kv/people/api_keys/api_keys.ts";
import { openStore } from "../../../kv/engine/opening/store.ts";
import { type ArchivedStore, withArchive } from "../../../kv/services/archive/open_archive.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import {
  ensureDemoAccount,
  findPlayAccounts,
  retirePlayAccounts,
} from "../../process/demo_account.ts";
import { loadMasterKeys, openCatalog } from "../../process/catalog_opening.ts";

/** Opened parts, or why they cannot be opened, in one line. */
type OpeningResult =
  | {
    readonly ok: true;
    /** The configuration with the catalogue of the store. */
    readonly config: Config;
    readonly store: ArchivedStore;
    readonly masterKeys: MasterKeys;
    readonly masterKeysText: string;
  }
  | { readonly ok: false; readonly problem: string };

const foreignMasterKeys =
  "GATEWAY_MASTER_KEYS has none of the keys that sealed the API keys of this store: " +
  "customers cannot see their keys again; see docs/operations/one-machine.md, Keys at rest";

/** Opens the store and loads the master keys. `write` gets warnings, a line each. */
export async function openParts(
  config: Config,
  { clock, write }: { readonly clock: Clock; readonly write: (line: string) => void },
): Promise<OpeningResult> {
  const onQueueTrouble = (error: unknown) =>
    write(`The queue of the store is not used any more: ${errorLine(error)}`);
  const opened = await openStore(config.store, clock, {
    onQueueTrouble: config.queue ? onQueueTrouble : undefined,
  });
  if (!opened.ok) {
    const problem = opened.reason !== "in_use"
      ? opened.problem
      : "Cannot start: another process has the store open. Stop it, or set GATEWAY_KV to another file";
    return { ok: false, problem };
  }
  const archived = await withArchive(opened.store, config.store, clock);
  if (!archived.ok) return archived;
  const { store } = archived;
  for (const warning of [...config.warnings, ...store.warnings]) write(warning);
  const prepared = await prepareStore(store.kv, { clock, sleep });
  const loaded = prepared.ok ? await loadMasterKeys(config) : prepared;
  if (!loaded.ok) {
    store[Symbol.dispose]();
    return loaded;
  }
  if (await areSealedByOthers(store.kv, loaded.masterKeys)) write(foreignMasterKeys);
  const catalogued = await openCatalog(store.kv, config, { clock, write });
  if (!catalogued.ok) {
    store[Symbol.dispose]();
    return catalogued;
  }
  const problem = catalogued.config.mode === "production"
    ? await sandboxMoneyProblem(store.kv, clock.nowMs())
    : undefined;
  if (problem !== undefined) {
    store[Symbol.dispose]();
    return { ok: false, problem };
  }
  const { masterKeys, text } = loaded;
  return { ok: true, config: catalogued.config, store, masterKeys, masterKeysText: text };
}

/**
 * Says why a store cannot serve real providers: its accounts have play money. Not for those that the
 * sandbox created, whose keys production revokes.
 */
async function sandboxMoneyProblem(kv: KeyValueStore, nowMs: number): Promise<string | undefined> {
  const found = await findSandboxMoney(kv);
  if (!found.wasGiven) return undefined;
  const play = await findPlayAccounts(kv);
  const held = found.held.filter(({ accountId }) => !play.has(accountId));
  if (held.length === 0) {
    await endSandboxMoney(kv, nowMs);
    return undefined;
  }
  const sum = held.reduce((total, { leftMicroVnd }) => total + leftMicroVnd, 0n);
  return `Cannot start: ${held.length} account(s) of this store have ${
    formatVnd(sum)
  } VND of sandbox money, ` +
    "which would buy answers of real providers. Run `deno task admin sandbox void` to take it back, " +
    "or use another store";
}

/** Returns a key of the demo account in sandbox mode; in production it retires what the sandbox created. */
export async function demoKeyOf(
  gateway: Gateway,
  masterKeys: MasterKeys,
): Promise<string | undefined> {
  const { config: { mode }, kv, clock } = gateway;
  if (mode === "sandbox") return (await ensureDemoAccount(kv, masterKeys, clock.nowMs())).secret;
  await retirePlayAccounts(kv, clock.nowMs());
  return undefined;
}
