/**
 * A call as a bill: what it was and how it ended, then what it cost, then its attempts on one axis, then the details. A
 * failed call says first what happened and what to do.
 */
import type { Child } from "hono/jsx";
import { tagFilterText, tagText } from "../../../../core/billing/usage/call_tags.ts";
import { failureOf } from "../../../../core/billing/usage/call_failure.ts";
import { billedInputTokens } from "../../../../core/billing/tokens/token_bounds.ts";
import { answeringRegion, type Receipt } from "../../../../core/billing/usage/receipt.ts";
import { errorTable } from "../../../../core/lib/errors/errors.ts";
import type { RequestId } from "../../../../core/lib/ids/ids.ts";
import type { LedgerEntry } from "../../../../kv/money/ledger/ledger.ts";
import type { RefusedCall } from "../../../../kv/services/calls/refused_calls.ts";
import { receiptHeaders } from "../../../api/call/response_headers.ts";
import { Badge, CopyButton, DataTable, Fact, Icon, Time } from "../../components/mod.ts";
import { mayVisit } from "../../page/page_acts.ts";
import type { Visitor } from "../../page/visitor.ts";
import { formatCount, formatDuration } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { ApiMessage, OutcomeBadge } from "./call_table.tsx";
import { type FailureWords, failureWords, refusalWords } from "./failure_words.ts";
import { Bill, FreeBill } from "./receipt_bill.tsx";
import { usageTexts } from "./texts.ts";

/** Facts of a call that a card has beside its row. */
interface CardProps {
  /** As people call it; absent: by its id. */
  readonly modelName?: string | undefined;
  /** Absent: the visitor may not see keys. */
  readonly keyName: string | undefined;
  readonly visitor: Visitor;
}

/** The card of a call with a receipt. */
export function ReceiptCard({ receipt, refund, modelName, keyName, visitor, namesRoutes = false }:
  & CardProps
  & {
    readonly receipt: Receipt;
    readonly refund: LedgerEntry | undefined;
    /** For operators: customers do not see which routes they used. */
    readonly namesRoutes?: boolean;
  }) {
  const { locale } = visitor;
  const t = usageTexts[locale];
  const { requestId, startedAtMs, status, attempts, latencyMs } = receipt;
  const failure = failureOf(receipt);
  const took = formatDuration(latencyMs, locale);
  return (
    <div class="receipt">
      <CardHead
        name={modelName ?? receipt.model}
        state={
          <>
            <OutcomeBadge receipt={receipt} locale={locale} /> <code>{status}</code>{" "}
            {failure !== undefined && <code>{failure.code}</code>}
          </>
        }
        requestId={requestId}
        atMs={startedAtMs}
        locale={locale}
      />
      {failure !== undefined && (
        <Failure
          words={failureWords(failure.code, locale)}
          tried={attempts.length === 0 ? undefined : t.tried(attempts.length, took)}
          locale={locale}
        />
      )}
      <EndNotice receipt={receipt} locale={locale} />
      <Bill receipt={receipt} refund={refund} locale={locale} />
      {failure !== undefined && (
        <NextSteps
          next={failureWords(failure.code, locale).next}
          code={failure.code}
          model={receipt.kind === "chat" ? receipt.model : undefined}
          isOfProvider
          visitor={visitor}
        />
      )}
      <h2 class="receipt-part">
        {t.timing} <small class="muted">{t.inTotal(took)}</small>
        <TimingLegend locale={locale} />
      </h2>
      <Timing receipt={receipt} locale={locale} namesRoutes={namesRoutes} />
      <details class="receipt-details">
        <summary>
          {t.details} <small class="muted">{t.detailsHint}</small>
        </summary>
        <ReceiptFacts receipt={receipt} keyName={keyName} locale={locale} />
      </details>
      <AnswerHeaders receipt={receipt} locale={locale} />
    </div>
  );
}

