/**
 * Moves money that does not belong to a call: top-ups, refunds, demo money, corrections. Each line
 * of the ledger is written in one atomic write with the wallet and the operation id of its cause,
 * so each cause moves money once, however often it is reported. Lines never change. A copy of each
 * is kept in order of time, so that verification reads the lines of one day only.
 *
 * - Folder `kv/money/ledger/`: money that moved without a call, claims on providers, refunds, statements.
 * - In: a movement with the operation id of its cause.
 * - Out: lines of the ledger, sums of claims and refunds, statements.
 * - Never: changes or deletes a line, or moves money twice for one operation id.
 */
import { invariant, InvariantError } from "../../../core/lib/base/assert.ts";
import type { SpendGranted } from "../../../core/trade/credits/pots.ts";
import {
  type AccountId,
  beforeIdsOf,
  idTimeMs,
  type LedgerId,
  newId,
  type RequestId,
} from "../../../core/lib/ids/ids.ts";
import { walletWriteAttempts } from "../balances/leases.ts";
import { maxReceiptTextChars } from "../receipts/receipt_codec.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import { advanceGrantBook, type GrantMark } from "../balances/grant_book.ts";
import {
  grantBookKey,
  ledgerByTimeKey,
  ledgerByTimePrefix,
  ledgerKey,
  ledgerOperationKey,
  ledgersPrefix,
} from "../../engine/schema/keys.ts";
import { changeWallet, readWallet } from "../balances/wallets.ts";
import { StoreUnavailableError } from "../../engine/store/store_unavailable.ts";
import {
  type AtomicWrite,
  keysPerRead,
  type KeyValueStore,
} from "../../engine/store/key_value_store.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { wholeKind } from "../../engine/store/read_ahead.ts";

/**
 * Most characters of an operation id. It is part of a store key, which has at most 2 KiB; the
 * longest id made here has 60.
 */
const maxOperationIdChars = 200;

/** The reason for a movement. */
export type LedgerKind =
  /** A payment of the customer. */
  | "topup"
  /** An operator's correction. */
  | "admin"
  /** Play money of a sandbox install. */
  | "demo"
  /** A refund of a call that was charged, e.g. of a video that failed. */
  | "refund"
  | GivenKind
  /** The unspent rest of a grant, taken back after it expired. */
  | "credit_expiry";

/** Credit that an operator gives: for a sign-up, for a code, on a top-up. */
export type GivenKind = "signup_credit" | "voucher" | "bonus";

/** A line of the ledger. */
export interface LedgerEntry {
  readonly ledgerId: LedgerId;
  readonly accountId: AccountId;
  /** Positive for credits, negative for debits. */
  readonly amountMicroVnd: bigint;
  readonly kind: LedgerKind;
  /** Identifies the cause; two movements never share one. */
  readonly operationId: string;
  /** For people. Contains no secrets. */
  readonly reason: string;
  readonly atMs: number;
  /** The call that the line refers to. */
  readonly requestId?: RequestId;
  /** Set if the line gives credit or takes it back. */
  readonly grant?: GrantMark;
}

/** A movement to make. */
export interface Movement {
  readonly accountId: AccountId;
  /** Greater than 0, also for debits. */
  readonly amountMicroVnd: bigint;
  readonly kind: LedgerKind;
  /** At most 200 characters, e.g. `refund:req_…`. */
  readonly operationId: string;
  readonly reason: string;
  readonly atMs: number;
  readonly requestId?: RequestId;
  readonly grant?: GrantMark;
  /** Place of credit in the order of spending, for a movement that gives some. */
  readonly spendGranted?: SpendGranted;
  /**
   * Adds checks and rows of the caller to the same atomic write. May run several times, each time
   * after the wallet was read. At most seven checks: the ledger needs three, and denokv allows ten.
   */
  readonly attach?: (op: AtomicWrite, entry: LedgerEntry) => void | Promise<void>;
}

/** The result of a movement. */
export type MovementResult =
  | { readonly status: "applied"; readonly entry: LedgerEntry }
  /** The operation was applied before, and nothing moved now. */
  | { readonly status: "duplicate"; readonly entry: LedgerEntry }
  /** The operation id was used for another movement. */
  | { readonly status: "mismatch"; readonly entry: LedgerEntry }
  /** The wallet has less than the debit; leased money cannot be debited. */
  | { readonly status: "insufficient"; readonly availableMicroVnd: bigint }
  /** A check of the caller failed, or the wallet changed too often. Nothing moved. */
  | { readonly status: "conflict" };

