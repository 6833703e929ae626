/** Parts of the wallet page: figures, amounts to choose, the list of orders. */
import { topupMaxMicroVnd, topupMinMicroVnd } from "../../../../core/trade/settings/settings.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { grantedOf, type Pots } from "../../../../core/trade/credits/pots.ts";
import type { Balance } from "../../../../kv/money/wallet/mod.ts";
import { orderStatus, type TopupOrder } from "../../../../kv/money/payments/topups.ts";
import {
  AskSupport,
  Badge,
  type BadgeTone,
  Card,
  CodeBlock,
  DataTable,
  Empty,
  FormIdField,
  Money,
  Notice,
  PostForm,
  Stat,
  Stats,
  SubmitButton,
  TextField,
  Time,
} from "../../components/mod.ts";
import { formatDate, formatMoney, formatMoneyShort } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { layoutTexts } from "../../frame/layout_texts.ts";
import { mayVisit } from "../../page/page_acts.ts";
import type { Visitor } from "../../page/visitor.ts";
import { creditTexts, walletTexts } from "./wallet_texts.ts";
import { voucherCodeChars } from "../../../../core/trade/credits/campaign.ts";
import type { BookGrant } from "../../../../kv/money/balances/grant_book.ts";
import { bonusOn, type RunningOffers } from "../../../../kv/money/credits/running_offers.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

// The card of the wallet page about credit: what is left of it, until when, and a field for a voucher code.

/** Milliseconds before its expiry in which credit is announced to expire. */
const soonMs = 7 * dayMs;

/** Says how much expires next, if that is soon. */
export function ExpiryNotice({ pots, nowMs, locale }: {
  pots: Pots<BookGrant>;
  nowMs: number;
  locale: Locale;
}) {
  const [next] = pots.grants;
  if (next?.expiresAtMs === undefined || next.expiresAtMs - nowMs > soonMs) return null;
  const day = formatDate(next.expiresAtMs, locale);
  const ofThatDay = pots.grants.filter(({ expiresAtMs }) =>
    expiresAtMs !== undefined && formatDate(expiresAtMs, locale) === day
  );
  const amount = formatMoneyShort(grantedOf({ ...pots, grants: ofThatDay }), locale);
  return <Notice tone="warning">{creditTexts[locale].soon(amount, day)}</Notice>;
}

function GrantTable({ grants, locale }: { grants: readonly BookGrant[]; locale: Locale }) {
  const t = creditTexts[locale];
  return (
    <DataTable
      label={t.title}
      rows={grants}
      empty={<p class="muted">{t.none}</p>}
      columns={[
        { head: t.from, cell: ({ name }) => name },
        {
          head: t.left,
          kind: "number",
          cell: ({ leftMicroVnd }) => <Money microVnd={leftMicroVnd} locale={locale} />,
        },
        {
          head: t.given,
          kind: "number",
          wideOnly: true,
          cell: ({ amountMicroVnd }) => <Money microVnd={amountMicroVnd} locale={locale} />,
        },
        {
          head: t.expires,
          kind: "one-line",
          cell: ({ expiresAtMs }) =>
            expiresAtMs === undefined
              ? t.never
              : <Time atMs={expiresAtMs} locale={locale} dateOnly />,
        },
      ]}
    />
  );
}

/** Card with the rest of each grant, and the form for a code. */
export function CreditCard({ pots, visitor, code, error }: {
  pots: Pots<BookGrant>;
  visitor: Visitor;
  /** Code as typed, and why it was refused. */
  code?: string | undefined;
  error?: string | undefined;
}) {
  const { locale } = visitor;
  const t = creditTexts[locale];
  return (
    <Card title={t.title} id="credit">
      {pots.grants.length > 0 && (
        <p class="muted">{pots.spendGranted === "first" ? t.spentFirst : t.spentLast}</p>
      )}
      <GrantTable grants={pots.grants} locale={locale} />
      {mayVisit(visitor.signedIn, "/wallet/vouchers", "POST") && (
        <PostForm visitor={visitor} action="/wallet/vouchers" class="inline-form">
          <TextField
            name="code"
            label={t.code}
            required
            maxlength={2 * voucherCodeChars}
            placeholder="XXXX-XXXX-XXXX-XXXX"
            hint={t.codeHint}
            value={code ?? ""}
            error={error}
          />
          <SubmitButton tone="plain">{t.redeem}</SubmitButton>
        </PostForm>
      )}
    </Card>
  );
}

/** Round amounts whose tax is a whole number at 8 and at 10 percent. */
const presetsVnd = [100_000, 200_000, 500_000, 1_000_000, 2_000_000] as const;

/** The balance and its parts; without credit there is no need to tell two pots apart. */
export function WalletFigures({ balance, pots, locale }: {
  balance: Balance;
  pots: Pots;
  locale: Locale;
}) {
  const t = walletTexts[locale];
  const credit = creditTexts[locale];
  return (
    <Stats>
      <Stat label={t.balance}>
        <Money microVnd={balance.totalMicroVnd} locale={locale} />
      </Stat>
      {pots.grants.length > 0 && (
        <>
          <Stat label={credit.own}>
            <Money microVnd={pots.ownMicroVnd} locale={locale} />
          </Stat>
          <Stat label={credit.credit}>
            <Money microVnd={grantedOf(pots)} locale={locale} />
          </Stat>
        </>
      )}
      <Stat label={t.reserved}>
        <Money microVnd={balance.reservedMicroVnd} locale={locale} />
      </Stat>
      {balance.totalMicroVnd < 0n && (
        <Stat label={t.owed}>
          <Money microVnd={-balance.totalMicroVnd} locale={locale} />
        </Stat>
      )}
    </Stats>
  );
}

