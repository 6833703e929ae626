/**
 * A store that is operated day by day, as years of use would: calls, their index and sums by the engine's own rows,
 * top-ups, and each night the verification that seals the day and the archive run that moves an old one.
 */
import process from "node:process";
import type { StoreLocation } from "../../core/config/platform.ts";
import { fromVnd } from "../../core/billing/money/micro_vnd.ts";
import type { Receipt } from "../../core/billing/usage/receipt.ts";
import type { AccountId, ApiKeyId } from "../../core/lib/ids/ids.ts";
import { type Clock, systemClock } from "../../core/lib/time/clock.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { dayMs, hourMs } from "../../core/lib/time/durations.ts";
import { vietnamDay, vietnamDayStartMs } from "../../core/lib/time/vietnam_time.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import { hourSumsOfDayPrefix } from "../../kv/engine/schema/keys.ts";
import { deleteRows } from "../../kv/engine/store/delete_rows.ts";
import { hourSumsKeptMs } from "../../kv/money/receipts/hour_sums.ts";
import { openStore } from "../../kv/engine/opening/store.ts";
import { groupsOf, inParallel } from "../../kv/engine/store/in_parallel.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { changeWallet, readWallet } from "../../kv/money/balances/wallets.ts";
import { credit } from "../../kv/money/ledger/ledger.ts";
import {
  chunkGroups,
  type DaySumGroup,
  groupReceipts,
  indexReceiptsPerCommit,
} from "../../kv/money/receipts/day_sum_group.ts";
import { type KnownSum, writeIndex } from "../../kv/money/receipts/index_write.ts";
import { ReceiptPageLayout } from "../../kv/money/receipts/receipt_pages.ts";
import { createAccount } from "../../kv/people/accounts/accounts.ts";
import { createApiKey } from "../../kv/people/api_keys/api_key_changes.ts";
import type { StoreParts } from "../../kv/money/archive/receipt_archive.ts";
import { moveDays } from "../../kv/services/archive/move_days.ts";
import { type ArchivedStore, withArchive } from "../../kv/services/archive/open_archive.ts";
import { readChain } from "../../kv/services/verify/days/checkpoint_chain.ts";
import { verifyBooks } from "../../kv/services/verify/verify_books.ts";
import { FilledRows } from "./filled_rows.ts";
import { PostgresServer } from "./postgres_server.ts";
import { type Customer, Traffic } from "./traffic.ts";

const customers = 1_000;
const keysPerCustomer = 10;

/** Calls that are indexed together: those of half a day, so that most sums are written once or twice. */
const callsPerStep = 25_000;

/** The same where rows are copied: a sum that is in two steps would be made twice. */
const callsPerCopy = 100_000;

/** Pause behind work that blocks the thread: a deadline of the store would count it as time that has passed. */
const afterWorkMs = 250;

/** Customers who top up on a day. */
const topupsPerDay = 20;

const topupMicroVnd = fromVnd(1_000_000_000);

/**
 * A clock by which the store's deadlines of five seconds are of minutes: on a machine with other work a call waits long,
 * and a run of many days ended there.
 */
const patientClock: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() / 50,
};

/** Hour of the jobs of the night: behind the two hours in which calls of the day may still end. */
const nightMs = 3 * hourMs;

/** User and system time of this process so far, all threads, in µs. */
function ownCpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** CPU by what took it. */
export interface Spent {
  readonly cpuMicros: number;
  /** Of the server of a store on PostgreSQL. */
  readonly serverMicros: number;
  /** Receipts that were read or moved. */
  readonly receipts: number;
}

/** Days of which the last one ended before a moment. */
export function daysBefore(nowMs: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) => vietnamDay(nowMs - (count - at) * dayMs));
}

export interface OperatedOptions {
  readonly location: StoreLocation;
  readonly masterKeys: MasterKeys;
  readonly callsPerDay: number;
  /** Days that stay in the store. */
  readonly keptDays: number;
  /** Copies the rows of a day into PostgreSQL, for stores that are not written to measure the writing. */
  readonly isFilled?: boolean;
}

