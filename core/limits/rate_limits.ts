/**
 * What a rate limit is: calls and tokens per minute, and calls at once, of an account, a key or a model.
 *
 * - Folder `core/limits/`: the rate limits of customers: who is limited, how much of a minute is used, what a
 *   refused caller reads.
 * - In: limits of the operator and of owners of keys, calls that begin and end.
 * - Out: admissions and refusals, figures for headers and pages, sums for other instances.
 * - Never: waits for a store, or costs a call without limits anything.
 */
import type { AccountId, ApiKeyId } from "../lib/ids/ids.ts";

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
function overridden(
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
function stricter(one: RateLimits | undefined, other: RateLimits): RateLimits {
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

// Finds whose limits bind a call.

/** The limits that `gateway.json` sets for every account and every key. */
export interface DefaultRateLimits {
  readonly account?: RateLimits | undefined;
  readonly key?: RateLimits | undefined;
}

/** The limits of a model: of all its calls together, and of those of each account. */
export interface ModelRateLimits {
  readonly all?: RateLimits | undefined;
  readonly account?: RateLimits | undefined;
}

/** What an operator sets for one account: for all its calls, and for its calls of single models. */
export interface AccountRateLimits extends RateOverrides {
  readonly models?: Readonly<Record<string, RateOverrides>>;
}

/** Everything that may limit a call. */
export interface RateSources {
  readonly accountId: AccountId;
  /** Absent where no key calls: for pages. */
  readonly keyId: ApiKeyId | undefined;
  readonly defaults: DefaultRateLimits | undefined;
  /** What the operator set for the account. */
  readonly account: AccountRateLimits | undefined;
  /** What the owner of the key set. */
  readonly key: RateLimits | undefined;
  /** Absent where no model is called: for pages. */
  readonly model:
    | { readonly id: string; readonly rateLimits?: ModelRateLimits | undefined }
    | undefined;
}

/** Lists whose limits bind a call; `undefined` if nothing does. */
export function rateSubjects(sources: RateSources): readonly RateSubject[] | undefined {
  const { accountId, keyId, defaults, account, key, model } = sources;
  const subjects: RateSubject[] = [];
  const add = (scope: RateSubject["scope"], id: string, limits: RateLimits | undefined) => {
    if (limitsAnything(limits)) subjects.push({ scope, id, limits });
  };
  add("account", accountId, overridden(defaults?.account, account));
  if (keyId !== undefined) {
    add("key", keyId, key === undefined ? defaults?.key : stricter(defaults?.key, key));
  }
  if (model !== undefined) {
    const own = account?.models?.[model.id];
    add("account_model", `${accountId} ${model.id}`, overridden(model.rateLimits?.account, own));
    add("model", `model ${model.id}`, model.rateLimits?.all);
  }
  return subjects.length === 0 ? undefined : subjects;
}
