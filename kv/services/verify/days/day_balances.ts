/**
 * Stores the balances of all accounts at the end of a day, a thousand to a row, so that the next day can be verified
 * from its own rows. The checkpoint of the day has their digest. They are derived from receipts and ledger only, never
 * from wallets: a wallet is compared with them.
 */
import { createHash } from "node:crypto";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import {
  balancesBeforeSelector,
  dayBalancesKey,
  dayBalancesPrefix,
} from "../../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { deleteRows } from "../../../engine/store/delete_rows.ts";
import { readAhead } from "../../../engine/store/read_ahead.ts";
import type { SealedBalances } from "./checkpoint_chain.ts";

/** Most characters of a page: below the 64 KiB of a value in every encoding. */
const maxPageChars = 30_000;

/** Balance of an account at the end of a day: Σ credits − Σ debits − Σ charges. */
export interface DayBalance {
  readonly accountId: AccountId;
  readonly balanceMicroVnd: bigint;
}

/** Keys of the pages of a day. */
export interface BalanceKeys {
  prefix(day: string): Deno.KvKey;
  page(day: string, page: number): Deno.KvKey;
  /** Selects the pages of all days before a day. */
  before(day: string): Deno.KvListSelector;
}

const dayBalanceKeys: BalanceKeys = {
  prefix: dayBalancesPrefix,
  page: dayBalancesKey,
  before: balancesBeforeSelector,
};

/** The pages of one day, in memory until the day is sealed. */
export class DayBalancePages {
  readonly #pages: string[] = [];
  readonly #hash = createHash("sha256");
  #page = "";
  #accounts = 0;
  #totalMicroVnd = 0n;

  /** Adds an account; they come in the order of their ids. An empty balance takes no room. */
  add({ accountId, balanceMicroVnd }: DayBalance): void {
    if (balanceMicroVnd === 0n) return;
    this.#accounts++;
    this.#totalMicroVnd += balanceMicroVnd;
    this.#page += `${accountId} ${balanceMicroVnd}\n`;
    if (this.#page.length >= maxPageChars) this.#close();
  }

  #close(): void {
    if (this.#page === "") return;
    this.#pages.push(this.#page);
    this.#hash.update(this.#page);
    this.#page = "";
  }

  /** Returns what the checkpoint says about the balances. */
  summary(): SealedBalances {
    this.#close();
    return {
      accounts: this.#accounts,
      pages: this.#pages.length,
      totalMicroVnd: this.#totalMicroVnd,
      digest: this.#hash.copy().digest("hex"),
    };
  }

  /** Writes the pages. Another process that seals the same day writes the same. */
  async write(kv: KeyValueStore, day: string, keys: BalanceKeys = dayBalanceKeys): Promise<void> {
    this.#close();
    for (const [page, text] of this.#pages.entries()) await kv.set(keys.page(day, page), text);
  }
}

/** Reads the balances of a day in the order of the accounts, and their digest. */
export class StoredDayBalances {
  readonly #kv: KeyValueStore;
  readonly #day: string;
  readonly #sealed: SealedBalances;
  readonly #keys: BalanceKeys;
  #isRight: boolean | undefined;

  constructor(
    kv: KeyValueStore,
    day: string,
    sealed: SealedBalances,
    keys: BalanceKeys = dayBalanceKeys,
  ) {
    this.#kv = kv;
    this.#day = day;
    this.#sealed = sealed;
    this.#keys = keys;
  }

  /** Whether the pages are those that were sealed; known once all were read. */
  get isRight(): boolean | undefined {
    return this.#isRight;
  }

  async *read(): AsyncGenerator<DayBalance> {
    const hash = createHash("sha256");
    const prefix = this.#keys.prefix(this.#day);
    // Pages behind the last one are of a verification that was interrupted.
    const end = this.#keys.page(this.#day, this.#sealed.pages);
    for await (const { value } of readAhead(this.#kv, { prefix, end })) {
      const text = typeof value === "string" ? value : "";
      hash.update(text);
      for (const line of text.split("\n")) {
        const [accountId, balance] = line.split(" ");
        if (!/^-?\d+$/.test(balance ?? "")) continue;
        yield { accountId: accountId as AccountId, balanceMicroVnd: BigInt(balance ?? "") };
      }
    }
    this.#isRight = hash.digest("hex") === this.#sealed.digest;
  }
}

/** Deletes the balances of the days before a day. */
export async function deleteBalancesBefore(
  kv: KeyValueStore,
  day: string,
  balanceKeys: BalanceKeys = dayBalanceKeys,
): Promise<void> {
  await deleteRows(kv, balanceKeys.before(day));
}