/** A store in operation. */
export class OperatedStore implements AsyncDisposable {
  readonly store: ArchivedStore;
  readonly parts: StoreParts;
  readonly customers: readonly Customer[];
  readonly #options: OperatedOptions;
  readonly #traffic: Traffic;
  readonly #server: PostgresServer | undefined;
  readonly #filled: FilledRows | undefined;

  private constructor(
    store: ArchivedStore & { readonly parts: StoreParts },
    accounts: readonly Customer[],
    options: OperatedOptions,
    { server, filled }: {
      readonly server: PostgresServer | undefined;
      readonly filled: FilledRows | undefined;
    },
  ) {
    this.#server = server;
    this.#filled = filled;
    this.store = store;
    this.parts = store.parts;
    this.customers = accounts;
    this.#options = options;
    this.#traffic = new Traffic(accounts);
  }

  /** Opens a store and adds customers to it, who joined on its first day. */
  static async open(options: OperatedOptions, firstDay: string): Promise<OperatedStore> {
    const { location, masterKeys } = options;
    const opened = await openStore(location, patientClock);
    if (!opened.ok) throw new Error(`the store is ${opened.reason}`);
    const archived = await withArchive(opened.store, location, patientClock);
    if (!archived.ok) throw new Error(archived.problem);
    const { store } = archived;
    if (store.parts === undefined) throw new Error(`a store of kind ${location.kind}: no archive`);
    const accounts = await makeCustomers(store.kv, masterKeys, vietnamDayStartMs(firstDay));
    const url = location.kind === "postgres" ? location.url : undefined;
    const server = url === undefined ? undefined : await PostgresServer.of(url);
    const isFilled = url !== undefined && options.isFilled === true;
    const filled = isFilled ? await FilledRows.of(url) : undefined;
    const operated = { ...store, parts: store.parts };
    return new OperatedStore(operated, accounts, options, { server, filled });
  }

  get kv(): KeyValueStore {
    return this.store.kv;
  }

