/**
 * Casso webhook v2: one movement per notice, signed with HMAC-SHA512 over the JSON with its keys sorted.
 *
 * The signature covers a re-serialisation, not the bytes, so the form of numbers and escapes matters. Both the plain
 * form and the form with escaped slashes are accepted; they have the same content.
 */
import { z } from "zod";
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import {
  amountOfJson,
  type BankHook,
  type BankHookCheck,
  type BankHookRequest,
  bankNoticeSkewMs,
  isEventId,
  jsonOfBytes,
  parseBankTime,
  type ReadBankNotices,
  verifyHmacHex,
} from "./bank_notice.ts";
import { defined } from "../../lib/base/defined.ts";

const text = z.union([z.string().max(4_000), z.number()]).transform(String);
const optionalText = text.nullish().transform((value) => value ?? "");
const amount = z.union([z.number(), z.string().max(32)]);

const webhookForm = z.object({
  data: z.object({
    id: text,
    reference: optionalText,
    description: optionalText,
    amount,
    runningBalance: amount.nullish(),
    transactionDateTime: text,
    accountNumber: text,
    virtualAccountNumber: optionalText,
    counterAccountName: optionalText,
    counterAccountNumber: optionalText,
    counterAccountBankName: optionalText,
  }),
});

/** Sorts the keys of every object in ascending order. */
function sorted(value: Json | undefined): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => sorted(item) ?? null);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value).sort().map((key) => [key, sorted(value[key])]),
  );
}

/** Whether nesting stays within the bound, so that sorting cannot exhaust the stack. */
function depthWithin(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((item) => depthWithin(item, depth - 1));
}

/**
 * Builds the text that Casso signs: `t.` and the JSON of the body with sorted keys. `undefined` if
 * the body is not a JSON object.
 */
export function cassoSignedText(timestamp: string, body: Uint8Array): string | undefined {
  const value = jsonOfBytes(body);
  if (!isJsonObject(value) || !depthWithin(value, 8)) return undefined;
  return `${timestamp}.${JSON.stringify(sorted(value))}`;
}

/** Reads the body of a Casso v2 webhook. A negative amount is money that went out. */
export function readCassoNotice(body: Uint8Array): ReadBankNotices {
  const parsed = webhookForm.safeParse(jsonOfBytes(body));
  if (!parsed.success) {
    return { ok: false, reason: `field ${parsed.error.issues[0]?.path.join(".") ?? ""}` };
  }
  const { data } = parsed.data;
  const signedAmount = amountOfJson(data.amount);
  const time = parseBankTime(data.transactionDateTime);
  if (signedAmount === undefined) return { ok: false, reason: "field data.amount" };
  if (time === undefined) return { ok: false, reason: "field data.transactionDateTime" };
  if (!isEventId(data.id)) return { ok: false, reason: "field data.id" };
  const balance = data.runningBalance === null || data.runningBalance === undefined
    ? undefined
    : amountOfJson(data.runningBalance);
  const payer = {
    ...(data.counterAccountNumber === "" ? {} : { account: data.counterAccountNumber }),
    ...(data.counterAccountName === "" ? {} : { name: data.counterAccountName }),
    ...(data.counterAccountBankName === "" ? {} : { bank: data.counterAccountBankName }),
  };
  return {
    ok: true,
    events: [{
      source: "casso",
      id: data.id,
      account: data.accountNumber,
      ...(data.virtualAccountNumber === "" ? {} : { subAccount: data.virtualAccountNumber }),
      direction: signedAmount < 0n ? "out" : "in",
      amountMicroVnd: signedAmount < 0n ? -signedAmount : signedAmount,
      time,
      memo: data.description,
      ...(data.reference === "" ? {} : { reference: data.reference }),
      ...defined({ balanceAfterMicroVnd: balance }),
      ...(Object.keys(payer).length === 0 ? {} : { payer }),
    }],
  };
}

async function verifyCasso(key: string, request: BankHookRequest): Promise<BankHookCheck> {
  const header = request.headers.get("x-casso-signature") ?? "";
  const match = /^t=(\d{1,15}),\s*v1=([0-9a-fA-F]{128})$/.exec(header);
  if (match === null) return "forged";
  const [, timestamp = "", signature = ""] = match;
  const plain = cassoSignedText(timestamp, request.body);
  if (plain === undefined) return "forged";
  const encoder = new TextEncoder();
  const forms = [plain, plain.replaceAll("/", "\\/")];
  const checks = await Promise.all(
    forms.map((form) => verifyHmacHex("SHA-512", key, encoder.encode(form), signature)),
  );
  if (!checks.includes(true)) return "forged";
  const skewMs = Math.abs(request.nowMs - Number(timestamp));
  return skewMs <= bankNoticeSkewMs ? "genuine" : "stale";
}

/**
 * Creates Casso's webhook; `undefined` if no key is set, since without a secret there is no
 * endpoint.
 */
export function cassoHook(webhookKey: string | undefined): BankHook | undefined {
  if (webhookKey === undefined || webhookKey === "") return undefined;
  return {
    source: "casso",
    verify: (request) => verifyCasso(webhookKey, request),
    read: readCassoNotice,
  };
}
