/**
 * SePay: notices of bank movements by webhook, and the list of movements of its API v2 as a second
 * source.
 *
 * Docs: developer.sepay.vn (webhooks; API v2 transactions).
 */
import { z } from "zod";
import { sameSecret } from "../../lib/hash/sha256.ts";
import {
  amountOfJson,
  type BankHook,
  type BankHookCheck,
  type BankHookRequest,
  type BankNotice,
  bankNoticeSkewMs,
  isEventId,
  jsonOfBytes,
  parseBankTime,
  prefixed,
  type ReadBankNotices,
  verifyHmacHex,
} from "./bank_notice.ts";

/**
 * The secrets for SePay. With both set, either check admits a notice, which allows a change-over.
 */
export interface SepaySecrets {
  /** Signs `timestamp.body` (recommended). */
  readonly hmacSecret?: string;
  /** Sent as `Authorization: Apikey …`; proves the sender but not the body. */
  readonly apiKey?: string;
}

const text = z.string().max(4_000);
const optionalText = text.nullish().transform((value) => value ?? "");
const amount = z.union([z.number(), z.string().max(32)]);

const webhookForm = z.object({
  id: z.union([z.number().int().nonnegative(), z.string()]).transform(String),
  transactionDate: text,
  accountNumber: z.union([text, z.number()]).transform(String),
  subAccount: optionalText,
  code: optionalText,
  content: optionalText,
  description: optionalText,
  transferType: z.enum(["in", "out"]),
  transferAmount: amount,
  accumulated: amount.nullish(),
  referenceCode: optionalText,
});

/** One movement of the API v2; the amounts are integers there. */
const listedForm = z.object({
  id: z.string(),
  transaction_date: text,
  account_number: text,
  va: optionalText,
  transfer_type: z.enum(["in", "out"]),
  amount_in: amount,
  amount_out: amount,
  accumulated: amount.nullish(),
  transaction_content: optionalText,
  reference_number: optionalText,
  code: optionalText,
});

const listForm = z.object({
  data: z.array(listedForm),
  meta: z.object({ pagination: z.object({ has_more: z.boolean() }) }),
});

interface RawMovement {
  readonly source: "sepay" | "sepay-poll";
  readonly id: string;
  readonly account: string;
  readonly subAccount: string;
  readonly direction: "in" | "out";
  readonly amount: number | string;
  readonly date: string;
  readonly memo: string;
  readonly fullText: string;
  readonly code: string;
  readonly reference: string;
  readonly balance: number | string | null | undefined;
}

/** The event, or the name of the field that cannot be read. */
function eventOf(raw: RawMovement): BankNotice | string {
  if (!isEventId(raw.id)) return "id";
  const amountMicroVnd = amountOfJson(raw.amount);
  if (amountMicroVnd === undefined || amountMicroVnd < 0n) return "amount";
  const time = parseBankTime(raw.date);
  if (time === undefined) return "date";
  const balance = raw.balance === null || raw.balance === undefined
    ? undefined
    : amountOfJson(raw.balance);
  return {
    source: raw.source,
    id: raw.id,
    account: raw.account,
    ...(raw.subAccount === "" ? {} : { subAccount: raw.subAccount }),
    direction: raw.direction,
    amountMicroVnd,
    time,
    memo: raw.memo,
    ...(raw.fullText === "" ? {} : { fullText: raw.fullText }),
    ...(raw.code === "" ? {} : { detectedCode: raw.code }),
    ...(raw.reference === "" ? {} : { reference: raw.reference }),
    // Some banks always report 0, which means "not reported".
    ...(balance === undefined || balance === 0n ? {} : { balanceAfterMicroVnd: balance }),
  };
}

/** Reads the body of a SePay webhook. */
export function readSepayNotice(body: Uint8Array): ReadBankNotices {
  const parsed = webhookForm.safeParse(jsonOfBytes(body));
  if (!parsed.success) {
    return { ok: false, reason: `field ${parsed.error.issues[0]?.path.join(".") ?? ""}` };
  }
  const notice = parsed.data;
  const event = eventOf({
    source: "sepay",
    id: notice.id,
    account: notice.accountNumber,
    subAccount: notice.subAccount,
    direction: notice.transferType,
    amount: notice.transferAmount,
    date: notice.transactionDate,
    memo: notice.content,
    fullText: notice.description,
    code: notice.code,
    reference: notice.referenceCode,
    balance: notice.accumulated,
  });
  return typeof event === "string"
    ? { ok: false, reason: `field ${event}` }
    : { ok: true, events: [event] };
}

/** One page of the list. Entries that cannot be read are kept for staff: they may be money. */
export interface SepayPage {
  readonly events: readonly BankNotice[];
  readonly unreadable: readonly { readonly reason: string; readonly raw: string }[];
  readonly hasMore: boolean;
}

/** Reads one page of the movements of API v2; `undefined` for any other form. */
export function readSepayPage(answer: unknown): SepayPage | undefined {
  const parsed = listForm.safeParse(answer);
  if (!parsed.success) return undefined;
  const events: BankNotice[] = [];
  const unreadable: { reason: string; raw: string }[] = [];
  for (const row of parsed.data.data) {
    const event = eventOf({
      source: "sepay-poll",
      id: row.id,
      account: row.account_number,
      subAccount: row.va,
      direction: row.transfer_type,
      amount: row.transfer_type === "in" ? row.amount_in : row.amount_out,
      date: row.transaction_date,
      memo: row.transaction_content,
      fullText: "",
      code: row.code,
      reference: row.reference_number,
      balance: row.accumulated,
    });
    if (typeof event !== "string") events.push(event);
    else unreadable.push({ reason: `field ${event}`, raw: JSON.stringify(row) });
  }
  return { events, unreadable, hasMore: parsed.data.meta.pagination.has_more };
}

async function verifyHmac(secret: string, request: BankHookRequest): Promise<BankHookCheck> {
  const timestamp = request.headers.get("x-sepay-timestamp") ?? "";
  const signature = /^sha256=([0-9a-fA-F]{64})$/.exec(
    request.headers.get("x-sepay-signature") ?? "",
  )?.[1];
  if (signature === undefined || !/^\d{1,12}$/.test(timestamp)) return "forged";
  const signed = prefixed(`${timestamp}.`, request.body);
  if (!await verifyHmacHex("SHA-256", secret, signed, signature)) return "forged";
  const skewMs = Math.abs(request.nowMs - Number(timestamp) * 1_000);
  return skewMs <= bankNoticeSkewMs ? "genuine" : "stale";
}

/**
 * Creates SePay's webhook; `undefined` if no secret is set, since without one there is no endpoint.
 */
export function sepayHook(secrets: SepaySecrets): BankHook | undefined {
  const hmacSecret = secrets.hmacSecret ?? "";
  const apiKey = secrets.apiKey ?? "";
  if (hmacSecret === "" && apiKey === "") return undefined;
  return {
    source: "sepay",
    async verify(request) {
      if (hmacSecret !== "" && request.headers.get("x-sepay-signature") !== null) {
        return await verifyHmac(hmacSecret, request);
      }
      const given = /^Apikey (.{1,512})$/i.exec(request.headers.get("authorization") ?? "")?.[1];
      if (apiKey === "" || given === undefined) return "forged";
      return await sameSecret(apiKey, given.trim()) ? "genuine" : "forged";
    },
    read: readSepayNotice,
  };
}
