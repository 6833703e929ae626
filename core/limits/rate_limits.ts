/** Finds whose rate limits bind a call, and merges those that several set. */
import type { AccountId, ApiKeyId } from "../lib/ids/ids.ts";
import { type LimitSubject, type RateLimitName, rateLimitNames } from "./limit_table.ts";

/** Limits of one subject. An absent one does not limit. */
export type RateLimits = { readonly [Name in RateLimitName]?: number | undefined };

/** Settings of an operator for one account in place of the defaults: another limit, or none. Absent: the default. */
export type RateOverrides = { readonly [Name in RateLimitName]?: number | "none" };

/** Whoever shares one minute: an account, a key, a model, or an account on a model. */
export interface RateSubject {
  /** Unique among all subjects. */
  readonly id: string;
  readonly scope: LimitSubject;
  readonly limits: RateLimits;
}

/** Whether anything is limited. */
export function limitsAnything(limits: RateLimits | undefined): limits is RateLimits {
  return limits !== undefined && rateLimitNames.some((name) => limits[name] !== undefined);
}

/** Makes limits from what each of some is. */
export function rateLimitsFrom<Name extends RateLimitName>(
  names: readonly Name[],
  limitOf: (name: Name) => number | undefined,
): RateLimits {
  const limits: { [Each in RateLimitName]?: number } = {};
  for (const name of names) {
    const limit = limitOf(name);
    if (limit !== undefined) limits[name] = limit;
  }
  return limits;
}

/** Applies what an operator set for an account to the defaults. */
function overridden(
  defaults: RateLimits | undefined,
  overrides: RateOverrides | undefined,
): RateLimits | undefined {
  if (overrides === undefined) return defaults;
  return rateLimitsFrom(rateLimitNames, (name) => {
    const set = overrides[name];
    return set === "none" ? undefined : set ?? defaults?.[name];
  });
}

/** The stricter of two limits, each by itself. */
function stricter(one: RateLimits | undefined, other: RateLimits): RateLimits {
  if (one === undefined) return other;
  return rateLimitsFrom(rateLimitNames, (name) => {
    const a = one[name];
    const b = other[name];
    return a === undefined || b === undefined ? a ?? b : Math.min(a, b);
  });
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

/** Settings of an operator for one account: for all its calls, and for its calls of single models. */
export interface AccountRateLimits extends RateOverrides {
  readonly models?: Readonly<Record<string, RateOverrides>>;
}

/** Everything that may limit a call. */
export interface RateSources {
  readonly accountId: AccountId;
  /** Absent where no key calls: for pages. */
  readonly keyId: ApiKeyId | undefined;
  readonly defaults: DefaultRateLimits | undefined;
  /** Limits that the operator set for the account. */
  readonly account: AccountRateLimits | undefined;
  /** Limits that the owner of the key set. */
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
  const add = (scope: LimitSubject, id: string, limits: RateLimits | undefined) => {
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
