/** The bank account that receives top-ups, and the memo that a payer must use. */
import { foldVietnamese, type OrderCode } from "./order_code.ts";
import type { BankNotice } from "./bank_notice.ts";

/**
 * Computes CRC-16/CCITT-FALSE (polynomial 1021, initial value FFFF, not reflected, no final xor)
 * for EMVCo QR field 63.
 *
 * @example
 * ```ts
 * import { crc16 } from "./receiving_account.ts";
 * if (crc16("123456789") !== "29B1") throw new Error("the standard check value is wrong");
 * ```
 *
 * @param ascii text of characters below 128; one byte each
 * @returns four upper-case hexadecimal digits
 */
export function crc16(ascii: string): string {
  let crc = 0xffff;
  for (let at = 0; at < ascii.length; at++) {
    crc ^= ascii.charCodeAt(at) << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = (crc & 0x8000) === 0 ? (crc << 1) & 0xffff : ((crc << 1) ^ 0x1021) & 0xffff;
    }
  }
  return crc.toString(16).toUpperCase().padStart(4, "0");
}

// Builds the text of a VietQR code (NAPAS "QR code format" 1.5.2 on top of EMVCo merchant-presented
// mode).
//
// Fields are two digits of id, two digits of length, value. Only ASCII may appear: the length
// counts characters while the CRC runs over bytes.

const napasGuid = "A000000727";
const serviceCodes = { account: "QRIBFTTA", card: "QRIBFTTC" } as const;

/** The data of a transfer. Nothing is escaped or cut: a value that does not fit is refused. */
export interface VietQr {
  /** NAPAS bank number, six digits. */
  readonly bin: string;
  /** Account, virtual account or card: letters and digits, at most 19. */
  readonly account: string;
  readonly service: "account" | "card";
  /** Whole đồng; absent: the payer types it. */
  readonly amountVnd?: bigint;
  /** Field 62-01, at most 25. Banks do not reliably forward it. */
  readonly billNumber?: string;
  /** Field 62-08, the memo of the transfer, at most 25. */
  readonly memo?: string;
}

/** Letters, digits and spaces, which every bank forwards. */
const memoForm = /^[A-Za-z0-9 ]{1,25}$/;

function field(id: string, value: string): string {
  if (value.length < 1 || value.length > 99) {
    throw new RangeError(`Cannot build field ${id}: its length is ${value.length}, not 1 to 99`);
  }
  return `${id}${String(value.length).padStart(2, "0")}${value}`;
}

function checkForm(qr: VietQr): void {
  const refuse = (what: string) => {
    throw new RangeError(`Cannot build a VietQR code: ${what}`);
  };
  if (!/^\d{6}$/.test(qr.bin)) refuse("the bank number must be six digits");
  if (!/^[A-Za-z0-9]{1,19}$/.test(qr.account)) {
    refuse("the account must be 1 to 19 letters or digits");
  }
  if (qr.amountVnd !== undefined && (qr.amountVnd <= 0n || qr.amountVnd >= 10n ** 13n)) {
    refuse("the amount must be positive and have at most 13 digits");
  }
  for (const text of [qr.billNumber, qr.memo]) {
    if (text !== undefined && !memoForm.test(text)) {
      refuse("memo and bill number must be 1 to 25 letters, digits or spaces");
    }
  }
}

/**
 * Builds the text of the code.
 *
 * @example
 * ```ts
 * import { buildVietQr } from "./receiving_account.ts";
 * const text = buildVietQr({
 *   bin: "970436", account: "1017588888", service: "account", amountVnd: 50_000n, memo: "ST4HWN8RC9",
 * });
 * if (!text.endsWith("63048CCE")) throw new Error(text);
 * ```
 *
 * @throws {RangeError} if a part does not fit the format
 */
export function buildVietQr(qr: VietQr): string {
  checkForm(qr);
  const beneficiary = field("00", qr.bin) + field("01", qr.account);
  const merchant = field("00", napasGuid) + field("01", beneficiary) +
    field("02", serviceCodes[qr.service]);
  const additional = (qr.billNumber === undefined ? "" : field("01", qr.billNumber)) +
    (qr.memo === undefined ? "" : field("08", qr.memo));
  const body = field("00", "01") +
    // 12 (for one payment) if an amount is fixed, else 11 (for many), as the published codes do.
    field("01", qr.amountVnd === undefined ? "11" : "12") +
    field("38", merchant) +
    field("53", "704") +
    (qr.amountVnd === undefined ? "" : field("54", qr.amountVnd.toString())) +
    field("58", "VN") +
    (additional === "" ? "" : field("62", additional)) +
    "6304";
  return body + crc16(body);
}

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

// Links that open a bank's app with a transfer filled in, by VietQR's service.

/** A bank whose app can be opened. */
export interface BankApp {
  readonly name: string;
  readonly href: string;
}

/** VietQR's codes of banks, by BIN. */
const bankCodes: ReadonlyMap<string, string> = new Map([
  ["970403", "stb"],
  ["970405", "vba"],
  ["970407", "tcb"],
  ["970415", "icb"],
  ["970416", "acb"],
  ["970418", "bidv"],
  ["970422", "mb"],
  ["970423", "tpb"],
  ["970426", "msb"],
  ["970432", "vpb"],
  ["970436", "vcb"],
  ["970437", "hdb"],
  ["970441", "vib"],
  ["970443", "shb"],
  ["970448", "ocb"],
]);

/** The apps that are offered: those of the banks with the most customers. */
const apps: readonly (readonly [code: string, name: string])[] = [
  ["vcb", "Vietcombank"],
  ["mb", "MB Bank"],
  ["tcb", "Techcombank"],
  ["icb", "VietinBank"],
  ["bidv", "BIDV"],
  ["vba", "Agribank"],
  ["acb", "ACB"],
  ["vpb", "VPBank"],
  ["tpb", "TPBank"],
  ["ocb", "OCB"],
];

/**
 * Lists the links for a transfer; none if the receiving bank has no code.
 *
 * @example
 * ```ts
 * import { bankApps } from "./receiving_account.ts";
 * const to = { bin: "970422", bankName: "MB", account: "0123", holder: "CONG TY A" };
 * const [first] = bankApps(to, { amountVnd: 50_000n, memo: "NAP 7" });
 * if (!first?.href.endsWith("?app=vcb&ba=0123%40mb&am=50000&tn=NAP+7&bn=CONG+TY+A")) throw new Error(first?.href);
 * ```
 */
export function bankApps(
  { bin, account, holder }: Pick<ReceivingAccount, "bin" | "account" | "holder">,
  { amountVnd, memo }: { readonly amountVnd: bigint; readonly memo: string },
): readonly BankApp[] {
  const bank = bankCodes.get(bin);
  if (bank === undefined) return [];
  return apps.map(([app, name]) => {
    const query = new URLSearchParams({
      app,
      ba: `${account}@${bank}`,
      am: amountVnd.toString(),
      tn: memo,
      bn: holder,
    });
    return { name, href: `https://dl.vietqr.io/pay?${query}` };
  });
}

// Recognises transfers between accounts of the operator, which are not top-ups.

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
 * import { payerNumberOfOurs } from "./receiving_account.ts";
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
