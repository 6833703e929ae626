/**
 * Reads sums of an archive as the rows that they were in the store: day sums and sums by tag in the order of accounts,
 * copies of day sums in the order of days.
 */
import { ascending } from "../../../core/lib/base/ascending.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import {
  allTagSumsPrefix,
  dayCopiesPrefix,
  dayCopyKey,
  daySumsPrefix,
  kindOfKey,
  partsBehindKind,
  tagSumKey,
} from "../../engine/schema/keys.ts";
import type { ArchivedDaySum } from "../../engine/store/key_value_store.ts";
import { archivedSumVersion, type DaySumCell, daySumCellKey } from "../receipts/day_sums.ts";
import type { ReceiptArchive, SumPage } from "./receipt_archive.ts";
import { type ArchivedSum, sumsOnPage } from "./sum_pages.ts";

type Entry = Deno.KvEntry<unknown>;

type SumArchive = Pick<ReceiptArchive, "sumPages" | "accounts">;

/** Sorts behind every account and every day. */
const behindAll = "~";

/** Compares parts of keys as their encoding sorts: by code points, a shorter text first. */
function comparePart(one: string, other: string): number {
  if (one === other) return 0;
  const hasPairs = /[\ud800-\udfff]/;
  if (!hasPairs.test(one) && !hasPairs.test(other)) return ascending(one, other);
  const [left, right] = [[...one], [...other]];
  const at = left.findIndex((char, at) => char !== right[at]);
  if (at < 0) return -1;
  return (left[at]?.codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? -1);
}

/** Compares keys of texts part by part, a shorter one first. */
export function compareParts(one: Deno.KvKey, other: Deno.KvKey): number {
  for (const [at, part] of one.entries()) {
    const beside = other[at];
    if (beside === undefined) return 1;
    const order = comparePart(String(part), String(beside));
    if (order !== 0) return order;
  }
  return one.length - other.length;
}

function textParts(key: Deno.KvKey): string[] {
  return partsBehindKind(key).map((part) => {
    invariant(typeof part === "string", "the keys of sums are texts");
    return part;
  });
}

/** The keys of a selector, without their kind. */
interface SumBounds {
  readonly prefix: readonly string[];
  readonly from: readonly string[];
  readonly before: readonly string[] | undefined;
}

function sumBounds(selector: Deno.KvListSelector): SumBounds {
  const prefix = "prefix" in selector ? textParts(selector.prefix) : [];
  return {
    prefix,
    from: "start" in selector ? textParts(selector.start) : prefix,
    before: "end" in selector ? textParts(selector.end) : undefined,
  };
}

function isWithin(parts: readonly string[], { prefix, from, before }: SumBounds): boolean {
  return prefix.every((part, at) => parts[at] === part) && parts.length > prefix.length &&
    compareParts(parts, from) >= 0 && (before === undefined || compareParts(parts, before) < 0);
}

/** A kind of sums: its rows of a cell. */
interface SumKind {
  readonly kind: string;
  readonly isByDay: boolean;
  rowsOf(sum: ArchivedSum): Entry[];
}

const sumKinds: readonly SumKind[] = [
  {
    kind: kindOfKey(daySumsPrefix()),
    isByDay: false,
    rowsOf: ({ cell, sum, revision }) => [
      { key: daySumCellKey(cell), value: sum, versionstamp: archivedSumVersion(revision) },
    ],
  },
  {
    kind: kindOfKey(dayCopiesPrefix()),
    isByDay: true,
    rowsOf({ cell, sum: { hasHours: _hasHours, ...sum }, revision }) {
      if (sum.providers === undefined) return [];
      return [{ key: dayCopyKey(cell), value: sum, versionstamp: archivedSumVersion(revision) }];
    },
  },
  {
    kind: kindOfKey(allTagSumsPrefix()),
    isByDay: false,
    rowsOf: ({ cell, tags, revision }) =>
      tags.map(({ tag, sum }) => ({
        key: tagSumKey(cell, tag),
        value: sum,
        versionstamp: archivedSumVersion(revision),
      })),
  },
];

const byName: ReadonlyMap<string, SumKind> = new Map(sumKinds.map((one) => [one.kind, one]));

/** Whether rows of a kind may be sums of an archive. */
export function isSumKind(kind: string): boolean {
  return byName.has(kind);
}

/** Returns all rows that an archived sum was. */
export function sumRowsOf(sum: ArchivedSum): Entry[] {
  return sumKinds.flatMap((kind) => kind.rowsOf(sum));
}

function inOrder(rows: { readonly parts: readonly string[]; readonly entry: Entry }[]): Entry[] {
  return rows.sort((one, other) => compareParts(one.parts, other.parts)).map(({ entry }) => entry);
}

