import type { Locale } from "../../../../core/lib/base/locale.ts";
import { root } from "../../../repository/source_files.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { exampleMails } from "../../../support/example_mails.ts";
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

function jobs(): MailJob[] {
  return (["en", "vi"] as const).flatMap((locale) =>
    exampleMails.map((job) => mailJobSchema.parse({ ...job, to: "ann@example.com", locale }))
  );
}

const url = "https://gw.example/x#token=abc&d";
const brand = { name: "Model Gateway" };

Deno.test("every kind of mail has a text in both languages and a target for its link", () => {
  assertEquals(
    [...new Set(exampleMails.map(({ kind }) => kind))].sort(),
    [...mailKindNames].sort(),
    "each kind has an example",
  );
  const subjects: Record<Locale, string[]> = { en: [], vi: [] };
  for (const job of jobs()) {
    const mail = composeMail(renderMail(job, url), {
      id: "1",
      to: job.to,
      locale: job.locale,
      brand,
    });
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
    const mail = composeMail(renderMail(job, url), {
      id: "1",
      to: job.to,
      locale: job.locale,
      brand,
    });
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
    const mail = composeMail(renderMail(job, url), {
      id: "1",
      to,
      locale,
      brand,
      switchOffUrl: off,
    });
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
    const mail = composeMail(renderMail(job, url), {
      id: "1",
      to: job.to,
      locale: job.locale,
      brand,
    });
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

Deno.test("a mail about an organisation names it in its subject and its text, once each", () => {
  const about = { accountId: newId("account", 0), organisation: "Zirkonia" };
  for (const job of jobs()) {
    if ("organisation" in job) continue;
    const content = renderMail(mailJobSchema.parse({ ...job, about }), url);
    const mail = composeMail(content, { id: "1", to: job.to, locale: job.locale, brand });
    assertEquals(mail.subject.split("Zirkonia").length, 2, mail.subject);
    assertStringIncludes(mail.text, "Zirkonia");
    assertStringIncludes(mail.html, "Zirkonia");
    const own = /your (?:wallet|balance)|(?:ví|số dư) của bạn/i.exec(mail.text)?.[0];
    assertEquals(own, undefined, `${job.kind}: the wallet is that of the organisation`);
    for (const organisation of advertisements) {
      const named = mailJobSchema.parse({ ...job, about: { ...about, organisation } });
      assert(!renderMail(named, url).subject.includes(organisation), organisation);
    }
  }
});

Deno.test("the mail about a top-up has the new balance, the one of an invitation the role and what it may do", () => {
  const texts = jobs().map((job) =>
    renderMail(job, url).paragraphs.join(" ").replaceAll("\u00a0", " ")
  );
  for (
    const words of [
      "The new balance is ₫1,215,000.",
      "Số dư mới: 1.215.000 ₫.",
      "You would be in charge of billing: you top up, and see invoices and costs.",
      "Vai trò của bạn là kế toán: bạn nạp tiền",
    ]
  ) assert(texts.some((text) => text.includes(words)), words);
});
