/** Health of providers in the last hour, by the attempts of the newest calls, and which of their routes rest. */
import { LogHistogram } from "../../../../core/lib/base/log_histogram.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";
import type { RouteReport } from "../../../../core/routing/contract/router.ts";
import { providerOfRoute } from "../../../../kv/money/ledger/provider_claims.ts";
import { Card, DataTable } from "../../../dashboard/components/mod.ts";
import {
  formatBucket,
  formatCount,
  formatDuration,
  formatPercent,
} from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { takeCallsOfAll } from "../../../usage_api/search/call_scan.ts";
import type { OperatorDeps } from "../base/frame.tsx";
import { todayTexts } from "./today_texts.ts";

/** Calls whose attempts are read: a tenth of a second, and enough for a share in whole percent. */
const maxCallsRead = 300;

/** Spans of the last hour that are drawn. */
const spans = 20;
const spanMs = hourMs / spans;

/** Endings of attempts that say nothing of the provider: the caller's mistakes, and those that nobody waited for. */
const notItsFault: ReadonlySet<string> = new Set([
  "invalid_request",
  "context_length_exceeded",
  "content_policy_violation",
  "conversion_refused",
  "beaten",
  "stopped",
]);

/** Health of one provider. */
export interface ProviderHealth {
  readonly attempts: number;
  readonly ok: number;
  readonly latency: LogHistogram;
  /** By span, the oldest first. */
  readonly spans: readonly { readonly ok: number; readonly failed: number }[];
}

/** Health of all. */
export interface ProvidersHealth {
  readonly calls: number;
  readonly by: ReadonlyMap<string, ProviderHealth>;
}

interface Counted {
  attempts: number;
  ok: number;
  readonly latency: LogHistogram;
  readonly spans: { ok: number; failed: number }[];
}

function emptyHealth(): Counted {
  return {
    attempts: 0,
    ok: 0,
    latency: new LogHistogram(),
    spans: Array.from({ length: spans }, () => ({ ok: 0, failed: 0 })),
  };
}

/** Reads how providers fared; a scan, so keep the result for a while. */
export async function readProvidersHealth(
  { kv }: Pick<OperatorDeps, "kv">,
  nowMs: number,
): Promise<ProvidersHealth> {
  const fromMs = nowMs - hourMs;
  const { calls } = await takeCallsOfAll(kv, { fromMs, untilMs: nowMs + 1 }, maxCallsRead);
  const by = new Map<string, Counted>();
  let counted = 0;
  for (const call of calls) {
    if (call.kind !== "receipt") continue;
    counted++;
    const { attempts, startedAtMs } = call.receipt;
    const at = Math.min(spans - 1, Math.max(0, Math.floor((startedAtMs - fromMs) / spanMs)));
    for (const { route, outcome, ms } of attempts) {
      if (notItsFault.has(outcome)) continue;
      const name = providerOfRoute(route);
      const sum = by.get(name) ?? emptyHealth();
      by.set(name, sum);
      sum.attempts++;
      if (outcome === "ok") {
        sum.ok++;
        sum.latency.add(ms);
        sum.spans[at]!.ok++;
      } else sum.spans[at]!.failed++;
    }
  }
  return { calls: counted, by };
}

/** The part of the attempts that a provider answered; `undefined` without any. */
export function successOf({ attempts, ok }: ProviderHealth): number | undefined {
  return attempts === 0 ? undefined : ok / attempts;
}

interface Row {
  readonly name: string;
  readonly health: ProviderHealth;
  readonly routes: number;
  readonly down: number;
  /** Moment at which the first of its resting routes is tried again. */
  readonly restsUntilMs: number | undefined;
}

