/**
 * The interfaces of a mail and of the mailer that sends it.
 *
 * - Folder `core/people/mail/`: mails: their texts in both languages, their layout, the meaning of
 *   `MAIL_URL`.
 * - In: a mail job with its values, and the operator's settings.
 * - Out: subject, text and HTML of a mail, and the interface of a mailer.
 * - Never: sends a mail (`routes/mail/` does), or puts a secret token into a job.
 */
import { z } from "zod";
import { budgetEnds, budgetWindows } from "../../limits/budgets.ts";
import { givenRoles, roles } from "../organisations/acts.ts";
import type { AccountId, AnnouncementId, ApprovalId, InvoiceId } from "../../lib/ids/ids.ts";

// A mail to be sent, in the form in which it waits in the outbox.
//
// It contains no secret: links with tokens are created when the mail is sent. Only then is it
// looked up whether an address has an account, so that the page which took the request does the
// same work for every address.

const locale = z.enum(["vi", "en"]);
const microVnd = z.bigint();
const accountId = z.custom<AccountId>((value) =>
  typeof value === "string" && value.startsWith("acc_")
);
const invoiceId = z.custom<InvoiceId>((value) =>
  typeof value === "string" && value.startsWith("inv_")
);
const approvalId = z.custom<ApprovalId>((value) =>
  typeof value === "string" && value.startsWith("apr_")
);
const givenRole = z.enum(givenRoles);
const announcementId = z.custom<AnnouncementId>((value) =>
  typeof value === "string" && value.startsWith("ann_")
);
/** Credit that was given, from which campaign, and until when. */
const givenCredit = {
  amountMicroVnd: microVnd,
  campaign: z.string(),
  expiresAtMs: z.number().optional(),
};
const incident = { announcementId, title: z.string(), text: z.string() };
const everyJob = {
  to: z.string().min(3).max(254),
  locale,
  /** The account whose matters the mail is about: its link opens that one. Absent: they are those of the person. */
  about: z.object({
    accountId,
    /** The name of an organisation; absent: the account is the person's own. */
    organisation: z.string().optional(),
  }).optional(),
};

/** Facts of a budget in mails about it. */
const budgetFacts = {
  budgetName: z.string(),
  window: z.enum(budgetWindows),
  amountMicroVnd: microVnd,
  /** Spent; of a budget that has refused a call, with what running calls reserve. */
  spentMicroVnd: microVnd,
  atLimit: z.enum(budgetEnds),
  /** Absent: it never resets. */
  resetsAtMs: z.number().optional(),
};

