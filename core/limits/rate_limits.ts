/**
 * What a rate limit is: calls and tokens per minute, and calls at once, of an account, a key or a model.
 *
 * - Folder `core/limits/`: the rate limits of customers: who is limited, how much of a minute is used, what a
 *   refused caller reads.
 * - In: limits of the operator and of owners of keys, calls that begin and end.
 * - Out: admissions and refusals, figures for headers and pages, sums for other instances.
 * - Never: waits for a store, or costs a call without limits anything.
 */

/** Limits of one subject. An absent one does not limit. */
export interface RateLimits {
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerMinute?: number | undefined;
  readonly callsAtOnce?: number | undefined;
}

/** One of the limits. */
export type RateLimitName = keyof RateLimits;

/** What an operator sets for one account in place of the defaults: another limit, or none. Absent: the default. */
export type RateOverrides = { readonly [Name in RateLimitName]?: number | "none" };

/** Whom a limit binds. */
export type RateScope = "account" | "key" | "model" | "account_model";

/** Whoever shares one minute: an account, a key, a model, or an account on a model. */
export interface RateSubject {
  /** Unique among all subjects. */
  readonly id: string;
  readonly scope: RateScope;
  readonly limits: RateLimits;
}

/** Whether anything is limited. */
export function limitsAnything(limits: RateLimits | undefined): limits is RateLimits {
  return limits !== undefined &&
    (limits.requestsPerMinute !== undefined || limits.tokensPerMinute !== undefined ||
      limits.callsAtOnce !== undefined);
}

/** Applies what an operator set for an account to the defaults. */
export function overridden(
  defaults: RateLimits | undefined,
  overrides: RateOverrides | undefined,
): RateLimits | undefined {
  if (overrides === undefined) return defaults;
  const one = (name: RateLimitName): number | undefined => {
    const set = overrides[name];
    return set === "none" ? undefined : set ?? defaults?.[name];
  };
  return {
    requestsPerMinute: one("requestsPerMinute"),
    tokensPerMinute: one("tokensPerMinute"),
    callsAtOnce: one("callsAtOnce"),
  };
}

/** The stricter of two limits, each by itself. */
export function stricter(one: RateLimits | undefined, other: RateLimits): RateLimits {
  if (one === undefined) return other;
  const least = (name: RateLimitName): number | undefined => {
    const a = one[name];
    const b = other[name];
    return a === undefined || b === undefined ? a ?? b : Math.min(a, b);
  };
  return {
    requestsPerMinute: least("requestsPerMinute"),
    tokensPerMinute: least("tokensPerMinute"),
    callsAtOnce: least("callsAtOnce"),
  };
}
