/**
 * Every kind of event that webhooks report, in one table: what it says in both languages, the schema of its data, and an
 * example.
 *
 * - Folder `core/people/webhooks/`: webhooks of customers: their events, signatures, addresses, and when they are tried
 *   again.
 * - In: facts about an account.
 * - Out: the body of a webhook, its signature, the time of the next try.
 * - Never: has a prompt, an answer or a secret in an event; money is an exact decimal string in VND.
 */
import { z } from "zod";
import { budgetEnds, budgetWindows } from "../../limits/budgets.ts";
import type { Locale } from "../../lib/base/locale.ts";
import { roles } from "../organisations/acts.ts";

const vnd = z.string().regex(/^-?\d+(?:\.\d+)?$/);
const time = z.iso.datetime();
/** One line that a person has written. */
const line = z.string().max(200);

/** Facts of a key without its secret. */
const apiKey = z.strictObject({
  key_id: z.string(),
  name: line,
  /** First and last letters. */
  masked: z.string(),
});

/** An incident with the text of the update that opened or ended it. */
const incident = { incident_id: z.string(), title: line, text: z.string().max(2_000) };

/** Entry of a kind of event in the table. */
interface KindEntry<Data extends z.ZodType> {
  readonly data: Data;
  /** Occasion of the event, in one sentence. */
  readonly says: Readonly<Record<Locale, string>>;
  readonly example: z.infer<Data>;
}

function kind<Type extends string, Data extends z.ZodType>(type: Type, entry: KindEntry<Data>) {
  return {
    ...entry,
    /** Checks data of unknown origin. Throws what zod throws. */
    read: (data: unknown): { readonly type: Type; readonly data: z.infer<Data> } => ({
      type,
      data: entry.data.parse(data),
    }),
  };
}

/** Facts of a budget in events about it. */
const budgetFacts = {
  budget_id: z.string(),
  name: line,
  /** Spent; of a budget that has refused a call, with what running calls reserve. */
  spent_vnd: vnd,
  budget_vnd: vnd,
  window: z.enum(budgetWindows),
  /** The first day of the window, in Vietnam. */
  from_day: z.iso.date(),
  /** Moment at which the budget resets; absent: never. */
  resets_at: time.optional(),
};

