/** Finds the rows of the store that leave by their age, for each kind that has a setting. */
import type { RetentionKindName } from "../../../core/config/retention.ts";
import { beforeIdsOf, idTimeMs } from "../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { microVndPerVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { Invoice, InvoiceState } from "../../../core/trade/invoices/invoice.ts";
import { mailQueue } from "../../engine/outbox/outbox.ts";
import { isDeadLetter } from "../../engine/outbox/outbox_dead_letters.ts";
import {
  accountInvoiceKey,
  invoiceFilePrefix,
  invoicesBefore,
  operatorAuditBefore,
  outboxDeadPrefix,
  refusedCallKey,
  refusedCallOf,
  refusedCallsByIdBefore,
} from "../../engine/schema/keys.ts";
import { keysPerRead, type KeyValueStore } from "../../engine/store/key_value_store.ts";
import { wholeKind } from "../../engine/store/read_ahead.ts";
import type { AuditLine } from "../../people/audit/operator_audit.ts";
import type { RefusedCall } from "../calls/refused_calls.ts";

/** A row that leaves, with all that belongs to it. */
export interface LeavingRow {
  /** The row by which it is counted, and over which the digest is. */
  readonly entry: Deno.KvEntry<unknown>;
  /** The time that says its age and its month. */
  readonly atMs: number;
  /** Name under which it is counted beside others of its kind. */
  readonly sort: string;
  readonly amountMicroVnd: bigint;
  /** Further rows that leave with it. */
  readonly besides: readonly Deno.KvKey[];
}

/** Kind of rows that are dropped, and how they are found. */
interface DroppedKind {
  /** Whether a row may change until it leaves: then the commit checks it. */
  readonly mayChange: boolean;
  /** Lists the rows from before a moment. */
  leaving(
    kv: KeyValueStore,
    beforeMs: number,
    slices: TimeSlices | undefined,
  ): AsyncGenerator<LeavingRow>;
}

type RefusedRow = Omit<RefusedCall, "requestId" | "accountId">;
type NameRow = Deno.KvEntry<RefusedCall["accountId"]>;

async function leavingCalls(kv: KeyValueStore, names: readonly NameRow[]): Promise<LeavingRow[]> {
  const keys = names.map(({ key, value }) => refusedCallKey(value, refusedCallOf(key)));
  const calls = await kv.getMany<(RefusedRow | null)[]>(keys);
  return names.map((name, at): LeavingRow => {
    const call = calls[at];
    const row = { atMs: idTimeMs("request", refusedCallOf(name.key)), amountMicroVnd: 0n };
    // The row of a pair may expire before that of the other.
    return call === undefined || call.value === null
      ? { ...row, entry: name, sort: "expired", besides: [] }
      : { ...row, entry: call, sort: call.value.code, besides: [name.key] };
  });
}

async function* refusedCalls(
  kv: KeyValueStore,
  beforeMs: number,
  slices: TimeSlices | undefined,
): AsyncGenerator<LeavingRow> {
  const selector = refusedCallsByIdBefore(beforeIdsOf("request", beforeMs));
  let some: NameRow[] = [];
  for await (const name of wholeKind<RefusedCall["accountId"]>(kv, selector, slices)) {
    some.push(name);
    if (some.length < keysPerRead) continue;
    yield* await leavingCalls(kv, some);
    some = [];
  }
  if (some.length > 0) yield* await leavingCalls(kv, some);
}

/** The lines of the audit log, which never change: those that name money, or the others. */
function auditLines(hasMoney: boolean): DroppedKind {
  return {
    mayChange: false,
    async *leaving(kv, beforeMs, slices) {
      const selector = operatorAuditBefore(beforeIdsOf("audit", beforeMs));
      for await (const entry of wholeKind<AuditLine>(kv, selector, slices)) {
        const { atMs, act, money } = entry.value;
        if ((money !== undefined) !== hasMoney) continue;
        const amountMicroVnd = money?.amountMicroVnd ?? 0n;
        yield { entry, atMs, sort: act, amountMicroVnd, besides: [] };
      }
    },
  };
}

/** Whether an invoice of a state may leave: one that somebody still works on stays. */
const isFinalState: Readonly<Record<InvoiceState, boolean>> = {
  requested: false,
  exported: false,
  issued: true,
  sent: true,
  rejected: true,
  replaced: true,
};

/**
 * Invoices of orders. What was invoiced of each order stays in a row of its own (`invoice_of_order`), so that no money
 * is ever on a second invoice.
 */
async function* invoices(
  kv: KeyValueStore,
  beforeMs: number,
  slices: TimeSlices | undefined,
): AsyncGenerator<LeavingRow> {
  const selector = invoicesBefore(beforeIdsOf("invoice", beforeMs));
  for await (const entry of wholeKind<Invoice>(kv, selector, slices)) {
    const { id, accountId, state, changedAtMs, grossVnd, files } = entry.value;
    if (!isFinalState[state] || changedAtMs >= beforeMs) continue;
    const besides: Deno.KvKey[] = [accountInvoiceKey(accountId, id)];
    for (const { fileId } of files) {
      const parts = kv.list({ prefix: invoiceFilePrefix(id, fileId) });
      for await (const { key } of parts) besides.push(key);
    }
    const amountMicroVnd = grossVnd * microVndPerVnd;
    yield { entry, atMs: changedAtMs, sort: state, amountMicroVnd, besides };
  }
}

async function* unsentMails(
  kv: KeyValueStore,
  beforeMs: number,
  slices: TimeSlices | undefined,
): AsyncGenerator<LeavingRow> {
  const selector = { prefix: outboxDeadPrefix(mailQueue.name) };
  for await (const entry of wholeKind(kv, selector, slices)) {
    // A row of another form has no time; an operator removes it.
    if (!isDeadLetter(entry.value) || entry.value.diedAtMs >= beforeMs) continue;
    const { diedAtMs, reason } = entry.value;
    yield { entry, atMs: diedAtMs, sort: reason, amountMicroVnd: 0n, besides: [] };
  }
}

/** All kinds whose rows leave one by one. Receipts leave the archive by months. */
export const droppedKinds: Readonly<Record<Exclude<RetentionKindName, "receipts">, DroppedKind>> = {
  refused_calls: { mayChange: false, leaving: refusedCalls },
  audit_log: auditLines(false),
  money_acts: auditLines(true),
  invoices: { mayChange: true, leaving: invoices },
  unsent_mails: { mayChange: true, leaving: unsentMails },
};
