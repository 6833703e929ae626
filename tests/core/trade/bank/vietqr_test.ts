import * as fc from "../../../support/property.ts";
import { assertEquals, assertThrows } from "../../../support/assert.ts";
import {
  buildVietQr,
  crc16,
  orderMemo,
  orderVietQr,
  type ReceivingAccount,
  type VietQr,
} from "../../../../core/trade/bank/receiving_account.ts";
import { parseOrderCode } from "../../../../core/trade/bank/order_code.ts";

/** Thrown for a text that is not a well-formed VietQR code. */
class VietQrFormatError extends Error {
  override name = "VietQrFormatError";
}

function fail(what: string): never {
  throw new VietQrFormatError(`Cannot read the VietQR text: ${what}`);
}

// A right CRC does not mean a right structure (NAPAS itself printed an example with a wrong inner length and a right CRC),
// so the nested fields are parsed, too.

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
function parseVietQr(text: string): VietQr {
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

/** Published examples with a right CRC and structure, then ours. */
const vectors: readonly [string, VietQr, string][] = [
  [
    "NAPAS 1.5.2, account, fixed amount",
    {
      bin: "970403",
      account: "0011012345678",
      service: "account",
      amountVnd: 180_000n,
      billNumber: "NPS6869",
      memo: "thanh toan don hang",
    },
    "00020101021238570010A00000072701270006970403011300110123456780208QRIBFTTA530370454061800005802VN62340107NPS68690819thanh toan don hang63042E2E",
  ],
  [
    "NAPAS 1.5.2, card, free amount",
    { bin: "970403", account: "9704031101234567", service: "card" },
    "00020101021138600010A00000072701300006970403011697040311012345670208QRIBFTTC53037045802VN63044F52",
  ],
  [
    "vietqr.io sample",
    {
      bin: "970415",
      account: "113366668888",
      service: "account",
      amountVnd: 79_000n,
      memo: "Ung Ho Quy Vac Xin",
    },
    "00020101021238560010A0000007270126000697041501121133666688880208QRIBFTTA53037045405790005802VN62220818Ung Ho Quy Vac Xin63043ACF",
  ],
  [
    "common library, free amount",
    { bin: "970416", account: "257678859", service: "account" },
    "00020101021138530010A0000007270123000697041601092576788590208QRIBFTTA53037045802VN6304AE9F",
  ],
  [
    "common library, fixed amount",
    {
      bin: "970416",
      account: "257678859",
      service: "account",
      amountVnd: 10_000n,
      memo: "Chuyen tien",
    },
    "00020101021238530010A0000007270123000697041601092576788590208QRIBFTTA53037045405100005802VN62150811Chuyen tien630453E6",
  ],
  [
    "an order",
    {
      bin: "970422",
      account: "0123456789",
      service: "account",
      amountVnd: 200_000n,
      memo: "ST7K2M9QXJ",
    },
    "00020101021238540010A00000072701240006970422011001234567890208QRIBFTTA530370454062000005802VN62140810ST7K2M9QXJ6304B379",
  ],
  [
    "an order at another bank",
    {
      bin: "970436",
      account: "1017588888",
      service: "account",
      amountVnd: 50_000n,
      memo: "ST4HWN8RC9",
    },
    "00020101021238540010A00000072701240006970436011010175888880208QRIBFTTA53037045405500005802VN62140810ST4HWN8RC963048CCE",
  ],
  [
    "an order with the bank's prefix",
    {
      bin: "970415",
      account: "113366668888",
      service: "account",
      amountVnd: 500_000n,
      memo: "SEVQR ST9PGD3TVW",
    },
    "00020101021238560010A0000007270126000697041501121133666688880208QRIBFTTA530370454065000005802VN62200816SEVQR ST9PGD3TVW6304BF2A",
  ],
  [
    "an order to a virtual account",
    {
      bin: "970418",
      account: "V3CASST0001",
      service: "account",
      amountVnd: 100_000n,
      memo: "ST7K2M9QXJ",
    },
    "00020101021238550010A000000727012500069704180111V3CASST00010208QRIBFTTA530370454061000005802VN62140810ST7K2M9QXJ6304ACFB",
  ],
];

Deno.test("crc16() gives the standard check value", () => assertEquals(crc16("123456789"), "29B1"));

Deno.test("buildVietQr() rebuilds every known text byte for byte", () => {
  for (const [name, qr, text] of vectors) assertEquals(buildVietQr(qr), text, name);
});

Deno.test("parseVietQr() reads every known text back", () => {
  for (const [name, qr, text] of vectors) assertEquals(parseVietQr(text), qr, name);
});

function refuses(text: string, why: string): void {
  assertThrows(() => parseVietQr(text), VietQrFormatError, why);
}

Deno.test("parseVietQr() refuses a wrong CRC", () => {
  const good =
    "00020101021138530010A0000007270123000697041601092576788590208QRIBFTTA53037045802VN6304";
  refuses(`${good}BBB5`, "CRC is wrong");
  refuses(`${good}ae9f`, "CRC is wrong");
  assertEquals(parseVietQr(`${good}AE9F`).account, "257678859");
});

Deno.test("parseVietQr() refuses the printed NAPAS example whose CRC is right but whose inner length is wrong", () => {
  const printed =
    "00020101021138570010A00000072701270006970403011200110123456780208QRIBFTTA53037045802VN6304F4E5";
  assertEquals(crc16(printed.slice(0, -4)), "F4E5");
  refuses(printed, "38-01");
  const corrected =
    "00020101021138570010A00000072701270006970403011300110123456780208QRIBFTTA53037045802VN63049E6F";
  assertEquals(parseVietQr(corrected).account, "0011012345678");
});

function withCrc(body: string): string {
  return body + crc16(body);
}

Deno.test("parseVietQr() refuses wrong structures even with a correct CRC", () => {
  // The service code put inside 38-01 instead of beside it: a fixture of a public library does this.
  refuses(
    withCrc(
      "00020101021138530010A0000007270135000697041601092576788590208QRIBFTTA53037045802VN6304",
    ),
    "is missing",
  );
  const ok = "0010A0000007270123000697041601092576788590208QRIBFTTA";
  refuses(withCrc(`00020101021338${ok.length}${ok}53037045802VN6304`), "initiation");
  refuses(withCrc(`00020101021138${ok.length}${ok}53038405802VN6304`), "VND");
  refuses(withCrc(`00020101021138${ok.length}${ok}53037045802US6304`), "country");
  refuses(withCrc(`00020101021138${ok.length}${ok}530370454005802VN6304`), "wrong length");
  refuses(withCrc(`00020101021138${ok.length}${ok}5303704540401105802VN6304`), "amount");
  refuses(withCrc(`00020101021138${ok.length}${ok}53037045403-105802VN6304`), "amount");
  refuses(withCrc(`01021100020138${ok.length}${ok}53037045802VN6304`), "first");
  refuses(withCrc(`00020101021138${ok.length}${ok}530370453037045802VN6304`), "twice");
  refuses("", "8 to 512");
  refuses("nạp tiền nạp tiền", "ASCII");
});

Deno.test("a built text reads back the same, whatever fits the format", () => {
  const alphanumeric = fc.string({
    unit: fc.constantFrom(..."ABCXYZabcxyz0123456789"),
    minLength: 1,
    maxLength: 19,
  });
  const memo = fc.string({
    unit: fc.constantFrom(..."ABCxyz0123456789 "),
    minLength: 1,
    maxLength: 25,
  });
  const qr: fc.Arbitrary<VietQr> = fc.record({
    bin: fc.stringMatching(/^[0-9]{6}$/),
    account: alphanumeric,
    service: fc.constantFrom("account" as const, "card" as const),
    amountVnd: fc.bigInt(1n, 9_999_999_999_999n),
    billNumber: memo,
    memo,
  }, { requiredKeys: ["bin", "account", "service"], noNullPrototype: true });
  fc.assert(fc.property(qr, (one) => assertEquals(parseVietQr(buildVietQr(one)), one)));
});

Deno.test("parseVietQr() notices any single changed character", () => {
  const [, , text] = vectors[5]!;
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.constantFrom(..."0123456789ABCF"), (at, char) => {
      if (text[at] === char) return;
      assertThrows(
        () => parseVietQr(text.slice(0, at) + char + text.slice(at + 1)),
        VietQrFormatError,
      );
    }),
  );
});

