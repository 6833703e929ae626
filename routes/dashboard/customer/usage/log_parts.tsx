/** Parts of pages with a log of calls: how it renews itself, what it leaves out, and how it goes on. */
import { idTimeMs } from "../../../../core/lib/ids/ids.ts";
import type { Call, CallPage } from "../../../usage_api/call_scan.ts";
import { Notice, Pager } from "../../components/mod.ts";
import { formatCount, formatDateTime } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { usageTexts } from "./texts.ts";

/** Says that new calls appear by themselves; without script a link to load the page again. */
export function LiveNote({ href, locale }: { href: string; locale: Locale }) {
  const t = usageTexts[locale];
  return (
    <>
      <span class="live-note only-with-script">
        <i class="live-dot" aria-hidden="true"></i> {t.live}
      </span>
      <a href={href} class="only-without-script">{t.reload}</a>
    </>
  );
}

/** Says that a flood of refusals is listed by samples only. */
export function LeftOutNotice({ calls, locale }: { calls: readonly Call[]; locale: Locale }) {
  const leftOut = calls.reduce(
    (sum, call) => sum + (call.kind === "refused" ? call.refused.leftOut ?? 0 : 0),
    0,
  );
  return leftOut === 0
    ? null
    : <Notice tone="warning">{usageTexts[locale].sampled(formatCount(leftOut, locale))}</Notice>;
}

/** The links to newer and older calls. A search that ended at its bound says how far it has come. */
export function CallPager({ page: { next }, isFull, newer, older, locale }: {
  page: Pick<CallPage, "next">;
  isFull: boolean;
  newer: string | undefined;
  older: string | undefined;
  locale: Locale;
}) {
  const t = usageTexts[locale];
  if (next === undefined || isFull || older === undefined) {
    return <Pager previous={newer} next={older} locale={locale} />;
  }
  return (
    <nav class="pager" aria-label={t.searchGoesOn}>
      {newer !== undefined && <a href={newer} rel="prev">← {t.backToNewest}</a>}
      <span class="muted">{t.searchedTo(formatDateTime(idTimeMs("request", next), locale))}</span>
      <a href={older} rel="next">{t.continueSearch} →</a>
    </nav>
  );
}
