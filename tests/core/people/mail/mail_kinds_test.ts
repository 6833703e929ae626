import type { Locale } from "../../../../core/lib/base/locale.ts";
import { root } from "../../../repository/source_files.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import {
  canSwitchOff,
  mailKindNames,
  mailKinds,
  renderMail,
} from "../../../../core/people/mail/mail_kinds.ts";
import { composeMail } from "../../../../core/people/mail/mail_layout.ts";
import {
  type MailJob,
  mailJobSchema,
  switchOffHeaders,
} from "../../../../core/people/mail/mail.ts";

type Kind = MailJob["kind"];
type Bare = { [K in Kind]: Omit<Extract<MailJob, { kind: K }>, "to" | "locale"> }[Kind];

const accountId = newId("account", 0);
const day = Date.UTC(2026, 10, 28, 3);
const gift = { amountMicroVnd: 12_345_678_900n, campaign: "Spring <b>", expiresAtMs: day };
const incident = {
  announcementId: newId("announcement", 0),
  title: "Errors",
  text: "Some calls fail.\n\nWe look into it.",
};
const bare: Bare[] = [
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

function jobs(): MailJob[] {
  return (["en", "vi"] as const).flatMap((locale) =>
    bare.map((job) => mailJobSchema.parse({ ...job, to: "ann@example.com", locale }))
  );
}

const url = "https://gw.example/x#token=abc&d";

Deno.test("every kind of mail has a text in both languages and a target for its link", () => {
  assertEquals(
    [...new Set(bare.map(({ kind }) => kind))].sort(),
    [...mailKindNames].sort(),
    "each kind has an example",
  );
  const subjects: Record<Locale, string[]> = { en: [], vi: [] };
  for (const job of jobs()) {
    const mail = composeMail(renderMail(job, url), { id: "1", to: job.to, locale: job.locale });
    assert(mail.subject.length > 4, job.kind);
    subjects[job.locale].push(mail.subject);
    for (const part of [mail.subject, mail.text, mail.html]) {
      assert(!/undefined|\[object|NaN/.test(part), `${job.kind}: ${part}`);
    }
    if (job.kind !== "email_changed") {
      assertStringIncludes(mail.text, url);
      assertStringIncludes(mail.html, 'href="https://gw.example/x#token=abc&amp;d"');
    }
  }
  assertEquals(subjects.en.filter((subject, at) => subject === subjects.vi[at]), []);
});

Deno.test("a mail names a support contact only if one is set", () => {
  const texts = (support?: string) =>
    jobs().map((job) => renderMail(job, url, support).paragraphs.join(" "));
  assertEquals(texts().filter((text) => /support|hỗ trợ|liên hệ/i.test(text)), []);
  assertEquals(
    texts("help@gw.example").filter((text) => text.includes("help@gw.example")).length,
    2,
  );
});

Deno.test("a subject is one line and text of strangers is no markup", () => {
  for (const job of jobs()) {
    const mail = composeMail(renderMail(job, url), { id: "1", to: job.to, locale: job.locale });
    assert(!/[\r\n]/.test(mail.subject), mail.subject);
    assert(!mail.html.includes("<b>wrong</b>"));
  }
});

Deno.test("money in mails is rounded and written as the language does", () => {
  const texts = jobs().filter(({ kind }) => kind === "low_balance")
    .map((job) => renderMail(job, url).paragraphs.join(" "));
  assertStringIncludes(texts[0]!, "₫12,346 ");
  assertStringIncludes(texts[1]!, "12.346\u00a0₫");
});

Deno.test("a job survives the store unchanged", async () => {
  using kv = await Deno.openKv(":memory:");
  for (const [at, job] of jobs().entries()) {
    await kv.set(["job", at], job);
    assertEquals(mailJobSchema.parse((await kv.get(["job", at])).value), job);
  }
});

Deno.test("a mail says how to switch it off, unless it is about security or was asked for", () => {
  const switchOffUrl = "https://gw.example/mails/off?token=a&b";
  for (const job of jobs()) {
    const { to, locale, kind } = job;
    const off = canSwitchOff(kind) ? switchOffUrl : undefined;
    const mail = composeMail(renderMail(job, url), { id: "1", to, locale, switchOffUrl: off });
    assertEquals(mail.text.includes(switchOffUrl), off !== undefined, kind);
    assertEquals(mail.html.includes("/mails/off?token=a&amp;b"), off !== undefined, kind);
    assertEquals(switchOffHeaders(mail)?.["List-Unsubscribe"], off && `<${off}>`);
  }
  const always = mailKindNames.filter((kind) => !canSwitchOff(kind));
  assertEquals(always.filter((kind) => mailKinds[kind].always === "security"), [
    "password_changed",
    "email_changed",
    "key_changed",
    "new_browser",
    "second_factor_changed",
    "company_domain_missing",
    "ownership_received",
  ]);
});

Deno.test("mails tell no secret of their jobs and no fraction of a đồng", () => {
  for (const job of jobs()) {
    const mail = composeMail(renderMail(job, url), { id: "1", to: job.to, locale: job.locale });
    const text = `${mail.subject} ${mail.text}`;
    if (job.kind === "sign_up") {
      assert(!text.includes(job.passwordHash) && !text.includes(job.browserHash));
    }
    assert(!/\d[.,]\d{1,2}\D*₫|₫[\d,]+\.\d/.test(text), `${job.kind}: ${text}`);
    assert(!/microVnd/i.test(text));
  }
});

Deno.test("docs/accounts.md has a row for each kind of mail, as the table of the code says it", async () => {
  const text = await Deno.readTextFile(new URL("docs/accounts.md", root));
  const rows = [...text.matchAll(/^\| `(\w+)` +\| (.+) \|$/gm)]
    .map(([, kind = "", rest = ""]) => [kind, ...rest.split("|").map((cell) => cell.trim())])
    .filter(([, ...cells]) => cells.length === 4);
  assertEquals(
    rows,
    mailKindNames.map((kind) => {
      const { name, audience, always, path } = mailKinds[kind];
      const canBe = always === undefined ? "yes" : `no: ${always}`;
      return [kind, name.en, audience, canBe, `\`${path}\``];
    }),
  );
});

const advertisements = [
  "Buy now at shop.example.com",
  "https://spam.example",
  "www.spam.example",
  "Earn 5.000.000đ a day",
  "Win $ 500",
  "Giảm 50 %",
  "Vay nhanh 20tr",
  "Call 0909 123 456",
];
const names = ["Acme", "Công ty TNHH Ánh Dương 2", "R&D (Q4)", "owner@example.com", "3M Việt Nam"];

Deno.test("names that read like advertisements stand in no subject, and nowhere in an invitation", () => {
  const members = ["organisation", "inviter", "member", "from", "keyName", "budgetName"];
  for (const job of jobs()) {
    const present = members.filter((member) => member in job);
    for (const name of [...advertisements, ...names]) {
      const named = { ...job, ...Object.fromEntries(present.map((member) => [member, name])) };
      const mail = renderMail(mailJobSchema.parse(named), "https://gw.example/x");
      const isShown = mail.subject.includes(name);
      if (advertisements.includes(name)) {
        assert(!isShown, `${job.kind}: ${mail.subject}`);
        const whole = mail.paragraphs.join("\n");
        assert(job.kind !== "invitation" || !whole.includes(name), whole);
      } else if (job.kind === "invitation") assert(isShown, mail.subject);
    }
  }
});