/** The schema of a {@linkcode MailJob}. */
export const mailJobSchema = z.discriminatedUnion("kind", [
  z.object({
    ...everyJob,
    kind: z.literal("sign_up"),
    passwordHash: z.string(),
    browserHash: z.string(),
    next: z.string(),
  }),
  /** A sign-up with an address that has an account already. */
  z.object({ ...everyJob, kind: z.literal("already_registered") }),
  /** Anyone may request it; sent only if the address has an account. */
  z.object({ ...everyJob, kind: z.literal("reset_password") }),
  z.object({ ...everyJob, kind: z.literal("sign_in_link"), next: z.string() }),
  z.object({ ...everyJob, kind: z.literal("password_changed") }),
  /** To the new address. */
  z.object({
    ...everyJob,
    kind: z.literal("change_email"),
    accountId,
    oldEmail: z.string().optional(),
  }),
  /** To the old address. */
  z.object({ ...everyJob, kind: z.literal("email_changed"), newEmail: z.string() }),
  z.object({ ...everyJob, kind: z.literal("low_balance"), balanceMicroVnd: microVnd }),
  z.object({
    ...everyJob,
    kind: z.literal("topup_credited"),
    amountMicroVnd: microVnd,
    /** Of the wallet when the mail is sent; absent: it could not be read. */
    balanceMicroVnd: microVnd.optional(),
    orderCode: z.string().optional(),
  }),
  z.object({
    ...everyJob,
    kind: z.literal("invoice_issued"),
    /** Absent in jobs of earlier versions, whose mails link to the pages behind the sign-in. */
    invoiceId: invoiceId.optional(),
    invoiceNumber: z.string(),
    orderCode: z.string().optional(),
  }),
  z.object({ ...everyJob, kind: z.literal("invoice_rejected"), reason: z.string() }),
  /** Somebody, perhaps not the owner, has made, replaced or revoked an API key. */
  z.object({
    ...everyJob,
    kind: z.literal("key_changed"),
    change: z.enum(["made", "rotated", "revoked"]),
    keyName: z.string(),
    /** The key as pages show it: first and last letters. */
    masked: z.string(),
  }),
  /** An operator has moved money: above 0 into the wallet, below out of it. */
  z.object({
    ...everyJob,
    kind: z.literal("wallet_adjusted"),
    amountMicroVnd: microVnd,
    reason: z.string(),
  }),
  z.object({ ...everyJob, kind: z.literal("bonus_credited"), ...givenCredit }),
  z.object({ ...everyJob, kind: z.literal("voucher_redeemed"), ...givenCredit }),
  z.object({
    ...everyJob,
    kind: z.literal("credit_expiring"),
    leftMicroVnd: microVnd,
    campaign: z.string(),
    expiresAtMs: z.number(),
  }),
  /** An endpoint of webhooks has failed for days, or has asked for no more events. */
  z.object({
    ...everyJob,
    kind: z.literal("webhook_switched_off"),
    url: z.string(),
    why: z.enum(["failing", "gone"]),
  }),
  /** A browser that the account has not used before. */
  z.object({
    ...everyJob,
    kind: z.literal("new_browser"),
    /** Name that the browser gives itself, shortened; may be empty. */
    device: z.string(),
    address: z.string(),
    atMs: z.number(),
  }),
  /** Somebody, perhaps not the owner, has changed what the account asks for beside the password. */
  z.object({
    ...everyJob,
    kind: z.literal("second_factor_changed"),
    change: z.enum([
      "app_added",
      "app_removed",
      "passkey_added",
      "passkey_removed",
      "codes_made",
      "recovery_code_used",
    ]),
    atMs: z.number(),
  }),
  /** A limit of a day or month of an API key refuses calls: money in µVND, or a number of images. */
  z.object({
    ...everyJob,
    kind: z.literal("limit_reached"),
    keyName: z.string(),
    window: z.enum(["day", "month"]),
    meter: z.enum(["money", "images"]),
    limit: z.bigint(),
  }),
  z.object({
    ...everyJob,
    kind: z.literal("budget_reached"),
    ...budgetFacts,
    percent: z.number(),
  }),
  /** A budget is used up, or has refused a call. */
  z.object({ ...everyJob, kind: z.literal("budget_exhausted"), ...budgetFacts }),
  /** To an operator who may approve it. */
  z.object({
    ...everyJob,
    kind: z.literal("approval_waiting"),
    /** Absent: a campaign waits. */
    approvalId: approvalId.optional(),
    /** Above 0 into a wallet, below out of it. */
    amountMicroVnd: microVnd,
    requestedBy: z.string(),
    reason: z.string(),
  }),
  /** To an address that is invited to an organisation, whether it has an account or not. */
  z.object({
    ...everyJob,
    kind: z.literal("invitation"),
    organisation: z.string(),
    inviter: z.string(),
    /** Absent in jobs of earlier versions. */
    role: givenRole.optional(),
  }),
  z.object({
    ...everyJob,
    kind: z.literal("member_joined"),
    organisation: z.string(),
    member: z.string(),
  }),
  z.object({
    ...everyJob,
    kind: z.literal("member_role_changed"),
    organisation: z.string(),
    member: z.string(),
    formerRole: z.enum(roles),
    role: z.enum(roles),
  }),
  z.object({
    ...everyJob,
    kind: z.literal("member_removed"),
    organisation: z.string(),
    member: z.string(),
    /** Without being removed by others. */
    hasLeft: z.boolean(),
  }),
  /** The record of a verified domain is away, or the domain has lost its effect. */
  z.object({
    ...everyJob,
    kind: z.literal("company_domain_missing"),
    organisation: z.string(),
    domain: z.string(),
    /** Moment at which it loses its effect; absent: it has. */
    untilMs: z.number().optional(),
  }),
  /** A provider refused the organisation's own key in a call. */
  z.object({
    ...everyJob,
    kind: z.literal("provider_key_refused"),
    provider: z.string(),
    /** The status of its answer. */
    status: z.number(),
  }),
  /** To the new owner of an organisation. */
  z.object({
    ...everyJob,
    kind: z.literal("ownership_received"),
    organisation: z.string(),
    from: z.string(),
  }),
  /** Asks whether an address wants mails about incidents. */
  z.object({ ...everyJob, kind: z.literal("subscription_asked") }),
  z.object({ ...everyJob, kind: z.literal("incident_opened"), ...incident }),
  z.object({ ...everyJob, kind: z.literal("incident_resolved"), ...incident }),
]);

/** The kind of a mail. */
export type MailKind = MailJob["kind"];

/** Reader of a mail: the address, the language, and the account that it is about. */
export type MailReader = Pick<MailJob, "to" | "locale" | "about">;

/** A mail to be sent, by its kind, with the values of its text. */
export type MailJob = z.infer<typeof mailJobSchema>;

/**
 * The parameter by which the link of a mail names the account that it is about, since its reader may be signed in to
 * another, or to none.
 */
export const organisationParameter = "organisation";

/**
 * Milliseconds for each step with a mail server. The outbox tries again, so a longer wait gains
 * nothing.
 */
export const mailStepMs = 20_000;

/** A mail that is ready to be sent. */
export interface Mail {
  /**
   * The same for every attempt to send the same mail, so that receivers and providers can drop
   * repeats.
   */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Address at which one POST switches off mails of this kind, if they can be switched off. */
  readonly switchOffUrl?: string;
}

/** The headers by which mail clients offer a button that switches the mail off (RFC 2369, RFC 8058). */
export function switchOffHeaders({ switchOffUrl }: Pick<Mail, "switchOffUrl">) {
  return switchOffUrl === undefined ? undefined : {
    "List-Unsubscribe": `<${switchOffUrl}>`,
    "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
  };
}

/** Sends mails. */
export interface Mailer {
  /**
   * Resolves when the next server has taken responsibility for the mail; rejects if it should be
   * tried again.
   */
  send(mail: Mail): Promise<void>;
}

/**
 * The error for a mail that no server accepted. Its `name` is a code of this project that gives the
 * reason, for the log and for dead letters: a mail server's message may contain addresses.
 *
 * @example
 * ```ts
 * import { MailFailure } from "./mail.ts";
 * const failure = new MailFailure("mail_url_not_set", "Cannot send a mail: MAIL_URL is not set");
 * if (failure.name !== "mail_url_not_set") throw new Error(failure.name);
 * ```
 */
export class MailFailure extends Error {
  constructor(name: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = name;
  }
}
