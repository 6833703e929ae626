import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import {
  composeMail,
  renderTemplate,
  templatePaths,
} from "../../../../core/people/mail/templates.ts";
import { type MailJob, mailJobSchema } from "../../../../core/people/mail/mail.ts";

type Kind = MailJob["kind"];
type Bare = { [K in Kind]: Omit<Extract<MailJob, { kind: K }>, "to" | "locale"> }[Kind];

const accountId = newId("account", 0);
const bare: Bare[] = [
  { kind: "sign_up", passwordHash: "h", browserHash: "b", next: "/" },
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
  assertEquals(new Set(bare.map(({ kind }) => kind)).size, Object.keys(templatePaths).length);
  const subjects = new Set<string>();
  for (const job of jobs()) {
    const mail = composeMail(renderTemplate(job, url), { id: "1", to: job.to, locale: job.locale });
    assert(mail.subject.length > 4, job.kind);
    subjects.add(mail.subject);
    for (const part of [mail.subject, mail.text, mail.html]) {
      assert(!/undefined|\[object|NaN/.test(part), `${job.kind}: ${part}`);
    }
    if (job.kind !== "email_changed") {
      assertStringIncludes(mail.text, url);
      assertStringIncludes(mail.html, 'href="https://gw.example/x#token=abc&amp;d"');
    }
  }
  assert(subjects.size >= bare.length * 2 - 2, "the languages say the same");
});

Deno.test("a mail names a support contact only if one is set", () => {
  const texts = (support?: string) =>
    jobs().map((job) => renderTemplate(job, url, support).paragraphs.join(" "));
  assertEquals(texts().filter((text) => /support|hỗ trợ|liên hệ/i.test(text)), []);
  assertEquals(
    texts("help@gw.example").filter((text) => text.includes("help@gw.example")).length,
    2,
  );
});

Deno.test("a subject is one line and text of strangers is no markup", () => {
  for (const job of jobs()) {
    const mail = composeMail(renderTemplate(job, url), { id: "1", to: job.to, locale: job.locale });
    assert(!/[\r\n]/.test(mail.subject), mail.subject);
    assert(!mail.html.includes("<b>wrong</b>"));
  }
});

Deno.test("money in mails is rounded and written as the language does", () => {
  const texts = jobs().filter(({ kind }) => kind === "low_balance")
    .map((job) => renderTemplate(job, url).paragraphs.join(" "));
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
