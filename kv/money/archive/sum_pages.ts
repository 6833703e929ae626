/**
 * Writes the sums of a day as pages of text, and reads them back: for each cell the day sum, its sums by tag, and
 * whether its hours were written with it. The copy by day is that of the sum.
 *
 *     ["fast-1","l card_1 provider-1/fast-1"]            the names that its lines have in common
 *     acc_… [["key_…",0,0,1,[3,0,0,…],[[1,3,null,…]]]]   a line for each account, in their order
 *
 * A line is found without reading the others: an account that looks a year back reads one line of each day. Databases
 * keep pages compressed.
 */
import { ascending } from "../../../core/lib/base/ascending.ts";
import { invariant, type Writable } from "../../../core/lib/base/assert.ts";
import type { AccountId, ApiKeyId } from "../../../core/lib/ids/ids.ts";
import {
  type DaySumCell,
  noUsage,
  sameUsage,
  type StoredSum,
  type UsageSum,
} from "../receipts/day_sums.ts";
import type { ProviderSum, ProviderSums } from "../receipts/provider_sums.ts";
import type { TagSum } from "../receipts/tag_sums.ts";
import type { SumPage } from "./receipt_archive.ts";

/** The sums of a cell. */
export interface ArchivedSum {
  readonly cell: DaySumCell;
  /** Number of changes since it left the store first. */
  readonly revision: number;
  readonly sum: StoredSum;
  readonly tags: readonly TagSum[];
}

/** Cells of a page, unless a single account has more: some 20 KB of text. */
const cellsPerPage = 128;

/** The counts of a stored sum, in their order. */
const counts = [
  "calls",
  "failedCalls",
  "estimatedCalls",
  "inputTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "outputTokens",
  "units",
  "latencyMs",
  "firstOutputMs",
  "firstOutputCalls",
] as const satisfies readonly (keyof UsageSum)[];

/** All members of a stored sum. One that is added without its place here does not compile. */
const members = {
  calls: true,
  failedCalls: true,
  estimatedCalls: true,
  inputTokens: true,
  cacheReadTokens: true,
  cacheWriteTokens: true,
  outputTokens: true,
  units: true,
  latencyMs: true,
  firstOutputMs: true,
  firstOutputCalls: true,
  costMicroVnd: true,
  shortfallMicroVnd: true,
  providers: true,
  hasHours: true,
} as const satisfies Record<keyof StoredSum, true>;

/** Whether a row has members that no page keeps: one of a later release. */
export function hasUnknownMembers(value: unknown): boolean {
  return typeof value !== "object" || value === null ||
    Object.keys(value).some((name) => !Object.hasOwn(members, name));
}

/** An amount in µVND; as a text where a number would lose digits. */
type Amount = number | string;

type EncodedProvider = readonly [
  name: number,
  calls: number,
  /** `null`: all that the customer paid. */
  revenue: Amount | null,
  cost: Amount,
  /** Names of buckets and their numbers in turns; below 0: the same as that of {@linkcode counted}. */
  units: readonly number[],
];

/** Counts that units of a provider nearly always are: -1 is the first of them. */
const counted = ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens"] as const;

function encodeUnits(units: number, sum: UsageSum): number {
  const at = units === 0 ? -1 : counted.findIndex((name) => sum[name] === units);
  return at < 0 ? units : -1 - at;
}

function decodeUnits(units: number, sum: UsageSum): number {
  const name = units < 0 ? counted[-1 - units] : undefined;
  return name === undefined ? units : sum[name];
}

type EncodedCounts = readonly [cost: Amount, shortfall: Amount, ...counts: number[]];

type EncodedTag = readonly [key: number, value: number, sum: EncodedCounts];

type EncodedCell = readonly [
  keyId: string,
  model: number,
  revision: number,
  hasHours: 0 | 1,
  sum: EncodedCounts,
  /** 0: the sum has no costs of providers. */
  providers?: readonly EncodedProvider[] | 0,
  tags?: readonly EncodedTag[],
];

function encodeAmount(amount: bigint): Amount {
  return amount <= BigInt(Number.MAX_SAFE_INTEGER) && amount >= 0n
    ? Number(amount)
    : amount.toString();
}

/** Names that cells have in common, by number. */
class Names {
  readonly list: string[] = [];
  readonly #numbers = new Map<string, number>();

