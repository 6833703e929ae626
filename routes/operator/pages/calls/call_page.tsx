/** `/operator/calls/:id`: all data of one call of any customer. */
import { parseId, type RequestId } from "../../../../core/lib/ids/ids.ts";
import { getApiKey } from "../../../../kv/people/api_keys/api_keys.ts";
import { readRefusedCall } from "../../../../kv/services/calls/refused_calls.ts";
import { readRefundsOf } from "../../../../kv/money/ledger/refunds.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { Card, Fact } from "../../../dashboard/components/mod.ts";
import { noReceiptPage } from "../../../dashboard/frame/error_pages.tsx";
import { Drawer } from "../../../dashboard/customer/usage/drawer.tsx";
import { ReceiptFacts } from "../../../dashboard/customer/usage/receipt_page.tsx";
import { RefusedFacts } from "../../../dashboard/customer/usage/refused_page.tsx";
import { usageTexts } from "../../../dashboard/customer/usage/texts.ts";
import { Timing } from "../../../dashboard/customer/usage/timing.tsx";
import { answeredCall, type Call } from "../../../usage_api/call_scan.ts";
import type { OperatorDeps } from "../base/deps.ts";
import { type OperatorContext, renderOperatorPage } from "../base/frame.tsx";
import { frameTexts } from "../base/texts.ts";
import { CallCost } from "./call_cost.tsx";
import { accountOfCall } from "./call_rows.tsx";
import { callTexts } from "./texts.ts";

async function findCall(kv: KeyValueStore, requestId: RequestId): Promise<Call | undefined> {
  const receipt = await readReceipt(kv, requestId);
  if (receipt !== undefined) return answeredCall(receipt);
  const refused = await readRefusedCall(kv, requestId);
  return refused === undefined ? undefined : { kind: "refused", requestId, refused };
}

/** Shows a call of any customer. */
export async function callPage(c: OperatorContext, { kv }: OperatorDeps) {
  const { locale } = c.get("visitor");
  const t = callTexts[locale];
  const requestId = parseId("request", c.req.param("id") ?? "");
  const call = requestId === undefined ? undefined : await findCall(kv, requestId);
  if (call === undefined) return await noReceiptPage(c, { title: t.noCall, text: t.noCallText });
  const accountId = accountOfCall(call);
  const { keyId } = call.kind === "receipt" ? call.receipt : call.refused;
  const key = await getApiKey(kv, accountId, keyId);
  const keyName = key?.name ?? usageTexts[locale].unknownKey;
  const refund = call.kind === "receipt"
    ? (await readRefundsOf(kv, [call.receipt])).get(call.requestId)
    : undefined;
  const facts = (
    <>
      <dl class="facts">
        <Fact name={frameTexts[locale].account}>
          <a href={`/operator/accounts/${accountId}`}>{accountId}</a>
        </Fact>
        {call.kind === "receipt" && call.receipt.route !== undefined && (
          <Fact name={t.route}>{call.receipt.route}</Fact>
        )}
      </dl>
      {call.kind === "refused"
        ? <RefusedFacts call={call.refused} keyName={keyName} locale={locale} />
        : (
          <ReceiptFacts
            receipt={call.receipt}
            keyName={keyName}
            refund={refund}
            locale={locale}
          />
        )}
    </>
  );
  const timing = call.kind === "receipt" && (
    <Timing receipt={call.receipt} locale={locale} namesRoutes />
  );
  if (c.req.query("fragment") === "drawer") {
    return await c.html(
      <Drawer title={t.call} href={`/operator/calls/${call.requestId}`} locale={locale}>
        {facts}
        {timing !== false && <h3>{usageTexts[locale].timing}</h3>}
        {timing}
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
      {timing !== false && <Card title={usageTexts[locale].timing}>{timing}</Card>}
    </>,
  );
}
