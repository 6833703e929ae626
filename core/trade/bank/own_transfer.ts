/** Recognises transfers between accounts of the operator, which are not top-ups. */
import type { BankNotice } from "./bank_notice.ts";
import { foldVietnamese } from "./fold_text.ts";
import { findReceivingAccount, type ReceivingAccount } from "./receiving_account.ts";

/** Normalises a bank's name: no case, accents, spaces or words that every bank's name may have. */
function plainBankName(name: string): string {
  return foldVietnamese(name).replace(/[^A-Z0-9]/g, "").replace(
    /^(?:NGANHANG)?(?:TMCP)?|BANK$/g,
    "",
  );
}

/**
 * Returns the receiving account with the number of the payer's account.
 *
 * At another bank the same number belongs to somebody else, so the caller must check `sameBank`
 * before it takes the payer for the operator.
 *
 * @returns `undefined` if the payer's number is not of a receiving account; `sameBank` is false
 * only if another bank is named
 *
 * @example
 * ```ts
 * import { payerNumberOfOurs } from "./own_transfer.ts";
 * const ours = {
 *   bin: "970422", bankName: "MB Bank", account: "0123456789", alsoKnownAs: [], holder: "A", memoPrefix: "",
 * };
 * const asked = (bank: string) => payerNumberOfOurs({ account: "0123456789", bank }, [ours])?.sameBank;
 * if (asked("MBBank") !== true || asked("Vietcombank") !== false) throw new Error("wrong");
 * ```
 */
export function payerNumberOfOurs(
  payer: BankNotice["payer"],
  accounts: readonly ReceivingAccount[],
): { readonly sameBank: boolean } | undefined {
  const ours = findReceivingAccount(accounts, [payer?.account]);
  if (ours === undefined) return undefined;
  const bank = payer?.bank ?? "";
  return {
    sameBank: bank === "" || bank === ours.bin ||
      plainBankName(bank) === plainBankName(ours.bankName),
  };
}