  numberOf(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const number = this.list.push(name) - 1;
    this.#numbers.set(name, number);
    return number;
  }
}

function encodeCounts(sum: UsageSum): EncodedCounts {
  const { costMicroVnd, shortfallMicroVnd } = sum;
  const amounts = [encodeAmount(costMicroVnd), encodeAmount(shortfallMicroVnd)] as const;
  return [...amounts, ...counts.map((name) => sum[name])];
}

function encodeProviders(sum: UsageSum, names: Names): EncodedProvider[] {
  const { providers = {}, costMicroVnd } = sum;
  return Object.entries(providers).map(([name, part]) => [
    names.numberOf(name),
    part.calls,
    part.revenueMicroVnd === costMicroVnd ? null : encodeAmount(part.revenueMicroVnd),
    encodeAmount(part.costMicroVnd),
    Object.entries(part.units).flatMap((
      [bucket, units],
    ) => [names.numberOf(bucket), encodeUnits(units, sum)]),
  ]);
}

function encodeCell({ cell, revision, sum, tags }: ArchivedSum, names: Names): EncodedCell {
  const shared = [
    cell.keyId,
    names.numberOf(cell.model),
    revision,
    sum.hasHours ? 1 : 0,
    encodeCounts(sum),
  ] as const;
  const providers = sum.providers === undefined ? 0 : encodeProviders(sum, names);
  if (tags.length === 0) return providers === 0 ? shared : [...shared, providers];
  const encoded = tags.map(({ tag, sum }) =>
    [names.numberOf(tag.key), names.numberOf(tag.value), encodeCounts(sum)] as const
  );
  return [...shared, providers, encoded];
}

function encodePage(day: string, accounts: readonly (readonly ArchivedSum[])[]): SumPage {
  const names = new Names();
  const ids: string[] = [];
  const lines = accounts.map((sums) => {
    const accountId = String(sums[0]?.cell.accountId);
    ids.push(accountId);
    return `${accountId} ${JSON.stringify(sums.map((sum) => encodeCell(sum, names)))}`;
  });
  return {
    day,
    firstAccount: ids[0] ?? "",
    lastAccount: ids.at(-1) ?? "",
    text: [JSON.stringify(names.list), ...lines].join("\n"),
  };
}

/** Writes the sums of a day as pages, in the order of the accounts. */
export function sumPagesOf(day: string, sums: readonly ArchivedSum[]): SumPage[] {
  const byAccount = [...Map.groupBy(sums, ({ cell }) => cell.accountId)]
    .sort(([one], [other]) => ascending(one, other));
  const pages: SumPage[] = [];
  let some: ArchivedSum[][] = [];
  let cells = 0;
  const end = () => {
    if (some.length > 0) pages.push(encodePage(day, some));
    some = [];
    cells = 0;
  };
  for (const [, ofAccount] of byAccount) {
    if (cells + ofAccount.length > cellsPerPage) end();
    some.push(ofAccount);
    cells += ofAccount.length;
  }
  end();
  return pages;
}

function nameAt(names: readonly string[], number: number): string {
  const name = names[number];
  invariant(name !== undefined, "a page of sums has the names of its lines");
  return name;
}

function decodeCounts([cost, shortfall, ...rest]: EncodedCounts): Writable<UsageSum> {
  const sum: Writable<UsageSum> = { ...noUsage };
  for (const [at, name] of counts.entries()) sum[name] = rest[at] ?? 0;
  sum.costMicroVnd = BigInt(cost);
  sum.shortfallMicroVnd = BigInt(shortfall);
  return sum;
}

function decodeProviders(
  parts: readonly EncodedProvider[],
  sum: UsageSum,
  names: readonly string[],
): ProviderSums {
  const providers: Record<string, ProviderSum> = {};
  for (const [name, calls, revenue, cost, numbers] of parts) {
    const units: Record<string, number> = {};
    for (let at = 0; at + 1 < numbers.length; at += 2) {
      units[nameAt(names, numbers[at] ?? -1)] = decodeUnits(numbers[at + 1] ?? 0, sum);
    }
    providers[nameAt(names, name)] = {
      calls,
      revenueMicroVnd: revenue === null ? sum.costMicroVnd : BigInt(revenue),
      costMicroVnd: BigInt(cost),
      units,
    };
  }
  return providers;
}

