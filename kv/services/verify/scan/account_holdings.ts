/** Reads wallets, leases and opening balances side by side, all in the order of the accounts. */
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import { accountOfKey, leasesPrefix, walletsPrefix } from "../../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { wholeKind } from "../../../engine/store/read_ahead.ts";
import { leaseRow } from "../../../money/balances/leases.ts";
import { walletRow } from "../../../money/balances/wallets.ts";
import type { DayBalance } from "../days/day_balances.ts";
import { leaseLeftMicroVnd, type PendingCharge } from "../checks/verify_account.ts";

/** Holding of an account, by its rows and by its opening balance. */
export interface AccountHolding {
  readonly accountId: AccountId;
  readonly openingMicroVnd: bigint;
  readonly availableMicroVnd: bigint;
  readonly leasedMicroVnd: bigint;
  readonly isLeaseNegative: boolean;
  /** Set if a row cannot be read; the amounts mean nothing then. */
  readonly problem?: string;
}

export interface HoldingsOptions {
  readonly openings: AsyncIterable<DayBalance>;
  /** Accounts that are listed even if they have no row, in order. */
  readonly touched: readonly AccountId[];
  /** Charges of batches, which lease rows may lack. */
  readonly charges: ReadonlyMap<AccountId, readonly PendingCharge[]>;
  readonly isOurs: (accountId: AccountId) => boolean;
  readonly slices: TimeSlices | undefined;
}

/** A sequence in the order of the accounts, of which the next item can be looked at. */
class Ordered<Item> {
  readonly #items: AsyncIterator<Item>;
  readonly #accountOf: (item: Item) => AccountId;
  #next: Item | undefined;

  constructor(items: AsyncIterable<Item>, accountOf: (item: Item) => AccountId) {
    this.#items = items[Symbol.asyncIterator]();
    this.#accountOf = accountOf;
  }

  get accountId(): AccountId | undefined {
    return this.#next === undefined ? undefined : this.#accountOf(this.#next);
  }

  async advance(): Promise<void> {
    const { done, value } = await this.#items.next();
    this.#next = done === true ? undefined : value;
  }

  /** Takes all items of an account. */
  async take(accountId: AccountId): Promise<Item[]> {
    const taken: Item[] = [];
    while (this.#next !== undefined && this.#accountOf(this.#next) === accountId) {
      taken.push(this.#next);
      await this.advance();
    }
    return taken;
  }

  async end(): Promise<void> {
    await this.#items.return?.();
  }
}

async function* listed(accounts: readonly AccountId[]): AsyncGenerator<AccountId> {
  yield* accounts;
}

/** Lists every account that has a wallet, a lease or an opening balance, or is `touched`. */
export async function* readHoldingsInOrder(
  kv: KeyValueStore,
  { openings, touched, charges, isOurs, slices }: HoldingsOptions,
): AsyncGenerator<AccountHolding> {
  const byKey = ({ key }: Deno.KvEntry<unknown>) => accountOfKey(key);
  const wallets = new Ordered(wholeKind(kv, { prefix: walletsPrefix() }, slices), byKey);
  const leases = new Ordered(wholeKind(kv, { prefix: leasesPrefix() }, slices), byKey);
  const opened = new Ordered(openings, ({ accountId }) => accountId);
  const others = new Ordered(listed(touched), (accountId) => accountId);
  const all = [wallets, leases, opened, others];
  try {
    await Promise.all(all.map((some) => some.advance()));
    for (;;) {
      const heads = all.map(({ accountId }) => accountId).filter((id) => id !== undefined);
      const [first] = heads;
      if (first === undefined) return;
      const accountId = heads.reduce((least, id) => id < least ? id : least, first);
      const walletRows = await wallets.take(accountId);
      const leaseRows = await leases.take(accountId);
      const balances = await opened.take(accountId);
      await others.take(accountId);
      if (!isOurs(accountId)) continue;
      const openingMicroVnd = balances[0]?.balanceMicroVnd ?? 0n;
      yield holdingOf(accountId, {
        openingMicroVnd,
        wallet: walletRows[0],
        leases: leaseRows,
        charges: charges.get(accountId) ?? [],
      });
    }
  } finally {
    await Promise.all(all.map((some) => some.end()));
  }
}

function holdingOf(
  accountId: AccountId,
  { openingMicroVnd, wallet, leases, charges }: {
    readonly openingMicroVnd: bigint;
    readonly wallet: Deno.KvEntry<unknown> | undefined;
    readonly leases: readonly Deno.KvEntry<unknown>[];
    readonly charges: readonly PendingCharge[];
  },
): AccountHolding {
  const nothing = { availableMicroVnd: 0n, leasedMicroVnd: 0n, isLeaseNegative: false };
  try {
    const left = leases.map((entry) => leaseLeftMicroVnd(leaseRow(entry), charges));
    return {
      accountId,
      openingMicroVnd,
      availableMicroVnd: wallet === undefined ? 0n : walletRow(accountId, wallet).availableMicroVnd,
      leasedMicroVnd: left.reduce((sum, leftMicroVnd) => sum + leftMicroVnd, 0n),
      isLeaseNegative: left.some((leftMicroVnd) => leftMicroVnd < 0n),
    };
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error;
    return { accountId, openingMicroVnd, ...nothing, problem: error.message };
  }
}
