/** Shows the money that an operator's act moves: from, to, memo, order, balance before and after, evidence. */
import { nameOfAccount } from "../base/linked_text.tsx";
import type { Child } from "hono/jsx";
import type { BankNotice } from "../../../../core/trade/bank/bank_notice.ts";
import { type Account, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { getBankNotice } from "../../../../kv/money/payments/bank_notices.ts";
import type { MovedMoney } from "../../../../kv/people/audit/operator_audit.ts";
import { getTopupOrder, type TopupOrder } from "../../../../kv/money/payments/topups.ts";
import { Fact } from "../../../dashboard/components/mod.ts";
import { formatMoney, formatMoneyShort } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { accountTexts } from "../base/account_texts.ts";
import { bankTexts } from "../base/bank_texts.ts";
import { noticePath } from "../base/notice_views.tsx";
import { frameTexts } from "../base/texts.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

/** A movement with the rows that its ids name; a missing row is shown by its id. */
export interface ShownMoney extends MovedMoney {
  readonly account: Account | undefined;
  readonly order: TopupOrder | undefined;
  readonly event: BankNotice | undefined;
  /** The operator who imported the file that the notice comes from. */
  readonly importedBy: string | undefined;
}

/** Reads the rows that the ids of a movement name. */
export async function lookUpMoney(kv: KeyValueStore, money: MovedMoney): Promise<ShownMoney> {
  const [account, order, event] = await Promise.all([
    getAccount(kv, money.accountId),
    money.orderCode === undefined ? undefined : getTopupOrder(kv, money.orderCode),
    money.notice === undefined ? undefined : getBankNotice(kv, money.notice),
  ]);
  return {
    ...money,
    account,
    order: order?.value ?? undefined,
    event: event?.value?.event,
    importedBy: event?.value?.importedBy?.email,
  };
}

/** Characters of a memo shown here; the page of its notice has all of it. */
const memoChars = 160;

function fromText(
  { amountMicroVnd, account, accountId, notice, event }: ShownMoney,
  locale: Locale,
) {
  if (amountMicroVnd < 0n) return nameOfAccount(account, accountId);
  if (notice === undefined) return accountTexts[locale].byCorrection;
  const { payer } = event ?? {};
  const parts = [payer?.name, payer?.account, payer?.bank].filter(Boolean);
  return parts.length === 0 ? `${notice.source}:${notice.id}` : parts.join(", ");
}

function toText({ amountMicroVnd, account, accountId }: ShownMoney, locale: Locale) {
  if (amountMicroVnd < 0n) return accountTexts[locale].takenTo;
  return nameOfAccount(account, accountId);
}

function orderText({ orderCode, order }: ShownMoney, locale: Locale) {
  if (orderCode === undefined) return "";
  if (order === undefined) return orderCode;
  const amount = formatMoney(order.askedMicroVnd, locale);
  return `${orderCode} (${accountTexts[locale].asksFor(amount)})`;
}

function balanceText(money: ShownMoney, locale: Locale) {
  const before = formatMoneyShort(money.balanceBeforeMicroVnd, locale);
  return `${before} → ${formatMoneyShort(money.balanceAfterMicroVnd, locale)}`;
}

function evidenceText({ notice, event }: ShownMoney, locale: Locale) {
  if (notice === undefined) return accountTexts[locale].noEvidence;
  return [`${notice.source}:${notice.id}`, event?.reference].filter(Boolean).join(", ");
}

/** Lists name and text of each fact, in the order in which one checks them. */
function factsOf(money: ShownMoney, locale: Locale): readonly (readonly [string, string])[] {
  const t = accountTexts[locale];
  const facts: readonly (readonly [string, string])[] = [
    [frameTexts[locale].amount, formatMoney(money.amountMicroVnd, locale)],
    [t.from, fromText(money, locale)],
    [t.to, toText(money, locale)],
    [bankTexts[locale].memo, money.event?.memo.slice(0, memoChars) ?? ""],
    [t.order, orderText(money, locale)],
    [t.balanceChange, balanceText(money, locale)],
    [t.evidence, evidenceText(money, locale)],
    [bankTexts[locale].importedBy, money.importedBy ?? ""],
    [t.askedBy, money.requestedBy ?? ""],
  ];
  return facts.filter(([, text]) => text !== "");
}

/** The facts as a list, with links to the account and the notice. */
export function MoneyFacts({ money, locale, more = [] }: {
  money: ShownMoney;
  locale: Locale;
  more?: readonly (readonly [string, Child])[];
}) {
  const t = accountTexts[locale];
  const whose = money.amountMicroVnd < 0n ? t.from : t.to;
  const linked = (name: string, text: string): Child => {
    if (name === whose) return <a href={`/operator/accounts/${money.accountId}`}>{text}</a>;
    if (name === t.evidence && money.notice !== undefined) {
      return <a href={noticePath(money.notice)}>{text}</a>;
    }
    return text;
  };
  return (
    <dl class="facts">
      {factsOf(money, locale).map(([name, text]) => (
        <Fact key={name} name={name}>{linked(name, text)}</Fact>
      ))}
      {more.map(([name, value]) => <Fact key={name} name={name}>{value}</Fact>)}
    </dl>
  );
}
