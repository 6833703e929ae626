/**
 * Builds the text of a VietQR code (NAPAS "QR code format" 1.5.2 on top of EMVCo merchant-presented
 * mode).
 *
 * Fields are two digits of id, two digits of length, value. Only ASCII may appear: the length
 * counts characters while the CRC runs over bytes.
 */
import { crc16 } from "./crc16.ts";

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
 * import { buildVietQr } from "./vietqr.ts";
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
