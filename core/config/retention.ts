/**
 * The kinds of rows that leave a store by their age: one table, from which the settings, the preview, the dropping and the
 * guide are made. What has no row here expires by itself or stays; `kv/services/retention/row_lives.ts` says which.
 */
import { z } from "zod";
import { monthOfDay, shiftMonth, vietnamDay, vietnamDayStartMs } from "../lib/time/vietnam_time.ts";
import { dayMs } from "../lib/time/durations.ts";

/** Units of the settings. Months and years are those of the calendar of Vietnam, and end as a whole. */
type KeptUnit = "days" | "months" | "years";

/** A kind of rows with a setting. */
interface RetentionKind {
  /** Content of a row, for the guide. */
  readonly holds: string;
  /** The environment variable, whose name ends in the unit. */
  readonly variable: string;
  readonly unit: KeptUnit;
  /** `undefined`: for ever. */
  readonly byDefault: number | undefined;
  readonly least: number;
  readonly most: number;
  /** Why there is a least, as the end of a sentence. */
  readonly reason: string;
}

/** All kinds, in the order in which they are shown. */
export const retentionKinds = {
  receipts: {
    holds: "receipts of calls, in the archive",
    variable: "GATEWAY_RECEIPT_MONTHS",
    unit: "months",
    byDefault: undefined,
    least: 3,
    most: 120,
    reason: "a quarter that is being settled needs its calls",
  },
  refused_calls: {
    holds: "calls that were refused before a provider was asked",
    variable: "GATEWAY_REFUSED_CALL_DAYS",
    unit: "days",
    byDefault: 30,
    least: 0,
    most: 365,
    reason: "nothing needs them, and 0 keeps none",
  },
  audit_log: {
    holds: "acts of operators that moved no money",
    variable: "GATEWAY_AUDIT_LOG_MONTHS",
    unit: "months",
    byDefault: 120,
    least: 12,
    most: 1_200,
    reason: "who looks into an incident needs the acts of a year",
  },
  money_acts: {
    holds: "acts of operators that moved money or requested it",
    variable: "GATEWAY_MONEY_ACT_YEARS",
    unit: "years",
    byDefault: 10,
    least: 10,
    most: 100,
    reason: "bookkeeping asks for the evidence of ten years",
  },
  invoices: {
    holds: "invoices that were issued or rejected, with their files",
    variable: "GATEWAY_INVOICE_YEARS",
    unit: "years",
    byDefault: 10,
    least: 10,
    most: 100,
    reason: "bookkeeping asks for the invoices of ten years",
  },
  unsent_mails: {
    holds: "mails that no server took, until an operator revives or removes them",
    variable: "GATEWAY_UNSENT_MAIL_DAYS",
    unit: "days",
    byDefault: 180,
    least: 30,
    most: 3_650,
    reason: "an operator who is away for a month still finds them",
  },
} as const satisfies Readonly<Record<string, RetentionKind>>;

/** The name of a kind. */
export type RetentionKindName = keyof typeof retentionKinds;

/** The names of all kinds, in their order. */
export const retentionKindNames = Object.keys(retentionKinds) as readonly RetentionKindName[];

/** Time for which each kind is kept, in its unit; `undefined`: for ever. */
export type RetentionSettings = {
  readonly [Kind in RetentionKindName]: typeof retentionKinds[Kind]["byDefault"] extends number
    ? number
    : number | undefined;
};

/** The schema of one setting. A value below the least is refused with the reason. */
function settingOf({ unit, least, most, reason }: RetentionKind) {
  const form = `must be a whole number of ${unit} from ${least} to ${most}`;
  const tooLow = `must be at least ${least} ${unit}: ${reason}`;
  return z.string().trim().regex(/^\d{1,6}$/, form).transform(Number)
    .pipe(z.number().min(least, tooLow).max(most, form)).optional();
}

/** The environment variables of the settings. */
export const retentionVariables = {
  GATEWAY_RECEIPT_MONTHS: settingOf(retentionKinds.receipts),
  GATEWAY_REFUSED_CALL_DAYS: settingOf(retentionKinds.refused_calls),
  GATEWAY_AUDIT_LOG_MONTHS: settingOf(retentionKinds.audit_log),
  GATEWAY_MONEY_ACT_YEARS: settingOf(retentionKinds.money_acts),
  GATEWAY_INVOICE_YEARS: settingOf(retentionKinds.invoices),
  GATEWAY_UNSENT_MAIL_DAYS: settingOf(retentionKinds.unsent_mails),
} satisfies Readonly<
  Record<typeof retentionKinds[RetentionKindName]["variable"], ReturnType<typeof settingOf>>
>;

/** Takes the settings out of the parsed variables. */
export function readRetention(
  values: { readonly [Name in keyof typeof retentionVariables]?: number | undefined },
): RetentionSettings {
  const { receipts, refused_calls, audit_log, money_acts, invoices, unsent_mails } = retentionKinds;
  return {
    receipts: values[receipts.variable] ?? receipts.byDefault,
    refused_calls: values[refused_calls.variable] ?? refused_calls.byDefault,
    audit_log: values[audit_log.variable] ?? audit_log.byDefault,
    money_acts: values[money_acts.variable] ?? money_acts.byDefault,
    invoices: values[invoices.variable] ?? invoices.byDefault,
    unsent_mails: values[unsent_mails.variable] ?? unsent_mails.byDefault,
  };
}

/** Writes how long rows are kept: `3 months`, `for ever`. */
export function keptText(kind: RetentionKindName, kept: number | undefined): string {
  const { unit } = retentionKinds[kind];
  if (kept === undefined) return "for ever";
  return `${kept} ${kept === 1 ? unit.slice(0, -1) : unit}`;
}

/** Returns the first month that stays if so many whole months before this one are kept, such as `2026-09`. */
export function keptFromOf(nowMs: number, keptMonths: number): string {
  return shiftMonth(monthOfDay(vietnamDay(nowMs)), -keptMonths);
}

/**
 * Returns the moment before which rows of a kind leave. Days are counted back from now; of months and years this one and
 * as many before it stay.
 *
 * @example
 * ```ts
 * import { keptSinceMs } from "./retention.ts";
 * const nowMs = Date.UTC(2026, 10, 28);
 * const since = new Date(keptSinceMs("invoices", 10, nowMs)).toISOString();
 * if (since !== "2015-12-31T17:00:00.000Z") throw new Error(since);
 * ```
 */
export function keptSinceMs(kind: RetentionKindName, kept: number, nowMs: number): number {
  switch (retentionKinds[kind].unit) {
    case "days":
      return nowMs - kept * dayMs;
    case "months":
      return vietnamDayStartMs(`${keptFromOf(nowMs, kept)}-01`);
    case "years":
      return vietnamDayStartMs(`${Number(vietnamDay(nowMs).slice(0, 4)) - kept}-01-01`);
  }
}
