/** `/receipts/:id`: all data of one call, as a page or as a fragment for the playground. */
import type { Context } from "hono";
import { tagFilterText, tagText } from "../../../../core/billing/usage/call_tags.ts";
import { fieldsJson } from "../../../../core/lib/json/fields.ts";
import { receiptProofFields } from "../../../usage_api/proofs.ts";
import { failureOf } from "../../../../core/billing/usage/call_failure.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { billedInputTokens } from "../../../../core/billing/tokens/token_bounds.ts";
import { answeringRegion, type Receipt } from "../../../../core/billing/usage/receipt.ts";
import { getApiKey } from "../../../../kv/people/api_keys/api_keys.ts";
import type { LedgerEntry } from "../../../../kv/money/ledger/ledger.ts";
import { readRefusedCall, type RefusedCall } from "../../../../kv/services/calls/refused_calls.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import { readRefundsOf } from "../../../../kv/money/ledger/refunds.ts";
import { Badge, Card, CopyButton, DataTable, Fact, Icon, Time } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { noReceiptPage, notFoundPage } from "../../frame/error_pages.tsx";
import { formatCount, formatDuration } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardEnv } from "../../page/visitor.ts";
import { Bill } from "./receipt_bill.tsx";
import { OutcomeBadge } from "./call_table.tsx";
import { failureWords, refusalWords } from "./failure_words.ts";
import { usageTexts } from "./texts.ts";
import type { PropsWithChildren } from "hono/jsx";
import { errorTable } from "../../../../core/lib/errors/errors.ts";

// One call beside the list of calls; `log.js` puts it there. Its address is that of the page of the call.

/** The content of the drawer. */
export function Drawer({ title, href, locale, children }: PropsWithChildren<{
  title: string;
  href: string;
  locale: Locale;
}>) {
  const t = usageTexts[locale];
  return (
    <>
      <div class="drawer-head">
        <h2 id="drawer-title">{title}</h2>
        <a href={href} class="button outline secondary small" data-whole-page>
          <Icon name="external" /> {t.wholePage}
        </a>
        <button type="button" class="outline secondary small" data-close-drawer>{t.close}</button>
      </div>
      {children}
    </>
  );
}

// `/receipts/:id` of a call that was refused before a provider was asked.

/** Shows a refused call to its owner. */
async function refusedPage(
  c: Context<DashboardEnv>,
  { kv }: Pick<DashboardDeps, "kv">,
  call: RefusedCall,
): Promise<Response> {
  const { locale } = c.get("visitor");
  const t = usageTexts[locale];
  const key = await getApiKey(kv, call.accountId, call.keyId);
  const facts = <RefusedFacts call={call} keyName={key?.name ?? t.unknownKey} locale={locale} />;
  const fragment = c.req.query("fragment");
  if (fragment === "drawer") {
    return await c.html(
      <Drawer title={t.refusedTitle} href={`/receipts/${call.requestId}`} locale={locale}>
        <p class="muted">{t.refusedLead}</p>
        {facts}
      </Drawer>,
    );
  }
  if (fragment !== undefined) return await c.html(facts);
  return await renderPage(
    c,
    { title: t.refusedTitle, lead: t.refusedLead },
    <>
      <Card>{facts}</Card>
      <p class="muted">{t.notStored}</p>
      <p>
        <a href="/usage">← {t.back}</a>
      </p>
    </>,
  );
}

