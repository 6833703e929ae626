/**
 * Measures a store with a large archive beside one with hardly any, both in the same operation, in turns:
 * `deno run --allow-all bench/growth/beside.ts <fresh> <grown> <receipts> <days> <days that stay> <rounds>`, with files
 * or the addresses of two empty databases. Prints a table in Markdown; figures are CPU time of this process (user and
 * system), medians of the rounds, and ratios are medians of the ratios within a round.
 */
import { readStoreLocation } from "../../core/config/platform.ts";
import { beforeIdsOf, type RequestId } from "../../core/lib/ids/ids.ts";
import { systemClock } from "../../core/lib/time/clock.ts";
import { vietnamDayStartMs } from "../../core/lib/time/vietnam_time.ts";
import { newMasterKey, readMasterKeys } from "../../core/people/api_keys/seal.ts";
import { listReceipts, readReceipts } from "../../kv/money/receipts/receipts.ts";
import { openWalletEngine } from "../../kv/money/wallet/mod.ts";
import { print } from "../print.ts";
import { receiptDraft } from "../receipt_draft.ts";
import { median } from "../statistics.ts";
import { daysBefore, OperatedStore, type Spent } from "./operated_store.ts";

/** Repetitions of a short read in a round: a tenth of a second. */
const readsPerRound = 200;

/** Calls that the wallet engine settles in a round: a second. */
const settledPerRound = 60_000;
const settledInFlight = 64;

/** Customers whose pages are read: neither the largest nor those with a call a week. */
const readCustomers = { from: 5, to: 15 } as const;

const receiptsPerPage = 50;

type Side = "fresh" | "grown";

/** Table of what was spent, by measure, side and round. */
class Table {
  readonly #spent = new Map<string, Record<Side, Spent[]>>();

  add(measure: string, side: Side, spent: Spent): void {
    const sides = this.#spent.get(measure) ?? { fresh: [], grown: [] };
    this.#spent.set(measure, sides);
    sides[side].push(spent);
    print(`  ${measure}, ${side}: ${(spent.cpuMicros / spent.receipts).toFixed(1)} µs`);
  }

  print(): void {
    print("| µs of CPU | fresh | grown | grown / fresh | server: fresh | server: grown |");
    print("| --- | --: | --: | --: | --: | --: |");
    const each = ({ cpuMicros, receipts }: Spent) => cpuMicros / receipts;
    const ofServer = ({ serverMicros, receipts }: Spent) => serverMicros / receipts;
    const seen = (some: readonly Spent[], read: (spent: Spent) => number) =>
      median(some.map(read)).toFixed(1);
    for (const [measure, { fresh, grown }] of this.#spent) {
      const ratios = grown.flatMap((spent, round) => {
        const beside = fresh[round];
        return beside === undefined ? [] : [each(spent) / each(beside)];
      });
      print(
        `| ${measure} | ${seen(fresh, each)} | ${seen(grown, each)} | ${
          median(ratios).toFixed(3)
        } | ${seen(fresh, ofServer)} | ${seen(grown, ofServer)} |`,
      );
    }
  }
}

async function grow(store: OperatedStore, days: readonly string[]): Promise<void> {
  for (const day of days) {
    await store.write(day);
    await store.verify(day);
    await store.move(day);
  }
}

async function showBytes(what: string, store: OperatedStore, receipts: number): Promise<void> {
  const { store: living, archive } = await store.bytes();
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);
  print(
    `${what}: ${receipts} receipts, store ${megabytes(living)} MB, archive ${
      megabytes(archive)
    } MB`,
  );
}

/** Reads a page of each of some customers, again and again. */
function pages(store: OperatedStore, before: RequestId | undefined): Promise<Spent> {
  const some = store.customers.slice(readCustomers.from, readCustomers.to);
  return store.spentBy(async () => {
    for (let read = 0; read < readsPerRound; read++) {
      const accountId = some[read % some.length]?.accountId;
      if (accountId === undefined) throw new Error("no customer");
      const page = { limit: receiptsPerPage, ...(before !== undefined && { before }) };
      const { receipts } = await listReceipts(store.kv, accountId, page);
      if (receipts.length < receiptsPerPage) throw new Error(`a page of ${receipts.length}`);
    }
    return readsPerRound;
  });
}

