/** Finds the limits of an account and its keys, with what is used of them now, for pages. */
import type { Model } from "../../../core/catalog/catalog.ts";
import { microVndPerVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import {
  type LimitName,
  type LimitSubject,
  type PeriodLimitSet,
  periodLimitsOf,
  type PeriodMeter,
  rateLimitNames,
} from "../../../core/limits/limit_table.ts";
import type { ApiKeyId } from "../../../core/lib/ids/ids.ts";
import { monthOfDay } from "../../../core/lib/time/vietnam_time.ts";
import type { RateBook } from "../../../core/limits/rate_book.ts";
import {
  type DefaultRateLimits,
  type RateSubject,
  rateSubjects,
} from "../../../core/limits/rate_limits.ts";
import type { Account } from "../../../kv/people/accounts/accounts.ts";
import { netCostMicroVnd, type UsageRow } from "../../../kv/money/ledger/usage.ts";
import type { ApiKeyRecord } from "../../../kv/people/api_keys/api_keys.ts";
import { amountsOf } from "../../../kv/services/limits/spent_sums.ts";

/** The rate limits of a gateway, as its pages see them. */
export interface RateView {
  /** Limits that `gateway.json` sets for every account and key. */
  readonly defaults: () => DefaultRateLimits | undefined;
  /** The model of an id. */
  readonly model: (id: string) => Pick<Model, "id" | "rateLimits"> | undefined;
  /** Use of the limits now. */
  readonly use: RateBook["use"];
}

/** One limit, and how much of it is used now. */
export interface LimitInUse {
  readonly scope: LimitSubject;
  /** The model of limits that bind single models. */
  readonly model: string | undefined;
  readonly name: LimitName;
  /** Money in VND. */
  readonly limit: number;
  readonly used: number;
}

/**
 * Owner of the limits that are shown. Without a key: those of the account, and of single models that an operator has
 * set.
 */
export interface RateOwner {
  readonly account: Pick<Account, "id" | "rateLimits">;
  readonly key?: ApiKeyRecord | undefined;
}

/** A subject, with the model of limits that bind a single one. */
interface Shown {
  readonly subject: RateSubject;
  readonly model: string | undefined;
}

function shownOf(view: RateView, { account, key }: RateOwner): Shown[] {
  const defaults = view.defaults();
  const common = { accountId: account.id, account: account.rateLimits } as const;
  const subjects = rateSubjects({
    ...common,
    keyId: key?.id,
    defaults,
    key: key?.rateLimits,
    model: undefined,
  }) ?? [];
  const shown: Shown[] = subjects.map((subject) => ({ subject, model: undefined }));
  if (key !== undefined) return shown;
  for (const id of Object.keys(account.rateLimits?.models ?? {})) {
    const model = view.model(id) ?? { id };
    const ofModel = rateSubjects({
      ...common,
      keyId: undefined,
      defaults: undefined,
      key: undefined,
      model,
    });
    for (const subject of ofModel ?? []) {
      if (subject.scope === "account_model") shown.push({ subject, model: id });
    }
  }
  return shown;
}

/** Lists the limits that bind an account, or a key, with what is used of them. */
export async function limitsInUse(
  view: RateView | undefined,
  owner: RateOwner,
): Promise<LimitInUse[]> {
  if (view === undefined) return [];
  const shown = shownOf(view, owner);
  if (shown.length === 0) return [];
  const uses = await view.use(shown.map(({ subject }) => subject.id));
  return shown.flatMap(({ subject: { scope, limits }, model }, at) =>
    rateLimitNames.flatMap((name): LimitInUse[] => {
      const limit = limits[name];
      const used = uses[at]?.[name] ?? 0;
      return limit === undefined ? [] : [{ scope, model, name, limit, used }];
    })
  );
}

/** Cost of the calls of a key since the begin of a day and of its month, in µVND, refunds taken off. */
export type KeySpend = Readonly<Record<PeriodLimitSet["window"], bigint>>;

/**
 * Sums what a key has spent today and this month.
 *
 * @param rows usage of its account, at least since the begin of the month of `today`
 * @param today `YYYY-MM-DD`, Vietnam time
 */
export function spendOfKey(keyId: ApiKeyId, rows: readonly UsageRow[], today: string): KeySpend {
  const month = monthOfDay(today);
  const sums = { day: 0n, month: 0n };
  for (const row of rows) {
    if (row.keyId !== keyId || !row.day.startsWith(month)) continue;
    const costMicroVnd = netCostMicroVnd(row.usage);
    sums.month += costMicroVnd;
    if (row.day === today) sums.day += costMicroVnd;
  }
  return sums;
}

/** Amounts of a day or month as they are shown. */
const shownAmount: Record<PeriodMeter, (amount: bigint) => number> = {
  money: (microVnd) => Number(microVnd / microVndPerVnd),
  images: Number,
};

/**
 * Lists the limits of a day or month that a key sets, with what its calls have used of them, refunds taken off.
 *
 * @param rows usage of its account, at least since the begin of the month of `today`
 * @param today `YYYY-MM-DD`, Vietnam time
 */
export function periodLimitsInUse(
  key: ApiKeyRecord,
  rows: readonly UsageRow[],
  today: string,
  kindOf: (model: string) => Receipt["kind"] | undefined,
): LimitInUse[] {
  const month = monthOfDay(today);
  return periodLimitsOf(key).map(({ limitName, meter, window, limit }) => {
    let used = 0n;
    for (const { keyId, day, model, usage } of rows) {
      if (keyId !== key.id || !(window === "day" ? day === today : day.startsWith(month))) continue;
      const costMicroVnd = netCostMicroVnd(usage);
      used += amountsOf({ kind: kindOf(model), units: usage.units, costMicroVnd })[meter];
    }
    const shown = shownAmount[meter];
    return {
      scope: "key",
      model: undefined,
      name: limitName,
      limit: shown(limit),
      used: shown(used),
    };
  });
}
