/** Parts of the wallet page: figures, the choice of an amount, the list of orders. */
import { limits } from "../../core/limits.ts";
import { fromVnd } from "../../core/money/micro_vnd.ts";
import type { Balance } from "../../kv/teller/mod.ts";
import { orderStatus, type TopupOrder } from "../../kv/topups.ts";
import {
  Badge,
  type BadgeTone,
  Card,
  Empty,
  Money,
  PostForm,
  Stat,
  Stats,
  SubmitButton,
  TableFrame,
  TextField,
  Time,
} from "./components/mod.ts";
import { formatMoney } from "./format.ts";
import type { Locale } from "./i18n.ts";
import type { Visitor } from "./visitor.ts";
import { walletTexts } from "./wallet_texts.ts";

/** Round sums whose tax splits without a remainder at 8 and at 10 percent. */
const presetsVnd = [100_000, 200_000, 500_000, 1_000_000, 2_000_000] as const;

export function WalletFigures({ balance, locale }: { balance: Balance; locale: Locale }) {
  const t = walletTexts[locale];
  return (
    <Stats>
      <Stat label={t.balance}>
        <Money microVnd={balance.totalMicroVnd} locale={locale} short />
      </Stat>
      <Stat label={t.reserved}>
        <Money microVnd={balance.reservedMicroVnd} locale={locale} short />
      </Stat>
    </Stats>
  );
}

/** One click on a usual sum, or a sum of one's own. */
export function TopUpCard({ visitor, error }: { visitor: Visitor; error: string | undefined }) {
  const { locale } = visitor;
  const t = walletTexts[locale];
  const least = formatMoney(limits.topupMinMicroVnd, locale);
  const most = formatMoney(limits.topupMaxMicroVnd, locale);
  return (
    <Card title={t.topUp} id="top-up">
      <p>{t.topUpHint}</p>
      <PostForm visitor={visitor} action="/wallet/orders" class="presets">
        {presetsVnd.map((vnd) => (
          <SubmitButton tone="plain" name="amount" value={String(vnd)}>
            {formatMoney(fromVnd(vnd), locale)}
          </SubmitButton>
        ))}
      </PostForm>
      <PostForm visitor={visitor} action="/wallet/orders" class="inline-form">
        <TextField
          name="amount"
          label={t.otherAmount}
          inputmode="numeric"
          required
          maxlength={20}
          hint={t.otherHint(least, most)}
          error={error}
        />
        <SubmitButton>{t.continue}</SubmitButton>
      </PostForm>
    </Card>
  );
}

const tones: Readonly<Record<ReturnType<typeof orderStatus>, BadgeTone>> = {
  pending: "busy",
  paid: "good",
  cancelled: "neutral",
  expired: "neutral",
};

export function OrderBadge({ order, nowMs, locale }: {
  order: TopupOrder;
  nowMs: number;
  locale: Locale;
}) {
  const status = orderStatus(order, nowMs);
  return <Badge tone={tones[status]}>{walletTexts[locale].states[status]}</Badge>;
}

/** Orders of one customer. Only the customer has pages to link to. */
export function OrderTable({ orders, nowMs, locale, linked = true }: {
  orders: readonly TopupOrder[];
  nowMs: number;
  locale: Locale;
  linked?: boolean;
}) {
  const t = walletTexts[locale];
  if (orders.length === 0) {
    return (
      <Empty title={t.noOrders}>
        <p>{t.noOrdersText}</p>
      </Empty>
    );
  }
  return (
    <TableFrame label={t.orders}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t.code}</th>
            <th scope="col">{t.created}</th>
            <th scope="col" class="number">{t.asked}</th>
            <th scope="col" class="number">{t.received}</th>
            <th scope="col">{t.status}</th>
          </tr>
        </thead>
        <tbody>
          {orders.map((order) => (
            <tr>
              <td>
                {linked
                  ? (
                    <a href={`/wallet/orders/${order.code}`}>
                      <code>{order.code}</code>
                    </a>
                  )
                  : <code>{order.code}</code>}
              </td>
              <td class="nowrap">
                <Time atMs={order.createdAtMs} locale={locale} />
              </td>
              <td class="number">
                <Money microVnd={order.askedMicroVnd} locale={locale} />
              </td>
              <td class="number">
                <Money microVnd={order.receivedMicroVnd} locale={locale} />
              </td>
              <td>
                <OrderBadge order={order} nowMs={nowMs} locale={locale} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}
