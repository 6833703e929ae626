/** Tables and fact lists of bank notices. */
import type { Child } from "hono/jsx";
import type {
  BankNoticeRef,
  BankNoticeRow,
  BankNoticeState,
} from "../../../../kv/money/payments/bank_notices.ts";
import {
  Badge,
  type BadgeTone,
  Card,
  DataTable,
  Fact,
  Money,
  Time,
} from "../../../dashboard/components/mod.ts";
import { formatMoney } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { bankTexts } from "./bank_texts.ts";
import { NothingHere } from "./frame.tsx";
import { frameTexts } from "./texts.ts";

const tones: Readonly<Record<BankNoticeState["kind"], BadgeTone>> = {
  received: "busy",
  credited: "good",
  review: "bad",
  ignored: "neutral",
  duplicate: "neutral",
  refund_pending: "busy",
  refunded: "neutral",
};

/** Returns the path of a notice's page. */
export function noticePath({ source, id }: BankNoticeRef): string {
  return `/operator/notices/${source}/${encodeURIComponent(id)}`;
}

function StateBadge({ state, locale }: { state: BankNoticeState; locale: Locale }) {
  return <Badge tone={tones[state.kind]}>{bankTexts[locale].states[state.kind]}</Badge>;
}

/** Explains the state of a notice. */
function stateDetail(state: BankNoticeState, locale: Locale): string {
  switch (state.kind) {
    case "received":
      return "";
    case "credited":
      return `${state.orderCode ?? state.accountId} · ${state.by}`;
    case "review":
      return bankTexts[locale].reasons[state.reason];
    case "ignored":
      return [state.note ?? state.reason, state.by].join(" · ");
    case "duplicate":
      return `${state.of.source}:${state.of.id} · ${state.by}`;
    case "refund_pending":
      return `${state.note} · ${state.by}`;
    case "refunded":
      return `${state.bankReference} · ${state.by}`;
  }
}

/** The table of bank notices. */
export function NoticeTable({ rows, label, locale }: {
  rows: readonly BankNoticeRow[];
  label: string;
  locale: Locale;
}) {
  const t = bankTexts[locale];
  return (
    <DataTable
      label={label}
      rows={rows}
      empty={<NothingHere of="notices" locale={locale} />}
      columns={[
        {
          head: t.bankTime,
          kind: "one-line",
          cell: ({ event }) => (
            <a href={noticePath(event)}>
              <Time atMs={event.time.atMs} locale={locale} relative />
            </a>
          ),
        },
        { head: t.source, cell: ({ event }) => event.source },
        {
          head: frameTexts[locale].amount,
          kind: "number",
          cell: ({ event }) => (
            <Money
              microVnd={event.direction === "in" ? event.amountMicroVnd : -event.amountMicroVnd}
              locale={locale}
            />
          ),
        },
        { head: t.memo, cell: ({ event }) => event.memo.slice(0, 120) },
        { head: t.state, cell: ({ state }) => <StateBadge state={state} locale={locale} /> },
        { head: t.why, cell: ({ state }) => stateDetail(state, locale) },
      ]}
    />
  );
}

/** The fact list of one notice. */
export function NoticeFacts({ row, title, locale }: {
  row: BankNoticeRow;
  title: Child;
  locale: Locale;
}) {
  const t = bankTexts[locale];
  const { event, state } = row;
  const { payer } = event;
  const about = state.kind === "review"
    ? state.about
    : state.kind === "duplicate"
    ? state.of
    : undefined;
  const facts: readonly { name: string; value: Child }[] = [
    { name: frameTexts[locale].amount, value: formatMoney(event.amountMicroVnd, locale) },
    { name: t.state, value: <StateBadge state={state} locale={locale} /> },
    { name: t.why, value: stateDetail(state, locale) },
    {
      name: t.about,
      value: about && <a href={noticePath(about)}>{`${about.source}:${about.id}`}</a>,
    },
    { name: t.memo, value: event.memo },
    {
      name: t.bankTime,
      value: (
        <Time
          atMs={event.time.atMs}
          locale={locale}
          dateOnly={event.time.precision === "day"}
        />
      ),
    },
    { name: t.received, value: <Time atMs={row.receivedAtMs} locale={locale} /> },
    { name: t.source, value: `${event.source}:${event.id}` },
    { name: t.importedBy, value: row.importedBy?.email },
    { name: t.reference, value: event.reference },
    { name: t.account, value: [event.account, event.subAccount].filter(Boolean).join(" / ") },
    { name: t.payer, value: [payer?.name, payer?.account, payer?.bank].filter(Boolean).join(", ") },
  ];
  return (
    <Card title={title}>
      <dl class="facts">
        {facts.filter(({ value }) => value !== undefined && value !== "").map(({ name, value }) => (
          <Fact name={name}>{value}</Fact>
        ))}
      </dl>
      <details>
        <summary>{t.raw}</summary>
        <pre class="raw" tabindex={0}>{row.raw}</pre>
      </details>
    </Card>
  );
}