const table = {
  "budget.reached": kind("budget.reached", {
    data: z.strictObject({
      ...budgetFacts,
      /** The part of the budget that is spent, as the warning was set. */
      percent: z.int().min(1).max(1_000),
      /** Whether calls beyond it are refused, or go on; absent in events of earlier versions. */
      at_limit: z.enum(budgetEnds).optional(),
    }),
    says: {
      en: "Spending has reached a warning level of a budget.",
      vi: "Chi tiêu đã chạm một mức cảnh báo của ngân sách.",
    },
    example: {
      budget_id: "bud_example",
      name: "Production",
      percent: 80,
      spent_vnd: "4000000",
      budget_vnd: "5000000",
      window: "month",
      from_day: "2026-11-01",
      resets_at: "2026-11-30T17:00:00.000Z",
      at_limit: "refuse",
    },
  }),
  "budget.exhausted": kind("budget.exhausted", {
    data: z.strictObject({
      ...budgetFacts,
      /** Whether calls beyond it are refused, or go on. */
      at_limit: z.enum(budgetEnds),
    }),
    says: {
      en: "A budget is used up, or has refused a call, for the first time in its window.",
      vi: "Lần đầu trong kỳ, ngân sách đã dùng hết hoặc từ chối một lượt gọi.",
    },
    example: {
      budget_id: "bud_example",
      name: "Production",
      spent_vnd: "5000000",
      budget_vnd: "5000000",
      window: "month",
      from_day: "2026-11-01",
      resets_at: "2026-11-30T17:00:00.000Z",
      at_limit: "refuse",
    },
  }),
  "balance.low": kind("balance.low", {
    data: z.strictObject({ balance_vnd: vnd, threshold_vnd: vnd }),
    says: {
      en: "The balance fell below the amount at which you want a warning.",
      vi: "Số dư xuống dưới mức bạn đặt để được cảnh báo.",
    },
    example: { balance_vnd: "48211.37", threshold_vnd: "50000" },
  }),
  "topup.credited": kind("topup.credited", {
    data: z.strictObject({
      amount_vnd: vnd,
      /** Absent for a transfer that came without the code of an order. */
      order_code: z.string().optional(),
    }),
    says: {
      en: "A bank transfer was credited to the wallet.",
      vi: "Một khoản chuyển khoản đã được cộng vào ví.",
    },
    example: { amount_vnd: "500000", order_code: "ST2346789C" },
  }),
  "invoice.issued": kind("invoice.issued", {
    data: z.strictObject({
      invoice_id: z.string(),
      number: z.string(),
      series: z.string(),
      date: z.string(),
      total_vnd: vnd,
    }),
    says: {
      en: "A VAT invoice was issued and can be downloaded.",
      vi: "Hoá đơn GTGT đã được phát hành và có thể tải về.",
    },
    example: {
      invoice_id: "inv_example",
      number: "00000012",
      series: "1C26TGW",
      date: "2026-11-28",
      total_vnd: "500000",
    },
  }),
  "key.created": kind("key.created", {
    data: apiKey,
    says: {
      en: "An API key was created.",
      vi: "Một khoá API vừa được tạo.",
    },
    example: { key_id: "key_example", name: "production", masked: "sk-gw-ab…wxyz" },
  }),
  "key.revoked": kind("key.revoked", {
    data: apiKey,
    says: {
      en: "An API key was revoked; calls with it are refused.",
      vi: "Một khoá API đã bị thu hồi; lượt gọi bằng khoá này bị từ chối.",
    },
    example: { key_id: "key_example", name: "production", masked: "sk-gw-ab…wxyz" },
  }),
  "video.ended": kind("video.ended", {
    data: z.strictObject({
      video_id: z.string(),
      request_id: z.string(),
      model: z.string(),
      status: z.enum(["completed", "failed", "cancelled"]),
    }),
    says: {
      en: "A video is ready, has failed or was cancelled.",
      vi: "Một video đã xong, bị lỗi hoặc đã huỷ.",
    },
    example: {
      video_id: "video_example",
      request_id: "req_example",
      model: "sora-2",
      status: "completed",
    },
  }),
  "member.joined": kind("member.joined", {
    data: z.strictObject({ member_id: z.string(), email: z.string().max(254), role: z.string() }),
    says: {
      en: "Somebody has accepted an invitation and is a member now.",
      vi: "Có người đã nhận lời mời và trở thành thành viên.",
    },
    example: { member_id: "acc_example", email: "ann@example.com", role: "developer" },
  }),
  "member.role_changed": kind("member.role_changed", {
    data: z.strictObject({
      member_id: z.string(),
      email: z.string().max(254),
      former_role: z.enum(roles),
      role: z.enum(roles),
    }),
    says: {
      en:
        "A member's role has changed; a hand-over of ownership sends one for each of the two members.",
      vi:
        "Vai trò của một thành viên đã thay đổi; khi chuyển quyền sở hữu, mỗi người trong hai người có một sự kiện.",
    },
    example: {
      member_id: "acc_example",
      email: "ann@example.com",
      former_role: "developer",
      role: "admin",
    },
  }),
  "member.removed": kind("member.removed", {
    data: z.strictObject({
      member_id: z.string(),
      email: z.string().max(254),
      role: z.string(),
      /** Whether the member has left without being removed by others. */
      has_left: z.boolean(),
    }),
    says: {
      en: "Somebody is no longer a member: was removed, or has left.",
      vi: "Có người không còn là thành viên: bị xoá hoặc tự rời đi.",
    },
    example: {
      member_id: "acc_example",
      email: "ann@example.com",
      role: "developer",
      has_left: false,
    },
  }),
  "webhook.switched_off": kind("webhook.switched_off", {
    data: z.strictObject({
      webhook_id: z.string(),
      name: line,
      /** Of its address, which may have secrets in its path. */
      host: z.string(),
      reason: z.enum(["failing", "gone"]),
    }),
    says: {
      en: "Another endpoint was switched off: it only failed, or asked for no more events.",
      vi: "Một endpoint khác bị tắt: chỉ toàn lỗi, hoặc không muốn nhận thêm sự kiện.",
    },
    example: {
      webhook_id: "whe_example",
      name: "Accounting",
      host: "hooks.example.com",
      reason: "failing",
    },
  }),
  "incident.opened": kind("incident.opened", {
    data: z.strictObject({ ...incident, started_at: time }),
    says: {
      en: "The status page reports a new incident.",
      vi: "Trang trạng thái báo một sự cố mới.",
    },
    example: {
      incident_id: "ann_example",
      title: "Slow answers",
      text: "Answers of some models take longer than usual.",
      started_at: "2026-11-28T03:00:00.000Z",
    },
  }),
  "incident.ended": kind("incident.ended", {
    data: z.strictObject({ ...incident, started_at: time, ended_at: time }),
    says: {
      en: "An incident on the status page is over.",
      vi: "Một sự cố trên trang trạng thái đã kết thúc.",
    },
    example: {
      incident_id: "ann_example",
      title: "Slow answers",
      text: "All models answer as usual.",
      started_at: "2026-11-28T03:00:00.000Z",
      ended_at: "2026-11-28T03:40:00.000Z",
    },
  }),
} as const;

