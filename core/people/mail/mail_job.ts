/**
 * A mail to be sent, in the form in which it waits in the outbox.
 *
 * It contains no secret: links with tokens are created when the mail is sent. Only then is it
 * looked up whether an address has an account, so that the page which took the request does the
 * same work for every address.
 */
import { z } from "zod";
import type { AccountId, InvoiceId } from "../../lib/ids/ids.ts";

const locale = z.enum(["vi", "en"]);
const microVnd = z.bigint();
const accountId = z.custom<AccountId>((value) =>
  typeof value === "string" && value.startsWith("acc_")
);
const invoiceId = z.custom<InvoiceId>((value) =>
  typeof value === "string" && value.startsWith("inv_")
);
const everyJob = { to: z.string().min(3).max(254), locale };

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
]);

/** A mail to be sent, by its kind, with the values of its text. */
export type MailJob = z.infer<typeof mailJobSchema>;
