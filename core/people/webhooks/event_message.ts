/** The words of an event for people, from the texts of mails: the same fact reads the same in a mailbox and in a chat. */
import { parseVnd } from "../../billing/money/micro_vnd.ts";
import { defined } from "../../lib/base/defined.ts";
import type { Locale } from "../../lib/base/locale.ts";
import type { AnnouncementId } from "../../lib/ids/ids.ts";
import { type MailJob, organisationParameter } from "../mail/mail.ts";
import { mailKinds, renderMail } from "../mail/mail_kinds.ts";
import type { WebhookData, WebhookEvent, WebhookKind } from "./events.ts";

/** An event as a chat shows it. */
export interface EventMessage {
  readonly title: string;
  readonly paragraphs: readonly string[];
  readonly link: { readonly label: string; readonly url: string };
}

/** The reader of a message, and where pages are. */
export interface MessageReader {
  readonly locale: Locale;
  /** Name of the account on pages. */
  readonly accountName: string;
  readonly about: NonNullable<MailJob["about"]>;
  /** Public address of the service, without a trailing slash. */
  readonly baseUrl: string;
  readonly isTest: boolean;
}

/** A mail without its reader, who stands in no text. */
type MailFacts = {
  [Kind in MailJob["kind"]]: Omit<
    Extract<MailJob, { readonly kind: Kind }>,
    "to" | "locale" | "about"
  >;
}[MailJob["kind"]];

/** An event that no mail reports, in words of its own. */
interface OwnWords {
  readonly path: string;
  readonly label: Readonly<Record<Locale, string>>;
  readonly title: Readonly<Record<Locale, string>>;
  readonly text: Readonly<Record<Locale, string>>;
}

/** Amounts of events are checked when the event is made. */
function microVnd(text: string): bigint {
  const amount = parseVnd(text);
  if (amount === undefined) throw new TypeError("An amount of an event is no decimal number");
  return amount;
}

function budgetFacts(data: WebhookData<"budget.reached" | "budget.exhausted">) {
  const { name, window, budget_vnd, spent_vnd, at_limit = "refuse", resets_at } = data;
  return {
    budgetName: name,
    window,
    amountMicroVnd: microVnd(budget_vnd),
    spentMicroVnd: microVnd(spent_vnd),
    atLimit: at_limit,
    ...(resets_at !== undefined && { resetsAtMs: Date.parse(resets_at) }),
  };
}

function incidentFacts({ incident_id, title, text }: WebhookData<"incident.opened">) {
  return { announcementId: incident_id as AnnouncementId, title, text };
}

const keyFacts = ({ name, masked }: WebhookData<"key.created">) => ({ keyName: name, masked });

const videoEnds = {
  completed: { en: "is ready", vi: "đã xong" },
  failed: { en: "has failed", vi: "bị lỗi" },
  cancelled: { en: "was cancelled", vi: "đã bị huỷ" },
} as const satisfies Record<WebhookData<"video.ended">["status"], Record<Locale, string>>;

const facts: {
  readonly [Kind in WebhookKind]: (
    data: WebhookData<Kind>,
    organisation: string,
  ) => MailFacts | OwnWords;
} = {
  "budget.reached": (data) => ({
    kind: "budget_reached",
    ...budgetFacts(data),
    percent: data.percent,
  }),
  "budget.exhausted": (data) => ({ kind: "budget_exhausted", ...budgetFacts(data) }),
  "balance.low": (data) => ({ kind: "low_balance", balanceMicroVnd: microVnd(data.balance_vnd) }),
  "topup.credited": ({ amount_vnd, order_code }) => ({
    kind: "topup_credited",
    amountMicroVnd: microVnd(amount_vnd),
    ...defined({ orderCode: order_code }),
  }),
  // Without its id: a chat gets no link that opens the invoice to whoever has it.
  "invoice.issued": ({ number }) => ({ kind: "invoice_issued", invoiceNumber: number }),
  "key.created": (data) => ({ kind: "key_changed", change: "made", ...keyFacts(data) }),
  "key.revoked": (data) => ({ kind: "key_changed", change: "revoked", ...keyFacts(data) }),
  "video.ended": ({ request_id, model, status, video_id }) => ({
    path: `/usage/${request_id}`,
    label: { en: "Open the receipt", vi: "Mở biên nhận" },
    title: {
      en: `Video ${videoEnds[status].en}: ${model}`,
      vi: `Video ${videoEnds[status].vi}: ${model}`,
    },
    text: {
      en: `The video ${video_id} by ${model} ${videoEnds[status].en}.`,
      vi: `Video ${video_id} của ${model} ${videoEnds[status].vi}.`,
    },
  }),
  "member.joined": ({ email }, organisation) => ({
    kind: "member_joined",
    organisation,
    member: email,
  }),
  "member.role_changed": ({ email, former_role, role }, organisation) => ({
    kind: "member_role_changed",
    organisation,
    member: email,
    formerRole: former_role,
    role,
  }),
  "member.removed": ({ email, has_left }, organisation) => ({
    kind: "member_removed",
    organisation,
    member: email,
    hasLeft: has_left,
  }),
  "webhook.switched_off": ({ host, reason }) => ({
    kind: "webhook_switched_off",
    url: `https://${host}`,
    why: reason,
  }),
  "incident.opened": (data) => ({ kind: "incident_opened", ...incidentFacts(data) }),
  "incident.ended": (data) => ({ kind: "incident_resolved", ...incidentFacts(data) }),
};

function factsOf<Kind extends WebhookKind>(
  { type, data }: { readonly type: Kind; readonly data: WebhookData<Kind> },
  organisation: string,
): MailFacts | OwnWords {
  return facts[type](data, organisation);
}

const testTitle: Readonly<Record<Locale, string>> = { en: "Test", vi: "Gửi thử" };

/**
 * Writes an event for people.
 *
 * @example
 * ```ts
 * import { newId } from "../../lib/ids/ids.ts";
 * import { eventMessage } from "./event_message.ts";
 * import { exampleEvent } from "./events.ts";
 * const about = { accountId: newId("account", 0), organisation: "Acme" };
 * const reader = { locale: "en", accountName: "Acme", about, baseUrl: "https://gw.example", isTest: false } as const;
 * const { title } = eventMessage(exampleEvent("balance.low"), reader);
 * if (title !== "Acme: The wallet is running low") throw new Error(title);
 * ```
 */
export function eventMessage(
  event: WebhookEvent,
  { locale, accountName, about, baseUrl, isTest }: MessageReader,
): EventMessage {
  const found = factsOf(event, accountName);
  const mark = isTest ? `${testTitle[locale]}: ` : "";
  const urlOf = (path: string) => `${baseUrl}${path}?${organisationParameter}=${about.accountId}`;
  if (!("kind" in found)) {
    const { path, label, title, text } = found;
    const name = about.organisation === undefined ? "" : `${about.organisation}: `;
    return {
      title: `${mark}${name}${title[locale]}`,
      paragraphs: [text[locale]],
      link: { label: label[locale], url: urlOf(path) },
    };
  }
  const url = urlOf(mailKinds[found.kind].path);
  const { subject, paragraphs, note, action } = renderMail(
    { ...found, to: "", locale, about },
    url,
  );
  return {
    title: `${mark}${subject}`,
    paragraphs: note === undefined ? paragraphs : [...paragraphs, note],
    link: { label: action?.label ?? url, url },
  };
}
