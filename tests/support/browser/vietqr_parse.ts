/**
 * Reads a VietQR text back, strictly. A right CRC does not mean a right structure (NAPAS itself printed an example
 * with a wrong inner length and a right CRC), so the nested fields are parsed too.
 */
import { crc16, type VietQr } from "../../../core/trade/bank/receiving_account.ts";

/** Thrown for a text that is not a well-formed VietQR code. */
export class VietQrFormatError extends Error {
  override name = "VietQrFormatError";
}

function fail(what: string): never {
  throw new VietQrFormatError(`Cannot read the VietQR text: ${what}`);
}

/** Splits one level of id-length-value fields; the fields must fill the text exactly. */
function fieldsOf(text: string, where: string): Map<string, string> {
  const fields = new Map<string, string>();
  let at = 0;
  while (at < text.length) {
    const head = /^(\d{2})(\d{2})$/.exec(text.slice(at, at + 4));
    if (head === null) fail(`${where} has no id and length at ${at}`);
    const id = head[1]!;
    const length = Number(head[2]);
    const value = text.slice(at + 4, at + 4 + length);
    if (length === 0 || value.length !== length) fail(`${where} field ${id} has a wrong length`);
    if (fields.has(id)) fail(`${where} field ${id} appears twice`);
    fields.set(id, value);
    at += 4 + length;
  }
  return fields;
}

function need(fields: Map<string, string>, id: string, where: string): string {
  return fields.get(id) ?? fail(`${where} field ${id} is missing`);
}

function merchantOf(text: string): Pick<VietQr, "bin" | "account" | "service"> {
  const merchant = fieldsOf(text, "38");
  if (need(merchant, "00", "38") !== "A000000727") fail("38-00 is not the NAPAS id");
  const beneficiary = fieldsOf(need(merchant, "01", "38"), "38-01");
  const bin = need(beneficiary, "00", "38-01");
  const account = need(beneficiary, "01", "38-01");
  if (!/^\d{6}$/.test(bin)) fail("the bank number is not six digits");
  if (!/^[A-Za-z0-9]{1,19}$/.test(account)) fail("the account is malformed");
  const service = need(merchant, "02", "38");
  if (service !== "QRIBFTTA" && service !== "QRIBFTTC") fail(`unknown service ${service}`);
  return { bin, account, service: service === "QRIBFTTA" ? "account" : "card" };
}

/**
 * Reads a VietQR text.
 *
 * @throws {VietQrFormatError} if the CRC, a length, a constant or a nested field is wrong
 */
export function parseVietQr(text: string): VietQr {
  if (!/^[\x20-\x7e]{8,512}$/.test(text)) fail("not 8 to 512 printable ASCII characters");
  const body = text.slice(0, -4);
  if (!body.endsWith("6304")) fail("the CRC field is not last");
  if (text.slice(-4) !== crc16(body)) fail("the CRC is wrong");
  const fields = fieldsOf(text, "the text");
  if (!text.startsWith("000201")) fail("the format mark is not first");
  const initiation = need(fields, "01", "the text");
  if (initiation !== "11" && initiation !== "12") fail(`unknown initiation ${initiation}`);
  if (need(fields, "53", "the text") !== "704") fail("the currency is not VND");
  if (need(fields, "58", "the text") !== "VN") fail("the country is not VN");
  const amount = fields.get("54");
  if (amount !== undefined && !/^[1-9]\d{0,12}$/.test(amount)) fail("the amount is malformed");
  const additionalText = fields.get("62");
  const additional = additionalText === undefined
    ? new Map<string, string>()
    : fieldsOf(additionalText, "62");
  const billNumber = additional.get("01");
  const memo = additional.get("08");
  return {
    ...merchantOf(need(fields, "38", "the text")),
    ...(amount === undefined ? {} : { amountVnd: BigInt(amount) }),
    ...(billNumber === undefined ? {} : { billNumber }),
    ...(memo === undefined ? {} : { memo }),
  };
}
