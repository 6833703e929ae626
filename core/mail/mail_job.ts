/**
 * A mail that is to be sent, as it waits in the outbox. It holds no secret that opens anything: links with tokens are
 * made when the mail is sent. Whether an address has an account is looked up only then, too: the page that took the
 * request does the same work for every address.
 */
import { z } from "zod";
import type { AccountId, InvoiceId } from "../lib/ids.ts";

const locale = z.enum(["vi", "en"]);
const microVnd = z.bigint();
const accountId = z.custom<AccountId>((value) =>
  typeof value === "string" && value.startsWith("acc_")
);
const invoiceId = z.custom<InvoiceId>((value) =>
  typeof value === "string" && value.startsWith("inv_")
);
const everyJob = { to: z.string().min(3).max(254), locale };

export const mailJobSchema = z.discriminatedUnion("kind", [
  z.object({
    ...everyJob,
    kind: z.literal("sign_up"),
    passwordHash: z.string(),
    browserHash: z.string(),
    next: z.string(),
  }),
  /** What a sign-up becomes when the address has an account. */
  z.object({ ...everyJob, kind: z.literal("already_registered") }),
  /** Asked for by anybody; sent only if the address has an account. */
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
    /** Absent in jobs of earlier versions, whose mails lead to the pages behind the sign-in. */
    invoiceId: invoiceId.optional(),
    invoiceNumber: z.string(),
    orderCode: z.string().optional(),
  }),
  z.object({ ...everyJob, kind: z.literal("invoice_rejected"), reason: z.string() }),
]);

export type MailJob = z.infer<typeof mailJobSchema>;
