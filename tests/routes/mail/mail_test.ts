import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { type Mail, type Mailer, MailFailure } from "../../../core/people/mail/mail.ts";
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import { readMailUrl } from "../../../core/people/mail/mail_url.ts";
import { createAccount } from "../../../kv/people/accounts/accounts.ts";
import { listSentMails } from "../../../kv/people/accounts/sent_mails.ts";
import { addMail, mailQueue } from "../../../kv/engine/outbox/outbox.ts";
import { listDeadLetters } from "../../../kv/engine/outbox/outbox_dead_letters.ts";
import { runDue } from "../../../kv/engine/outbox/outbox_worker.ts";
import { createHttpMailer, createMailer } from "../../../routes/mail/mailer.ts";
import { mailWork } from "../../../routes/mail/send_mail.ts";
import { ManualTime } from "../../support/manual_time.ts";
import { openSmtp } from "../../support/servers/smtp_server.ts";

const masterKeys = await readMasterKeys(newMasterKey());

const mail: Mail = {
  id: "mail-1",
  to: "ann@example.com",
  subject: "Xác nhận địa chỉ email",
  text: "Chào mừng bạn.",
  html: "<p>Chào mừng bạn.</p>",
};

function smtpMailer(port: number, userinfo = ""): Mailer {
  const read = readMailUrl(
    `smtp://${userinfo}127.0.0.1:${port}?from=Gateway%20%3Cno-reply%40gw.example%3E`,
  );
  assert(read.ok);
  return createMailer({
    mail: read.mail,
    baseUrl: "https://gw.example",
    fetch,
    log: () => {},
  });
}

/** Sockets of nodemailer close a moment after the mail was sent. */
const smtpTest = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name, sanitizeOps: false, sanitizeResources: false, fn });

smtpTest("a mail arrives at a real SMTP server, both parts and the accents whole", async () => {
  await using smtp = await openSmtp();
  await smtpMailer(smtp.port).send(mail);
  const [got] = smtp.received;
  assertEquals(got!.from, "no-reply@gw.example");
  assertEquals(got!.to, ["ann@example.com"]);
  assertStringIncludes(got!.raw, "Message-ID: <mail-1@gw.example>");
  assertStringIncludes(got!.raw, "Auto-Submitted: auto-generated");
  assertStringIncludes(got!.raw, "text/plain; charset=utf-8");
  assertStringIncludes(got!.raw, "text/html; charset=utf-8");
  assert(/Subject: =\?UTF-8\?/i.test(got!.raw), got!.raw);
});

smtpTest(
  "a mail that can be switched off has the headers for the button of mail clients",
  async () => {
    await using smtp = await openSmtp();
    using kv = await Deno.openKv(":memory:");
    const time = new ManualTime();
    await createAccount(kv, { nowMs: time.nowMs(), email: mail.to });
    const job = { to: mail.to, locale: "en" } as const;
    const operation = kv.atomic();
    addMail(operation, { ...job, kind: "low_balance", balanceMicroVnd: 1n }, {
      nowMs: time.nowMs(),
      id: "low:1",
    });
    addMail(operation, { ...job, kind: "password_changed" }, { nowMs: time.nowMs() });
    await operation.commit();
    const mailer = smtpMailer(smtp.port);
    const work = mailWork({ kv, clock: time, mailer, baseUrl: "https://gw.example", masterKeys });
    await runDue({ kv, clock: time, random: () => 0 }, work);
    // Long header lines are folded.
    const raws = smtp.received.map(({ raw }) => raw.replaceAll(/\r?\n[ \t]/g, ""));
    const [low, changed] = raws.toSorted((one, other) => other.length - one.length);
    assert(
      /^List-Unsubscribe: ?<https:\/\/gw\.example\/mails\/off\?token=[\w.-]+>/m.test(low!),
      low,
    );
    assert(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click/m.test(low!), low);
    assert(!/^List-Unsubscribe/m.test(changed!), changed);
    assert(/^Message-ID: ?<low-1@gw\.example>/m.test(low!), "an id as RFC 5322 has it");
  },
);

smtpTest("user and password of the address are used; wrong ones fail", async () => {
  await using smtp = await openSmtp({ user: "gw", password: "p@ss:word" });
  await smtpMailer(smtp.port, "gw:p%40ss%3Aword@").send(mail);
  assertEquals(smtp.received.length, 1);
  const refusal = await smtpMailer(smtp.port, "gw:wrong@").send(mail).catch((error) => error);
  assert(refusal instanceof MailFailure);
  assertEquals(refusal.name, "smtp_EAUTH_535");
  assertEquals(smtp.received.length, 1);
});