function rowsWithin(sums: Iterable<ArchivedSum>, kind: SumKind, bounds: SumBounds): Entry[] {
  const rows = [];
  for (const sum of sums) {
    for (const entry of kind.rowsOf(sum)) {
      const parts = textParts(entry.key);
      if (isWithin(parts, bounds)) rows.push({ parts, entry });
    }
  }
  return inOrder(rows);
}

/**
 * Reads the rows of a selector that the archive has, in their order.
 *
 * @returns fewer than the limit only at the end of the range
 */
export async function archivedSumRows(
  archive: SumArchive,
  selector: Deno.KvListSelector,
  limit: number,
): Promise<Entry[]> {
  const first = "prefix" in selector ? selector.prefix : selector.start;
  const kind = byName.get(kindOfKey(first));
  invariant(kind !== undefined, "a kind of sums");
  const bounds = sumBounds(selector);
  const rows: Entry[] = [];
  const read = kind.isByDay ? rowsByDay : rowsByAccount;
  for await (const some of read(archive, kind, bounds, limit)) {
    for (const row of some) {
      if (rows.length >= limit) return rows;
      rows.push(row);
    }
    if (rows.length >= limit) return rows;
  }
  return rows;
}

/** Pages of one read, the first time: a page has a hundred rows. */
const minPages = 4;
const maxPages = 64;

/** The rows of whole days, and of the first day from an account on. */
async function* rowsByDay(
  archive: SumArchive,
  kind: SumKind,
  bounds: SumBounds,
  limit: number,
): AsyncGenerator<Entry[]> {
  const { prefix, from: [day = "", account = ""], before } = bounds;
  const toDay = prefix[0] ?? before?.[0] ?? behindAll;
  for await (
    const pages of pagesByDay(archive, { day, account, toDay }, limit === 1 ? 1 : minPages)
  ) {
    yield pages.flatMap((page) => rowsWithin(sumsOnPage(page), kind, bounds));
  }
}

/** Reads all day sums, one day after the other. */
export async function* everyArchivedDaySum(
  archive: Pick<ReceiptArchive, "sumPages">,
): AsyncGenerator<ArchivedDaySum> {
  const everything = { day: "", account: "", toDay: behindAll };
  for await (const pages of pagesByDay(archive, everything, minPages)) {
    for (const page of pages) {
      for (const { cell, sum, revision, tags } of sumsOnPage(page)) {
        const versionstamp = archivedSumVersion(revision);
        const hasTags = tags.length > 0;
        yield { key: daySumCellKey(cell), value: sum, versionstamp, hasTags };
      }
    }
  }
}

/** The pages of days, those of the first one from an account on. */
async function* pagesByDay(
  archive: Pick<ReceiptArchive, "sumPages">,
  from: { readonly day: string; readonly account: string; readonly toDay: string },
  pagesAtFirst: number,
): AsyncGenerator<readonly SumPage[]> {
  const { toDay } = from;
  let { day, account } = from;
  let pagesAtOnce = pagesAtFirst;
  for (;;) {
    const pages: readonly SumPage[] = await archive.sumPages({
      fromAccount: account,
      toAccount: behindAll,
      fromDay: day,
      toDay: account === "" ? toDay : day,
      limit: pagesAtOnce,
    });
    yield pages;
    const last = pages.at(-1);
    if (last !== undefined && pages.length >= pagesAtOnce) {
      [day, account] = [last.day, `${last.lastAccount}${behindAll}`];
    } else if (account === "") return;
    else [day, account] = [`${day}${behindAll}`, ""];
    pagesAtOnce = Math.min(maxPages, pagesAtOnce * 2);
  }
}

/** Accounts whose names are read at once. */
const accountNames = 200;

/** Rows of one read that are worth it, and those that are too many to have in memory with others. */
const enoughRows = 1_000;

/** Most accounts whose sums of all days are read at once. */
const maxAccounts = 128;

async function* accountsWithin(
  archive: SumArchive,
  { prefix, from, before }: SumBounds,
): AsyncGenerator<AccountId> {
  const only = prefix[0] ?? (from[0] === before?.[0] ? from[0] : undefined);
  if (only !== undefined) return yield only as AccountId;
  const last = before?.[0] ?? behindAll;
  let next = from[0] ?? "";
  for (;;) {
    const some = await archive.accounts({ from: next, limit: accountNames, reverse: false });
    for (const accountId of some) {
      if (accountId > last) return;
      yield accountId;
      next = `${accountId} `;
    }
    if (some.length < accountNames) return;
  }
}