/** All data of a refused call. */
export function RefusedFacts({ call, keyName, locale }: {
  call: RefusedCall;
  keyName: string;
  locale: Locale;
}) {
  const t = usageTexts[locale];
  const { requestId, status, code, endpoint, model, leftOut = 0 } = call;
  const { what, next, detail } = refusalWords(call, locale);
  // A row may have been written by a version whose table had other codes.
  const type = Object.hasOwn(errorTable, code) ? errorTable[code].type : undefined;
  return (
    <dl class="facts">
      <Fact name={t.requestId}>
        <code>{requestId}</code> <CopyButton text={requestId} what={t.requestId} locale={locale} />
      </Fact>
      <Fact name={t.outcome}>
        <Badge tone="bad">{t.refused}</Badge> <code>{status}</code>
      </Fact>
      <Fact name={t.error}>
        <code>{code}</code>{" "}
        {type !== undefined && type !== code && <span class="muted">{type}</span>}
      </Fact>
      <Fact name={t.message}>{what}</Fact>
      {detail !== undefined && (
        <Fact name={t.apiMessage}>
          <span lang="en">{detail}</span>
        </Fact>
      )}
      <Fact name={t.nextStep}>
        {next} <a href={`/docs/errors#${encodeURIComponent(code)}`}>{t.errorGuide}</a>
      </Fact>
      <Fact name={t.cost}>{t.notCharged}</Fact>
      <Fact name={t.started}>
        <Time atMs={call.atMs} locale={locale} />
      </Fact>
      <Fact name={t.latency}>{formatDuration(call.latencyMs, locale)}</Fact>
      <Fact name={t.key}>{keyName}</Fact>
      {model !== undefined && <Fact name={t.model}>{model}</Fact>}
      {endpoint !== undefined && (
        <Fact name={t.endpoint}>
          <code>{endpoint}</code>
        </Fact>
      )}
      {leftOut > 0 && <Fact name={t.others}>{t.leftOut(formatCount(leftOut, locale))}</Fact>}
    </dl>
  );
}

// The times of a call on one axis: each attempt, and the whole call.

/** A row of the waterfall. Times are in milliseconds after the start of the call. */
interface Span {
  readonly name: string;
  readonly outcome: string | undefined;
  readonly tone: "waiting" | "failed" | "whole";
  readonly fromMs: number;
  readonly ms: number;
  /** From here on there was output. */
  readonly outputFromMs?: number;
}

/**
 * The rows of a call. Receipts keep how long an attempt took and not when it began: attempts follow one another, and one
 * that was answered ended when output began.
 */
function spansOf(receipt: Receipt, locale: Locale, namesRoutes: boolean): Span[] {
  const t = usageTexts[locale];
  const { attempts, firstOutputMs, latencyMs } = receipt;
  let nextMs = 0;
  const spans = attempts.map(({ route, outcome, ms }, at): Span => {
    const name = t.attemptNumber(at + 1) + (namesRoutes ? `: ${route}` : "");
    const isAnswered = outcome === "ok";
    const endMs = isAnswered && firstOutputMs !== undefined ? firstOutputMs : nextMs + ms;
    const fromMs = Math.max(0, Math.min(endMs, latencyMs) - ms);
    nextMs = fromMs + ms;
    const span: Span = { name, outcome, tone: isAnswered ? "waiting" : "failed", fromMs, ms };
    return isAnswered && firstOutputMs !== undefined ? { ...span, outputFromMs: endMs } : span;
  });
  return [
    ...spans,
    { name: t.wholeCall, outcome: undefined, tone: "whole", fromMs: 0, ms: latencyMs },
  ];
}

/** A span between the start and the end of its call. */
function SpanBar({ span, wholeMs }: { span: Span; wholeMs: number }) {
  const share = (ms: number) => `${(Math.min(1, ms / wholeMs) * 100).toFixed(2)}%`;
  const { fromMs, ms, tone, outputFromMs } = span;
  const leastMs = wholeMs / 200;
  return (
    <svg class="timing-bar" aria-hidden="true" focusable="false">
      <rect class={tone} x={share(fromMs)} width={share(Math.max(ms, leastMs))} height="100%" />
      {outputFromMs !== undefined && (
        <>
          <rect
            class="output"
            x={share(outputFromMs)}
            width={share(Math.max(wholeMs - outputFromMs, leastMs))}
            height="100%"
          />
          <rect class="first" x={share(outputFromMs)} width="2" height="100%" />
        </>
      )}
    </svg>
  );
}

/** The attempts of a call as a waterfall. Customers do not see which routes they used. */
export function Timing({ receipt, locale, namesRoutes = false }: {
  receipt: Receipt;
  locale: Locale;
  /** For operators. */
  namesRoutes?: boolean;
}) {
  const t = usageTexts[locale];
  const spans = spansOf(receipt, locale, namesRoutes);
  const wholeMs = Math.max(1, ...spans.map(({ fromMs, ms }) => fromMs + ms));
  return (
    <DataTable
      label={t.timing}
      rows={spans}
      columns={[
        {
          head: t.step,
          cell: ({ name, outcome, outputFromMs }) => (
            <>
              {name} {outcome !== undefined && <code>{outcome}</code>}
              {outputFromMs !== undefined && (
                <div class="muted">{t.firstAt(formatDuration(outputFromMs, locale))}</div>
              )}
            </>
          ),
        },
        {
          head: t.timeline,
          cell: (span) => <SpanBar span={span} wholeMs={wholeMs} />,
        },
        {
          head: t.latency,
          kind: "number",
          cell: ({ ms }) => formatDuration(ms, locale),
        },
      ]}
    />
  );
}