/** The card of a call that was refused before a provider was asked. */
export function RefusedCard({ call, modelName, keyName, visitor }: CardProps & {
  readonly call: RefusedCall;
}) {
  const { locale } = visitor;
  const t = usageTexts[locale];
  const { requestId, status, code, model, atMs } = call;
  const words = refusalWords(call, locale);
  return (
    <div class="receipt">
      <CardHead
        name={modelName ?? model ?? t.refusedTitle}
        state={
          <>
            <Badge tone="bad">{t.refused}</Badge> <code>{status}</code> <code>{code}</code>
          </>
        }
        requestId={requestId}
        atMs={atMs}
        locale={locale}
      />
      <Failure words={words} tried={undefined} locale={locale} />
      <FreeBill locale={locale} />
      <NextSteps
        next={words.next}
        code={code}
        model={undefined}
        isOfProvider={false}
        visitor={visitor}
      />
      <details class="receipt-details">
        <summary>
          {t.details} <small class="muted">{t.refusedHint}</small>
        </summary>
        <RefusedFacts call={call} keyName={keyName} locale={locale} />
      </details>
    </div>
  );
}

function CardHead({ name, state, requestId, atMs, locale }: {
  name: string;
  state: Child;
  requestId: RequestId;
  atMs: number;
  locale: Locale;
}) {
  const t = usageTexts[locale];
  return (
    <div class="receipt-head">
      <strong>{name}</strong>
      <span>{state}</span>
      <span class="muted">
        <Time atMs={atMs} locale={locale} />
      </span>
      <span class="receipt-id">
        <code>{requestId}</code> <CopyButton text={requestId} what={t.requestId} locale={locale} />
      </span>
    </div>
  );
}

/** Failure of the call, in words. */
function Failure({ words: { what, detail }, tried, locale }: {
  words: FailureWords;
  tried: string | undefined;
  locale: Locale;
}) {
  return (
    <div class="receipt-failure">
      <Icon name="warning" />
      <div>
        <strong>{what}</strong>
        {detail !== undefined && (
          <p>
            <ApiMessage detail={detail} locale={locale} />
          </p>
        )}
        {tried !== undefined && <p>{tried}</p>}
      </div>
    </div>
  );
}

/** Steps after a failed call: the step of its code, then where else to look. */
function NextSteps({ next, code, model, isOfProvider, visitor }: {
  next: string;
  code: string;
  /** To try it again with. */
  model: string | undefined;
  isOfProvider: boolean;
  visitor: Visitor;
}) {
  const { locale, support, signedIn } = visitor;
  const t = usageTexts[locale];
  return (
    <section>
      <h2 class="receipt-part">{t.nextStep}</h2>
      <ol class="receipt-steps">
        <li>{next}</li>
        {isOfProvider && (
          <li>
            {t.stillFailing} <a href="/status">{t.statusPage}</a>
          </li>
        )}
        {support !== undefined && (
          <li>
            {t.sendId} <a href={support.href}>{support.text}</a>
          </li>
        )}
      </ol>
      <div class="actions">
        <a href={`/docs/errors#${encodeURIComponent(code)}`} class="button small">
          <Icon name="docs" /> {t.errorGuide}
        </a>
        {model !== undefined && mayVisit(signedIn, "/playground") && (
          <a
            href={`/playground?model=${encodeURIComponent(model)}`}
            class="button outline secondary small"
          >
            <Icon name="playground" /> {t.tryInPlayground}
          </a>
        )}
      </div>
    </section>
  );
}

/** The details of a refused call. */
function RefusedFacts({ call, keyName, locale }: {
  call: RefusedCall;
  keyName: string | undefined;
  locale: Locale;
}) {
  const t = usageTexts[locale];
  const { code, endpoint, model, leftOut = 0 } = call;
  // A row may have been written by a version whose table had other codes.
  const type = Object.hasOwn(errorTable, code) ? errorTable[code].type : undefined;
  return (
    <dl class="facts">
      {type !== undefined && type !== code && (
        <Fact name={t.error}>
          <code>{type}</code>
        </Fact>
      )}
      <Fact name={t.latency}>{formatDuration(call.latencyMs, locale)}</Fact>
      {keyName !== undefined && <Fact name={t.key}>{keyName}</Fact>}
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
  /** Wait for the first output, of the attempt that answered. */
  readonly waitsMs?: number;
  /** From here on there was output. */
  readonly outputFromMs?: number;
}

/**
 * The rows of a call. Receipts keep how long an attempt took and not when it began: attempts follow one another, and one
 * that was answered ended when output began.
 */
function spansOf(
  receipt: Pick<Receipt, "attempts" | "firstOutputMs" | "latencyMs">,
  locale: Locale,
  namesRoutes: boolean,
): Span[] {
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
    return isAnswered && firstOutputMs !== undefined
      ? { ...span, ms: Math.max(ms, latencyMs - fromMs), waitsMs: ms, outputFromMs: endMs }
      : span;
  });
  return spans.length > 0
    ? spans
    : [{ name: t.wholeCall, outcome: undefined, tone: "whole", fromMs: 0, ms: latencyMs }];
}

