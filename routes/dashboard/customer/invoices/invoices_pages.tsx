/**
 * `/invoices`: requests for VAT invoices, their states and files.
 *
 * - Folder `routes/dashboard/customer/invoices/`: the customer's pages about VAT invoices, and the link
 *   that an accountant gets.
 * - In: forms of a customer, or a mailed token.
 * - Out: HTML, files, and acts of `routes/acts/money.ts`.
 * - Never: moves money.
 */
import { type Context, Hono } from "hono";
import { defined } from "../../../../core/lib/base/defined.ts";
import {
  type BuyerForm,
  buyerFormOf,
  type BuyerProblem,
  type Invoice,
  readBuyerForm,
} from "../../../../core/trade/invoices/invoice.ts";
import type { TopupSettings } from "../../../../core/trade/settings/settings.ts";
import {
  listUninvoicedOrders,
  openInvoicePart,
} from "../../../../kv/money/invoices/invoiced_orders.ts";
import {
  getInvoice,
  listAccountInvoices,
  readOwnInvoice,
  usualBuyer,
} from "../../../../kv/money/invoices/invoices.ts";
import { readOwnOrder, type TopupOrder } from "../../../../kv/money/payments/topups.ts";
import { invoiceRequest } from "../../../acts/money.ts";
import { AskSupport, Card, Notice, PostForm, SubmitButton } from "../../components/mod.ts";
import type { PageDeps } from "../../page/page_deps.ts";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { readForm } from "../../page/form_data.ts";
import { formatMoney } from "../../text/format.ts";
import { requireAccount } from "../../visitor/identify.ts";
import { InvoiceForm, postedBuyer, refusedFields, sentBuyer } from "./invoices_form.tsx";
import { invoiceTexts } from "./invoices_texts.ts";
import {
  fileResponse,
  InvoiceFacts,
  InvoiceFiles,
  OpenOrders,
  Requests,
} from "./invoices_views.tsx";
import { renderPage } from "../../frame/layout.tsx";
import { layoutTexts } from "../../frame/layout_texts.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import type { PageDeclaration } from "../../page/page.ts";
import { readMailToken } from "../../../../kv/people/accounts/tokens.ts";
import { countTryByAddress, rateRules } from "../../../auth/sign_in_budgets.ts";
import { TokenField } from "../sign_in/mail_request.tsx";
import { performForm, spentProblem } from "../../visitor/acting.ts";
import { clientAddress } from "../../visitor/doer.ts";
import { signInTexts } from "../sign_in/texts.ts";

// `/invoices/shared`: the page behind the link of an invoice mail. The buyer's accountant has no account, so the mailed
// token alone opens this one invoice and its files until it expires.

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

async function downloadShared(c: PageContext, deps: PageDeps) {
  const invoice = await openShared(c, deps, (await readForm(c)).text("token"));
  if ("refusal" in invoice) return await askPage(c, invoice.refusal);
  const isThere = invoice.files.some(({ fileId }) => fileId === c.req.param("fileId"));
  return isThere ? await fileResponse(c, deps.kv, invoice) : await notFoundPage(c);
}

/** Registers the pages behind the link of an invoice mail; they need no session. */
function createSharedInvoicePages(deps: PageDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get(sharedPath, (c) => askPage(c))
    .post(sharedPath, (c) => showPage(c, deps))
    .post(`${sharedPath}/files/:fileId`, (c) => downloadShared(c, deps));
}

/** Needs of the invoice pages. */
export interface InvoiceDeps extends PageDeps {
  readonly topup: TopupSettings;
}

/** Paid orders searched for money without an invoice, and requests shown. */
const shownOrders = 50;
const shownInvoices = 50;

async function listPage(c: PageContext, deps: InvoiceDeps) {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = invoiceTexts[locale];
  const [open, mine] = await Promise.all([
    listUninvoicedOrders(deps.kv, c.get("signedIn").account.id, shownOrders),
    listAccountInvoices(deps.kv, c.get("signedIn").account.id, shownInvoices),
  ]);
  return await renderPage(
    c,
    { title: t.title, lead: t.lead },
    <>
      {deps.topup.vatRates.length === 0
        ? (
          <Notice tone="info">
            {t.off} <AskSupport visitor={visitor}>{layoutTexts[locale].writeTo}</AskSupport>
          </Notice>
        )
        : (
          <Card title={t.open}>
            <OpenOrders orders={open} locale={locale} />
          </Card>
        )}
      <Card title={t.mine}>
        <Requests invoices={mine} locale={locale} />
      </Card>
    </>,
  );
}

/** Finds a paid order of the visitor by a code from outside. */
async function ownPaidOrder(
  c: PageContext,
  deps: InvoiceDeps,
  code: string,
): Promise<TopupOrder | undefined> {
  const order = await readOwnOrder(deps.kv, c.get("signedIn").account.id, code);
  return order?.state === "paid" ? order : undefined;
}

