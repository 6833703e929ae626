/**
 * Every limit of customers, in one table: what it counts, over which time, and whom it can bind.
 *
 * Everything else derives from it: the schema of `gateway.json`, forms and pages, headers, the words of refusals, and how
 * limits are merged, counted, stored and exchanged. A new row that one of them cannot serve does not compile; see
 * docs/internals/HACKING.md.
 *
 * - Folder `core/limits/`: the limits of customers: what there is to limit, who is limited, how much of a minute is
 *   used, what a refused caller reads.
 * - In: limits of the operator and of owners of keys, calls that begin and end.
 * - Out: admissions and refusals, figures for headers and pages, sums for other instances.
 * - Never: waits for a store, or costs a call without limits anything.
 */
import type { Receipt } from "../billing/usage/receipt.ts";
import { hourMs, minuteMs } from "../lib/time/durations.ts";

/** Whom a limit binds. */
export type LimitSubject = "account" | "key" | "model" | "account_model";

/** Kinds of limits that the answers of an API name: the vendors' headers have a figure for each. */
export type LimitHeader = "requests" | "tokens";

/** Calls that run at the same time; counted in memory. */
interface ConcurrencyLimit {
  readonly meter: "calls";
  readonly window: "at_once";
  readonly subjects: readonly LimitSubject[];
}

/** An amount in any 60 seconds or 60 minutes; counted in memory, exchanged between instances. */
interface SlidingLimit {
  /** Money is limited in whole VND. */
  readonly meter: "calls" | "tokens" | "money";
  readonly window: "minute" | "hour";
  readonly subjects: readonly LimitSubject[];
  /** Absent: no header tells what is left; the vendors' are of minutes. */
  readonly header?: LimitHeader;
  /** Names on pages of the exchange: of the sum since the start, and of what the window has of it. */
  readonly shared: readonly [total: string, inWindow: string];
}

/** Meters of what calls make, each with the kind of receipts whose units it counts. */
export const unitMeters = { images: "image" } as const satisfies Record<string, Receipt["kind"]>;

/** A meter of what calls make. */
export type UnitMeter = keyof typeof unitMeters;

/** An amount in a day or month of Vietnam; summed from receipts, which only keys and accounts have by themselves. */
interface PeriodLimit {
  readonly meter: "money" | UnitMeter;
  readonly window: "day" | "month";
  readonly subjects: readonly "key"[];
  /** The member of the row of its subject. */
  readonly stored: string;
}

const everyone = ["account", "key", "model", "account_model"] as const;

/** All limits, in the order of forms and pages. */
export const limitTable = {
  dailyLimit: { meter: "money", window: "day", subjects: ["key"], stored: "dailyLimitMicroVnd" },
  monthlyLimit: {
    meter: "money",
    window: "month",
    subjects: ["key"],
    stored: "monthlyLimitMicroVnd",
  },
  imagesPerDay: { meter: "images", window: "day", subjects: ["key"], stored: "imagesPerDay" },
  requestsPerMinute: {
    meter: "calls",
    window: "minute",
    subjects: everyone,
    header: "requests",
    shared: ["requests", "minuteRequests"],
  },
  tokensPerMinute: {
    meter: "tokens",
    window: "minute",
    subjects: everyone,
    header: "tokens",
    shared: ["tokens", "minuteTokens"],
  },
  vndPerHour: {
    meter: "money",
    window: "hour",
    subjects: ["model"],
    shared: ["microVnd", "hourMicroVnd"],
  },
  callsAtOnce: { meter: "calls", window: "at_once", subjects: everyone },
} as const satisfies Record<string, LimitKind>;

type Table = typeof limitTable;

type LimitKind = ConcurrencyLimit | SlidingLimit | PeriodLimit;

/** A limit. */
export type LimitName = keyof Table;

/** The limits with one of these windows. */
type LimitIn<Window extends LimitKind["window"]> = {
  [Name in LimitName]: Table[Name]["window"] extends Window ? Name : never;
}[LimitName];

/** The limits of calls that run at the same time. */
export type ConcurrencyLimitName = LimitIn<"at_once">;
/** The limits of an amount in any minute or hour. */
export type SlidingLimitName = LimitIn<SlidingLimit["window"]>;

/** The limits that the rate book counts. */
export type RateLimitName = ConcurrencyLimitName | SlidingLimitName;

/** The limits of a day or month. */
export type PeriodLimitName = LimitIn<PeriodLimit["window"]>;

/** The limits of money of a day or month. */
export type SpendingLimitName = {
  [Name in PeriodLimitName]: Table[Name]["meter"] extends "money" ? Name : never;
}[PeriodLimitName];

/** Meters over a day or month. */
export type PeriodMeter = PeriodLimit["meter"];

function isPeriodMeter(name: string): name is PeriodMeter {
  return name === "money" || Object.hasOwn(unitMeters, name);
}

/** All meters over a day or month. */
export const periodMeters: readonly PeriodMeter[] = ["money", ...Object.keys(unitMeters)]
  .filter(isPeriodMeter);