function rowsOf({ by }: ProvidersHealth, reports: readonly RouteReport[]): Row[] {
  const providers = Map.groupBy(reports, ({ route }) => route.provider);
  for (const name of by.keys()) if (!providers.has(name)) providers.set(name, []);
  return [...providers].map(([name, routes]): Row => {
    const open = routes.flatMap(({ operations }) =>
      Object.values(operations).filter(({ state }) => state === "open")
    );
    const probes = open.flatMap(({ nextProbeAtMs }) => nextProbeAtMs ?? []);
    return {
      name,
      health: by.get(name) ?? emptyHealth(),
      routes: routes.length,
      down: routes.filter(({ switched, operations }) =>
        switched !== undefined || Object.values(operations).some(({ state }) =>
          state === "open"
        )
      ).length,
      restsUntilMs: probes.length === 0 ? undefined : Math.min(...probes),
    };
  }).sort((one, other) => other.down - one.down || other.health.attempts - one.health.attempts);
}

/** A success below this is drawn as trouble. */
export const poorSuccess = 0.9;

function toneOf({ health, routes, down }: Row): "good" | "busy" | "bad" {
  const success = successOf(health);
  if ((routes > 0 && down === routes) || (success !== undefined && success < poorSuccess)) {
    return "bad";
  }
  return down > 0 ? "busy" : "good";
}

function noteOf({ health, routes, down, restsUntilMs }: Row, locale: Locale): string {
  const t = todayTexts[locale];
  if (down > 0) {
    if (down < routes) {
      return t.someResting(formatCount(down, locale), formatCount(routes, locale));
    }
    return restsUntilMs === undefined
      ? t.resting
      : t.restingUntil(formatBucket(restsUntilMs, "hour", locale, "short"));
  }
  return health.attempts === 0 ? t.quiet : t.attempts(formatCount(health.attempts, locale));
}

/** Pixels of a span and of the height of the drawing. */
const tickWidth = 3;
const tickHeight = 16;

function Ticks({ health }: { health: ProviderHealth }) {
  return (
    <svg
      class="ticks"
      width={spans * tickWidth}
      height={tickHeight}
      viewBox={`0 0 ${spans * tickWidth} ${tickHeight}`}
      aria-hidden="true"
      focusable="false"
    >
      {health.spans.map(({ ok, failed }, at) => {
        const isQuiet = ok + failed === 0;
        const height = isQuiet ? 3 : tickHeight;
        return (
          <rect
            class={isQuiet ? "quiet" : failed === 0 ? "good" : failed >= ok ? "bad" : "busy"}
            x={at * tickWidth}
            y={tickHeight - height}
            width={tickWidth - 1}
            height={height}
            rx={1}
          />
        );
      })}
    </svg>
  );
}

/** Providers that the card lists. */
const maxProviders = 8;

/** The card of providers, those in trouble first. */
export function ProvidersCard({ health, reports, locale }: {
  health: ProvidersHealth;
  reports: readonly RouteReport[];
  locale: Locale;
}) {
  const t = todayTexts[locale];
  return (
    <Card title={t.providers} actions={<a href="/operator/provider-routes">{t.routes}</a>}>
      <DataTable
        label={t.providers}
        rows={rowsOf(health, reports).slice(0, maxProviders)}
        empty={<p class="muted">{t.noProviders}</p>}
        columns={[
          {
            head: t.provider,
            cell: (row) => (
              <>
                <span class={`dot ${toneOf(row)}`}>
                  <strong>{row.name}</strong>
                </span>
                <small class="muted">{noteOf(row, locale)}</small>
              </>
            ),
          },
          {
            head: t.success,
            kind: "number",
            cell: ({ health }) => {
              const success = successOf(health);
              return success === undefined
                ? "–"
                : (
                  <span class={success < poorSuccess ? "poor" : undefined}>
                    {formatPercent(success, locale)}
                  </span>
                );
            },
          },
          {
            head: t.p95,
            kind: "number",
            cell: ({ health: { latency } }) =>
              latency.size === 0 ? "–" : formatDuration(latency.quantileMs(0.95) ?? 0, locale),
          },
          {
            head: "1 h",
            wideOnly: true,
            cell: ({ health }) => <Ticks health={health} />,
          },
        ]}
      />
      {health.calls >= maxCallsRead && (
        <p class="muted">{t.providersNote(formatCount(health.calls, locale))}</p>
      )}
    </Card>
  );
}