/** Leads from the search to the page of a call. */
export async function findCall(c: Context<DashboardEnv>): Promise<Response> {
  const requestId = parseId("request", (c.req.query("id") ?? "").trim());
  if (requestId !== undefined) return c.redirect(`/receipts/${requestId}`, 303);
  const t = usageTexts[c.get("visitor").locale];
  return await noReceiptPage(c, { title: t.noReceipt, text: t.noReceiptText });
}

/** Shows a call of the signed-in account: its receipt, or why it was refused. */
export async function receiptPage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
): Promise<Response> {
  const { locale } = c.get("visitor");
  const { account } = c.get("signedIn");
  const t = usageTexts[locale];
  const requestId = parseId("request", c.req.param("id") ?? "");
  const receipt = requestId === undefined ? undefined : await readReceipt(deps.kv, requestId);
  if (requestId === undefined) return await notFoundPage(c);
  if (receipt === undefined) {
    const refused = await readRefusedCall(deps.kv, requestId);
    if (refused?.accountId === account.id) return await refusedPage(c, deps, refused);
  }
  // The call of another account does not exist for this one.
  if (receipt === undefined || receipt.accountId !== account.id) {
    return await noReceiptPage(c, { title: t.noReceipt, text: t.noReceiptText });
  }
  const key = await getApiKey(deps.kv, account.id, receipt.keyId);
  const keyName = key?.name ?? t.unknownKey;
  const refund = (await readRefundsOf(deps.kv, [receipt])).get(receipt.requestId);
  const facts = { receipt, keyName, refund, locale };
  const fragment = c.req.query("fragment");
  if (fragment === "drawer") {
    return await c.html(
      <Drawer title={t.receipt} href={`/receipts/${receipt.requestId}`} locale={locale}>
        <ReceiptFacts {...facts} />
        <h3>{t.timing}</h3>
        <Timing receipt={receipt} locale={locale} />
      </Drawer>,
    );
  }
  if (fragment !== undefined) return await c.html(<ReceiptFacts {...facts} />);
  return await renderPage(
    c,
    { title: t.receipt, lead: t.receiptLead },
    <>
      <Card>
        <ReceiptFacts {...facts} />
      </Card>
      <Card title={t.timing}>
        <Timing receipt={receipt} locale={locale} />
      </Card>
      <p class="muted">{t.notStored}</p>
      <p>
        <a href="/usage">← {t.back}</a> ·{" "}
        <a href={`/receipts/${receipt.requestId}/proof`}>{t.proof}</a>
      </p>
    </>,
  );
}

/** Sends the proof of a receipt as a file, or says why there is none. */
export async function proofFile(c: Context<DashboardEnv>, { kv }: DashboardDeps) {
  const { locale } = c.get("visitor");
  const t = usageTexts[locale];
  const requestId = parseId("request", c.req.param("id") ?? "");
  const receipt = requestId === undefined ? undefined : await readReceipt(kv, requestId);
  if (receipt?.accountId !== c.get("signedIn").account.id) return await notFoundPage(c);
  const { proveReceipt } = await import("../../../../kv/services/proofs/read_proofs.ts");
  const found = await proveReceipt(kv, receipt.requestId);
  if (!found.ok) {
    return await noReceiptPage(c, { title: t.noProof, text: t.noProofText[found.why] });
  }
  const name = `proof-${receipt.requestId}.json`;
  return c.json(fieldsJson(receiptProofFields, found.proof), 200, {
    "content-disposition": `attachment; filename="${name}"`,
    "cache-control": "private, no-store",
  });
}

/** The gateway's region, and that of the route that answered where it is another. */
function regionText(region: string, answeredIn: string | undefined): string {
  return answeredIn === undefined || answeredIn === region ? region : `${region} → ${answeredIn}`;
}

