/** `/receipts/:id`: one call as a page, or beside the list of calls. */
import type { Context } from "hono";
import type { PropsWithChildren } from "hono/jsx";
import { fieldsJson } from "../../../../core/lib/json/fields.ts";
import { type AccountId, parseId, type RequestId } from "../../../../core/lib/ids/ids.ts";
import { may } from "../../../../core/people/organisations/acts.ts";
import { getApiKey } from "../../../../kv/people/api_keys/api_keys.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import { readRefundsOf } from "../../../../kv/money/ledger/refunds.ts";
import { receiptProofFields } from "../../../usage_api/proofs.ts";
import { type Call, callerOf, findCall } from "../../../usage_api/search/call_scan.ts";
import { neighboursOf } from "../../../usage_api/search/neighbours.ts";
import { Card, Icon } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { noReceiptPage, notFoundPage } from "../../frame/error_pages.tsx";
import type { Locale } from "../../text/i18n.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardEnv } from "../../page/visitor.ts";
import { sharedOf } from "./call_table.tsx";
import { ReceiptCard, RefusedCard } from "./receipt_card.tsx";
import { usageTexts } from "./texts.ts";

/** One call beside the list of calls; `log.js` puts it there. Its address is that of the page of the call. */
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
        <button type="button" class="outline secondary small" data-walk="newer">
          {t.newer} <kbd>k</kbd>
        </button>
        <button type="button" class="outline secondary small" data-walk="older">
          {t.older} <kbd>j</kbd>
        </button>
        <a href={href} class="button outline secondary small" aria-label={t.wholePage}>
          <Icon name="external" />
        </a>
        <button type="button" class="outline secondary small" data-close-drawer>{t.close}</button>
      </div>
      {children}
    </>
  );
}

/** Leads from the search to the page of a call. */
export async function searchedCall(c: Context<DashboardEnv>): Promise<Response> {
  const requestId = parseId("request", (c.req.query("id") ?? "").trim());
  if (requestId !== undefined) return c.redirect(`/receipts/${requestId}`, 303);
  return await noCallPage(c);
}

function noCallPage(c: Context<DashboardEnv>): Response | Promise<Response> {
  const t = usageTexts[c.get("visitor").locale];
  return noReceiptPage(c, { title: t.noReceipt, text: t.noReceiptText });
}

/** The links to the calls before and after one; `log.js` follows them by `j` and `k`. */
async function Walk({ kv, accountId, requestId, locale }: {
  kv: DashboardDeps["kv"];
  accountId: AccountId;
  requestId: RequestId;
  locale: Locale;
}) {
  const t = usageTexts[locale];
  const { newer, older } = await neighboursOf(kv, accountId, requestId);
  const link = (id: RequestId | undefined, walk: "newer" | "older", key: string) =>
    id !== undefined && (
      <a href={`/receipts/${id}`} class="button outline secondary small" data-walk={walk}>
        {t[walk]} <kbd class="only-with-script">{key}</kbd>
      </a>
    );
  return (
    <>
      {link(newer, "newer", "k")}
      {link(older, "older", "j")}
    </>
  );
}

async function cardOf(c: Context<DashboardEnv>, deps: DashboardDeps, call: Call) {
  const visitor = c.get("visitor");
  const { accountId, keyId } = callerOf(call);
  const seesKeys = may(c.get("signedIn").role, "view_keys");
  const key = seesKeys ? await getApiKey(deps.kv, accountId, keyId) : undefined;
  const keyName = seesKeys ? key?.name ?? usageTexts[visitor.locale].unknownKey : undefined;
  const modelName = deps.catalog.find(sharedOf(call).model ?? "")?.displayName;
  const shared = { keyName, modelName, visitor };
  if (call.kind === "refused") return <RefusedCard call={call.refused} {...shared} />;
  const { receipt } = call;
  const refund = (await readRefundsOf(deps.kv, [receipt])).get(receipt.requestId);
  return <ReceiptCard receipt={receipt} refund={refund} {...shared} />;
}

/** The end of the page of a receipt: its proof, once there is one. */
async function ProofLink({ kv, requestId, locale }: {
  kv: DashboardDeps["kv"];
  requestId: RequestId;
  locale: Locale;
}) {
  const t = usageTexts[locale];
  const { isDaySigned } = await import("../../../../kv/services/proofs/read_proofs.ts");
  return await isDaySigned(kv, requestId)
    ? <a href={`/receipts/${requestId}/proof`}>{t.proof}</a>
    : <span class="muted">{t.proofLater}</span>;
}

/** Shows a call of the signed-in account: its receipt, or why it was refused. */
export async function receiptPage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
): Promise<Response> {
  const { locale } = c.get("visitor");
  const { account } = c.get("signedIn");
  const { kv } = deps;
  const t = usageTexts[locale];
  const requestId = parseId("request", c.req.param("id") ?? "");
  if (requestId === undefined) return await notFoundPage(c);
  const call = await findCall(kv, requestId);
  // The call of another account does not exist for this one.
  if (call === undefined || callerOf(call).accountId !== account.id) return await noCallPage(c);
  const isRefused = call.kind === "refused";
  const title = isRefused ? t.refusedTitle : t.receipt;
  const card = await cardOf(c, deps, call);
  if (c.req.query("fragment") === "drawer") {
    return await c.html(
      <Drawer title={title} href={`/receipts/${requestId}`} locale={locale}>{card}</Drawer>,
    );
  }
  return await renderPage(
    c,
    {
      title,
      lead: isRefused ? t.refusedLead : t.receiptLead,
      actions: await Walk({ kv, accountId: account.id, requestId, locale }),
      scripts: ["log.js"],
    },
    <div class="receipt-page">
      <Card>{card}</Card>
      <p class="muted">{t.notStored}</p>
      <p>
        <a href="/usage">← {t.back}</a>
        {!isRefused && <>{" "}· {await ProofLink({ kv, requestId, locale })}</>}
      </p>
    </div>,
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
