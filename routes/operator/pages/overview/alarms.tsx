/** Alarms: what is wrong with the service now, beyond the work that waits. */
import { ascending } from "../../../../core/lib/base/ascending.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { mailQueue, readBacklog } from "../../../../kv/engine/outbox/outbox.ts";
import { marginMicroVnd } from "../../../../kv/money/costs/margins.ts";
import {
  type BooksState,
  readBooksState,
} from "../../../../kv/services/verify/last_verification.ts";
import { Card, Time } from "../../../dashboard/components/mod.ts";
import { formatCount, formatMoneyShort, formatPercent } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import type { OperatorDeps } from "../base/frame.tsx";
import { type KnownPriceWarnings, readPriceWarnings } from "../margins/warnings.tsx";
import { poorSuccess, type ProvidersHealth, successOf } from "./provider_health.tsx";
import { todayTexts } from "./today_texts.ts";

/** Milliseconds after which books that nobody verified are an alarm: verification is a nightly job. */
const verifiedWithinMs = 2 * dayMs;

/** Attempts below which a poor share says nothing. */
const leastAttempts = 10;

/** Alarms of one kind that are listed. */
const maxOfKind = 3;

/** Trouble that alarms are made of. */
export interface KnownTrouble {
  readonly books: BooksState;
  readonly warnings: KnownPriceWarnings;
  readonly deadMails: number;
}

/** Reads it; margins are a scan, so keep the result for a while. */
export async function readTrouble(deps: OperatorDeps, nowMs: number): Promise<KnownTrouble> {
  const [books, warnings, mails] = await Promise.all([
    readBooksState(deps.kv),
    readPriceWarnings(deps),
    readBacklog(deps.kv, mailQueue.name, nowMs),
  ]);
  return { books, warnings, deadMails: mails.deadLetters };
}

interface Alarm {
  readonly tone: "busy" | "bad";
  readonly text: string;
  readonly href?: string;
  readonly sinceMs?: number;
}

function bookAlarms({ verified: { daily } }: BooksState, nowMs: number, locale: Locale): Alarm[] {
  const t = todayTexts[locale].alarm;
  if (daily === undefined) return [];
  if (daily.problems > 0) {
    const text = t.books(formatCount(daily.problems, locale));
    return [{ tone: "bad", text, sinceMs: daily.atMs }];
  }
  return nowMs - daily.atMs > verifiedWithinMs
    ? [{ tone: "busy", text: t.unverified, sinceMs: daily.atMs }]
    : [];
}

function losingAlarms({ models }: KnownPriceWarnings, locale: Locale): Alarm[] {
  const t = todayTexts[locale].alarm;
  return [...models].flatMap(([model, sum]) => {
    const margin = marginMicroVnd(sum);
    return margin !== undefined && margin < 0n ? [{ model, margin }] : [];
  }).sort((one, other) => ascending(one.margin, other.margin)).slice(0, maxOfKind)
    .map(({ model, margin }) => ({
      tone: "bad",
      text: t.losing(model, formatMoneyShort(margin, locale)),
      href: "/operator/margins?period=7d",
    }));
}

function providerAlarms({ by }: ProvidersHealth, locale: Locale): Alarm[] {
  const t = todayTexts[locale].alarm;
  return [...by].flatMap(([name, health]) => {
    const success = successOf(health);
    return success === undefined || success >= poorSuccess || health.attempts < leastAttempts
      ? []
      : [{ name, success }];
  }).slice(0, maxOfKind).map(({ name, success }) => ({
    tone: "bad",
    text: t.provider(name, formatPercent(success, locale)),
    href: `/operator/provider-routes?${new URLSearchParams({ q: name })}`,
  }));
}

/** The card of alarms. */
export function AlarmsCard({ deps, trouble, providers, nowMs, locale }: {
  deps: Pick<OperatorDeps, "control">;
  trouble: KnownTrouble;
  providers: ProvidersHealth;
  nowMs: number;
  locale: Locale;
}) {
  const t = todayTexts[locale];
  const { maintenance } = deps.control.switches;
  const alarms: readonly Alarm[] = [
    ...maintenance === undefined ? [] : [{
      tone: "bad" as const,
      text: t.alarm.maintenance,
      href: "/operator/service",
      sinceMs: maintenance.sinceMs,
    }],
    ...bookAlarms(trouble.books, nowMs, locale),
    ...providerAlarms(providers, locale),
    ...losingAlarms(trouble.warnings, locale),
    ...trouble.deadMails === 0 ? [] : [{
      tone: "busy" as const,
      text: t.alarm.mails(formatCount(trouble.deadMails, locale)),
    }],
  ];
  return (
    <Card
      title={
        <>
          {t.alarms}{" "}
          {alarms.length > 0 && <span class="count bad">{formatCount(alarms.length, locale)}</span>}
        </>
      }
    >
      {alarms.length === 0 ? <p class="dot good">{t.noAlarms}</p> : (
        <ul class="lines">
          {alarms.map(({ tone, text, href, sinceMs }) => (
            <li>
              <span class={`dot ${tone}`}>
                {href === undefined ? text : <a href={href}>{text}</a>}
              </span>
              {sinceMs !== undefined && <Time atMs={sinceMs} locale={locale} relative />}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
