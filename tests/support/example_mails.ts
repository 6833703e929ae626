/** Mails of every kind, as they wait to be sent. */
import { newId } from "../../core/lib/ids/ids.ts";
import type { MailJob } from "../../core/people/mail/mail.ts";

type Kind = MailJob["kind"];
/** A job without its reader. */
export type ExampleMail = {
  [K in Kind]: Omit<Extract<MailJob, { kind: K }>, "to" | "locale">;
}[Kind];

const accountId = newId("account", 0);
const day = Date.UTC(2026, 10, 28, 3);
const gift = { amountMicroVnd: 12_345_678_900n, campaign: "Spring <b>", expiresAtMs: day };
const incident = {
  announcementId: newId("announcement", 0),
  title: "Errors",
  text: "Some calls fail.\n\nWe look into it.",
};
/** At least one job of each kind of mail. */
export const exampleMails: readonly ExampleMail[] = [
  { kind: "bonus_credited", ...gift },
  { kind: "voucher_redeemed", amountMicroVnd: 50_000_000_000n, campaign: "Launch" },
  { kind: "credit_expiring", leftMicroVnd: 12_345_678_900n, campaign: "Launch", expiresAtMs: day },
  { kind: "new_browser", device: "Firefox, Linux", address: "203.0.113.5", atMs: day },
  { kind: "second_factor_changed", change: "app_added", atMs: day },
  { kind: "second_factor_changed", change: "recovery_code_used", atMs: day },
  { kind: "limit_reached", keyName: "prod", window: "day", meter: "money", limit: 9_999_999_900n },
  { kind: "limit_reached", keyName: "prod", window: "month", meter: "images", limit: 1n },
  {
    kind: "budget_reached",
    budgetName: "Search <b>",
    window: "month",
    percent: 80,
    amountMicroVnd: 500_000_000_000n,
    spentMicroVnd: 400_000_000_000n,
    atLimit: "refuse",
    resetsAtMs: day,
  },
  {
    kind: "budget_reached",
    budgetName: "All",
    window: "total",
    percent: 100,
    amountMicroVnd: 500_000_000_000n,
    spentMicroVnd: 500_000_000_000n,
    atLimit: "tell",
  },
  {
    kind: "budget_exhausted",
    budgetName: "Search <b>",
    window: "day",
    amountMicroVnd: 500_000_000_000n,
    spentMicroVnd: 499_000_000_000n,
    atLimit: "refuse",
    resetsAtMs: day,
  },
  {
    kind: "budget_exhausted",
    budgetName: "All",
    window: "total",
    amountMicroVnd: 500_000_000_000n,
    spentMicroVnd: 500_000_000_000n,
    atLimit: "tell",
  },
  {
    kind: "approval_waiting",
    approvalId: newId("approval", 0),
    amountMicroVnd: 6_000_000_000_000n,
    requestedBy: "staff@example.com",
    reason: "lost transfer",
  },
  { kind: "invitation", organisation: "Acme <b>", inviter: "owner@example.com" },
  { kind: "invitation", organisation: "Acme", inviter: "owner@example.com", role: "billing" },
  { kind: "member_joined", organisation: "Acme", member: "bob@example.com" },
  {
    kind: "member_role_changed",
    organisation: "Acme",
    member: "bob@example.com",
    formerRole: "viewer",
    role: "admin",
  },
  { kind: "member_removed", organisation: "Acme", member: "bob@example.com", hasLeft: false },
  { kind: "member_removed", organisation: "Acme", member: "bob@example.com", hasLeft: true },
  { kind: "company_domain_missing", organisation: "Acme", domain: "acme.example", untilMs: 0 },
  { kind: "company_domain_missing", organisation: "Acme", domain: "acme.example" },
  { kind: "provider_key_refused", provider: "anthropic", status: 401 },
  { kind: "ownership_received", organisation: "Acme", from: "owner@example.com" },
  { kind: "subscription_asked" },
  { kind: "incident_opened", ...incident },
  { kind: "incident_resolved", ...incident },
  { kind: "webhook_switched_off", url: "https://hooks.example.com/a", why: "failing" },
  { kind: "webhook_switched_off", url: "https://hooks.example.com/a", why: "gone" },
  { kind: "sign_up", passwordHash: "scrypt$secret", browserHash: "cookie-secret", next: "/" },
  { kind: "already_registered" },
  { kind: "reset_password" },
  { kind: "sign_in_link", next: "/keys" },
  { kind: "password_changed" },
  { kind: "change_email", accountId, oldEmail: "old@example.com" },
  { kind: "email_changed", newEmail: "new@example.com" },
  { kind: "low_balance", balanceMicroVnd: 12_345_678_900n },
  { kind: "topup_credited", amountMicroVnd: 200_000_000_000n, orderCode: "ST2346789C" },
  {
    kind: "topup_credited",
    amountMicroVnd: 200_000_000_000n,
    balanceMicroVnd: 1_215_000_000_000n,
    orderCode: "ST2346789C",
  },
  {
    kind: "invoice_issued",
    invoiceId: newId("invoice", 0),
    invoiceNumber: "00000013",
    orderCode: "ST2346789C",
  },
  { kind: "invoice_issued", invoiceNumber: "00000012", orderCode: "ST2346789C" },
  { kind: "key_changed", change: "made", keyName: "prod <b>", masked: "sk-ab…cd" },
  { kind: "key_changed", change: "rotated", keyName: "prod", masked: "sk-ab…cd" },
  { kind: "key_changed", change: "revoked", keyName: "prod", masked: "sk-ab…cd" },
  { kind: "wallet_adjusted", amountMicroVnd: 50_000_000_000n, reason: "goodwill" },
  { kind: "wallet_adjusted", amountMicroVnd: -50_000_000_000n, reason: "sent twice" },
  { kind: "invoice_rejected", reason: "<b>wrong</b> tax code\r\nBcc: x@example.com" },
];
