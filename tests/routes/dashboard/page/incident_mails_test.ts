/** Tests mails about incidents: double opt-in, each subscriber once whatever fails, and the feed. */
import { assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import {
  incidentQueue,
  publishAnnouncement,
  updateAnnouncement,
} from "../../../../kv/people/operators/announcements.ts";
import {
  incidentWork,
  isSubscribed,
  subscribe,
} from "../../../../kv/people/operators/status_subscribers.ts";
import { runDue } from "../../../../kv/engine/outbox/outbox_worker.ts";
import { readBacklog } from "../../../../kv/engine/outbox/outbox.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { until } from "../../../support/until.ts";
import { type Fault, faultyKv } from "../../../support/stores/faulty_kv.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  tokenOf,
} from "../../../support/worlds/dashboard_world.ts";

const email = "bob@example.com";

async function queueMails({ kv: store, time }: DashboardWorld, kv: KeyValueStore = store) {
  await runDue({ kv, clock: time, random: () => 0 }, incidentWork({ kv, clock: time }, () => {}));
}

function incident({ kv, time }: DashboardWorld, kind: "incident" | "maintenance" = "incident") {
  const nowMs = time.nowMs();
  const what = { kind, title: "Errors <b>", text: "Some calls fail.", startsAtMs: nowMs };
  return publishAnnouncement(kv, what, { operator: commandLine, nowMs });
}

function confirmed({ kv, time }: DashboardWorld, address: string) {
  const confirmedAtMs = time.nowMs();
  return subscribe(kv, { email: address, locale: "en", confirmedAtMs });
}

Deno.test("an address gets mails about incidents only once its owner has opened the link", async () => {
  await using world = await openDashboardWorld();
  const browser = world.browser();
  assertStringIncludes((await browser.get("/status")).text, 'href="/incident-mails"');
  const form = await browser.get("/incident-mails");
  const sent = await browser.submit(form, "/incident-mails", { email: "Bob@Example.com " });
  assertStringIncludes(sent.text, `sent an email to ${email}`);
  assertEquals(await isSubscribed(world.kv, email), false);
  await incident(world);
  await queueMails(world);
  const mails = await world.deliver();
  assertEquals(mails.map(({ subject }) => subject), ["Confirm emails about incidents"]);

  const token = tokenOf(mails[0]);
  const page = await browser.get("/incident-mails/confirm");
  assertEquals(await isSubscribed(world.kv, email), false, "to open the page is not to confirm");
  const done = await browser.submit(page, "/incident-mails/confirm", { token });
  assertStringIncludes(done.text, `${email} now gets emails about incidents`);
  assertEquals(await isSubscribed(world.kv, email), true);
  const again = await browser.submit(page, "/incident-mails/confirm", { token });
  assertEquals(again.status, 422, "a link works once");
});

Deno.test("an incident and its end are mailed, with a link that ends the subscription", async () => {
  await using world = await openDashboardWorld();
  await confirmed(world, email);
  const made = await incident(world);
  await incident(world, "maintenance");
  await queueMails(world);
  const [opened, ...more] = await world.deliver();
  assertEquals([opened?.subject, opened?.to, more.length], ["Incident: Errors <b>", email, 0]);
  assertStringIncludes(opened?.text ?? "", "Some calls fail.");
  const act = { operator: commandLine, nowMs: world.time.nowMs() };
  await updateAnnouncement(world.kv, made.id, { text: "We look.", ends: false }, act);
  await updateAnnouncement(world.kv, made.id, { text: "It was a router.", ends: true }, act);
  await queueMails(world);
  const [resolved] = await world.deliver();
  assertStringIncludes(resolved?.subject ?? "", "Resolved: Errors");
  assertStringIncludes(resolved?.text ?? "", "It was a router.");

  const link = resolved?.switchOffUrl?.slice(world.baseUrl.length) ?? "";
  const browser = world.browser();
  const page = await browser.get(link);
  await incident(world);
  await queueMails(world);
  assertStringIncludes((await browser.submit(page, link, {})).text, "You get no more emails");
  assertEquals(await isSubscribed(world.kv, email), false);
  assertEquals(await world.deliver(), [], "also one that is queued already");
});

Deno.test("each of many subscribers gets one mail, whatever commit fails, with two instances", async () => {
  await using world = await openDashboardWorld();
  const addresses = Array.from({ length: 450 }, (_, at) => `s${at}@example.com`);
  for (const address of addresses) await confirmed(world, address);
  await incident(world);
  /** An instance whose commits meet these faults in turn, then none. */
  const instance = (...faults: Fault[]) => {
    const failing = faultyKv(
      world.kv,
      (call) => call === "commit" ? faults.shift() ?? "none" : "none",
    );
    return { faults, run: () => queueMails(world, failing).catch(() => {}) };
  };
  // Killed after it has claimed the work, and another after it has queued the first part.
  for (const faults of [["silence_after"], ["none", "silence_after"]] satisfies Fault[][]) {
    const killed = instance(...faults);
    void killed.run();
    await until(() => killed.faults.length === 0, "the kill");
    world.time.advance(15 * 60_000);
  }
  const both = instance("none", "after", "before", "repeated", "after");
  for (let run = 0; run < 20; run++) {
    await Promise.all([both.run(), both.run()]);
    world.time.advance(15 * 60_000);
  }
  assertEquals(both.faults, [], "all faults were met");
  assertEquals(await readBacklog(world.kv, incidentQueue.name, world.time.nowMs()), {
    rows: 0,
    overdueMs: 0,
    deadLetters: 0,
  });
  const receivers = (await world.deliver()).map(({ to }) => to);
  assertEquals(receivers.toSorted(), addresses.toSorted());
});

Deno.test("requests for mails are bounded by the address of the mail and of the network", async () => {
  await using world = await openDashboardWorld();
  const ask = async (to: string, from = "203.0.113.5") => {
    const browser = world.browser({}, from);
    const form = await browser.get("/incident-mails");
    return (await browser.submit(form, "/incident-mails", { email: to })).status;
  };
  assertEquals(await ask("no address"), 422);
  for (let time = 0; time < 5; time++) assertEquals(await ask(email, `198.51.100.${time}`), 200);
  assertEquals((await world.deliver()).length, 2);
  const statuses: number[] = [];
  for (let at = 0; at < 11; at++) statuses.push(await ask(`c${at}@example.com`));
  assertEquals(statuses.filter((status) => status === 422).length, 2);
});

Deno.test("the feed has the latest incidents, with the texts of operators as texts", async () => {
  await using world = await openDashboardWorld();
  const empty = await world.browser().get("/status.atom");
  assertEquals(empty.headers.get("content-type"), "application/atom+xml; charset=utf-8");
  const made = await incident(world);
  world.time.advance(6_000);
  const { text } = await world.browser().get("/status.atom");
  assertStringIncludes(text, "<title>Errors &lt;b&gt;</title>");
  assertStringIncludes(text, `<id>${world.baseUrl}/status#${made.id}</id>`);
  assertStringIncludes(text, "Some calls fail.");
  const rss = await world.browser().get("/status.rss");
  assertEquals(rss.headers.get("content-type"), "application/rss+xml; charset=utf-8");
  assertStringIncludes(rss.text, `<guid>${world.baseUrl}/status#${made.id}</guid>`);
  assertStringIncludes(rss.text, "<title>Errors &lt;b&gt;</title>");
});
