/**
 * Keeps how much money of an order is on invoices. An order can be paid again after its invoice was
 * requested: the rest is a sale of its own with an invoice of its own, and no đồng is ever on two
 * invoices that count.
 */
import type { AccountId, InvoiceId } from "../../../core/lib/ids/ids.ts";
import { microVndPerVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { Invoice, InvoicePart } from "../../../core/trade/invoices/invoice.ts";
import type { OrderCode } from "../../../core/trade/bank/order_code.ts";
import { invoiceKey, invoiceOfOrderKey } from "../../engine/schema/keys.ts";
import { getTopupOrder, listTopupOrders, type TopupOrder } from "../payments/topups.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";

/** The row of an order. Its version keeps two requests from taking the same money. */
interface InvoicedOrder {
  /** The amount on requests that are neither rejected nor replaced. */
  readonly heldMicroVnd: bigint;
  /**
   * Parts of issued invoices that were replaced, oldest first. The next request replaces the first
   * one.
   */
  readonly replaced: readonly ReplacedPart[];
}

interface ReplacedPart {
  readonly invoiceId: InvoiceId;
  readonly amountMicroVnd: bigint;
}

/** The form of the row while an order could have one invoice only. */
interface FormerInvoicedOrder {
  readonly invoiceId: InvoiceId;
  readonly released: boolean;
  readonly replaces?: InvoiceId;
}

type StoredRow = InvoicedOrder | FormerInvoicedOrder;

/** The part of an order that its next request is about. */
export type OpenInvoicePart = Omit<InvoicePart, "code">;

/**
 * Returns the part of an order that an invoice has. An invoice from before parts were recorded has
 * all that had been received.
 */
function heldOf(invoice: Invoice | null, order: TopupOrder): OpenInvoicePart {
  const basis = invoice?.basis.kind === "orders" ? invoice.basis : undefined;
  const noted = basis?.parts?.find(({ code }) => code === order.code);
  if (noted !== undefined) return noted;
  const replaces = invoice?.replaces === undefined ? {} : { replaces: invoice.replaces };
  const amountMicroVnd = invoice !== null && basis?.codes.length === 1
    ? invoice.grossVnd * microVndPerVnd
    : order.receivedMicroVnd;
  return { amountMicroVnd, ...replaces };
}

async function currentForm(
  kv: KeyValueStore,
  order: TopupOrder,
  row: StoredRow | null,
): Promise<InvoicedOrder> {
  if (row === null) return { heldMicroVnd: 0n, replaced: [] };
  if (!("released" in row)) return row;
  const amountOf = async (id: InvoiceId) =>
    heldOf((await kv.get<Invoice>(invoiceKey(id))).value, order).amountMicroVnd;
  if (!row.released) return { heldMicroVnd: await amountOf(row.invoiceId), replaced: [] };
  const { replaces } = row;
  const replaced = replaces === undefined
    ? []
    : [{ invoiceId: replaces, amountMicroVnd: await amountOf(replaces) }];
  return { heldMicroVnd: 0n, replaced };
}

/**
 * Returns the part for the next request: that of a replaced invoice first, then what is on no
 * invoice, if that is at least one đồng.
 */
function openPart(order: TopupOrder, row: InvoicedOrder): OpenInvoicePart | undefined {
  const [first] = row.replaced;
  if (first !== undefined) {
    return { amountMicroVnd: first.amountMicroVnd, replaces: first.invoiceId };
  }
  const amountMicroVnd = order.receivedMicroVnd - row.heldMicroVnd;
  return amountMicroVnd < microVndPerVnd ? undefined : { amountMicroVnd };
}

/**
 * Reads the part that the next request for an order would be about; `undefined` if everything
 * received is on invoices.
 */
export async function openInvoicePart(
  kv: KeyValueStore,
  order: TopupOrder,
): Promise<OpenInvoicePart | undefined> {
  const { value } = await kv.get<StoredRow>(invoiceOfOrderKey(order.code));
  return openPart(order, await currentForm(kv, order, value));
}

/** A paid order, and the amount of its next invoice. */
export interface UninvoicedOrder {
  readonly order: TopupOrder;
  readonly amountMicroVnd: bigint;
}

/** Lists the paid ones of the newest orders of an account with money that is on no invoice. */
export async function listUninvoicedOrders(
  kv: KeyValueStore,
  accountId: AccountId,
  count: number,
): Promise<UninvoicedOrder[]> {
  const orders = await listTopupOrders(kv, accountId, { count });
  const paid = orders.filter(({ state }) => state === "paid");
  const parts = await Promise.all(paid.map((order) => openInvoicePart(kv, order)));
  return paid.flatMap((order, at) => {
    const part = parts[at];
    return part === undefined ? [] : [{ order, amountMicroVnd: part.amountMicroVnd }];
  });
}

/**
 * Adds to an atomic write: a new request takes the open part of an order. Needs one check.
 *
 * @returns the part; `undefined`, with nothing added, if there is none
 */
export async function takeInvoicePart(
  kv: KeyValueStore,
  operation: AtomicWrite,
  order: TopupOrder,
): Promise<InvoicePart | undefined> {
  const entry = await kv.get<StoredRow>(invoiceOfOrderKey(order.code));
  const row = await currentForm(kv, order, entry.value);
  const part = openPart(order, row);
  if (part === undefined) return undefined;
  const taken: InvoicedOrder = {
    heldMicroVnd: row.heldMicroVnd + part.amountMicroVnd,
    replaced: part.replaces === undefined ? row.replaced : row.replaced.slice(1),
  };
  operation.check(entry).set(entry.key, taken);
  return { code: order.code, ...part };
}

/**
 * Adds to an atomic write: an invoice was rejected, or issued and replaced, so a new request may
 * take its parts. Needs one check per order.
 */
export async function releaseInvoiceParts(
  kv: KeyValueStore,
  operation: AtomicWrite,
  invoice: Invoice,
  why: "rejected" | "replaced",
): Promise<void> {
  const codes: readonly OrderCode[] = invoice.basis.kind === "orders" ? invoice.basis.codes : [];
  for (const code of codes) {
    const order = (await getTopupOrder(kv, code)).value;
    if (order === null) continue;
    const entry = await kv.get<StoredRow>(invoiceOfOrderKey(code));
    const row = await currentForm(kv, order, entry.value);
    const { amountMicroVnd, replaces } = heldOf(invoice, order);
    const heldMicroVnd = row.heldMicroVnd - amountMicroVnd;
    // After the rejection of a request that was to replace an invoice, that invoice can still be
    // replaced.
    const toReplace = why === "replaced" ? invoice.id : replaces;
    const again = toReplace === undefined ? [] : [{ invoiceId: toReplace, amountMicroVnd }];
    const released: InvoicedOrder = {
      heldMicroVnd: heldMicroVnd < 0n ? 0n : heldMicroVnd,
      replaced: why === "replaced" ? [...row.replaced, ...again] : [...again, ...row.replaced],
    };
    operation.check(entry).set(entry.key, released);
  }
}
