/**
 * Budgets of an organisation: an amount of money for a part of its calls, over a window of time. A budget refuses calls
 * beyond its amount, or only tells that it is reached.
 *
 * A new kind of subject that is not matched, named and read everywhere does not compile.
 */
import { type CallTag, type CallTags, hasTag, tagText } from "../billing/usage/call_tags.ts";
import type { AccountId, ApiKeyId } from "../lib/ids/ids.ts";
import {
  daysOfMonth,
  monthOfDay,
  shiftDay,
  vietnamDay,
  vietnamDayStartMs,
} from "../lib/time/vietnam_time.ts";

/** Most budgets of an organisation: each call is compared with all of them. */
export const maxBudgets = 100;

/** Subject of a budget: all calls, or those of one key, model, tag, member or team. */
export type BudgetSubject =
  | { readonly kind: "account" }
  | { readonly kind: "key"; readonly keyId: ApiKeyId }
  | { readonly kind: "model"; readonly model: string }
  | { readonly kind: "tag"; readonly tag: CallTag }
  | { readonly kind: "member"; readonly memberId: string }
  | { readonly kind: "team"; readonly teamId: string };

/** A kind of subject. */
export type BudgetSubjectKind = BudgetSubject["kind"];

/** The kinds of subjects, in the order of forms. */
export const budgetSubjectKinds = [
  "account",
  "key",
  "model",
  "tag",
  "member",
  "team",
] as const satisfies readonly BudgetSubjectKind[];

/** The windows of budgets, by the calendar of Vietnam; `total` begins on the day when the budget is made. */
export const budgetWindows = ["day", "week", "month", "total"] as const;

/** A window of budgets. Weeks begin on Monday. */
export type BudgetWindow = typeof budgetWindows[number];

/** Effects of a budget when its amount is used up: it refuses calls, or only tells. */
export const budgetEnds = ["refuse", "tell"] as const;

/** A budget, as its row has it. */
export interface Budget {
  readonly id: string;
  readonly name: string;
  readonly subject: BudgetSubject;
  readonly window: BudgetWindow;
  readonly amountMicroVnd: bigint;
  readonly atLimit: typeof budgetEnds[number];
  readonly createdAtMs: number;
}

/** Percentages of a budget that trigger a warning, each at most once per window. */
const warningPercents = [50, 80, 100] as const;

/** One of {@linkcode warningPercents}. */
export type WarningPercent = typeof warningPercents[number];

/** The largest share that an amount has reached; `undefined` below the smallest. */
export function reachedPercent(
  { amountMicroVnd }: Pick<Budget, "amountMicroVnd">,
  spentMicroVnd: bigint,
): WarningPercent | undefined {
  return warningPercents.findLast((percent) =>
    spentMicroVnd * 100n >= amountMicroVnd * BigInt(percent)
  );
}

/** Owner of a key, as its row says it. */
export interface KeyOwner {
  /** The organisation. */
  readonly accountId: AccountId;
  /** The member who made it. */
  readonly memberId?: AccountId;
  /** A program made it with a management key, so it is no member's and stays when members leave. */
  readonly madeByProgram?: true;
  readonly teamId?: string;
}

/**
 * Returns the member whose key it is; `undefined`: the organisation's own. A key from before there were members has no
 * `memberId` and belongs to the founder, whose id the organisation has.
 */
export function keyMember(
  { accountId, memberId, madeByProgram }: Omit<KeyOwner, "teamId">,
): AccountId | undefined {
  return madeByProgram === true ? undefined : memberId ?? accountId;
}

/** Facts of a call that decide in which budgets it counts. */
export interface BudgetedCall {
  readonly key: KeyOwner & { readonly id: ApiKeyId };
  readonly model: string;
  readonly tags: CallTags | undefined;
}

/** Whether a call counts in a budget of a subject. */
export function bindsCall(subject: BudgetSubject, call: BudgetedCall): boolean {
  switch (subject.kind) {
    case "account":
      return true;
    case "key":
      return subject.keyId === call.key.id;
    case "model":
      return subject.model === call.model;
    case "tag":
      return hasTag(call.tags, subject.tag);
    case "member":
      return subject.memberId === keyMember(call.key);
    case "team":
      return subject.teamId === call.key.teamId;
  }
}

/** Returns a text that is the same for equal subjects only. */
export function subjectText(subject: BudgetSubject): string {
  switch (subject.kind) {
    case "account":
      return "account";
    case "key":
      return `key ${subject.keyId}`;
    case "model":
      return `model ${subject.model}`;
    case "tag":
      return `tag ${tagText(subject.tag)}`;
    case "member":
      return `member ${subject.memberId}`;
    case "team":
      return `team ${subject.teamId}`;
  }
}

/** The days of a window in Vietnam, both included. */
export interface BudgetDays {
  readonly fromDay: string;
  readonly toDay: string;
}

/** After every day of calls. */
const lastDay = "9999-12-31";

function daysFromMonday(day: string): number {
  return (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7;
}

/**
 * Returns the window in which a call of some moment counts.
 *
 * @example
 * ```ts
 * import { budgetDays } from "./budgets.ts";
 * const week = budgetDays({ window: "week", createdAtMs: 0 }, Date.UTC(2026, 10, 29, 16));
 * if (week.fromDay !== "2026-11-23" || week.toDay !== "2026-11-29") throw new Error(week.fromDay);
 * ```
 */
export function budgetDays(
  { window, createdAtMs }: Pick<Budget, "window" | "createdAtMs">,
  atMs: number,
): BudgetDays {
  const day = vietnamDay(atMs);
  switch (window) {
    case "day":
      return { fromDay: day, toDay: day };
    case "week": {
      const fromDay = shiftDay(day, -daysFromMonday(day));
      return { fromDay, toDay: shiftDay(fromDay, 6) };
    }
    case "month":
      return daysOfMonth(monthOfDay(day));
    case "total": {
      const created = vietnamDay(createdAtMs);
      return { fromDay: created < day ? created : day, toDay: lastDay };
    }
  }
}

/** End of the window of some days; `undefined`: never. */
export function budgetEndMs({ toDay }: BudgetDays): number | undefined {
  return toDay === lastDay ? undefined : vietnamDayStartMs(shiftDay(toDay, 1));
}
