/** Drafts and small stores for tests about money. */
import { type AccountId, type ApiKeyId, newId } from "../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { ledgerOperationKey, ledgerPrefix } from "../../../kv/engine/schema/keys.ts";
import { credit, type LedgerEntry } from "../../../kv/money/ledger/ledger.ts";
import { behindAllIds, newestReceipts } from "../../../kv/money/receipts/newest_receipts.ts";
import { ReceiptPageLayout } from "../../../kv/money/receipts/receipt_pages.ts";
import type { DayRange } from "../../../kv/money/receipts/day_sums.ts";
import type { ReceiptDraft, ReserveResult, WalletEngine } from "../../../kv/money/wallet/mod.ts";
import { addUp, nothingUsed, readUsage, type Usage } from "../../../kv/money/ledger/usage.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";

const startMs = Date.UTC(2026, 10, 20);

export const testKeyId: ApiKeyId = newId("apiKey", startMs);

/** A plain finished chat call. */
export function draftOf(
  priceMicroVnd: bigint,
  some: Partial<ReceiptDraft> = {},
): ReceiptDraft {
  return {
    requestId: newId("request", startMs),
    keyId: testKeyId,
    kind: "chat",
    model: "some-model",
    style: "chat",
    route: "sandbox/some-model",
    startedAtMs: startMs,
    latencyMs: 10,
    status: 200,
    stream: false,
    outcome: priceMicroVnd > 0n ? "completed" : "failed",
    usage: { input: 3, cacheRead: 2, cacheWrite: 1, output: 4, reasoning: 1 },
    estimated: false,
    units: 1,
    price: { unit: "request", perUnitMicroVnd: priceMicroVnd },
    priceMicroVnd,
    attempts: [],
    ...some,
  };
}

/** The receipt of such a call: 7 µVND, all of them paid. */
export function receiptOf(accountId: AccountId, some: Partial<Receipt> = {}): Receipt {
  const { priceMicroVnd, ...draft } = draftOf(7n);
  return { ...draft, accountId, costMicroVnd: priceMicroVnd, shortfallMicroVnd: 0n, ...some };
}

/** Writes the rows of receipts as a settlement does, without the index by which lists of calls find them. */
export async function storeReceipts(
  kv: KeyValueStore,
  receipts: readonly Receipt[],
): Promise<void> {
  const pages = new ReceiptPageLayout();
  for (const receipt of receipts) pages.add(receipt);
  const op = kv.atomic();
  pages.write(op);
  await op.commit();
}

/** Lists the receipts of all accounts, the latest first. */
export async function* listAllReceipts(kv: KeyValueStore): AsyncGenerator<Receipt, void, void> {
  const every = { from: "", before: behindAllIds };
  for await (const { receipts } of newestReceipts(kv, every)) yield* receipts;
}

export function newAccount(): AccountId {
  return newId("account", startMs);
}

let operations = 0;

/** Puts money into a wallet. */
export async function topUp(
  kv: KeyValueStore,
  accountId: AccountId,
  amountMicroVnd: bigint,
): Promise<void> {
  const result = await credit(kv, {
    accountId,
    amountMicroVnd,
    kind: "topup",
    operationId: `test:${operations++}`,
    reason: "test",
    atMs: startMs,
  });
  if (result.status !== "applied") throw new Error(result.status);
}

/** Reserves and returns whatever the wallet engine answers. */
export async function reserve(
  wallet: WalletEngine,
  accountId: AccountId,
  amountMicroVnd: bigint,
): Promise<ReserveResult> {
  return await wallet.reserve(accountId, amountMicroVnd);
}

/** Reserves; fails the test if refused. */
export async function mustReserve(
  wallet: WalletEngine,
  accountId: AccountId,
  amountMicroVnd: bigint,
) {
  const result = await reserve(wallet, accountId, amountMicroVnd);
  if (!result.ok) throw new Error(`refused: ${result.reason}`);
  return result.reservation;
}

/** The sum over a range of days. */
export async function readUsageTotal(
  kv: KeyValueStore,
  accountId: AccountId,
  range: DayRange,
): Promise<Usage> {
  const rows = await readUsage(kv, accountId, range);
  return rows.reduce((sum, { usage }) => addUp(sum, usage), nothingUsed);
}

/** What an operation id did, if anything. */
export async function findMovement(
  kv: KeyValueStore,
  operationId: string,
): Promise<LedgerEntry | undefined> {
  return (await kv.get<LedgerEntry>(ledgerOperationKey(operationId))).value ?? undefined;
}

/** The lines of an account in the ledger, oldest first. */
export async function ledgerLines(kv: KeyValueStore, accountId: AccountId): Promise<LedgerEntry[]> {
  const rows = kv.list<LedgerEntry>({ prefix: ledgerPrefix(accountId) });
  return await Array.fromAsync(rows, ({ value }) => value);
}
