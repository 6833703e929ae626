/**
 * Every damage to money that verification must find, once for both uses of it: a reading of everything, and of the days
 * behind sealed ones.
 */
import type { AccountId, RequestId } from "../../../../core/lib/ids/ids.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { refundCall } from "../../../../kv/money/ledger/refunds.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import type { LedgerEntry } from "../../../../kv/money/ledger/ledger.ts";
import type { Problem } from "../../../../kv/services/verify/checks/problems.ts";
import type { BooksWorld } from "../../../support/worlds/books_world.ts";

/** `full`: all rows. `sealed`: the days behind two sealed ones. */
export type Use = "full" | "sealed";

/** Whose account is damaged; the store if no account can be named. */
type Damaged = AccountId | "store";

export interface Damage {
  readonly name: string;
  /** Every use reports these about the account, unless the damage lies outside of what it promises. */
  readonly kinds: readonly Problem["kind"][];
  /** What the reading of the days behind sealed ones says. */
  readonly line?: RegExp;
  /** Uses that do not find it, with the reason. */
  readonly outside?: Partial<Record<Use, string>>;
  readonly plant: (world: BooksWorld) => Promise<Damaged>;
}

/** Makes a receipt free of charge. */
export async function changeReceipt(
  kv: KeyValueStore,
  { key, value }: Deno.KvEntry<unknown>,
): Promise<void> {
  await kv.set(key, String(value).replace(/"(\d+)","0",\[\]/, '"1","0",[]'));
}

/** Returns the id of the copy, which may stand before or behind the receipt. */
export async function copyReceipt(
  kv: KeyValueStore,
  { key, value }: Deno.KvEntry<unknown>,
): Promise<string> {
  const id = String(key[1]);
  const other = `${id.slice(0, -1)}${id.endsWith("z") ? "y" : "z"}`;
  await kv.set(["receipt", other], String(value).replaceAll(id, other));
  return other;
}

export async function addToWallet(
  kv: KeyValueStore,
  account: AccountId,
  amount: bigint,
): Promise<void> {
  const { value } = await kv.get<{ availableMicroVnd: bigint }>(["wallet", account]);
  await kv.set(["wallet", account], {
    availableMicroVnd: (value?.availableMicroVnd ?? 0n) + amount,
  });
}

export async function changeLine(
  kv: KeyValueStore,
  { key, value }: Deno.KvEntry<unknown>,
): Promise<void> {
  await kv.set(key, { ...value as LedgerEntry, amountMicroVnd: 7n });
}

/** The account of a page of receipts. */
export function payerOf({ value }: Deno.KvEntry<unknown>): AccountId {
  return JSON.parse(String(value))[0][1][1];
}

function accountIn({ key }: Deno.KvEntry<unknown>): AccountId {
  return String(key[1]) as AccountId;
}

/** The newest ledger line, which is of today. */
async function lastLine(world: BooksWorld): Promise<Deno.KvEntry<LedgerEntry>> {
  return await world.row(["ledger", world.ann], -1) as Deno.KvEntry<LedgerEntry>;
}

/** Deletes a row that is about an account. */
function lose(prefix: string, at: number, accountOf: (row: Deno.KvEntry<unknown>) => AccountId) {
  return async (world: BooksWorld): Promise<Damaged> => {
    const row = await world.row([prefix], at);
    await world.kv.delete(row.key);
    return accountOf(row);
  };
}

const linesByTime = "lines are read by the time of their copies there, and this one has none";
const nothingSealed = "no balance is sealed";
const sealedDay = "rows of sealed days are read by --from and --full only";

const wallets: readonly Damage[] = [
  {
    name: "a wallet with more money",
    kinds: ["balance"],
    line: /balance: /,
    plant: async ({ kv, bob }) => {
      await addToWallet(kv, bob, 1n);
      return bob;
    },
  },
  {
    name: "a negative wallet",
    kinds: ["row"],
    plant: async ({ kv, bob }) => {
      await kv.set(["wallet", bob], { availableMicroVnd: -1n });
      return bob;
    },
  },
  {
    name: "a wallet that is gone",
    kinds: ["balance"],
    line: /balance: /,
    plant: async ({ kv, bob }) => {
      await kv.delete(["wallet", bob]);
      return bob;
    },
  },
  {
    name: "a lease that is gone",
    kinds: ["balance"],
    line: /balance: /,
    plant: lose("lease", 0, accountIn),
  },
  {
    name: "a lease that has less than was charged",
    kinds: ["balance"],
    plant: async (world) => {
      const row = await world.row(["lease", world.ann]);
      await world.kv.set(row.key, { remainingMicroVnd: 1n, asOfCommit: 0 });
      return world.ann;
    },
  },
  {
    name: "a sealed balance that was changed, with the wallet",
    kinds: ["seal"],
    line: /seal: the balances of [\d-]+ are not those that were sealed/,
    outside: { full: nothingSealed },
    plant: async (world) => {
      await addToWallet(world.kv, world.bob, 9n);
      for await (const { key, value } of world.kv.list({ prefix: ["checkpoint_balances"] })) {
        const text = String(value).replace(/ (\d+)\n$/, (_, n) => ` ${BigInt(n) + 9n}\n`);
        await world.kv.set(key, text);
      }
      return "store";
    },
  },
];

