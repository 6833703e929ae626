/**
 * The error rate of 24 hours as a figure. Everywhere it has the same meaning: calls that failed or were refused, as a
 * part of all calls, the refused ones included.
 */
import { errorRate, type Health } from "../../../usage_api/summary.ts";
import { Stat } from "../../components/mod.ts";
import { formatCount, formatPercent } from "../../text/format.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";

const texts = defineTexts({
  en: {
    label: "Errors, 24 h",
    failed: (count: string) => `${count} failed`,
    refused: (count: string) => `${count} refused`,
    of: (counts: string, all: string) => `${counts} of ${all}`,
  },
  vi: {
    label: "Lỗi, 24 giờ",
    failed: (count) => `${count} lượt lỗi`,
    refused: (count) => `${count} bị từ chối`,
    of: (counts, all) => `${counts} trên ${all}`,
  },
});

/** Figures of the rate: the failed and the refused calls, and all of them. */
function errorWords({ calls, refused }: Pick<Health, "calls" | "refused">, locale: Locale): string {
  const t = texts[locale];
  const counts = [
    ...(calls.failed > 0 || refused === 0 ? [t.failed(formatCount(calls.failed, locale))] : []),
    ...(refused > 0 ? [t.refused(formatCount(refused, locale))] : []),
  ];
  return t.of(counts.join(", "), formatCount(calls.calls + refused, locale));
}

/** The figure, with what it counts; the note leads to the calls themselves. */
export function ErrorStat({ health, href, locale }: {
  health: Pick<Health, "calls" | "refused">;
  href: string;
  locale: Locale;
}) {
  const rate = errorRate(health);
  return (
    <Stat
      label={texts[locale].label}
      note={rate === undefined ? undefined : <a href={href}>{errorWords(health, locale)}</a>}
    >
      {rate === undefined ? "–" : formatPercent(rate, locale)}
    </Stat>
  );
}
