/** Operations on requests for VAT invoices: their queue, its export, and the states of one. */
import { z } from "zod";
import { defined } from "../../../../core/lib/base/defined.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { objectSchema } from "../../../../core/lib/json/schemas.ts";
import { type Invoice, invoiceStates } from "../../../../core/trade/invoices/invoice.ts";
import {
  invoiceFields,
  invoiceJson,
  issuedFields,
} from "../../../../core/trade/invoices/invoice_export.ts";
import {
  getInvoice,
  type InvoiceMove,
  type InvoiceMoveResult,
  listInvoices,
  moveInvoice,
  pageOfInvoices,
} from "../../../../kv/money/invoices/invoices.ts";
import {
  mailInvoiceRejected,
  mailInvoiceSent,
  reportInvoiceSent,
} from "../../../../kv/money/payments/topup_checks.ts";
import { getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { listBody, listCursor, listLimit, listOf, wrongCursor } from "../contract/lists.ts";
import {
  operation,
  type OperationAct,
  type OperationDeps,
  type OperationResult,
  refused,
} from "../contract/operation.ts";
import { day, lineText, optionalLine, reasonText } from "../contract/texts.ts";

/** Requests of one state in one export; the rest follows in the next. */
const maxExportedInvoices = 1_000;

const invoiceRow = z.looseObject({ reference_code: z.string(), state: z.enum(invoiceStates) })
  .meta(objectSchema("As the export for invoicing providers has it.", invoiceFields));

/** The exported form, with its state as the type of the schema has it. */
function rowOf(invoice: Invoice) {
  return { ...invoiceJson(invoice), reference_code: invoice.id, state: invoice.state };
}

/** Lists requests. */
export const listInvoiceRequests = operation({
  name: "invoices.list",
  summary: "Requests for VAT invoices, newest first, of all states or of one",
  effect: "reads",
  input: z.strictObject({
    state: z.enum(invoiceStates).optional(),
    before: listCursor,
    limit: listLimit,
  }),
  output: listOf(invoiceRow),
  async run({ kv }, { state, before: cursor, limit }) {
    const before = cursor === undefined ? undefined : parseId("invoice", cursor);
    if (cursor !== undefined && before === undefined) {
      return wrongCursor("the id of one");
    }
    const page = { count: limit, ...defined({ state, before }) };
    const { invoices, next } = await pageOfInvoices(kv, page);
    return { ok: true, body: listBody(invoices.map(rowOf), { next, last: invoices.at(-1)?.id }) };
  },
});

/** Reads the requests that are requested or exported, oldest first, and marks the requested ones as exported. */
export async function exportInvoices(
  { kv }: Pick<OperationDeps, "kv">,
  { operator, nowMs }: OperationAct,
): Promise<Invoice[]> {
  // One that another export marks between the two readings is in both.
  const open = new Map<string, Invoice>();
  for (const state of ["requested", "exported"] as const) {
    for (const invoice of await listInvoices(kv, { count: maxExportedInvoices, state })) {
      open.set(invoice.id, invoice);
    }
  }
  const invoices: Invoice[] = [];
  for (const invoice of [...open.values()].reverse()) {
    if (invoice.state !== "requested") {
      invoices.push(invoice);
      continue;
    }
    const move = { to: "exported" } as const;
    const moved = await moveInvoice(kv, { id: invoice.id, move, operator, nowMs });
    const now = moved.ok ? moved.invoice : (await getInvoice(kv, invoice.id)).value;
    // One that another export has just marked is in both; one that was issued or rejected meanwhile is left out.
    if (now?.state === "exported") invoices.push(now);
  }
  return invoices;
}

/** Exports the queue. */
export const exportInvoiceQueue = operation({
  name: "invoices.export",
  summary: "All requests that are open, and marks the new ones as exported",
  effect: "acts",
  input: z.strictObject({}),
  output: z.object({ invoices: z.array(invoiceRow) }),
  async run(deps, _input, act) {
    return { ok: true, body: { invoices: (await exportInvoices(deps, act)).map(rowOf) } };
  },
});

type MoveRefusal = Extract<InvoiceMoveResult, { readonly ok: false }>["why"];

const refusals: Readonly<Record<Exclude<MoveRefusal, "missing">, string>> = {
  refused: "its state does not allow this",
  busy: "it has just changed; try again",
};

/** Moves a request to its next state, with the mail about it. */
async function moveTo(
  { kv, hintMail }: OperationDeps,
  text: string,
  move: InvoiceMove,
  { operator, nowMs }: OperationAct,
): Promise<OperationResult<z.infer<typeof invoiceRow>, MoveRefusal>> {
  const missing = refused("missing", "not_found", `There is no such invoice: ${text}`);
  const id = parseId("invoice", text);
  const before = id && (await getInvoice(kv, id)).value;
  if (id === undefined || !before) return missing;
  const account = await getAccount(kv, before.accountId);
  const moved = await moveInvoice(kv, {
    id,
    move,
    operator,
    nowMs,
    attach(commit, invoice) {
      if (move.to === "sent") {
        mailInvoiceSent(commit, invoice, account, nowMs);
        reportInvoiceSent(commit, invoice, nowMs);
      }
      if (move.to === "rejected") mailInvoiceRejected(commit, invoice, account, nowMs);
    },
  });
  if (!moved.ok) {
    return moved.why === "missing"
      ? missing
      : refused(moved.why, "invalid_request", `Nothing was changed: ${refusals[moved.why]}`);
  }
  hintMail?.();
  return { ok: true, body: rowOf(moved.invoice) };
}

/** Marks a request as issued. */
export const issueInvoice = operation({
  name: "invoices.issue",
  summary: "Marks a request as issued, with what the invoicing provider assigned",
  effect: "acts",
  input: z.strictObject({
    invoice: z.string(),
    series: lineText(issuedFields.series.maxChars),
    number: lineText(issuedFields.number.maxChars),
    date: day,
    authorityCode: optionalLine(issuedFields.authorityCode.maxChars),
    lookupCode: optionalLine(issuedFields.lookupCode.maxChars),
  }),
  output: invoiceRow,
  run(deps, { invoice, series, number, date, authorityCode, lookupCode }, act) {
    const codes = {
      authorityCode: authorityCode || undefined,
      lookupCode: lookupCode || undefined,
    };
    const issued = { series, number, date, ...defined(codes) };
    return moveTo(deps, invoice, { to: "issued", issued }, act);
  },
});

/** Marks an issued invoice as sent. */
export const sendInvoice = operation({
  name: "invoices.send",
  summary: "Marks an issued invoice as sent; a mail tells the customer",
  effect: "acts",
  input: z.strictObject({ invoice: z.string() }),
  output: invoiceRow,
  run: (deps, { invoice }, act) => moveTo(deps, invoice, { to: "sent" }, act),
});

/** Rejects a request. */
export const rejectInvoice = operation({
  name: "invoices.reject",
  summary: "Rejects a request; a mail tells the customer the reason",
  effect: "acts",
  input: z.strictObject({ invoice: z.string(), reason: reasonText }),
  output: invoiceRow,
  run: (deps, { invoice, reason }, act) => moveTo(deps, invoice, { to: "rejected", reason }, act),
});

/** Marks an issued invoice as wrong. */
export const replaceInvoice = operation({
  name: "invoices.replace",
  summary: "Marks an issued invoice as wrong: the customer asks again, and the new one names it",
  effect: "acts",
  input: z.strictObject({ invoice: z.string(), reason: reasonText }),
  output: invoiceRow,
  run: (deps, { invoice, reason }, act) => moveTo(deps, invoice, { to: "replaced", reason }, act),
});
