/** The table of calls on the overview and on the usage page. */
import { billedInputTokens } from "../../../../core/billing/tokens/token_bounds.ts";
import { idTimeMs, type RequestId } from "../../../../core/lib/ids/ids.ts";
import type { Outcome, Receipt } from "../../../../core/billing/usage/receipt.ts";
import type { LedgerEntry } from "../../../../kv/money/ledger/ledger.ts";
import { type Call, type CallPage, errorOf } from "../../../usage_api/search/call_scan.ts";
import {
  Badge,
  type BadgeTone,
  DataTable,
  Money,
  Notice,
  Pager,
  Time,
} from "../../components/mod.ts";
import { formatCount, formatDateTime, formatDuration } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { type FailureWords, vietnameseDetail, wordsOfCall } from "./failure_words.ts";
import { usageTexts } from "./texts.ts";

// Parts of pages with a log of calls: live refresh, omitted-rows notice, pager.

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

const outcomeTones: Readonly<Record<Outcome, BadgeTone>> = {
  completed: "good",
  empty: "neutral",
  failed: "bad",
  broken: "busy",
  client_gone: "busy",
  cut: "busy",
  withheld: "busy",
};

/** The result of a call as a badge. */
export function OutcomeBadge({ receipt, locale }: { receipt: Receipt; locale: Locale }) {
  const t = usageTexts[locale];
  return <Badge tone={outcomeTones[receipt.outcome]}>{t.outcomes[receipt.outcome]}</Badge>;
}

/** Formats tokens as `in + out`, or a number of units. */
function Amount({ receipt, locale }: { receipt: Receipt; locale: Locale }) {
  const { usage } = receipt;
  if (receipt.price.unit !== "token" && usage === undefined) {
    return receipt.units === 0 ? "–" : formatCount(receipt.units, locale);
  }
  if (usage === undefined) return "–";
  const input = formatCount(billedInputTokens(usage), locale);
  return `${input} + ${formatCount(usage.output, locale)}`;
}

/** The result of a call: of its receipt, or that it was refused, and how many others like it have no row. */
export function CallResult({ call, locale }: { call: Call; locale: Locale }) {
  const t = usageTexts[locale];
  if (call.kind === "receipt") {
    const { receipt } = call;
    return (
      <>
        <OutcomeBadge receipt={receipt} locale={locale} />{" "}
        {receipt.status >= 400 && <code>{receipt.status}</code>}
      </>
    );
  }
  const { status, leftOut = 0 } = call.refused;
  return (
    <>
      <Badge tone="bad">{t.refused}</Badge> <code>{status}</code>
      {leftOut > 0 && (
        <small class="muted" title={t.leftOut(formatCount(leftOut, locale))}>
          +{formatCount(leftOut, locale)}
        </small>
      )}
    </>
  );
}

/** Attributes by which `log.js` finds the row of a call. Its first link leads to the call, which opens beside the list. */
export function callRowAttributes(requestId: RequestId) {
  return { "data-call": requestId };
}

/** A message of the API, which clients get in English: in the reader's words, or quoted as what the API said. */
export function ApiMessage({ detail, locale }: { detail: string; locale: Locale }) {
  if (locale === "en") return <span>{detail}</span>;
  const words = vietnameseDetail(detail);
  if (words !== undefined) return <span>{words}</span>;
  return (
    <span>
      {usageTexts[locale].apiMessage}: <q lang="en">{detail}</q>
    </span>
  );
}

/** Why a call was refused or failed. */
function FailureSentence({ words: { what, detail }, locale }: {
  words: FailureWords;
  locale: Locale;
}) {
  return <>{what} {detail !== undefined && <ApiMessage detail={detail} locale={locale} />}</>;
}

/** The same of a call; nothing for one that was answered. */
export function FailureLine({ call, locale }: { call: Call; locale: Locale }) {
  const words = wordsOfCall(call, locale);
  return words === undefined ? null : <FailureSentence words={words} locale={locale} />;
}

/** The code of a call that failed, and our words for it; what to do is in the title. */
function ErrorLine({ call, locale }: { call: Call; locale: Locale }) {
  const words = wordsOfCall(call, locale);
  if (words === undefined) return null;
  return (
    <small class="error-line" title={`${words.what} ${words.next}`}>
      <code>{errorOf(call)}</code>{" "}
      <span class="muted">
        <FailureSentence words={words} locale={locale} />
      </span>
    </small>
  );
}

/** Cost of a call; one that failed or was refused says that it was free. */
export function CallCost({ call, locale }: { call: Call; locale: Locale }) {
  const microVnd = call.kind === "receipt" ? call.receipt.costMicroVnd : 0n;
  return microVnd === 0n && errorOf(call) !== undefined
    ? <data value="0" class="muted">{usageTexts[locale].notCharged}</data>
    : <Money microVnd={microVnd} locale={locale} />;
}

/** The table of calls. */
export function CallTable({ calls, refunds, keyNames, locale }: {
  calls: readonly Call[];
  refunds: ReadonlyMap<RequestId, LedgerEntry>;
  /** Absent: the visitor may not see keys. */
  keyNames: ReadonlyMap<string, string> | undefined;
  locale: Locale;
}) {
  const t = usageTexts[locale];
  return (
    <DataTable
      label={t.calls}
      rows={calls.map((call) => ({ call, ...sharedOf(call) }))}
      rowAttributes={({ call }) => callRowAttributes(call.requestId)}
      columns={[
        {
          head: t.time,
          sortable: true,
          kind: "one-line",
          phone: "second-end",
          cell: ({ call, atMs }) => (
            <a href={`/receipts/${call.requestId}`}>
              <Time atMs={atMs} locale={locale} relative />
            </a>
          ),
        },
        {
          head: t.model,
          sortable: true,
          phone: "first",
          cell: ({ call, model }) => (
            <>
              {model ?? "–"}
              <ErrorLine call={call} locale={locale} />
            </>
          ),
        },
        ...(keyNames === undefined ? [] : [{
          head: t.key,
          wideOnly: true as const,
          cell: ({ keyId }: ReturnType<typeof sharedOf>) => keyNames.get(keyId) ?? t.unknownKey,
        }]),
        {
          head: t.outcome,
          sortable: true,
          phone: "second",
          cell: ({ call }) => <CallResult call={call} locale={locale} />,
        },
        {
          head: t.amount,
          kind: "number",
          wideOnly: true,
          cell: ({ call }) =>
            call.kind === "refused" ? "–" : (
              <>
                <Amount receipt={call.receipt} locale={locale} />
                {call.receipt.estimated && <span title={t.estimatedHint}>≈</span>}
              </>
            ),
        },
        {
          head: t.latency,
          sortable: true,
          kind: "number",
          wideOnly: true,
          cell: ({ latencyMs }) => (
            <data value={String(latencyMs)}>{formatDuration(latencyMs, locale)}</data>
          ),
        },
        {
          head: t.cost,
          sortable: true,
          kind: "number",
          phone: "first-end",
          cell: ({ call }) => (
            <>
              {refunds.has(call.requestId) && <Badge tone="neutral">{t.refunded}</Badge>}{" "}
              <CallCost call={call} locale={locale} />
            </>
          ),
        },
      ]}
    />
  );
}

/** Members that both kinds of calls have. */
export function sharedOf(call: Call) {
  if (call.kind === "refused") return call.refused;
  const { startedAtMs: atMs, model, keyId, latencyMs, status } = call.receipt;
  return { atMs, model, keyId, latencyMs, status };
}
