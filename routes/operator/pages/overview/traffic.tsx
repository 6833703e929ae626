/** The part of the page of today about calls: how they fare, top models and customers, and the last errors. */
import { nameOfAccount } from "../base/linked_text.tsx";
import { type Account, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import type { LogHistogram } from "../../../../core/lib/base/log_histogram.ts";
import type { HourSum } from "../../../../kv/money/receipts/hour_sums.ts";
import { Card, Money, Notice, Stat, Stats, Time } from "../../../dashboard/components/mod.ts";
import { formatCount, formatDuration } from "../../../dashboard/text/format.ts";
import { defineTexts, type Locale } from "../../../dashboard/text/i18n.ts";
import { sharedOf } from "../../../dashboard/customer/usage/call_table.tsx";
import { ErrorStat } from "../../../dashboard/customer/usage/error_stat.tsx";
import { wordsOfCall } from "../../../dashboard/customer/usage/failure_words.ts";
import {
  type Call,
  callerOf,
  errorOf,
  takeCallsOfAll,
} from "../../../usage_api/search/call_scan.ts";
import { type Health, readHealth } from "../../../usage_api/summary.ts";
import type { OperatorDeps } from "../base/frame.tsx";
import { todayTexts } from "./today_texts.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

/** Lines of each ranking. */
const maxRanked = 6;

const texts = defineTexts({
  both: {
    calls: ["Calls, 24 h", "Lượt gọi, 24 giờ"],
    duration: ["Duration, 24 h", "Thời gian, 24 giờ"],
    first: ["Time to first token, 24 h", "Thời gian đến token đầu tiên, 24 giờ"],
    topModels: ["Models, 24 h", "Mô hình, 24 giờ"],
    topCustomers: ["Customers, 24 h", "Khách hàng, 24 giờ"],
    traffic: ["Traffic", "Lưu lượng"],
    noCalls: ["No calls.", "Không có lượt gọi nào."],
  },
  en: {
    durationNote: (median: string) => `p95 · median ${median}`,
    partial: "The store holds more calls of this day than the overview reads: these are too low.",
  },
  vi: {
    durationNote: (median) => `p95 · trung vị ${median}`,
    partial: "Kho có nhiều lượt gọi của ngày này hơn trang đọc: các số này quá thấp.",
  },
});

/** Traffic that the page tells of. */
export interface Traffic {
  readonly health: Health;
  /** The last calls that failed, each with its customer. */
  readonly errors: readonly (readonly [Account | undefined, Call])[];
  readonly customers: readonly (readonly [Account | undefined, string, HourSum])[];
}

function topOf<Name>(sums: ReadonlyMap<Name, HourSum>): (readonly [Name, HourSum])[] {
  return [...sums].sort(([, one], [, other]) =>
    one.costMicroVnd === other.costMicroVnd
      ? other.calls - one.calls
      : one.costMicroVnd < other.costMicroVnd
      ? 1
      : -1
  ).slice(0, maxRanked);
}

/** Reads it: a scan of the hours of a day, so keep the result for a while. */
export async function readTraffic({ kv }: OperatorDeps, nowMs: number): Promise<Traffic> {
  const period = { fromMs: nowMs - dayMs, untilMs: nowMs + 1 };
  const [health, errors] = await Promise.all([
    readHealth(kv, period),
    takeCallsOfAll(kv, { ...period, status: "error" }, maxRanked),
  ]);
  const customers = await Promise.all(
    topOf(health.accounts).map(async ([accountId, sum]) =>
      [await getAccount(kv, accountId), accountId, sum] as const
    ),
  );
  const failed = await Promise.all(
    errors.calls.map(async (call) =>
      [await getAccount(kv, callerOf(call).accountId), call] as const
    ),
  );
  return { health, errors: failed, customers };
}

/** The figures. */
function TrafficFigures({ health, locale }: { health: Health; locale: Locale }) {
  const t = texts[locale];
  const { calls, refused } = health;
  const time = (counts: LogHistogram, share: number) =>
    formatDuration(counts.quantileMs(share) ?? 0, locale);
  return (
    <Stats>
      <Stat label={t.calls}>{formatCount(calls.calls + refused, locale)}</Stat>
      <ErrorStat
        health={health}
        href="/operator/calls?period=24h&metric=errors&status=error"
        locale={locale}
      />
      {calls.latency.size > 0 && (
        <Stat label={t.duration} note={t.durationNote(time(calls.latency, 0.5))}>
          {time(calls.latency, 0.95)}
        </Stat>
      )}
      {calls.firstOutput.size > 0 && (
        <Stat label={t.first} note={t.durationNote(time(calls.firstOutput, 0.5))}>
          {time(calls.firstOutput, 0.95)}
        </Stat>
      )}
    </Stats>
  );
}

/** Cards on how calls fare, and what to look at. */
export function TrafficCards({ traffic, locale }: { traffic: Traffic; locale: Locale }) {
  const t = texts[locale];
  const { health, customers } = traffic;
  return (
    <>
      {health.isPartial && <Notice tone="warning">{t.partial}</Notice>}
      <TrafficFigures health={health} locale={locale} />
      <div class="columns">
        <Card title={t.topModels} actions={<a href="/operator/calls">{t.traffic}</a>}>
          {health.models.size === 0 && <p class="muted">{t.noCalls}</p>}
          <ul class="ranking">
            {topOf(health.models).map(([model, sum]) => (
              <li>
                <a href={`/operator/calls?model=${encodeURIComponent(model)}`}>{model}</a>
                <Money microVnd={sum.costMicroVnd} locale={locale} />
              </li>
            ))}
          </ul>
        </Card>
        <Card title={t.topCustomers}>
          {customers.length === 0 && <p class="muted">{t.noCalls}</p>}
          <ul class="ranking">
            {customers.map(([account, accountId, sum]) => (
              <li>
                <a href={`/operator/calls?account=${accountId}`}>
                  {nameOfAccount(account, accountId)}
                </a>
                <Money microVnd={sum.costMicroVnd} locale={locale} />
              </li>
            ))}
          </ul>
        </Card>
      </div>
    </>
  );
}

function ErrorLine({ account, call, locale }: {
  account: Account | undefined;
  call: Call;
  locale: Locale;
}) {
  const { status, atMs } = sharedOf(call);
  const words = wordsOfCall(call, locale);
  return (
    <li title={words === undefined ? undefined : `${words.what} ${words.next}`}>
      <span class="muted">{status}</span>
      <a href={`/operator/calls/${call.requestId}`}>
        <code>{errorOf(call) ?? String(status)}</code>
      </a>
      <span class="muted cut">{nameOfAccount(account, callerOf(call).accountId)}</span>
      <Time atMs={atMs} locale={locale} relative />
    </li>
  );
}

/** The last calls that failed, one line each. */
export function LastErrorsCard(
  { traffic: { errors }, locale }: { traffic: Traffic; locale: Locale },
) {
  const t = todayTexts[locale];
  return (
    <Card title={t.lastErrors} actions={<a href="/operator/calls?status=error">{t.allErrors}</a>}>
      {errors.length === 0 ? <p class="muted">{t.noErrors}</p> : (
        <ul class="lines errors">
          {errors.map(([account, call]) => (
            <ErrorLine key={call.requestId} account={account} call={call} locale={locale} />
          ))}
        </ul>
      )}
    </Card>
  );
}