Deno.test("buildVietQr() refuses what does not fit instead of cutting it", () => {
  const good: VietQr = { bin: "970422", account: "0123456789", service: "account" };
  const bad: VietQr[] = [
    { ...good, bin: "97042" },
    { ...good, account: "" },
    { ...good, account: "1".repeat(20) },
    { ...good, account: "01 23" },
    { ...good, amountVnd: 0n },
    { ...good, amountVnd: -1n },
    { ...good, amountVnd: 10n ** 13n },
    { ...good, memo: "" },
    { ...good, memo: "x".repeat(26) },
    { ...good, memo: "nạp tiền" },
    { ...good, memo: "ST_7K" },
    { ...good, billNumber: "a-b" },
  ];
  for (const qr of bad) assertThrows(() => buildVietQr(qr), RangeError);
});

Deno.test("an order's memo keeps to 19 capitals and digits", () => {
  const code = parseOrderCode("ST9PGD3TVW")!;
  assertEquals(orderMemo("", code), "ST9PGD3TVW");
  assertEquals(orderMemo("SEVQR", code), "SEVQR ST9PGD3TVW");
  assertThrows(() => orderMemo("TOOLONGX9", code), RangeError);
  assertThrows(() => orderMemo("sevqr", code), RangeError);
  const to: ReceivingAccount = {
    bin: "970415",
    bankName: "VietinBank",
    account: "113366668888",
    alsoKnownAs: [],
    holder: "CONG TY A",
    memoPrefix: "SEVQR",
  };
  assertEquals(orderVietQr(to, code, 500_000n), vectors[7]![2]);
});