/** The bar within its row, below the words on its first output. */
const bar = { y: "1.05rem", height: "0.6rem" } as const;

/** Marks of the axis: round times, no more than a narrow screen has room for, and the end. */
const maxTicks = 4;

function ticksOf(wholeMs: number): readonly number[] {
  const roughMs = wholeMs / maxTicks;
  const power = 10 ** Math.floor(Math.log10(roughMs));
  const stepMs = power * ([1, 2, 5].find((factor) => factor * power >= roughMs) ?? 10);
  const ticks = Array.from({ length: maxTicks + 1 }, (_, at) => at * stepMs);
  // What is near the end would lie on its label.
  return [...ticks.filter((ms) => ms < wholeMs * 0.8), wholeMs];
}

function shareOf(ms: number, wholeMs: number): string {
  return `${(Math.min(1, ms / wholeMs) * 100).toFixed(2)}%`;
}

/** A span between the start and the end of its call; the first output is marked, and said on the side with room. */
function SpanBar({ span, wholeMs, locale }: { span: Span; wholeMs: number; locale: Locale }) {
  const share = (ms: number) => shareOf(ms, wholeMs);
  const { fromMs, ms, waitsMs = ms, tone, outputFromMs } = span;
  const leastMs = wholeMs / 200;
  return (
    <svg class="timing-bar" aria-hidden="true" focusable="false">
      {ticksOf(wholeMs).map((tick) => (
        <line class="tick" x1={share(tick)} x2={share(tick)} y2="100%" />
      ))}
      <rect class={tone} {...bar} x={share(fromMs)} width={share(Math.max(waitsMs, leastMs))} />
      {outputFromMs !== undefined && (
        <>
          <rect
            class="output"
            {...bar}
            x={share(outputFromMs)}
            width={share(Math.max(wholeMs - outputFromMs, leastMs))}
          />
          <line
            class="first"
            x1={share(outputFromMs)}
            x2={share(outputFromMs)}
            y1="0.8rem"
            y2="1.9rem"
          />
          <text
            x={share(outputFromMs)}
            y="0.7rem"
            text-anchor={outputFromMs > wholeMs / 2 ? "end" : "start"}
          >
            {usageTexts[locale].firstOutputAt(formatDuration(outputFromMs, locale))}
          </text>
        </>
      )}
    </svg>
  );
}

/** End of an attempt: in words, or by the code that one can look up. */
function AttemptEnd({ outcome, locale }: { outcome: string; locale: Locale }) {
  const { attemptEnds } = usageTexts[locale];
  return Object.hasOwn(attemptEnds, outcome)
    ? <small class="muted">{attemptEnds[outcome]}</small>
    : <code>{outcome}</code>;
}

/** Colours of the bars. */
function TimingLegend({ locale }: { locale: Locale }) {
  const t = usageTexts[locale];
  return (
    <small class="timing-legend">
      <span class="waiting">{t.waiting}</span> <span class="output">{t.outputBar}</span>{" "}
      <span class="failed">{t.failedBar}</span>
    </small>
  );
}

/** The axis of the bars. */
function Axis({ wholeMs, locale }: { wholeMs: number; locale: Locale }) {
  return (
    <tr class="timing-axis">
      <td></td>
      <td data-phone="below">
        <svg aria-hidden="true" focusable="false">
          {ticksOf(wholeMs).map((ms) => (
            <text
              x={shareOf(ms, wholeMs)}
              y="0.75rem"
              text-anchor={ms === 0 ? "start" : ms === wholeMs ? "end" : "middle"}
            >
              {ms === 0 ? "0" : formatDuration(ms, locale)}
            </text>
          ))}
        </svg>
      </td>
      <td></td>
    </tr>
  );
}

