/** `/operator/calls/:id`: all data of one call of any customer. */
import { nameOfAccount } from "../base/linked_text.tsx";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { getApiKey } from "../../../../kv/people/api_keys/api_keys.ts";
import { readRefundsOf } from "../../../../kv/money/ledger/refunds.ts";
import { Card, Fact, Money } from "../../../dashboard/components/mod.ts";
import { noReceiptPage } from "../../../dashboard/frame/error_pages.tsx";
import { Drawer } from "../../../dashboard/customer/usage/receipt_page.tsx";
import { ReceiptCard, RefusedCard } from "../../../dashboard/customer/usage/receipt_card.tsx";
import { usageTexts } from "../../../dashboard/customer/usage/texts.ts";
import { callerOf, findCall } from "../../../usage_api/search/call_scan.ts";
import { type OperatorContext, type OperatorDeps, renderOperatorPage } from "../base/frame.tsx";
import { accountTexts } from "../base/account_texts.ts";
import { callTexts } from "./texts.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import type { LedgerEntry } from "../../../../kv/money/ledger/ledger.ts";
import { bucketWords } from "../../../dashboard/text/bucket_names.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { marginTexts } from "../margins/texts.ts";

// The part of a call's page that shows what the call cost the operator.

/** Charge of the provider for a call, and what is left. */
function CallCost({ receipt, refund, locale }: {
  receipt: Receipt;
  refund: LedgerEntry | undefined;
  locale: Locale;
}) {
  const t = marginTexts[locale];
  const { providerCost: cost } = receipt;
  if (cost?.kind !== "known") {
    return (
      <Card title={t.callCost}>
        <p class="muted">{t.callUnknown}</p>
      </Card>
    );
  }
  const revenue = receipt.costMicroVnd - (refund?.amountMicroVnd ?? 0n);
  return (
    <Card title={t.callCost}>
      <dl class="facts">
        <Fact name={t.revenue}>
          <Money microVnd={revenue} locale={locale} exact />
        </Fact>
        <Fact name={t.cost}>
          <Money microVnd={cost.costMicroVnd} locale={locale} exact />
        </Fact>
        <Fact name={t.margin}>
          <Money microVnd={revenue - cost.costMicroVnd} locale={locale} exact />
        </Fact>
        <Fact name={t.units}>
          {Object.entries(cost.units).map(([bucket, units]) =>
            `${bucketWords(bucket, locale)} ${formatCount(units, locale)}`
          ).join(", ")}
        </Fact>
        <Fact name={t.rateCard}>
          <code>{cost.card}</code>
        </Fact>
      </dl>
    </Card>
  );
}

/** Shows a call of any customer. */
export async function callPage(c: OperatorContext, { kv }: OperatorDeps) {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = callTexts[locale];
  const requestId = parseId("request", c.req.param("id") ?? "");
  const call = requestId === undefined ? undefined : await findCall(kv, requestId);
  if (call === undefined) return await noReceiptPage(c, { title: t.noCall, text: t.noCallText });
  const { accountId, keyId } = callerOf(call);
  const [key, account] = await Promise.all([
    getApiKey(kv, accountId, keyId),
    getAccount(kv, accountId),
  ]);
  const keyName = key?.name ?? usageTexts[locale].unknownKey;
  const refund = call.kind === "receipt"
    ? (await readRefundsOf(kv, [call.receipt])).get(call.requestId)
    : undefined;
  const facts = (
    <>
      <dl class="facts">
        <Fact name={accountTexts[locale].customer}>
          <a href={`/operator/accounts/${accountId}`}>{nameOfAccount(account, accountId)}</a>
        </Fact>
        {call.kind === "receipt" && call.receipt.route !== undefined && (
          <Fact name={t.route}>{call.receipt.route}</Fact>
        )}
      </dl>
      {call.kind === "refused"
        ? <RefusedCard call={call.refused} keyName={keyName} visitor={visitor} />
        : (
          <ReceiptCard
            receipt={call.receipt}
            keyName={keyName}
            refund={refund}
            visitor={visitor}
            namesRoutes
          />
        )}
    </>
  );
  if (c.req.query("fragment") === "drawer") {
    return await c.html(
      <Drawer title={t.call} href={`/operator/calls/${call.requestId}`} locale={locale}>
        {facts}
      </Drawer>,
    );
  }
  return await renderOperatorPage(
    c,
    { title: t.call },
    <>
      <Card>{facts}</Card>
      {call.kind === "receipt" && call.receipt.providerCost !== undefined && (
        <CallCost receipt={call.receipt} refund={refund} locale={locale} />
      )}
    </>,
  );
}
