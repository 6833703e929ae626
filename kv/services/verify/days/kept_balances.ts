/**
 * The balances from which everything is verified once receipts were dropped. They take the place of the receipts before
 * them, so they are sealed with a master key, and written before the first receipt is dropped.
 */
import { type MasterKeys, signText } from "../../../../core/people/api_keys/seal.ts";
import {
  keptBalancesBefore,
  keptBalancesHeadKey,
  keptBalancesKey,
  keptBalancesPrefix,
} from "../../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { openSealed, type SealedBalances, type SealedRow } from "./checkpoint_chain.ts";
import {
  type BalanceKeys,
  type DayBalancePages,
  deleteBalancesBefore,
  StoredDayBalances,
} from "./day_balances.ts";

const keptBalanceKeys: BalanceKeys = {
  prefix: keptBalancesPrefix,
  page: keptBalancesKey,
  before: keptBalancesBefore,
};

/** The balances of all accounts at the end of a day, whose receipts and all later ones are there. */
export interface KeptBalances {
  readonly day: string;
  readonly balances: SealedBalances;
}

/** Balances that there are: none as long as nothing was dropped, or why they cannot be trusted, in one line. */
export interface FoundBalances {
  readonly kept: KeptBalances | undefined;
  readonly problem: string | undefined;
}

/** Reads which balances are kept, and checks their seal. */
export async function readKeptBalances(
  kv: KeyValueStore,
  keys: MasterKeys,
): Promise<FoundBalances> {
  const { value } = await kv.get(keptBalancesHeadKey());
  if (value === null) return { kept: undefined, problem: undefined };
  const row = await openSealed(keys, "the row of the kept balances", value);
  if (typeof row === "string") return { kept: undefined, problem: row };
  const { day, balances } = JSON.parse(row.text);
  const kept = { day, balances: { ...balances, totalMicroVnd: BigInt(balances.totalMicroVnd) } };
  return { kept, problem: undefined };
}

/** Opens the balances themselves, in the order of the accounts. */
export function openKeptBalances(
  kv: KeyValueStore,
  { day, balances }: KeptBalances,
): StoredDayBalances {
  return new StoredDayBalances(kv, day, balances, keptBalanceKeys);
}

/**
 * Keeps the balances of a day in place of those of an earlier one.
 *
 * @param attach adds rows of the caller to the commit with which they count
 */
export async function writeKeptBalances(
  kv: KeyValueStore,
  keys: MasterKeys,
  { day, former, pages, attach }: {
    readonly day: string;
    /** The day whose balances they replace. Those stay once more: another process may read them at this moment. */
    readonly former: string | undefined;
    readonly pages: DayBalancePages;
    readonly attach: (op: AtomicWrite) => void;
  },
): Promise<void> {
  const { totalMicroVnd, ...balances } = pages.summary();
  await pages.write(kv, day, keptBalanceKeys);
  const text = JSON.stringify({
    version: 1,
    day,
    balances: { ...balances, totalMicroVnd: totalMicroVnd.toString() },
  });
  const row: SealedRow = { text, seal: await signText(keys, text) };
  const op = kv.atomic().set(keptBalancesHeadKey(), row);
  attach(op);
  await op.commit();
  if (former !== undefined) await deleteBalancesBefore(kv, former, keptBalanceKeys);
}