/** The attempts of a call as a waterfall. Customers do not see which routes they used. */
export function Timing({ receipt, locale, namesRoutes = false }: {
  receipt: Pick<Receipt, "attempts" | "firstOutputMs" | "latencyMs">;
  locale: Locale;
  /** For operators. */
  namesRoutes?: boolean;
}) {
  const t = usageTexts[locale];
  const spans = spansOf(receipt, locale, namesRoutes);
  const wholeMs = Math.max(1, receipt.latencyMs, ...spans.map(({ fromMs, ms }) => fromMs + ms));
  return (
    <DataTable
      label={t.timing}
      rows={spans}
      edges={{ first: null, last: <Axis wholeMs={wholeMs} locale={locale} /> }}
      columns={[
        {
          head: t.step,
          hiddenHead: true,
          phone: "first",
          cell: ({ name, outcome, outputFromMs }) => (
            <>
              {name} {outcome !== undefined && <AttemptEnd outcome={outcome} locale={locale} />}
              {outputFromMs !== undefined && (
                <span class="visually-hidden">
                  {t.firstAt(formatDuration(outputFromMs, locale))}
                </span>
              )}
            </>
          ),
        },
        {
          head: t.timeline,
          hiddenHead: true,
          phone: "below",
          cell: (span) => <SpanBar span={span} wholeMs={wholeMs} locale={locale} />,
        },
        {
          head: t.latency,
          hiddenHead: true,
          kind: "number",
          phone: "first-end",
          cell: ({ ms }) => formatDuration(ms, locale),
        },
      ]}
    />
  );
}

/** The gateway's region, and that of the route that answered where it is another. */
function regionText(region: string, answeredIn: string | undefined): string {
  return answeredIn === undefined || answeredIn === region ? region : `${region} → ${answeredIn}`;
}

/** The endpoints by the styles of receipts, as their documentation calls them. */
const styleNames: Readonly<Record<string, string>> = {
  chat: "Chat Completions",
  messages: "Messages",
  responses: "Responses",
  gemini: "Gemini",
  completions: "Completions",
  embeddings: "Embeddings",
  images: "Images",
  moderations: "Moderations",
  rerank: "Rerank",
  speech: "Speech",
  transcriptions: "Transcriptions",
  videos: "Videos",
};

function styleName(style: string): string {
  return (Object.hasOwn(styleNames, style) ? styleNames[style] : undefined) ?? style;
}

/** The details of a receipt, without its route, which is known to the operator alone. */
function ReceiptFacts({ receipt, keyName, locale }: {
  receipt: Receipt;
  keyName: string | undefined;
  locale: Locale;
}) {
  const t = usageTexts[locale];
  return (
    <dl class="facts">
      <UsageFacts receipt={receipt} locale={locale} />
      {receipt.region !== undefined && (
        <Fact name={t.region}>{regionText(receipt.region, answeringRegion(receipt))}</Fact>
      )}
      <Fact name={t.latency}>{formatDuration(receipt.latencyMs, locale)}</Fact>
      {receipt.firstOutputMs !== undefined && (
        <Fact name={t.firstOutput}>{formatDuration(receipt.firstOutputMs, locale)}</Fact>
      )}
      {keyName !== undefined && <Fact name={t.key}>{keyName}</Fact>}
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
      <Fact name={t.style}>{styleName(receipt.style)}</Fact>
      <Fact name={t.stream}>{receipt.stream ? t.yes : t.no}</Fact>
      {receipt.mcpCalls?.map(({ server, tool, failed, ms }) => (
        <Fact name={t.mcpCall}>
          <code>{tool}</code> · {server} · {formatDuration(ms, locale)}
          {failed && <>· {t.mcpFailed}</>}
        </Fact>
      ))}
    </dl>
  );
}

/** Headers of the answer that the receipt knows: their values were made of the same facts. */
function AnswerHeaders({ receipt, locale }: { receipt: Receipt; locale: Locale }) {
  const t = usageTexts[locale];
  const headers = receiptHeaders(receipt);
  return (
    <details class="receipt-details">
      <summary>
        {t.headers} <small class="muted">{t.headersHint(headers.length)}</small>
      </summary>
      <dl class="facts">
        {headers.map(([name, value]) => (
          <Fact name={<code>{name}</code>}>
            <code>{value}</code>
          </Fact>
        ))}
      </dl>
    </details>
  );
}

/** Notice of what ended a stream before it was whole, in the language of the page. */
function EndNotice({ receipt: { endCode }, locale }: { receipt: Receipt; locale: Locale }) {
  if (endCode === undefined) return null;
  const { endedBy, ends, endedByProvider } = usageTexts[locale];
  const text = Object.hasOwn(ends, endCode) ? ends[endCode] : endedByProvider;
  return (
    <p class="receipt-end">
      {endedBy}: {text} <code>{endCode}</code>
    </p>
  );
}

/** Facts of the tokens that the bill has not: those that no price counts, and those of reasoning. */
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
