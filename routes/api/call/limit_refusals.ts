/** Words the refusals of calls that a limit forbids: which limit, its value, and when to try again. */
import type { Model } from "../../../core/catalog/catalog.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { vietnamIsoTime } from "../../../core/lib/time/vietnam_time.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { RateRefusal } from "../../../core/limits/rate_book.ts";
import {
  isSpendingLimit,
  type LimitName,
  type LimitSubject,
  limitTable,
  type PeriodMeter,
  type RateMeter,
  type SpendingLimitName,
} from "../../../core/limits/limit_table.ts";
import type {
  BudgetRefusal,
  KeyLimitRefusal,
  LimitRefusal,
} from "../../../kv/services/limits/limit_book.ts";
import { counted } from "../../http/query.ts";

/** The limits that a refusal names in counted units. A spending limit of a day or month has words of its own. */
type CountedLimitName = Exclude<LimitName, SpendingLimitName>;

const unitOf: Record<CountedLimitName, readonly [one: string, more: string]> = {
  requestsPerMinute: ["request per minute", "requests per minute"],
  tokensPerMinute: ["token per minute", "tokens per minute"],
  vndPerHour: ["VND per hour", "VND per hour"],
  callsAtOnce: ["call at once", "calls at once"],
  imagesPerDay: ["image per day", "images per day"],
};

function subjectInWords(scope: LimitSubject, { id }: Pick<Model, "id">): string {
  switch (scope) {
    case "account":
      return "this account";
    case "key":
      return "this API key";
    case "model":
      return `the model ${id}`;
    case "account_model":
      return `this account on the model ${id}`;
  }
}

/** What a refusal says of calls that need different amounts of a limit. */
const amountTexts: Record<RateMeter | PeriodMeter, {
  /** Why a call can never be admitted. */
  readonly tooLarge: (needed: string, rule: string) => string;
  /** What is left, after the limit. */
  readonly left: (left: string, needed: string) => string;
}> = {
  calls: { tooLarge: (_needed, rule) => `The rate limit is ${rule}`, left: () => "" },
  tokens: {
    tooLarge: (needed, rule) =>
      `Request too large: the prompt needs about ${needed} tokens, and the rate limit is ${rule}. ` +
      "Send a shorter prompt",
    left: (left, needed) => `; ${left} are left and this call is expected to need ${needed}`,
  },
  money: {
    tooLarge: (needed, rule) =>
      `Request too large: it is expected to cost ${needed} VND, and the rate limit is ${rule}. Ask for less at once`,
    left: (_left, needed) => `; this call is expected to cost ${needed} VND`,
  },
  images: {
    tooLarge: (needed, rule) =>
      `Request too large: it asks for ${needed} images, and the rate limit is ${rule}. Ask for less at once`,
    left: (left, needed) => `; ${left} are left and this call asks for ${needed}`,
  },
};

/** A refusal by a counted limit. */
interface CountedRefusal {
  readonly limitName: CountedLimitName;
  readonly limit: number;
  readonly scope: LimitSubject;
  readonly needed: number;
  readonly remaining: number;
  /** `undefined`: the call needs more than the limit. */
  readonly retryAfterMs: number | undefined;
}

function countedRefusalError(
  { limitName, limit, scope, needed, remaining, retryAfterMs }: CountedRefusal,
  model: Pick<Model, "id">,
): GatewayError {
  const { meter, window } = limitTable[limitName];
  const texts = amountTexts[meter];
  const unit = unitOf[limitName][limit === 1 ? 0 : 1];
  const rule = `${counted(limit)} ${unit} for ${subjectInWords(scope, model)}`;
  const figures = { kind: "rate_limit", limitName, limit } as const;
  if (retryAfterMs === undefined) {
    return new GatewayError("rate_limit_reached", texts.tooLarge(counted(needed), rule), {
      retry: false,
      figures,
    });
  }
  const retryAfterSeconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  const left = texts.left(counted(remaining), counted(needed));
  const then = window === "at_once"
    ? "Try again when one of them has ended"
    : `Try again in ${retryAfterSeconds} s`;
  return new GatewayError("rate_limit_reached", `Rate limit reached: ${rule}${left}. ${then}`, {
    retryAfterSeconds,
    figures: { ...figures, retryAfterSeconds },
  });
}