const receipts: readonly Damage[] = [
  {
    name: "a changed receipt",
    kinds: ["balance"],
    line: /balance: /,
    plant: async (world) => {
      const row = await world.row(["receipt"], 9);
      await changeReceipt(world.kv, row);
      return payerOf(row);
    },
  },
  {
    name: "a deleted receipt",
    kinds: ["balance", "index"],
    line: /index: 1 receipts are missing/,
    plant: lose("receipt", 9, payerOf),
  },
  {
    name: "a deleted receipt of a sealed day",
    kinds: ["balance", "index"],
    outside: { sealed: sealedDay },
    plant: lose("receipt", 1, payerOf),
  },
  {
    name: "an added receipt",
    kinds: ["index"],
    line: /index: receipts and index differ/,

    plant: async (world) => {
      const row = await world.row(["receipt"], 9);
      await copyReceipt(world.kv, row);
      return payerOf(row);
    },
  },
  {
    name: "a receipt of an account without any other row",
    kinds: ["index"],
    line: /index: receipts and index differ/,
    plant: async ({ kv, row, ann }) => {
      const { key, value } = await row(["receipt"], 9);
      const id = String(key[1]);
      const other = `${id.slice(0, -1)}${id.endsWith("z") ? "y" : "z"}`;
      const nobody = `${ann.slice(0, -3)}zzz` as AccountId;
      const payer = payerOf({ key, value, versionstamp: "" });
      await kv.set(
        ["receipt", other],
        String(value).replaceAll(id, other).replaceAll(payer, nobody),
      );
      return nobody;
    },
  },
  {
    name: "a garbled receipt",
    kinds: ["row"],
    line: /row: /,
    plant: async ({ kv, row }) => {
      await kv.set((await row(["receipt"], 9)).key, "[9]");
      return "store";
    },
  },
  {
    name: "a garbled receipt of a call that was refunded",
    kinds: ["row"],
    plant: async ({ kv, row, nowMs }) => {
      const { key } = await row(["receipt"], 9);
      const receipt = await readReceipt(kv, String(key[1]) as RequestId);
      if (receipt === undefined) throw new Error(`no receipt ${key.join(" ")}`);
      await refundCall(kv, receipt, { reason: "test", atMs: nowMs });
      await kv.set(key, 9);
      return "store";
    },
  },
  {
    name: "a batch that is gone",
    kinds: ["index"],
    line: /index: receipts and index differ/,
    plant: async ({ kv, row, ann }) => {
      await kv.delete((await row(["settled"], -1)).key);
      return ann;
    },
  },
  {
    name: "a batch that charges more than its receipts",
    kinds: ["balance"],
    line: /balance: the commit \d+ of ins_\w+ charges 31 µVND, its receipts cost 30/,
    plant: async ({ kv, row, ann }) => {
      const { key, value } = await row(["settled"], -1);
      await kv.set(key, String(value).replace('"30"', '"31"'));
      return ann;
    },
  },
  {
    name: "a batch that names another account",
    kinds: ["index"],
    line: /index: /,
    plant: async ({ kv, row, ann, bob }) => {
      const { key, value } = await row(["settled"], -1);
      await kv.set(key, String(value).replace(ann, bob));
      return bob;
    },
  },
  {
    name: "a deleted receipt that only a batch names",
    kinds: ["index"],
    line: /index: 1 receipts are missing/,
    plant: lose("receipt", -1, payerOf),
  },
  {
    name: "an index page that is gone",
    kinds: ["index"],
    line: /balance: /,
    plant: lose("receipts_of", -1, accountIn),
  },
  {
    name: "an index page of another account",
    kinds: ["index"],
    line: /index: 1 receipts are missing/,
    plant: async ({ kv, row, ann, bob }) => {
      const { key, value } = await row(["receipts_of", ann], -1);
      await kv.set(key.map((part) => part === ann ? bob : part), value);
      return bob;
    },
  },
  {
    name: "an index entry without a receipt",
    kinds: ["index"],
    line: /index: 1 receipts are missing/,
    plant: async ({ kv, row, bob }) => {
      const id = String((await row(["receipts_of"], -1)).key[2]);
      await kv.set(["receipts_of", bob, `${id.slice(0, -3)}zzz`], `${id.slice(11, -3)}zzz`);
      return bob;
    },
  },
  {
    name: "a day sum that is gone",
    kinds: ["rollup"],
    line: /rollup: the day sum/,
    plant: lose("usage", -1, accountIn),
  },
];