/** Meters of the rate book. */
export type RateMeter = (ConcurrencyLimit | SlidingLimit)["meter"];

/** The rate limits that can bind one kind of subject. */
export type RateLimitOf<Subject extends LimitSubject> = {
  [Name in RateLimitName]: Subject extends Table[Name]["subjects"][number] ? Name : never;
}[RateLimitName];

function isLimitName(name: string): name is LimitName {
  return Object.hasOwn(limitTable, name);
}

/** All limits, in the order of the table. */
export const limitNames: readonly LimitName[] = Object.keys(limitTable).filter(isLimitName);

function limitsIn<Window extends LimitKind["window"]>(
  ...windows: readonly Window[]
): readonly LimitIn<Window>[] {
  return limitNames.filter((name): name is LimitIn<Window> =>
    windows.some((window) => window === limitTable[name].window)
  );
}

/** Lists the limits of calls that run at the same time. */
export const concurrencyLimitNames = limitsIn("at_once");
/** Lists the limits of an amount in any minute or hour. */
export const slidingLimitNames = limitsIn("minute", "hour");
/** Milliseconds of the windows of sliding limits. */
const windowMs: Record<SlidingLimit["window"], number> = { minute: minuteMs, hour: hourMs };

/** A sliding limit as it is counted. */
export interface SlidingKind {
  readonly meter: RateMeter;
  readonly windowMs: number;
  readonly header: LimitHeader | undefined;
  readonly shared: (typeof limitTable)[SlidingLimitName]["shared"];
  /** Counted for every subject, limited or not, so that a limit that is set later counts what was used before. */
  readonly isAlwaysCounted: boolean;
}

/** Returns how a limit is counted. */
export function slidingKind(name: SlidingLimitName): SlidingKind {
  const kind: SlidingLimit = limitTable[name];
  const { meter, window, header } = kind;
  return {
    meter,
    windowMs: windowMs[window],
    header,
    shared: limitTable[name].shared,
    isAlwaysCounted: window === "minute",
  };
}

/** Lists the limits that the rate book counts. */
export const rateLimitNames = limitsIn("minute", "hour", "at_once");
/** Lists the limits of a day or month. */
export const periodLimitNames = limitsIn("day", "month");

/** Lists the rate limits that can bind a kind of subject. */
export function rateLimitsOf<Subject extends LimitSubject>(
  subject: Subject,
): readonly RateLimitOf<Subject>[] {
  return rateLimitNames.filter((name): name is RateLimitOf<Subject> =>
    limitTable[name].subjects.some((one) => one === subject)
  );
}

// Limits of a day or month, as rows have them.

/**
 * The limits of a day or month in a row, by the names of its members: money in µVND, images by number. Absent: no limit.
 */
export type PeriodLimits = {
  readonly [Name in PeriodLimitName as Table[Name]["stored"]]?: bigint;
};

/** One limit that is set. */
export interface PeriodLimitSet {
  readonly limitName: PeriodLimitName;
  readonly meter: PeriodMeter;
  readonly window: PeriodLimit["window"];
  readonly limit: bigint;
}

/** Returns what a limit of a day or month counts, over which time. */
export function periodKind(name: PeriodLimitName): Pick<PeriodLimitSet, "meter" | "window"> {
  return limitTable[name];
}

/** Whether a limit of a day or month is one of money. */
export function isSpendingLimit(name: PeriodLimitName): name is SpendingLimitName {
  return periodKind(name).meter === "money";
}

/** Lists the limits that a row sets, in the order of the table. */
export function periodLimitsOf(row: PeriodLimits): PeriodLimitSet[] {
  return periodLimitNames.flatMap((limitName) => {
    const { meter, window, stored } = limitTable[limitName];
    const limit = row[stored];
    return limit === undefined ? [] : [{ limitName, meter, window, limit }];
  });
}

/** Units that a call asks for, by their meters. No limit of what is absent binds it. */
export type MadeUnits = { readonly [Meter in UnitMeter]?: bigint };

/** Whether a row limits the money of a call, or what it makes. */
export function limitsAnyPeriod(row: PeriodLimits, makes: MadeUnits = {}): boolean {
  return periodLimitNames.some((name) => {
    if (row[limitTable[name].stored] === undefined) return false;
    const { meter } = periodKind(name);
    return meter === "money" || makes[meter] !== undefined;
  });
}

/** Returns the limits of a row alone. */
export function pickPeriodLimits(row: PeriodLimits): PeriodLimits {
  return periodLimitsFrom((name) => row[limitTable[name].stored]);
}

/** Makes the members of a row from its limits; `undefined`: none. */
export function periodLimitsFrom(
  limitOf: (name: PeriodLimitName) => bigint | undefined,
): PeriodLimits {
  const row: { -readonly [Name in keyof PeriodLimits]: PeriodLimits[Name] } = {};
  for (const name of periodLimitNames) {
    const limit = limitOf(name);
    if (limit !== undefined) row[limitTable[name].stored] = limit;
  }
  return row;
}
