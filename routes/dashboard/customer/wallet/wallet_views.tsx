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
import { formatMoney } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { layoutTexts } from "../../frame/layout_texts.ts";
import type { Visitor } from "../../page/visitor.ts";
import { creditTexts } from "./credit_texts.ts";
import { walletTexts } from "./wallet_texts.ts";

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
        <Money microVnd={balance.totalMicroVnd} locale={locale} short />
      </Stat>
      {pots.grants.length > 0 && (
        <>
          <Stat label={credit.own}>
            <Money microVnd={pots.ownMicroVnd} locale={locale} short />
          </Stat>
          <Stat label={credit.credit}>
            <Money microVnd={grantedOf(pots)} locale={locale} short />
          </Stat>
        </>
      )}
      <Stat label={t.reserved}>
        <Money microVnd={balance.reservedMicroVnd} locale={locale} short />
      </Stat>
      {balance.totalMicroVnd < 0n && (
        <Stat label={t.owed}>
          <Money microVnd={-balance.totalMicroVnd} locale={locale} short />
        </Stat>
      )}
    </Stats>
  );
}

/** The choice of an amount: one click on a usual one, or any other. */
export function TopUpCard({ visitor, error }: { visitor: Visitor; error: string | undefined }) {
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

/** Shown if no bank account is configured: other ways to fill the wallet, if there are any. */
export function NoTopUp({ visitor, email }: { visitor: Visitor; email: string }) {
  const { locale } = visitor;
  const t = walletTexts[locale];
  if (visitor.sandbox) {
    const command = `deno task admin credit ${email} 50000 --reason "play money"`;
    return (
      <Card title={t.playMoney}>
        <p>{t.playMoneyText}</p>
        <CodeBlock code={command} what={t.playMoney} locale={locale} />
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
  const status = orderStatus(order, nowMs);
  return <Badge tone={tones[status]}>{walletTexts[locale].states[status]}</Badge>;
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
          cell: (order) => <Time atMs={order.createdAtMs} locale={locale} />,
        },
        {
          head: t.asked,
          kind: "number",
          cell: (order) => <Money microVnd={order.askedMicroVnd} locale={locale} />,
        },
        {
          head: t.received,
          kind: "number",
          cell: (order) => <Money microVnd={order.receivedMicroVnd} locale={locale} />,
        },
        {
          head: t.status,
          cell: (order) => <OrderBadge order={order} nowMs={nowMs} locale={locale} />,
        },
      ]}
    />
  );
}