smtpTest("a server that fails for a while gets the mail in the end, once", async () => {
  await using smtp = await openSmtp({ refusals: 2 });
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const atomic = kv.atomic();
  addMail(atomic, { kind: "password_changed", to: mail.to, locale: "vi" }, {
    nowMs: time.nowMs(),
  });
  await atomic.commit();
  const failures: string[] = [];
  const world = {
    kv,
    clock: time,
    random: () => 1,
    onFailure: ({ fate }: { fate: string }) => failures.push(fate),
  };
  const work = mailWork({
    kv,
    clock: time,
    mailer: smtpMailer(smtp.port),
    baseUrl: "https://gw.example",
    masterKeys,
  });
  for (let i = 0; i < 5; i++) {
    await runDue(world, work);
    time.advance(3_600_000);
  }
  assertEquals(failures, ["retried", "retried"]);
  assertEquals(smtp.received.length, 1);
});

Deno.test("the kind of a mail is known to operators once it was sent, or given up, and nothing else", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const { id } = await createAccount(kv, { nowMs: time.nowMs(), email: mail.to });
  const queue = async (to: string) => {
    const atomic = kv.atomic();
    addMail(atomic, { kind: "password_changed", to, locale: "vi" }, { nowMs: time.nowMs() });
    await atomic.commit();
  };
  const world = { kv, clock: time, random: () => 1 };
  const work = (send: Mailer["send"]) =>
    mailWork({ kv, clock: time, mailer: { send }, baseUrl: "https://gw.example", masterKeys });
  await queue(mail.to);
  await queue("nobody@example.com");
  const sentAtMs = time.nowMs();
  await runDue(world, work(() => Promise.resolve()));
  assertEquals(await listSentMails(kv, id), [{ kind: "password_changed", atMs: sentAtMs }]);
  await queue(mail.to);
  for (let i = 0; i < 20; i++) {
    await runDue(world, work(() => Promise.reject(new Error("down"))));
    time.advance(5 * 3_600_000);
  }
  const [last, ...more] = await listSentMails(kv, id);
  assertEquals([last?.kind, last?.failed, more.length], ["password_changed", true, 1]);
});

Deno.test("a mail that cannot be sent is given up and kept for an operator", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const atomic = kv.atomic();
  addMail(atomic, { kind: "password_changed", to: mail.to, locale: "en" }, {
    nowMs: time.nowMs(),
  });
  await atomic.commit();
  let tries = 0;
  const mailer: Mailer = {
    send: () => {
      tries++;
      return Promise.reject(new Error("down"));
    },
  };
  const work = mailWork({ kv, clock: time, mailer, baseUrl: "https://gw.example", masterKeys });
  for (let i = 0; i < 20; i++) {
    await runDue({ kv, clock: time, random: () => 1 }, work);
    time.advance(5 * 3_600_000);
  }
  assertEquals(tries, mailQueue.maxAttempts);
  const [letter] = await listDeadLetters(kv, mailQueue, 10);
  assertEquals(letter?.attempts, mailQueue.maxAttempts);
});

Deno.test("over https the mail is one POST of JSON with the key in a header", async () => {
  let url = "";
  let headers = new Headers();
  let body = "";
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (
    got,
  ) => {
    url = got.url;
    headers = new Headers(got.headers);
    body = await got.text();
    return Response.json({ id: "x" });
  });
  const mailer = createHttpMailer({
    settings: { url: `http://127.0.0.1:${server.addr.port}/emails`, key: "re_secret" },
    from: "Gateway <no-reply@gw.example>",
    fetch,
  });
  await mailer.send(mail);
  assertEquals(new URL(url).pathname, "/emails");
  assert(!url.includes("re_secret"));
  assertEquals(headers.get("authorization"), "Bearer re_secret");
  assertEquals(headers.get("idempotency-key"), "mail-1");
  assertEquals(JSON.parse(body), {
    from: "Gateway <no-reply@gw.example>",
    to: ["ann@example.com"],
    subject: mail.subject,
    text: mail.text,
    html: mail.html,
  });
});

Deno.test("a mail service that refuses, redirects or fails leads to another try, without leaking the mail", async () => {
  for (const status of [400, 401, 429, 500, 302]) {
    const mailer = createHttpMailer({
      settings: { url: "https://mail.example/emails", key: "re_secret" },
      from: "no-reply@gw.example",
      fetch: (_, init) =>
        init?.redirect === "error" && status === 302
          ? Promise.reject(new TypeError("redirected"))
          : Promise.resolve(new Response("re_secret echoed", { status })),
    });
    const error = await mailer.send(mail).then(() => undefined, (reason) => reason);
    assert(error instanceof Error, String(status));
    assert(!error.message.includes("re_secret"), error.message);
    const word = status === 302 ? "mail_service_unreachable" : `mail_service_answered_${status}`;
    assertEquals(error.name, word);
  }
});