/** All data of a receipt but its route, which is known to the operator alone. */
export function ReceiptFacts({ receipt, keyName, refund, locale }: {
  receipt: Receipt;
  keyName: string;
  refund: LedgerEntry | undefined;
  locale: Locale;
}) {
  const t = usageTexts[locale];
  return (
    <>
      <Bill receipt={receipt} refund={refund} locale={locale} />
      <dl class="facts">
        <Fact name={t.requestId}>
          <code>{receipt.requestId}</code>{" "}
          <CopyButton text={receipt.requestId} what={t.requestId} locale={locale} />
        </Fact>
        <Fact name={t.outcome}>
          <OutcomeBadge receipt={receipt} locale={locale} /> <code>{receipt.status}</code>
        </Fact>
        <FailureFacts receipt={receipt} locale={locale} />
        <EndFact receipt={receipt} locale={locale} />
        <UsageFacts receipt={receipt} locale={locale} />
        {receipt.region !== undefined && (
          <Fact name={t.region}>{regionText(receipt.region, answeringRegion(receipt))}</Fact>
        )}
        <Fact name={t.started}>
          <Time atMs={receipt.startedAtMs} locale={locale} />
        </Fact>
        <Fact name={t.latency}>{formatDuration(receipt.latencyMs, locale)}</Fact>
        {receipt.firstOutputMs !== undefined && (
          <Fact name={t.firstOutput}>{formatDuration(receipt.firstOutputMs, locale)}</Fact>
        )}
        <Fact name={t.key}>{keyName}</Fact>
        <Fact name={t.model}>{receipt.model}</Fact>
        {receipt.mappedFrom !== undefined && <Fact name={t.mappedFrom}>{receipt.mappedFrom}</Fact>}
        {receipt.tags !== undefined && (
          <Fact name={t.tags}>
            {receipt.tags.map((tag) => (
              <>
                <a href={`/usage?tag=${encodeURIComponent(tagFilterText(tag))}`}>
                  <code>{tagText(tag)}</code>
                </a>
                {" "}
              </>
            ))}
          </Fact>
        )}
        <Fact name={t.kind}>{t.kinds[receipt.kind]}</Fact>
        <Fact name={t.style}>{receipt.style}</Fact>
        <Fact name={t.stream}>{receipt.stream ? t.yes : t.no}</Fact>
      </dl>
    </>
  );
}

/** Why a call failed, in the language of the page: receipts keep codes and no messages. */
function FailureFacts({ receipt, locale }: { receipt: Receipt; locale: Locale }) {
  const t = usageTexts[locale];
  const failure = failureOf(receipt);
  if (failure === undefined) return null;
  const { code, type } = failure;
  const { what, next } = failureWords(code, locale);
  return (
    <>
      <Fact name={t.error}>
        <code>{code}</code> {type !== code && <span class="muted">{type}</span>}
      </Fact>
      <Fact name={t.reason}>{what}</Fact>
      <Fact name={t.nextStep}>
        {next} <a href={`/docs/errors#${encodeURIComponent(code)}`}>{t.errorGuide}</a>
      </Fact>
    </>
  );
}

/** What ended a stream before it was whole, in the language of the page. */
function EndFact({ receipt: { endCode }, locale }: { receipt: Receipt; locale: Locale }) {
  if (endCode === undefined) return null;
  const { endedBy, ends, endedByProvider } = usageTexts[locale];
  const text = Object.hasOwn(ends, endCode) ? ends[endCode] : endedByProvider;
  return (
    <Fact name={endedBy}>
      {text} <code>{endCode}</code>
    </Fact>
  );
}

/** What the bill does not say of the tokens: those that no price counts, and those of reasoning. */
function UsageFacts({ receipt, locale }: { receipt: Receipt; locale: Locale }) {
  const t = usageTexts[locale];
  const { usage, costMicroVnd, shortfallMicroVnd } = receipt;
  if (usage === undefined) return null;
  const count = (tokens: number) => formatCount(tokens, locale);
  const isBilled = receipt.price.unit === "token" && costMicroVnd + shortfallMicroVnd > 0n;
  return (
    <>
      {!isBilled && (
        <>
          <Fact name={t.inputTokens}>{count(billedInputTokens(usage))}</Fact>
          <Fact name={t.outputTokens}>{count(usage.output)}</Fact>
        </>
      )}
      {usage.reasoning > 0 && <Fact name={t.reasoning}>{count(usage.reasoning)}</Fact>}
    </>
  );
}