/** Reads calls by their ids, those before a moment. */
async function calls(store: OperatedStore, before: RequestId): Promise<Spent> {
  const accountId = store.customers[readCustomers.from]?.accountId;
  if (accountId === undefined) throw new Error("no customer");
  const { receipts } = await listReceipts(store.kv, accountId, { limit: receiptsPerPage, before });
  return await store.spentBy(async () => {
    for (let read = 0; read < readsPerRound; read++) {
      const requestId = receipts[read % receipts.length]?.requestId;
      if (requestId === undefined) throw new Error("no call");
      const [found] = await readReceipts(store.kv, [requestId]);
      if (found === undefined) throw new Error("no receipt");
    }
    return readsPerRound;
  });
}

/** Settles calls as a gateway does, and indexes them. */
function settle(store: OperatedStore): Promise<Spent> {
  return store.spentBy(async () => {
    const wallet = await openWalletEngine(store.kv, { clock: systemClock });
    let begun = 0;
    await Promise.all(Array.from({ length: settledInFlight }, async () => {
      while (begun < settledPerRound) {
        const customer = store.customers[begun++ % readCustomers.to];
        const keyId = customer?.keyIds[0];
        if (customer === undefined || keyId === undefined) throw new Error("no customer");
        const draft = receiptDraft(keyId);
        const reserved = await wallet.reserve(customer.accountId, draft.priceMicroVnd);
        if (!reserved.ok) throw new Error(`refused: ${reserved.reason}`);
        await wallet.settle(reserved.reservation, draft);
      }
    }));
    await wallet.close();
    return settledPerRound;
  });
}

const [freshAt = "", grownAt = "", receipts = "0", dayCount = "45", kept = "35", roundCount = "5"] =
  Deno.args;
const rounds = Number(roundCount);
const masterKeys = await readMasterKeys(newMasterKey());
const all = daysBefore(Date.now(), Number(dayCount) + rounds);
const grownDays = all.slice(0, -rounds);
const freshDays = grownDays.slice(-Number(kept));
const callsPerDay = Math.ceil(Number(receipts) / Number(dayCount));

async function open(text: string, firstDay: string): Promise<OperatedStore> {
  const read = readStoreLocation(text);
  if (!read.ok) throw new Error(`The store ${read.problem}`);
  const options = { location: read.store, masterKeys, callsPerDay, keptDays: Number(kept) };
  return await OperatedStore.open(options, firstDay);
}

await using fresh = await open(freshAt, freshDays[0] ?? "");
await using grown = await open(grownAt, grownDays[0] ?? "");
await grow(fresh, freshDays);
await grow(grown, grownDays);
await showBytes("fresh", fresh, freshDays.length * callsPerDay);
await showBytes("grown", grown, grownDays.length * callsPerDay);

const table = new Table();
const sides: Record<Side, OperatedStore> = { fresh, grown };
/** Days before which everything is in the archive, once the first round has moved a day. */
const archivedBefore: Record<Side, string | undefined> = {
  fresh: freshDays[1],
  grown: grownDays[Math.floor((grownDays.length - Number(kept)) / 2) + 1],
};

for (const [round, day] of all.slice(-rounds).entries()) {
  const order: Side[] = round % 2 === 0 ? ["fresh", "grown"] : ["grown", "fresh"];
  for (const side of order) {
    table.add("a receipt written and indexed", side, await sides[side].write(day));
  }
  for (const side of order) {
    table.add("daily verification, a receipt", side, await sides[side].verify(day));
  }
  for (const side of order) table.add("archive run, a receipt", side, await sides[side].move(day));
  for (const side of order) {
    table.add("the newest page of 50 receipts", side, await pages(sides[side], undefined));
  }
  for (const side of order) {
    const old = beforeIdsOf("request", vietnamDayStartMs(archivedBefore[side] ?? day)) as RequestId;
    table.add(
      "a page of 50 archived receipts",
      side,
      await pages(sides[side], old),
    );
    table.add(
      "one archived call by its id",
      side,
      await calls(sides[side], old),
    );
  }
  for (const side of order) {
    const newest = beforeIdsOf("request", Date.now()) as RequestId;
    table.add("one of the newest calls by its id", side, await calls(sides[side], newest));
  }
}
// What the compiler adds in the first seconds is no part of a call.
for (const side of ["fresh", "grown"] as const) await settle(sides[side]);
for (let round = 0; round < rounds; round++) {
  const order: Side[] = round % 2 === 0 ? ["fresh", "grown"] : ["grown", "fresh"];
  for (const side of order) {
    table.add("a call settled and indexed", side, await settle(sides[side]));
  }
}
for (const side of ["fresh", "grown"] as const) {
  table.add("full verification, a receipt", side, await sides[side].verify(all.at(-1) ?? "", true));
}
table.print();