/** The error of a call that a rate limit refused. */
export function rateRefusalError(refusal: RateRefusal, model: Pick<Model, "id">): GatewayError {
  const kind = limitTable[refusal.limitName];
  const header = "header" in kind ? kind.header : undefined;
  const remaining = header === undefined ? 0 : refusal.figures[header]?.remaining ?? 0;
  return countedRefusalError({ ...refusal, remaining }, model);
}

const periodInWords = { day: "daily", month: "monthly" } as const;

/** Seconds after which a call that failed because of other calls' reservations may be sent again. */
export const reservationRetrySeconds = 5;

/** The error of a call that a limit of its key of a day or month, or a budget refused. */
export function limitError(refusal: LimitRefusal, model: Pick<Model, "id">): GatewayError {
  return refusal.reason === "budget" ? budgetError(refusal) : keyLimitError(refusal, model);
}

/** The error with which a stream ends that has used up a limit of its key or a budget. */
export function limitEndError(refusal: LimitRefusal): GatewayError {
  if (refusal.reason === "budget") {
    return new GatewayError(
      "budget_exceeded",
      `The budget "${refusal.budget.name}" is used up: the answer ends here. ${
        resetOf(refusal.resetsAtMs)
      }`,
    );
  }
  const period = periodInWords[limitTable[refusal.limitName].window];
  return new GatewayError(
    "spending_limit_reached",
    `The ${period} limit of this API key is reached: the answer ends here. ` +
      "The owner of the key can change the limit",
  );
}

function resetOf(resetsAtMs: number | undefined): string {
  return resetsAtMs === undefined
    ? "It does not reset: whoever manages budgets can raise it"
    : `It resets at ${vietnamIsoTime(resetsAtMs).slice(0, 19)}+07:00`;
}

function budgetError(
  { budget: { id, name }, limit, used, needed, resetsAtMs, isHeld }: BudgetRefusal,
): GatewayError {
  const figures = {
    kind: "budget",
    id,
    name,
    limitMicroVnd: limit,
    usedMicroVnd: used,
    neededMicroVnd: needed,
    ...defined({ resetsAtMs }),
  } as const;
  if (isHeld === true) {
    return new GatewayError(
      "balance_on_hold",
      `The budget "${name}" is held by calls in flight: this call needs ${
        formatVnd(needed)
      } VND to begin. Try again when they end`,
      { retryAfterSeconds: reservationRetrySeconds, figures },
    );
  }
  return new GatewayError(
    "budget_exceeded",
    `The budget "${name}" is ${formatVnd(limit)} VND; ${
      formatVnd(used)
    } VND are spent or held by calls in flight, and this call needs ${
      formatVnd(needed)
    } VND to begin. ${resetOf(resetsAtMs)}`,
    { figures },
  );
}

function keyLimitError(refusal: KeyLimitRefusal, model: Pick<Model, "id">): GatewayError {
  const { limitName, limit, used, needed, endsInMs } = refusal;
  if (!isSpendingLimit(limitName)) {
    return countedRefusalError({
      limitName,
      limit: Number(limit),
      scope: "key",
      needed: Number(needed),
      remaining: Math.max(0, Number(limit - used)),
      retryAfterMs: needed > limit ? undefined : endsInMs,
    }, model);
  }
  const figures = {
    kind: "spending_limit",
    limitName,
    limitMicroVnd: limit,
    usedMicroVnd: used,
    neededMicroVnd: needed,
  } as const;
  if (refusal.isHeld === true) {
    return new GatewayError(
      "balance_on_hold",
      `The limit of this API key is held by calls in flight: this call needs ${
        formatVnd(needed)
      } VND to begin. Try again when they end`,
      { retryAfterSeconds: reservationRetrySeconds, figures },
    );
  }
  return new GatewayError(
    "spending_limit_reached",
    `The ${periodInWords[limitTable[limitName].window]} limit of this API key is ${
      formatVnd(limit)
    } VND; ${formatVnd(used)} VND are spent or held by calls in flight, and this call ` +
      `needs ${formatVnd(needed)} VND to begin. The owner of the key can change the limit`,
    { figures },
  );
}