/** The choice of an amount: one click on a usual one, or any other. */
export function TopUpCard({ visitor, offers, error }: {
  visitor: Visitor;
  offers: RunningOffers;
  error: string | undefined;
}) {
  const { locale } = visitor;
  const t = walletTexts[locale];
  const least = formatMoney(topupMinMicroVnd, locale);
  const most = formatMoney(topupMaxMicroVnd, locale);
  return (
    <Card title={t.topUp} id="top-up">
      <p>{t.topUpHint}</p>
      <PostForm visitor={visitor} action="/wallet/orders" class="presets">
        <FormIdField />
        {presetsVnd.map((vnd) => (
          <SubmitButton tone="plain" name="amount" value={String(vnd)}>
            {formatMoney(fromVnd(vnd), locale)}
            <BonusNote microVnd={bonusOn(offers, fromVnd(vnd))} locale={locale} />
          </SubmitButton>
        ))}
      </PostForm>
      <PostForm visitor={visitor} action="/wallet/orders" class="inline-form">
        <FormIdField />
        <TextField
          name="amount"
          label={t.otherAmount}
          required
          maxlength={20}
          placeholder="500k"
          hint={t.otherHint(least, most)}
          error={error}
        />
        <SubmitButton>{t.continue}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function BonusNote({ microVnd, locale }: { microVnd: bigint; locale: Locale }) {
  return microVnd === 0n
    ? null
    : <small>{walletTexts[locale].bonus(formatMoney(microVnd, locale))}</small>;
}

/** Shown if no bank account is configured: other ways to fill the wallet, if there are any. */
export function NoTopUp({ visitor, email }: { visitor: Visitor; email: string }) {
  const { locale } = visitor;
  const t = walletTexts[locale];
  if (visitor.sandbox) {
    const command = `deno task admin credit ${email} 50000 --reason "play money"`;
    return (
      <Card title={t.playMoney}>
        <p>{t.playMoneyText}</p>
        <CodeBlock code={command} name="Shell" what={t.playMoney} locale={locale} />
      </Card>
    );
  }
  return (
    <Notice tone="warning">
      {t.off} <AskSupport visitor={visitor}>{layoutTexts[locale].writeTo}</AskSupport>
    </Notice>
  );
}

const tones: Readonly<Record<ReturnType<typeof orderStatus>, BadgeTone>> = {
  pending: "busy",
  paid: "good",
  cancelled: "neutral",
  expired: "neutral",
};

function OrderBadge({ order, nowMs, locale }: {
  order: TopupOrder;
  nowMs: number;
  locale: Locale;
}) {
  const t = walletTexts[locale];
  const status = orderStatus(order, nowMs);
  const isShort = status === "paid" && order.receivedMicroVnd < order.askedMicroVnd;
  return isShort
    ? <Badge tone="busy">{t.receivedLess}</Badge>
    : <Badge tone={tones[status]}>{t.states[status]}</Badge>;
}

/** Amount that arrived, and what was asked for if that is another amount; the latter while nothing has arrived. */
function OrderAmount({ order: { askedMicroVnd, receivedMicroVnd }, locale }: {
  order: TopupOrder;
  locale: Locale;
}) {
  if (receivedMicroVnd === 0n || receivedMicroVnd === askedMicroVnd) {
    return <Money microVnd={askedMicroVnd} locale={locale} />;
  }
  return (
    <>
      <Money microVnd={receivedMicroVnd} locale={locale} />{" "}
      <small class="muted nowrap">
        {walletTexts[locale].ofAsked(formatMoney(askedMicroVnd, locale))}
      </small>
    </>
  );
}

/** The table of a customer's orders. Only the customer has pages to link to. */
export function OrderTable({ orders, nowMs, locale, linked = true }: {
  orders: readonly TopupOrder[];
  nowMs: number;
  locale: Locale;
  linked?: boolean;
}) {
  const t = walletTexts[locale];
  return (
    <DataTable
      label={t.orders}
      rows={orders}
      empty={
        <Empty title={t.noOrders}>
          <p>{t.noOrdersText}</p>
        </Empty>
      }
      columns={[
        {
          head: t.code,
          phone: "first",
          cell: ({ code }) =>
            linked
              ? (
                <a href={`/wallet/orders/${code}`}>
                  <code>{code}</code>
                </a>
              )
              : <code>{code}</code>,
        },
        {
          head: t.created,
          kind: "one-line",
          phone: "second",
          cell: (order) => <Time atMs={order.createdAtMs} locale={locale} relative />,
        },
        {
          head: t.amount,
          kind: "number",
          phone: "second-end",
          cell: (order) => <OrderAmount order={order} locale={locale} />,
        },
        {
          head: t.status,
          phone: "first-end",
          cell: (order) => <OrderBadge order={order} nowMs={nowMs} locale={locale} />,
        },
      ]}
    />
  );
}