/**
 * Prefixes of the operation ids that the gateway makes itself: notices, adjustments, refunds, demo
 * money, credit that is given and expires.
 */
const ownOperationPrefixes = [
  "in:",
  "adj:",
  "refund:",
  "demo:",
  "signup:",
  "voucher:",
  "bonus:",
  "expiry:",
];

/**
 * Whether an operation id is reserved for the gateway itself. If a person used it, the movement
 * that it belongs to could never happen.
 *
 * @example
 * ```ts
 * import { isOwnOperationId } from "./ledger.ts";
 * if (!isOwnOperationId("in:sepay:92704") || isOwnOperationId("invoice-17")) throw new Error("wrong");
 * ```
 */
export function isOwnOperationId(operationId: string): boolean {
  return ownOperationPrefixes.some((prefix) => operationId.startsWith(prefix));
}

/**
 * Credits a wallet, once per operation id.
 *
 * @example
 * ```ts
 * import { newId } from "../../../core/lib/ids/ids.ts";
 * import { credit } from "./ledger.ts";
 * using kv = await Deno.openKv(":memory:");
 * const topup = {
 *   accountId: newId("account", Date.now()),
 *   amountMicroVnd: 50_000_000_000n,
 *   kind: "topup" as const,
 *   operationId: "bank:4711",
 *   reason: "Bank transfer",
 *   atMs: Date.now(),
 * };
 * const first = await credit(kv, topup);
 * const again = await credit(kv, topup);
 * if (first.status !== "applied" || again.status !== "duplicate") throw new Error("not once");
 * ```
 *
 * @throws if the store does not answer; calling again with the same operation id is safe
 */
export async function credit(kv: KeyValueStore, movement: Movement): Promise<MovementResult> {
  return await move(kv, movement, movement.amountMicroVnd);
}

/**
 * Debits a wallet, once per operation id, and never more than it has.
 *
 * @throws if the store does not answer; calling again with the same operation id is safe
 */
export async function debit(kv: KeyValueStore, movement: Movement): Promise<MovementResult> {
  return await move(kv, movement, -movement.amountMicroVnd);
}

async function move(
  kv: KeyValueStore,
  movement: Movement,
  amountMicroVnd: bigint,
): Promise<MovementResult> {
  const { accountId, kind, operationId, reason, atMs, requestId, grant } = movement;
  invariant(movement.amountMicroVnd > 0n, "the amount of a movement is greater than 0");
  invariant(
    operationId.length > 0 && operationId.length <= maxOperationIdChars,
    "an operation id has 1 to 200 characters",
  );
  const entry: LedgerEntry = {
    ledgerId: newId("ledger", atMs),
    accountId,
    amountMicroVnd,
    kind,
    operationId,
    reason: reason.slice(0, maxReceiptTextChars),
    atMs,
    ...defined({ requestId, grant }),
  };
  let failure: unknown;
  const outcome = await compareAndSet<MovementResult>(async () => {
    try {
      failure = undefined;
      return await tryToMove(kv, entry, movement);
    } catch (error) {
      if (error instanceof InvariantError) throw error;
      // The answer was lost; the next attempt finds the row of the operation if it was applied.
      failure = error;
      return "again";
    }
  }, { attempts: walletWriteAttempts });
  if (outcome !== "conflict") return outcome.done;
  if (failure instanceof StoreUnavailableError) throw failure;
  if (failure !== undefined) {
    throw new Error("Cannot move money: the store does not answer", { cause: failure });
  }
  return { status: "conflict" };
}

async function tryToMove(
  kv: KeyValueStore,
  entry: LedgerEntry,
  { attach, spendGranted }: Pick<Movement, "attach" | "spendGranted">,
): Promise<{ done: MovementResult } | "again"> {
  const { accountId, ledgerId, operationId } = entry;
  const wallet = await readWallet(kv, accountId);
  const [earlier, book] = await kv.getMany<[LedgerEntry, unknown]>([
    ledgerOperationKey(operationId),
    grantBookKey(accountId),
  ]);
  if (earlier.value !== null) return { done: repeated(earlier.value, entry) };
  const availableMicroVnd = wallet.availableMicroVnd + entry.amountMicroVnd;
  // A credit may leave the wallet in debt; a debit never puts it there.
  if (availableMicroVnd < 0n && entry.amountMicroVnd < 0n) {
    return { done: { status: "insufficient", availableMicroVnd: wallet.availableMicroVnd } };
  }
  // The book changes only together with the wallet, whose version is checked.
  const advance = await advanceGrantBook(kv, { wallet, book, entry, spendGranted });
  if (advance === "stale") return { done: { status: "conflict" } };
  const lineKey = ledgerKey(accountId, ledgerId);
  const op = kv.atomic()
    .check({ key: ledgerOperationKey(operationId), versionstamp: null })
    .check({ key: lineKey, versionstamp: null });
  changeWallet(op, wallet, availableMicroVnd, { isTopup: entry.kind === "topup" });
  op.set(lineKey, entry).set(ledgerOperationKey(operationId), entry)
    .set(ledgerByTimeKey(ledgerId), entry);
  advance?.(op);
  await attach?.(op, entry);
  const result = await op.commit();
  if (result.ok) return { done: { status: "applied", entry } };
  const now = await kv.getMany<[LedgerEntry, unknown]>([
    ledgerOperationKey(operationId),
    lineKey,
  ]);
  if (now[0].value !== null) return { done: repeated(now[0].value, entry) };
  const unchanged = (await readWallet(kv, accountId)).versionstamp === wallet.versionstamp;
  // The checks of the ledger hold, so a check of the caller failed.
  return unchanged ? { done: { status: "conflict" } } : "again";
}

