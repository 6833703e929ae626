/**
 * Keeps the pots of an account in a row, its grant book, while some grant has something left. Each
 * movement of the ledger brings the book forward in its own commit. The book is written only together with
 * the wallet row, whose version that commit checks, so no two movements can use one state of it.
 *
 * What calls cost is not noted anywhere: it is what the book has more than the wallet and its leases. A
 * lease row may lack charges of the last seconds, which then count at the next movement. Leases are read
 * after the wallet, and money moves between the two only with a new version of the wallet; so the sum is
 * never too small, and does not grow from one movement to the next.
 */
import {
  addGrant,
  bringForward,
  expire,
  moveOwn,
  type OpenGrant,
  type Pots,
  type SpendGranted,
  spendingOrders,
} from "../../../core/trade/credits/pots.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import type { AccountId, CampaignId, LedgerId, VoucherId } from "../../../core/lib/ids/ids.ts";
import { grantBookKey, grantExpiryKey, grantKey } from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { readLeasesOf } from "./leases.ts";
import { changeWallet, type WalletRow } from "./wallets.ts";

/** Grant that a line about given credit refers to. */
export interface GrantMark {
  readonly campaignId: CampaignId;
  /** The line by which the credit was given, on a line that takes it back. Absent: this line gives it. */
  readonly grantId?: LedgerId;
  readonly expiresAtMs?: number;
  readonly voucherId?: VoucherId;
}

/** The members of a ledger line by which it changes the pots. */
export interface LedgerMovement {
  readonly ledgerId: LedgerId;
  readonly accountId: AccountId;
  readonly amountMicroVnd: bigint;
  readonly reason: string;
  readonly atMs: number;
  readonly grant?: GrantMark;
}

/** A grant in the book of its account. */
export interface BookGrant extends OpenGrant {
  readonly campaignId: CampaignId;
  /** The name of the campaign. */
  readonly name: string;
  readonly givenAtMs: number;
  readonly voucherId?: VoucherId;
}

/** The pots of an account. */
export type GrantBook = Pots<BookGrant>;

/** The row of a grant. */
export interface Grant {
  readonly grantId: LedgerId;
  readonly campaignId: CampaignId;
  readonly accountId: AccountId;
  readonly amountMicroVnd: bigint;
  readonly givenAtMs: number;
  readonly expiresAtMs?: number;
  readonly voucherId?: VoucherId;
  /** Amount of it that was taken back. */
  readonly expiredMicroVnd: bigint;
  /** Set once nothing is left of it: what did not expire was spent. */
  readonly closedAtMs?: number;
}

/**
 * Validates a grant book; `undefined` if there is none.
 *
 * @throws {InvariantError} if the row is none
 */
export function grantBook(entry: {
  readonly value: unknown;
  readonly versionstamp: string | null;
}): GrantBook | undefined {
  if (entry.versionstamp === null) return undefined;
  const { value } = entry;
  invariant(
    typeof value === "object" && value !== null && "ownMicroVnd" in value &&
      typeof value.ownMicroVnd === "bigint" && "grants" in value && Array.isArray(value.grants) &&
      "spendGranted" in value && spendingOrders.some((order) => order === value.spendGranted),
    "not a grant book",
  );
  const { ownMicroVnd, grants } = value;
  const spendGranted = value.spendGranted === "last" ? "last" : "first";
  return { spendGranted, ownMicroVnd, grants: grants.map(bookGrant) };
}

function bookGrant(value: unknown): BookGrant {
  invariant(
    typeof value === "object" && value !== null && "leftMicroVnd" in value &&
      typeof value.leftMicroVnd === "bigint" && value.leftMicroVnd >= 0n &&
      "amountMicroVnd" in value && typeof value.amountMicroVnd === "bigint" &&
      "expiredMicroVnd" in value && typeof value.expiredMicroVnd === "bigint" &&
      value.expiredMicroVnd >= 0n &&
      value.leftMicroVnd + value.expiredMicroVnd <= value.amountMicroVnd &&
      "grantId" in value && "campaignId" in value,
    "not a grant of a book",
  );
  return value as BookGrant;
}

/** A movement, with the rows that were read for it: the wallet first. */
export interface MovementWithRows {
  readonly wallet: WalletRow;
  readonly book: { readonly value: unknown; readonly versionstamp: string | null };
  readonly entry: LedgerMovement;
  /** For a movement that gives credit: from now on the order of the account. */
  readonly spendGranted: SpendGranted | undefined;
}

/** Returns the money of an account as its rows have it: the wallet and its leases. */
export async function worthByRows(
  kv: KeyValueStore,
  { accountId, availableMicroVnd }: Pick<WalletRow, "accountId" | "availableMicroVnd">,
): Promise<{ readonly worthMicroVnd: bigint; readonly leasedMicroVnd: bigint }> {
  let leasedMicroVnd = 0n;
  for (const { remainingMicroVnd } of await readLeasesOf(kv, accountId)) {
    leasedMicroVnd += remainingMicroVnd;
  }
  return { worthMicroVnd: availableMicroVnd + leasedMicroVnd, leasedMicroVnd };
}

