import {
  listAnnouncements,
  publishAnnouncement,
  updateAnnouncement,
} from "../../../../../kv/people/operators/announcements.ts";
import { listAuditLines } from "../../../../../kv/people/audit/operator_audit.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { openDashboardWorld } from "../../../../support/worlds/dashboard_world.ts";
import { operatorWorld } from "../../../../support/worlds/operator_world.ts";

const path = "/operator/announcements";

/** Milliseconds after which pages read announcements anew. */
const readAgainMs = 10_001;

Deno.test("an announcement is published, updated and ended, each with its audit line", () =>
  operatorWorld(async ({ world, operator }) => {
    const staff = await operator("staff");
    const form = { kind: "incident", title: "Slow answers", text: "We look at it." };
    assertEquals((await staff.post(path, form)).status, 303);
    const [made] = await listAnnouncements(world.kv);
    assert(made !== undefined);
    assertEquals([made.title, made.startsAtMs, made.endedAtMs], [
      "Slow answers",
      world.nowMs,
      undefined,
    ]);
    world.nowMs += 60_000;
    await staff.post(`${path}/${made.id}`, { text: "It was a router.", ends: "no" });
    await staff.post(`${path}/${made.id}`, { text: "It is over.", ends: "yes" });
    const [ended] = await listAnnouncements(world.kv);
    assertEquals(ended?.updates.map(({ text }) => text), [
      "We look at it.",
      "It was a router.",
      "It is over.",
    ]);
    assertEquals(ended?.endedAtMs, world.nowMs);
    const acts = (await listAuditLines(world.kv, { count: 10 })).map(({ act }) => act);
    assertEquals(acts.filter((act) => act.startsWith("announcement")), [
      "announcement_updated",
      "announcement_updated",
      "announcement_published",
    ]);
    const page = await staff.get(path);
    assertStringIncludes(page.text, "It was a router.");
    assert(!page.text.includes(`action="${path}/${made.id}"`), "an ended one has no form");
  }));

Deno.test("a form without a title, a text or a real time publishes nothing", () =>
  operatorWorld(async ({ world, operator }) => {
    const staff = await operator("staff");
    const whole = { kind: "maintenance", title: "T", text: "x", starts: "2026-12-01T22:00" };
    for (const change of [{ title: "" }, { text: "" }, { starts: "tomorrow" }]) {
      assertEquals((await staff.post(path, { ...whole, ...change })).status, 400);
    }
    assertEquals((await staff.post(`${path}/ann_nothing`, { text: "x", ends: "no" })).status, 400);
    assertEquals(await listAnnouncements(world.kv), []);
    await staff.post(path, whole);
    const [planned] = await listAnnouncements(world.kv);
    assertEquals(planned?.startsAtMs, Date.parse("2026-12-01T22:00+07:00"));
  }));

Deno.test("every page shows what is on, the status page all of it, and nothing once it is over", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const operator = { accountId: account.id, email: "staff@gw.example" };
  const nowMs = world.time.nowMs();
  const dayMs = 86_400_000;
  const made = (title: string, startsAtMs: number) =>
    publishAnnouncement(world.kv, { kind: "maintenance", title, startsAtMs, text: "<b>Soon</b>" }, {
      operator,
      nowMs,
    });
  const near = await made("New machines", nowMs + dayMs);
  await made("Far away", nowMs + 30 * dayMs);
  // The page of the sign-in has just read that there is none.
  world.time.advance(readAgainMs);
  for (const one of [browser, world.browser()]) {
    const { text } = await one.get("/");
    assertStringIncludes(text, "Maintenance: New machines");
    assertStringIncludes(text, "&lt;b&gt;Soon&lt;/b&gt;");
    assert(!text.includes("Far away"));
    assertStringIncludes((await one.get("/status")).text, "Far away");
  }
  assertStringIncludes((await browser.get("/status")).text, "All models are available");
  await publishAnnouncement(
    world.kv,
    { kind: "incident", title: "Slow answers", startsAtMs: nowMs, text: "We look at it." },
    { operator, nowMs },
  );
  assert(!(await browser.get("/status")).text.includes("All models are available"));
  await updateAnnouncement(world.kv, near.id, { text: "Done.", ends: true }, { operator, nowMs });
  world.time.advance(readAgainMs);
  assert(!(await browser.get("/models")).text.includes("New machines"));
  assertStringIncludes((await browser.get("/status")).text, "Done.");
});