const movements: readonly Damage[] = [
  {
    name: "a ledger line that is gone",
    kinds: ["ledger"],
    line: /ledger: books:\w+ has moved money, but its line \w+ is missing/,
    plant: async (world) => {
      await world.kv.delete((await lastLine(world)).key);
      return world.ann;
    },
  },
  {
    name: "a ledger line that is gone with its money",
    kinds: ["ledger"],
    line: /ledger: books:\w+ has moved money, but its line \w+ is missing/,
    plant: async (world) => {
      const { key, value } = await lastLine(world);
      await world.kv.delete(key);
      await addToWallet(world.kv, world.ann, -value.amountMicroVnd);
      return world.ann;
    },
  },
  {
    name: "a garbled ledger line",
    kinds: ["ledger"],
    line: /ledger: the line \w+ and its copy by time disagree/,
    plant: async (world) => {
      await world.kv.set((await lastLine(world)).key, "[9]");
      return world.ann;
    },
  },
  {
    name: "a ledger line under another account",
    kinds: ["ledger"],
    outside: { sealed: linesByTime },
    plant: async (world) => {
      const { key, value } = await lastLine(world);
      await world.kv.set(key.map((part) => part === world.ann ? world.bob : part), value);
      return world.bob;
    },
  },
  {
    name: "a changed ledger line",
    kinds: ["ledger"],
    line: /ledger: the line \w+ and its copy by time disagree/,
    plant: async (world) => {
      await changeLine(world.kv, await lastLine(world));
      return world.ann;
    },
  },
  {
    name: "a changed ledger line, with its money",
    kinds: ["ledger"],
    line: /ledger: the line \w+ and its copy by time disagree/,
    plant: async (world) => {
      const line = await lastLine(world);
      await changeLine(world.kv, line);
      await addToWallet(world.kv, world.ann, 7n - line.value.amountMicroVnd);
      return world.ann;
    },
  },
  {
    name: "a changed copy of a ledger line",
    kinds: ["ledger"],
    line: /ledger: the line \w+ and its copy by time disagree/,
    plant: async (world) => {
      await changeLine(world.kv, await world.row(["ledger_by_time"], -1));
      return world.ann;
    },
  },
  {
    name: "an operation that was carried out twice",
    kinds: ["ledger"],
    line: /ledger: the line led_\w+ has no copy by time/,
    plant: async (world) => {
      const { kv, bob } = world;
      const { value: line } = await lastLine(world);
      const ledgerId = line.ledgerId.slice(0, -3) + "zzz";
      await kv.set(["ledger", bob, ledgerId], { ...line, accountId: bob, ledgerId });
      await addToWallet(kv, bob, line.amountMicroVnd);
      return bob;
    },
  },
  {
    name: "an operation that could be carried out again",
    kinds: ["ledger"],
    line: /ledger: the line \w+ is not the one that books:\w+ wrote/,
    plant: async (world) => {
      const { operationId } = (await lastLine(world)).value;
      await world.kv.delete(["ledger_operation", operationId]);
      return world.ann;
    },
  },
  {
    name: "an open video whose task is gone",
    kinds: ["video"],
    plant: async ({ kv, bob }) => {
      await kv.set(["video_open", "video_1"], { accountId: bob, deadlineAtMs: 1 });
      return bob;
    },
  },
];

/** The newest row of each kind of which verification reads all, and who is told to be damaged by a garbled one. */
const readKinds: readonly (readonly [prefix: string, kind: Problem["kind"], who: Who])[] = [
  ["wallet", "row", accountIn],
  ["lease", "row", accountIn],
  ["settled", "row", () => "store"],
  ["receipts_of", "index", accountIn],
  ["usage", "row", accountIn],
  ["ledger_by_time", "row", () => "store"],
  ["ledger_operation", "ledger", ({ value }) => (value as LedgerEntry).accountId],
];

type Who = (row: Deno.KvEntry<unknown>) => Damaged;

const garbled: readonly Damage[] = readKinds.map(([prefix, kind, who]) => ({
  name: `a garbled row of ${prefix}`,
  kinds: [kind],
  plant: async ({ kv, row }) => {
    const entry = await row([prefix], -1);
    await kv.set(entry.key, "[9]");
    return who(entry);
  },
}));

/** All of them. */
export const damages: readonly Damage[] = [...wallets, ...receipts, ...movements, ...garbled];
