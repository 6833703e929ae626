/** The bank account that receives top-ups, and the memo that a payer must use. */
import type { OrderCode } from "./order_code.ts";
import { buildVietQr } from "./vietqr.ts";

/**
 * One receiving account of the operator; each order keeps a copy of it.
 *
 * Some banks report movements only through a virtual account: then `account` is the virtual one,
 * which the QR must contain. VietinBank needs the memo prefix `SEVQR`.
 */
export interface ReceivingAccount {
  /** NAPAS bank number, six digits. */
  readonly bin: string;
  /** Shown to the payer. */
  readonly bankName: string;
  /** Account or virtual account number for the QR code. */
  readonly account: string;
  /** Other numbers under which notices name the same account, such as the real one behind a virtual one. */
  readonly alsoKnownAs: readonly string[];
  readonly holder: string;
  /** The text before the code, separated by one space. Empty for most banks. */
  readonly memoPrefix: string;
}

/** Longest memo that every bank and every service forwards; the format itself allows 25. */
const memoChars = 19;

/**
 * Builds the memo of an order: only capitals, digits and spaces, at most 19, which keeps the QR
 * small and passes every bank.
 *
 * @example
 * ```ts
 * import { orderMemo } from "./receiving_account.ts";
 * import { parseOrderCode } from "./order_code.ts";
 * if (orderMemo("SEVQR", parseOrderCode("ST9PGD3TVW")!) !== "SEVQR ST9PGD3TVW") throw new Error("wrong");
 * ```
 *
 * @throws {RangeError} if the prefix is too long or holds anything but capitals and digits
 */
export function orderMemo(memoPrefix: string, code: OrderCode): string {
  const memo = memoPrefix === "" ? code : `${memoPrefix} ${code}`;
  if (memo.length > memoChars || !/^[A-Z0-9 ]+$/.test(memo)) {
    throw new RangeError(`Cannot use the memo prefix: ${JSON.stringify(memoPrefix)}`);
  }
  return memo;
}

/** Builds the VietQR text that pays one order. */
export function orderVietQr(to: ReceivingAccount, code: OrderCode, amountVnd: bigint): string {
  return buildVietQr({
    bin: to.bin,
    account: to.account,
    service: "account",
    amountVnd,
    memo: orderMemo(to.memoPrefix, code),
  });
}

/** Removes the spaces, dots and hyphens that people and exports put into an account number. */
export function plainAccountNumber(text: string): string {
  return text.replace(/[^A-Za-z0-9]/g, "").toUpperCase();
}

/** Finds the configured account of a notice, by its account or sub-account number. */
export function findReceivingAccount(
  accounts: readonly ReceivingAccount[],
  numbers: readonly (string | undefined)[],
): ReceivingAccount | undefined {
  const seen = numbers.flatMap((number) =>
    number === undefined || number === "" ? [] : [plainAccountNumber(number)]
  );
  return accounts.find((to) =>
    [to.account, ...to.alsoKnownAs].some((number) => seen.includes(plainAccountNumber(number)))
  );
}