function decodeCell(
  [keyId, model, revision, hasHours, encoded, providers = 0, tags = []]: EncodedCell,
  { accountId, day, names }: {
    readonly accountId: AccountId;
    readonly day: string;
    readonly names: readonly string[];
  },
): ArchivedSum {
  const sum = decodeCounts(encoded);
  return {
    cell: { accountId, day, keyId: keyId as ApiKeyId, model: nameAt(names, model) },
    revision,
    sum: {
      ...sum,
      ...(providers !== 0 && { providers: decodeProviders(providers, sum, names) }),
      hasHours: hasHours === 1,
    },
    tags: tags.map(([key, value, counted]) => ({
      tag: { key: nameAt(names, key), value: nameAt(names, value) },
      sum: decodeCounts(counted),
    })),
  };
}

/** Reads the sums of a page: all of them, or those of some accounts. */
export function sumsOnPage({ day, text }: SumPage, accounts?: Iterable<string>): ArchivedSum[] {
  const headEnd = text.indexOf("\n");
  const names: readonly string[] = JSON.parse(text.slice(0, headEnd));
  const sums: ArchivedSum[] = [];
  const readLine = (start: number) => {
    const end = text.indexOf("\n", start);
    const space = text.indexOf(" ", start);
    const accountId = text.slice(start, space) as AccountId;
    const line = text.slice(space + 1, end < 0 ? text.length : end);
    const cells: readonly EncodedCell[] = JSON.parse(line);
    for (const cell of cells) sums.push(decodeCell(cell, { accountId, day, names }));
    return end;
  };
  if (accounts === undefined) {
    for (let start = headEnd + 1; start > 0 && start < text.length;) start = readLine(start) + 1;
    return sums;
  }
  for (const accountId of accounts) {
    const at = text.indexOf(`\n${accountId} `);
    if (at >= 0) readLine(at + 1);
  }
  return sums;
}

/** Returns a text that a cell has alone. */
export function sumCellId({ accountId, day, keyId, model }: DaySumCell): string {
  return `${accountId} ${day} ${keyId} ${model}`;
}

/** A cell of which the store has rows. */
export interface LivingSum {
  readonly cell: DaySumCell;
  /** Absent: the store has sums by tag alone. */
  readonly sum: StoredSum | undefined;
  readonly tags: readonly TagSum[];
}

const tagId = ({ tag }: TagSum): string => JSON.stringify([tag.key, tag.value]);

/** Whether an archived cell gives back what the store has of it. */
export function givesBack(archived: ArchivedSum | undefined, living: LivingSum): boolean {
  const sum = archived?.sum ?? { ...noUsage, hasHours: living.sum?.hasHours === true };
  if (living.sum !== undefined) {
    if (!sameUsage(sum, living.sum) || sum.hasHours !== living.sum.hasHours) return false;
  }
  const tags = new Map((archived?.tags ?? []).map((tag) => [tagId(tag), tag.sum]));
  return living.tags.every((tag) => sameUsage(tags.get(tagId(tag)) ?? noUsage, tag.sum));
}

/**
 * Puts what the store has of some cells over what the archive has. Sums of no calls end there: a correction leaves them
 * where it would delete a row of the store.
 */
export function mergedSums(
  archived: readonly ArchivedSum[],
  living: Iterable<LivingSum>,
): ArchivedSum[] {
  const merged = new Map(archived.map((one) => [sumCellId(one.cell), one]));
  for (const one of living) {
    const id = sumCellId(one.cell);
    const known = merged.get(id);
    if (known !== undefined && givesBack(known, one)) continue;
    const sum = one.sum ?? known?.sum;
    if (sum === undefined) continue;
    const tags = new Map((known?.tags ?? []).map((tag) => [tagId(tag), tag]));
    for (const tag of one.tags) tags.set(tagId(tag), tag);
    if (sum.calls === 0) merged.delete(id);
    else {
      merged.set(id, {
        cell: one.cell,
        revision: known === undefined ? 0 : known.revision + 1,
        sum,
        tags: [...tags.values()].filter((tag) => tag.sum.calls > 0),
      });
    }
  }
  return [...merged.values()];
}