  /** Measures the CPU time of a job that says how many receipts it had. */
  async spentBy(job: () => Promise<number>): Promise<Spent> {
    const serverBefore = this.#server?.cpuMicros() ?? 0;
    const before = ownCpuMicros();
    const receipts = await job();
    const cpuMicros = ownCpuMicros() - before;
    return { cpuMicros, serverMicros: (this.#server?.cpuMicros() ?? 0) - serverBefore, receipts };
  }

  /** Bytes on the disk. */
  async bytes(): Promise<{ readonly store: number; readonly archive: number }> {
    if (this.#server !== undefined) return await this.#server.bytes();
    const { location } = this.#options;
    const months = await this.parts.archive.months();
    return {
      store: location.kind === "file" ? (await Deno.stat(location.path)).size : 0,
      archive: months.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  }

  /** Writes the calls of a day. */
  async write(day: string): Promise<Spent> {
    const { callsPerDay } = this.#options;
    const startMs = vietnamDayStartMs(day);
    return await this.spentBy(async () => {
      if (this.#filled !== undefined) await sleep(afterWorkMs);
      await topUp(this.kv, this.customers.slice(0, topupsPerDay), startMs);
      const charges = new Map<AccountId, bigint>();
      const cache = new Map<string, KnownSum>();
      const kv = this.#filled?.kv ?? this.kv;
      const how = { cache, isInOrder: this.#filled !== undefined };
      let some: Receipt[] = [];
      for (const receipt of this.#traffic.day(startMs, callsPerDay)) {
        const { accountId, costMicroVnd } = receipt;
        charges.set(accountId, (charges.get(accountId) ?? 0n) + costMicroVnd);
        some.push(receipt);
        if (some.length < (this.#filled === undefined ? callsPerStep : callsPerCopy)) continue;
        await writeReceipts(kv, some, how);
        some = [];
      }
      if (some.length > 0) await writeReceipts(kv, some, how);
      if (this.#filled !== undefined) {
        await this.#filled.flush();
        await sleep(afterWorkMs);
      }
      await charge(this.kv, charges);
      return callsPerDay;
    });
  }

  /** Verifies the books in the night after a day, which seals it. */
  async verify(day: string, isFull = false): Promise<Spent> {
    const { masterKeys } = this.#options;
    const nowMs = vietnamDayStartMs(day) + dayMs + nightMs;
    return await this.spentBy(async () => {
      const report = await verifyBooks(this.kv, { masterKeys, nowMs, isFull });
      if (!report.ok) throw new Error(`the books are wrong: ${JSON.stringify(report.problems)}`);
      return report.receipts;
    });
  }

  /** Moves the days that are old in the night after a day, as `admin archive` does. */
  async move(day: string): Promise<Spent> {
    const { masterKeys, keptDays } = this.#options;
    const nowMs = vietnamDayStartMs(day) + dayMs + nightMs;
    return await this.spentBy(async () => {
      const { checkpoints } = await readChain(this.kv, masterKeys);
      const before = vietnamDay(nowMs - keptDays * dayMs);
      const old = checkpoints.filter((checkpoint) => checkpoint.day < before);
      const { moved, problems } = await moveDays(this.parts, { checkpoints: old, nowMs });
      if (problems.length > 0) throw new Error(problems.join("; "));
      // They expire by the clock, of which no day passes here.
      const hoursOf = hourSumsOfDayPrefix(vietnamDay(nowMs - hourSumsKeptMs - dayMs));
      await deleteRows(this.parts.living, { prefix: hoursOf });
      await this.#server?.vacuum();
      return moved.reduce((sum, { receipts }) => sum + receipts, 0);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
    await this.#filled?.[Symbol.asyncDispose]();
    this.store[Symbol.dispose]();
  }
}

async function makeCustomers(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  startMs: number,
): Promise<Customer[]> {
  const made: Customer[] = [];
  await inParallel(Array(customers).keys(), async (at) => {
    const email = `grown-${at}@example.invalid`;
    const { id } = await createAccount(kv, { nowMs: startMs, email });
    const keyIds: ApiKeyId[] = [];
    for (let key = 0; key < keysPerCustomer; key++) {
      const created = await createApiKey(kv, masterKeys, id, {
        name: `key ${key}`,
        nowMs: startMs,
      });
      if (!created.ok) throw new Error("no key");
      keyIds.push(created.record.id);
    }
    made[at] = { accountId: id, keyIds };
  });
  await topUp(kv, made, startMs);
  return made;
}

async function topUp(
  kv: KeyValueStore,
  some: readonly Customer[],
  atMs: number,
): Promise<void> {
  await inParallel(some, async ({ accountId }) => {
    await credit(kv, {
      accountId,
      amountMicroVnd: topupMicroVnd,
      kind: "demo",
      operationId: `grow:${accountId}:${crypto.randomUUID()}`,
      reason: "bench",
      atMs,
    });
  });
}

/** Writes receipts and their index: in order where a store checks nothing, since a sum may be in two chunks. */
async function writeReceipts(
  kv: KeyValueStore,
  receipts: readonly Receipt[],
  { cache, isInOrder }: { readonly cache: Map<string, KnownSum>; readonly isInOrder: boolean },
): Promise<void> {
  await inParallel(groupsOf(receipts, indexReceiptsPerCommit), async (some) => {
    const pages = new ReceiptPageLayout();
    for (const receipt of some) pages.add(receipt);
    const op = kv.atomic();
    pages.write(op);
    await op.commit();
  });
  const write = async (chunk: readonly DaySumGroup[]) => {
    const outcome = await writeIndex(kv, chunk, { cache, bounded: (call) => call });
    if (outcome !== "written") throw new Error(outcome);
  };
  const chunks = chunkGroups(groupReceipts(receipts));
  if (!isInOrder) return await inParallel(chunks, write);
  for (const chunk of chunks) await write(chunk);
}

async function charge(kv: KeyValueStore, charges: ReadonlyMap<AccountId, bigint>): Promise<void> {
  await inParallel(charges, async ([accountId, microVnd]) => {
    const wallet = await readWallet(kv, accountId);
    const op = kv.atomic();
    changeWallet(op, wallet, wallet.availableMicroVnd - microVnd);
    const { ok } = await op.commit();
    if (!ok) throw new Error("somebody else changes wallets");
  });
}