async function newPage(c: PageContext, deps: InvoiceDeps) {
  const order = await ownPaidOrder(c, deps, c.req.query("order") ?? "");
  if (order === undefined || deps.topup.vatRates.length === 0) return await notFoundPage(c);
  const { account } = c.get("signedIn");
  const usual = await usualBuyer(deps.kv, account.id);
  return await formPage(c, deps, order, { form: buyerFormOf(usual, account.email) });
}

async function formPage(
  c: PageContext,
  deps: InvoiceDeps,
  order: TopupOrder,
  state: {
    readonly form: BuyerForm;
    readonly note?: string;
    readonly problems?: readonly BuyerProblem[];
    readonly isNoteWrong?: boolean;
    readonly refused?: string;
  },
) {
  const visitor = c.get("visitor");
  const t = invoiceTexts[visitor.locale];
  const open = await openInvoicePart(deps.kv, order);
  const amount = formatMoney(open?.amountMicroVnd ?? order.receivedMicroVnd, visitor.locale);
  return await renderPage(
    c,
    {
      title: t.newTitle,
      lead: t.newLead(order.code, amount),
      status: state.problems === undefined ? 200 : 400,
    },
    <>
      {state.refused !== undefined && <Notice tone="danger">{state.refused}</Notice>}
      <InvoiceForm
        visitor={visitor}
        order={order}
        form={state.form}
        note={state.note ?? ""}
        isNoteWrong={state.isNoteWrong === true}
        problems={state.problems ?? []}
      />
    </>,
  );
}

async function sendRequest(c: PageContext, deps: InvoiceDeps) {
  const posted = await readForm(c);
  const order = await ownPaidOrder(c, deps, posted.text("order"));
  if (order === undefined) return await notFoundPage(c);
  const form = postedBuyer(posted);
  const note = posted.text("note");
  const sent = { topups: [order.code], buyer: sentBuyer(form), note };
  const made = await performForm(c, deps, invoiceRequest, sent);
  if (made.ok) return c.redirect(`/invoices/${made.body.id}`, 303);
  const problems = refusedFields(made, readBuyerForm(form));
  const t = invoiceTexts[c.get("visitor").locale];
  if ("why" in made) {
    const { why } = made;
    if (why === "off" || why === "rate") return await notFoundPage(c);
    const refused = why === "buyer" ? undefined : t.refused[why];
    return await formPage(c, deps, order, { form, note, problems, ...defined({ refused }) });
  }
  const isNoteWrong = made.common === "input" && made.issues.some(({ field }) => field === "note");
  const refused = spentProblem(made, c.get("visitor").locale);
  const state = { form, note, problems, isNoteWrong, ...defined({ refused }) };
  return await formPage(c, deps, order, state);
}

/** Finds the invoice of the path, if it belongs to the visitor. */
async function ownInvoice(c: PageContext, deps: InvoiceDeps): Promise<Invoice | undefined> {
  return await readOwnInvoice(deps.kv, c.get("signedIn").account.id, c.req.param("id") ?? "");
}

async function invoicePage(c: PageContext, deps: InvoiceDeps) {
  const invoice = await ownInvoice(c, deps);
  if (invoice === undefined) return await notFoundPage(c);
  const { locale } = c.get("visitor");
  const t = invoiceTexts[locale];
  const [code] = invoice.basis.kind === "orders" ? invoice.basis.codes : [];
  return await renderPage(
    c,
    { title: t.title, lead: t.details(invoice.id) },
    <>
      {invoice.rejectedReason !== undefined && (
        <Notice tone="warning" title={t.states[invoice.state]}>
          <p>{t.reason}: {invoice.rejectedReason}</p>
          {code !== undefined && <a href={`/invoices/new?order=${code}`}>{t.askAgain}</a>}
        </Notice>
      )}
      <InvoiceFacts invoice={invoice} locale={locale} />
      <Card title={t.files}>
        <InvoiceFiles invoice={invoice} base="/invoices" locale={locale} />
      </Card>
    </>,
  );
}

async function download(c: PageContext, deps: InvoiceDeps) {
  const invoice = await ownInvoice(c, deps);
  return invoice === undefined ? await notFoundPage(c) : await fileResponse(c, deps.kv, invoice);
}

/** Registers the invoice pages. */
export function createInvoicePages(deps: InvoiceDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.route("/", createSharedInvoicePages(deps));
  app.get("/invoices", requireAccount, (c) => listPage(c, deps));
  app.get("/invoices/new", requireAccount, (c) => newPage(c, deps));
  app.post("/invoices", requireAccount, (c) => sendRequest(c, deps));
  app.get("/invoices/:id", requireAccount, (c) => invoicePage(c, deps));
  app.get("/invoices/:id/files/:fileId", requireAccount, (c) => download(c, deps));
  return app;
}

export const invoicePages: PageDeclaration<InvoiceDeps> = {
  navigation: {
    href: "/invoices",
    icon: "invoice",
    group: "money",
    label: { en: "Invoices", vi: "Hoá đơn" },
  },
  routes: createInvoicePages,
};