/** The kind of an event: the `type` of its body. */
export type WebhookKind = keyof typeof table;

/** The data of a kind of event. */
export type WebhookData<Kind extends WebhookKind> = z.infer<(typeof table)[Kind]["data"]>;

/** An event: its kind, and the data of that kind. */
export type WebhookEvent = {
  readonly [Kind in WebhookKind]: { readonly type: Kind; readonly data: WebhookData<Kind> };
}[WebhookKind];

/** Whether a text names a kind of event that this version knows. */
export function isWebhookKind(text: string): text is WebhookKind {
  return Object.hasOwn(table, text);
}

/** The kinds of events, in the order of pages and documents. */
export const webhookKinds: readonly WebhookKind[] = Object.keys(table).filter(isWebhookKind);

/** Descriptions of a kind on pages and in documents. */
export function webhookKindSays(name: WebhookKind): Readonly<Record<Locale, string>> {
  return table[name].says;
}

/**
 * Checks an event of unknown origin, such as one of a stored row.
 *
 * @throws what zod throws
 */
export function parseWebhookEvent(stored: unknown): WebhookEvent {
  const { type, data } = z.object({ type: z.string(), data: z.unknown() }).parse(stored);
  if (!isWebhookKind(type)) throw new TypeError("Not a kind of event");
  return table[type].read(data);
}

/** The example of a kind. */
export function exampleEvent(type: WebhookKind): WebhookEvent {
  return parseWebhookEvent({ type, data: table[type].example });
}

/** Bytes of a body: the longest text of an incident has some 6 KB in Vietnamese. */
export const maxWebhookBodyBytes = 10 * 1024;

/**
 * Writes the body of an event. It is stored as it is and sent unchanged with every try.
 *
 * @example
 * ```ts
 * import { webhookBody } from "./events.ts";
 * const event = { type: "topup.credited", data: { amount_vnd: "500000" } } as const;
 * const body = webhookBody(event, { atMs: 0 });
 * if (body !== '{"type":"topup.credited","timestamp":"1970-01-01T00:00:00.000Z","data":{"amount_vnd":"500000"}}') {
 *   throw new Error(body);
 * }
 * ```
 */
export function webhookBody(
  { type, data }: WebhookEvent,
  { atMs, isTest = false }: { readonly atMs: number; readonly isTest?: boolean },
): string {
  const timestamp = new Date(atMs).toISOString();
  return JSON.stringify({ type, timestamp, ...(isTest && { test: true }), data });
}

const storedBody = z.object({ test: z.boolean().optional() });

/**
 * Reads an event from the body that {@linkcode webhookBody} wrote.
 *
 * @throws what zod throws, also for a kind of a later version
 */
export function storedEvent(
  body: string,
): { readonly event: WebhookEvent; readonly isTest: boolean } {
  const stored: unknown = JSON.parse(body);
  return { event: parseWebhookEvent(stored), isTest: storedBody.parse(stored).test === true };
}