/** The rows of one account after the other; those with few rows are read together. */
async function* rowsByAccount(
  archive: SumArchive,
  kind: SumKind,
  bounds: SumBounds,
  limit: number,
): AsyncGenerator<Entry[]> {
  let accountsAtOnce = 1;
  let some: AccountId[] = [];
  for await (const accountId of accountsWithin(archive, bounds)) {
    some.push(accountId);
    if (some.length < accountsAtOnce) continue;
    let count = 0;
    for await (const rows of rowsOfAccounts(archive, kind, bounds, { accounts: some, limit })) {
      yield rows;
      count += rows.length;
    }
    accountsAtOnce = count > enoughRows
      ? Math.max(1, accountsAtOnce >> 1)
      : Math.min(maxAccounts, accountsAtOnce * 2);
    some = [];
  }
  yield* rowsOfAccounts(archive, kind, bounds, { accounts: some, limit });
}

async function* rowsOfAccounts(
  archive: SumArchive,
  kind: SumKind,
  bounds: SumBounds,
  { accounts, limit }: { readonly accounts: readonly AccountId[]; readonly limit: number },
): AsyncGenerator<Entry[]> {
  const [first, last] = [accounts[0], accounts.at(-1)];
  if (first === undefined || last === undefined) return;
  const { prefix, from, before } = bounds;
  const isOnly = first === last;
  const days = {
    from: prefix[1] ?? (isOnly && from[0] === first ? from[1] : undefined) ?? "",
    to: prefix[1] ?? (isOnly && before?.[0] === first ? before[1] : undefined) ?? behindAll,
  };
  let pagesAtOnce = !isOnly ? Number.MAX_SAFE_INTEGER : limit === 1 ? 1 : minPages;
  for (;;) {
    const pages = await archive.sumPages({
      fromAccount: first,
      toAccount: last,
      fromDay: days.from,
      toDay: days.to,
      limit: pagesAtOnce,
    });
    const sums = pages.flatMap((page) => sumsOnPage(page, accounts));
    yield rowsWithin(sums, kind, bounds);
    const end = pages.at(-1);
    if (end === undefined || pages.length < pagesAtOnce) return;
    days.from = `${end.day}${behindAll}`;
    pagesAtOnce = Math.min(maxPages, pagesAtOnce * 2);
  }
}

/** Cells of an archive that are looked for. */
export function cellOfSumKey(key: Deno.KvKey): DaySumCell | undefined {
  const parts = textParts(key);
  switch (kindOfKey(key)) {
    case kindOfKey(daySumsPrefix()):
      return parts.length === 4 ? cellOf(parts) : undefined;
    case kindOfKey(dayCopiesPrefix()): {
      const [day = "", accountId = "", ...rest] = parts;
      return parts.length === 4 ? cellOf([accountId, day, ...rest]) : undefined;
    }
    default: {
      const [accountId = "", day = "", , , ...rest] = parts;
      return parts.length === 6 ? cellOf([accountId, day, ...rest]) : undefined;
    }
  }
}

function cellOf([accountId, day, keyId, model]: readonly string[]): DaySumCell {
  return { accountId, day, keyId, model } as DaySumCell;
}

/** Reads the archived sums of some accounts and days, at least those of the cells that are given. */
export async function archivedSumsOf(
  archive: Pick<ReceiptArchive, "sumPages">,
  cells: Iterable<DaySumCell>,
): Promise<ArchivedSum[]> {
  const all = [...cells];
  const byAccount = Map.groupBy(all, ({ accountId }) => accountId);
  const byDay = Map.groupBy(all, ({ day }) => day);
  const groups = byAccount.size <= byDay.size ? byAccount.values() : byDay.values();
  const found: ArchivedSum[] = [];
  for (const group of groups) {
    const accounts = new Set(group.map(({ accountId }) => accountId as string));
    const days = group.map(({ day }) => day).sort();
    const ids = [...accounts].sort();
    const pages = await archive.sumPages({
      fromAccount: ids[0] ?? "",
      toAccount: ids.at(-1) ?? "",
      fromDay: days[0] ?? "",
      toDay: days.at(-1) ?? "",
      limit: Number.MAX_SAFE_INTEGER,
    });
    for (const page of pages) found.push(...sumsOnPage(page, accounts));
  }
  return found;
}

/** Reads the rows of some keys that the archive has, by the texts of their keys. */
export async function archivedSumEntries(
  archive: Pick<ReceiptArchive, "sumPages">,
  keys: readonly Deno.KvKey[],
): Promise<ReadonlyMap<string, Entry>> {
  const cells = keys.map(cellOfSumKey).filter((cell) => cell !== undefined);
  if (cells.length === 0) return new Map();
  const rows = (await archivedSumsOf(archive, cells)).flatMap(sumRowsOf);
  return new Map(rows.map((row) => [sumKeyText(row.key), row]));
}

/** Returns a text that a key of a sum has alone: tags may have spaces. */
export function sumKeyText(key: Deno.KvKey): string {
  return JSON.stringify(key);
}
