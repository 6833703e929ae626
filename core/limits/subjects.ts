/** Finds whose limits bind a call. */
import type { AccountId, ApiKeyId } from "../lib/ids/ids.ts";
import {
  limitsAnything,
  overridden,
  type RateLimits,
  type RateOverrides,
  type RateSubject,
  stricter,
} from "./rate_limits.ts";

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