/**
 * Brings the book of an account forward over a movement. Returns what the commit of the movement has to
 * write besides; `undefined` if the account has no grant, `stale` if less is left of a grant than the
 * movement takes back: another one was faster.
 */
export async function advanceGrantBook(
  kv: KeyValueStore,
  { wallet, book, entry, spendGranted = "first" }: MovementWithRows,
): Promise<((op: AtomicWrite) => void) | undefined | "stale"> {
  const stored = grantBook(book);
  const { grant } = entry;
  if (stored === undefined && grant === undefined) return undefined;
  const { worthMicroVnd } = await worthByRows(kv, wallet);
  const before = stored ?? { spendGranted, ownMicroVnd: worthMicroVnd, grants: [] };
  const after = withLine(bringForward(before, worthMicroVnd), entry);
  if (after === undefined) return "stale";
  const isGiven = grant !== undefined && grant.grantId === undefined;
  const advanced = isGiven ? { ...after, spendGranted } : after;
  return (op) => writeBook(op, advanced, entry);
}

function withLine(book: GrantBook, entry: LedgerMovement): GrantBook | undefined {
  const { grant, amountMicroVnd } = entry;
  if (grant === undefined) return moveOwn(book, amountMicroVnd);
  if (grant.grantId !== undefined) return expire(book, grant.grantId, -amountMicroVnd);
  const { campaignId, expiresAtMs, voucherId } = grant;
  return addGrant(book, {
    grantId: entry.ledgerId,
    campaignId,
    name: entry.reason,
    amountMicroVnd,
    leftMicroVnd: amountMicroVnd,
    expiredMicroVnd: 0n,
    givenAtMs: entry.atMs,
    ...defined({ expiresAtMs, voucherId }),
  });
}

/**
 * Writes a book that was brought forward, in which a grant is spent, without a movement. Returns `false` if
 * the wallet changed meanwhile.
 */
export async function closeSpentGrants(
  kv: KeyValueStore,
  wallet: WalletRow,
  book: GrantBook,
  atMs: number,
): Promise<boolean> {
  const op = kv.atomic();
  // A new version of the wallet, so that no movement uses the former book.
  changeWallet(op, wallet, wallet.availableMicroVnd);
  writeBook(op, book, { accountId: wallet.accountId, atMs });
  return (await op.commit()).ok;
}

/** Writes the book without the grants of which nothing is left, and the rows of those. */
function writeBook(
  op: AtomicWrite,
  book: GrantBook,
  { accountId, ledgerId, atMs, grant: mark }:
    & Pick<LedgerMovement, "accountId" | "atMs" | "grant">
    & Partial<Pick<LedgerMovement, "ledgerId">>,
): void {
  for (const grant of book.grants) {
    const { campaignId, grantId, leftMicroVnd, expiresAtMs } = grant;
    const isNew = grantId === ledgerId && mark !== undefined;
    const isClosed = leftMicroVnd === 0n;
    const isExpiring = grantId === mark?.grantId;
    if (isNew || isClosed || isExpiring) {
      op.set(grantKey(campaignId, grantId), rowOf(accountId, grant, atMs));
    }
    if (expiresAtMs === undefined) continue;
    const key = grantExpiryKey(expiresAtMs, accountId, grantId);
    if (isClosed) op.delete(key);
    else if (isNew) op.set(key, campaignId);
  }
  const grants = book.grants.filter(({ leftMicroVnd }) => leftMicroVnd > 0n);
  const key = grantBookKey(accountId);
  if (grants.length === 0) op.delete(key);
  else op.set(key, { ...book, grants } satisfies GrantBook);
}

function rowOf(accountId: AccountId, grant: BookGrant, atMs: number): Grant {
  const { grantId, campaignId, amountMicroVnd, givenAtMs, expiresAtMs, voucherId } = grant;
  return {
    grantId,
    campaignId,
    accountId,
    amountMicroVnd,
    givenAtMs,
    expiredMicroVnd: grant.expiredMicroVnd,
    ...defined({ expiresAtMs, voucherId }),
    ...(grant.leftMicroVnd === 0n && { closedAtMs: atMs }),
  };
}

// Reads the pots of an account as they are now: its book, brought forward to its balance.

/** Readings until the book and the balance are of one moment; more often only while credit moves. */
const readAttempts = 3;

/**
 * Reads the pots of an account. Without credit, everything is the customer's own.
 *
 * @param totalOf reads the balance, including what running calls have reserved
 */
export async function readPots(
  kv: KeyValueStore,
  accountId: AccountId,
  totalOf: (accountId: AccountId) => Promise<bigint>,
): Promise<Pots<BookGrant>> {
  for (let attempt = 1;; attempt++) {
    const before = await kv.get(grantBookKey(accountId));
    const totalMicroVnd = await totalOf(accountId);
    const after = await kv.get(before.key);
    if (before.versionstamp !== after.versionstamp && attempt < readAttempts) continue;
    const book = grantBook(after) ??
      { spendGranted: "first" as const, ownMicroVnd: totalMicroVnd, grants: [] };
    const pots = bringForward(book, totalMicroVnd);
    return { ...pots, grants: pots.grants.filter(({ leftMicroVnd }) => leftMicroVnd > 0n) };
  }
}
