/**
 * `/invoices/shared`: the page behind the link of an invoice mail. The buyer's accountant has no account, so the mailed
 * token alone opens this one invoice and its files until it expires.
 */
import { type Context, Hono } from "hono";
import type { Invoice } from "../../../../core/trade/invoices/invoice.ts";
import { getInvoice } from "../../../../kv/money/invoices/invoices.ts";
import { readMailToken } from "../../../../kv/people/accounts/tokens.ts";
import { countTryByAddress, rateRules } from "../../../auth/rate_rules.ts";
import { Card, Notice, PostForm, SubmitButton } from "../../components/mod.ts";
import type { PageDeps } from "../../page/page_deps.ts";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { readForm } from "../../page/form_data.ts";
import { invoiceTexts } from "./invoices_texts.ts";
import { fileResponse, InvoiceFacts } from "./invoices_views.tsx";
import { renderPage } from "../../frame/layout.tsx";
import { TokenField } from "../sign_in/mail_pages.tsx";
import { clientAddress } from "../sign_in/start_session.ts";
import { signInTexts } from "../sign_in/texts.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";

type PageContext = Context<DashboardEnv>;

const sharedPath = "/invoices/shared";

function askPage(c: PageContext, problem?: string) {
  const visitor = c.get("visitor");
  const t = invoiceTexts[visitor.locale];
  return renderPage(
    c,
    { title: t.title, narrow: true, status: problem === undefined ? 200 : 422 },
    <Card>
      {problem !== undefined && <Notice tone="danger">{problem}</Notice>}
      <PostForm visitor={visitor} action={sharedPath}>
        <TokenField token={undefined} locale={visitor.locale} />
        <SubmitButton>{t.showShared}</SubmitButton>
      </PostForm>
    </Card>,
  );
}

/** Finds the invoice of the posted token, or answers with a refusal. */
async function openShared(
  c: PageContext,
  deps: PageDeps,
  token: string,
): Promise<Invoice | { readonly refusal: string }> {
  const { locale } = c.get("visitor");
  const nowMs = deps.clock.nowMs();
  const rule = rateRules.tokenByAddress;
  const tries = await countTryByAddress(deps.kv, rule, clientAddress(c), nowMs);
  if (!tries.allowed) return { refusal: signInTexts[locale].tooMany(tries.retryAfterSeconds) };
  const open = await readMailToken(deps.kv, "invoice_files", token, nowMs);
  const invoice = open && (await getInvoice(deps.kv, open.grant.invoiceId)).value;
  return invoice ?? { refusal: invoiceTexts[locale].sharedDead };
}

async function showPage(c: PageContext, deps: PageDeps) {
  const token = (await readForm(c)).text("token");
  const invoice = await openShared(c, deps, token);
  if ("refusal" in invoice) return await askPage(c, invoice.refusal);
  const visitor = c.get("visitor");
  const t = invoiceTexts[visitor.locale];
  return await renderPage(
    c,
    { title: t.title, lead: t.sharedLead, outsideNavigation: true },
    <>
      <InvoiceFacts invoice={invoice} locale={visitor.locale} />
      <Card title={t.files}>
        <SharedFiles invoice={invoice} token={token} visitor={visitor} />
      </Card>
    </>,
  );
}

/** The download is a form too, so that the token is in no address and no log. */
function SharedFiles({ invoice, token, visitor }: {
  invoice: Invoice;
  token: string;
  visitor: Visitor;
}) {
  if (invoice.files.length === 0) {
    return <p class="muted">{invoiceTexts[visitor.locale].noFiles}</p>;
  }
  return (
    <div class="actions">
      {invoice.files.map((file) => (
        <PostForm visitor={visitor} action={`${sharedPath}/files/${file.fileId}`}>
          <TokenField token={token} locale={visitor.locale} />
          <SubmitButton tone="plain">{file.name}</SubmitButton>
        </PostForm>
      ))}
    </div>
  );
}

async function download(c: PageContext, deps: PageDeps) {
  const invoice = await openShared(c, deps, (await readForm(c)).text("token"));
  if ("refusal" in invoice) return await askPage(c, invoice.refusal);
  const isThere = invoice.files.some(({ fileId }) => fileId === c.req.param("fileId"));
  return isThere ? await fileResponse(c, deps.kv, invoice) : await notFoundPage(c);
}

/** Registers the pages behind the link of an invoice mail; they need no session. */
export function createSharedInvoicePages(deps: PageDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get(sharedPath, (c) => askPage(c))
    .post(sharedPath, (c) => showPage(c, deps))
    .post(`${sharedPath}/files/:fileId`, (c) => download(c, deps));
}