function repeated(earlier: LedgerEntry, entry: LedgerEntry): MovementResult {
  // The line of this very movement: it was applied, and the answer was lost.
  if (earlier.ledgerId === entry.ledgerId) return { status: "applied", entry: earlier };
  const same = earlier.accountId === entry.accountId &&
    earlier.amountMicroVnd === entry.amountMicroVnd && earlier.kind === entry.kind &&
    earlier.requestId === entry.requestId;
  return { status: same ? "duplicate" : "mismatch", entry: earlier };
}

// Reads the copies of all ledger lines in order of time. An earlier release wrote none; they are added once, when the
// whole ledger is verified.

/** Reads under way at once while copies are added: each waits for one round trip. */
const readsAtOnce = 16;

/** Whether a row has what identifies a ledger line and its money. */
export function isLedgerLine(value: unknown): value is LedgerEntry {
  return typeof value === "object" && value !== null && "ledgerId" in value &&
    "accountId" in value && "amountMicroVnd" in value && "operationId" in value &&
    typeof value.ledgerId === "string" && typeof value.accountId === "string" &&
    typeof value.amountMicroVnd === "bigint" && typeof value.operationId === "string";
}

/** Selects the copies of the lines from one moment on and before another. */
export function linesBetween(fromMs: number, toMs: number) {
  return {
    start: ledgerByTimeKey(beforeIdsOf("ledger", fromMs)),
    end: ledgerByTimeKey(beforeIdsOf("ledger", toMs)),
  };
}

/** Lists the copies from a moment on, by the time of their ids; all if there is no moment. */
export async function* linesByTime(
  kv: KeyValueStore,
  fromMs: number | undefined,
  slices: TimeSlices | undefined,
): AsyncGenerator<Deno.KvEntry<unknown>> {
  const prefix = ledgerByTimePrefix();
  const selector = fromMs === undefined
    ? { prefix }
    : { prefix, start: ledgerByTimeKey(beforeIdsOf("ledger", fromMs)) };
  yield* wholeKind(kv, selector, slices);
}

/**
 * Adds the copies that are missing of lines from a moment on: those before are sealed, and must not change.
 */
export async function completeLinesByTime(
  kv: KeyValueStore,
  fromMs: number,
  slices: TimeSlices | undefined,
): Promise<void> {
  let waiting: LedgerEntry[] = [];
  const flush = async () => {
    const groups = Array.from(
      { length: Math.ceil(waiting.length / keysPerRead) },
      (_, at) => waiting.slice(at * keysPerRead, (at + 1) * keysPerRead),
    );
    waiting = [];
    await Promise.all(groups.map((group) => addCopies(kv, group)));
  };
  for await (const { value } of wholeKind(kv, { prefix: ledgersPrefix() }, slices)) {
    if (!isLedgerLine(value) || idTimeMs("ledger", value.ledgerId) < fromMs) continue;
    waiting.push(value);
    if (waiting.length >= keysPerRead * readsAtOnce) await flush();
  }
  await flush();
}

async function addCopies(kv: KeyValueStore, lines: readonly LedgerEntry[]): Promise<void> {
  const keys = lines.map(({ ledgerId }) => ledgerByTimeKey(ledgerId));
  const rows = await kv.getMany<unknown[]>(keys);
  const op = kv.atomic();
  let isWhole = true;
  rows.forEach((row, at) => {
    if (row.versionstamp !== null) return;
    isWhole = false;
    op.check(row).set(row.key, lines[at]);
  });
  // A failed check means that another process has just added them.
  if (!isWhole) await op.commit();
}
