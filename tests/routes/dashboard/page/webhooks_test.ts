import { webhookDeliveries } from "../../../../kv/people/webhooks/endpoint_queues.ts";
import { claimDeliveries } from "../../../support/worlds/webhook_world.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { webhookKinds } from "../../../../core/people/webhooks/events.ts";
import { recordTry } from "../../../../kv/people/webhooks/deliveries.ts";
import { listEndpoints } from "../../../../kv/people/webhooks/endpoints.ts";
import {
  formsOf,
  type LoadedPage,
  type TestBrowser,
} from "../../../support/browser/test_browser.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
} from "../../../support/worlds/dashboard_world.ts";

const secretForm = /whsec_[A-Za-z0-9+/]{43}=/;
const url = "https://hooks.example.com/in";

async function addOne(
  browser: TestBrowser,
  fields: Readonly<Record<string, string | readonly string[]>> = {},
): Promise<LoadedPage> {
  return await browser.submit(await browser.get("/webhooks/new"), "/webhooks", { url, ...fields });
}

/** Signs in, adds an endpoint, and returns its path. */
async function withEndpoint(world: DashboardWorld) {
  const { browser, account } = await world.signIn();
  await addOne(browser);
  const [endpoint] = await listEndpoints(world.kv, account.id);
  assert(endpoint !== undefined);
  return { browser, account, endpoint, path: `/webhooks/${endpoint.id}` };
}

/** Ends the try that waits as if the receiver had answered 500. */
async function failTry({ kv, time }: DashboardWorld): Promise<void> {
  const [claim] = await claimDeliveries(kv, { nowMs: time.nowMs(), count: 1 });
  assert(claim !== undefined, "a delivery waits");
  const outcome = { kind: "failed", reason: "status", status: 500 } as const;
  await recordTry(kv, claim, { outcome, atMs: time.nowMs(), durationMs: 1_234, random: 0 });
}

Deno.test("a new endpoint gets every event, and its secret is shown this once", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const made = await addOne(browser, { name: "Books" });
  assertEquals([made.status, made.headers.get("cache-control")], [200, "no-store"]);
  assertMatch(made.text, secretForm);
  const [endpoint] = await listEndpoints(world.kv, account.id);
  assertEquals([endpoint?.url, endpoint?.name, endpoint?.isOn], [url, "Books", true]);
  assertEquals(endpoint?.kinds, webhookKinds);
  for (const path of ["/webhooks", `/webhooks/${endpoint!.id}`]) {
    const page = await browser.get(path);
    assertStringIncludes(page.text, "Books");
    assert(!secretForm.test(page.text), path);
  }
});

Deno.test("each service has a form of its own, whose secret no page shows again", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const secret = "SecretOfThe_Channel";
  const bot = { token: `123456:${secret}`, chatId: "@alerts" };
  const forms = {
    slack: { url: `https://hooks.slack.example/services/${secret}` },
    telegram: bot,
    zalo: bot,
  };
  for (const [kind, fields] of Object.entries(forms)) {
    const form = await browser.get(`/webhooks/new?to=${kind}`);
    const wrong = await browser.submit(form, "/webhooks", { ...fields, kinds: [] });
    assertEquals(wrong.status, 422);
    // The form of the same service is shown again.
    assertStringIncludes(wrong.text, `name="destination" value="${kind}"`);
    assert(!wrong.text.includes(secret), "what is wrong elsewhere does not send it back");
    const made = await browser.submit(form, "/webhooks", fields);
    assertEquals(made.status, 303);
    const path = made.headers.get("location")!;
    const { text } = await browser.get(path);
    assert(!text.includes(secret) && !text.includes(`${path}/rotate`));
    const kept = await browser.submit(await browser.get(path), path, { name: "Ops" });
    assertStringIncludes(kept.text, "Saved.");
    await browser.submit(await browser.get(path), `${path}/test`);
    const [claim] = await claimDeliveries(world.kv, { nowMs: world.time.nowMs(), count: 1 });
    const outcome = { kind: "failed", reason: "refused", status: 200, answer: "no chat" } as const;
    await recordTry(world.kv, claim!, { outcome, atMs: 0, durationMs: 9, random: 0 });
    assertStringIncludes((await browser.get(`${path}?sent=0`)).text, "“no chat”");
  }
  const listed = await listEndpoints(world.kv, account.id);
  assertEquals(listed.map(({ chat, name }) => [chat, name]), [
    ["slack", "Ops"],
    ["telegram", "Ops"],
    ["zalo", "Ops"],
  ]);
  assert(!(await browser.get("/webhooks")).text.includes(secret));
});

Deno.test("the same form sent twice makes one endpoint and says so", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const form = await browser.get("/webhooks/new");
  await browser.submit(form, "/webhooks", { url });
  const again = await browser.submit(form, "/webhooks", { url });
  assertEquals(again.status, 422);
  assertStringIncludes(again.text, "was sent before");
  assert(!secretForm.test(again.text));
  assertEquals((await listEndpoints(world.kv, account.id)).length, 1);
});

Deno.test("what is wrong is said at its field, and nothing is made", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const cases: [Readonly<Record<string, string | readonly string[]>>, string][] = [
    [{ url: "http://example.com/" }, "must begin with https://"],
    [{ url: "https://10.0.0.1/" }, "must lead to a public address"],
    [{ url: "http://localhost/" }, "must lead to a public address"],
    [{ url: "https://user:pass@example.com/" }, "Leave user name and password out"],
    [{ url: "not a url" }, "This is not a URL"],
    [{ url: "" }, "This is not a URL"],
    [{ kinds: [] }, "Choose at least one event"],
    [{ kinds: ["no.such"] }, "Choose at least one event"],
    [{ name: "x".repeat(81) }, "At most 80 characters"],
  ];
  for (const [fields, message] of cases) {
    const page = await addOne(browser, fields);
    assertEquals(page.status, 422, message);
    assertStringIncludes(page.text, message);
  }
  assertEquals(await listEndpoints(world.kv, account.id), []);
});

Deno.test("settings are changed, and the endpoint is switched off and on, rotated and deleted", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, path } = await withEndpoint(world);
  const now = async () => (await listEndpoints(world.kv, account.id))[0];
  const saved = await browser.submit(await browser.get(path), path, {
    url: "https://other.example.com/",
    kinds: ["key.created", "video.ended"],
  });
  assertStringIncludes(saved.text, "Saved.");
  assertEquals((await now())?.url, "https://other.example.com/");
  assertEquals((await now())?.kinds, ["key.created", "video.ended"]);
  for (const isOn of [false, true]) {
    const page = await browser.get(path);
    const action = `${path}/switch`;
    assertStringIncludes(page.text, isOn ? "Switch on" : "Switch off");
    assertEquals((await browser.submit(page, action, { on: isOn ? "yes" : "no" })).status, 303);
    assertEquals((await now())?.isOn, isOn);
  }
  const rotated = await browser.submit(await browser.get(path), `${path}/rotate`);
  assertMatch(rotated.text, secretForm);
  assertStringIncludes((await browser.get(path)).text, "The former secret still signs until");
  assertEquals((await browser.submit(await browser.get(path), `${path}/delete`)).status, 303);
  assertEquals(await now(), undefined);
  assertEquals((await browser.get(path)).status, 404);
});

Deno.test("a test is sent, its try shown with its body, and sent again with the same id", async () => {
  await using world = await openDashboardWorld();
  const { browser, path } = await withEndpoint(world);
  const sent = await browser.submit(await browser.get(path), `${path}/test`, {
    kind: "topup.credited",
  });
  assertEquals(sent.status, 303);
  const waiting = await browser.follow(sent);
  const [, look = ""] = /id="sent"[^>]*hx-get="([^"]+)"/.exec(waiting.text) ?? [];
  const panel = look.replaceAll("&amp;", "&");
  assert((await browser.get(panel)).text.includes("hx-get"), "no answer yet: it looks again");
  assert(!(await browser.get(panel.replace("looks=1", "looks=30"))).text.includes("hx-get"));
  await failTry(world);
  // The page that waits shows the answer and the log with it, without being loaded again.
  const ended = await browser.get(panel);
  assertStringIncludes(ended.text, "Answered with status 500");
  assertMatch(ended.text, /id="tries" hx-swap-oob="true".*deliveries\/1/s);
  assert(!ended.text.includes("hx-get"));
  const list = await browser.get(path);
  for (const text of ["topup.credited", "Answered with status 500", "1.23\u00a0s", "Failed"]) {
    assertStringIncludes(list.text, text);
  }
  assert(!(await browser.get("/webhooks")).text.includes("Failing"), "a test says nothing of it");
  const one = await browser.get(`${path}/deliveries/1`);
  const shown = one.text.replaceAll(/<[^>]+>/g, "");
  assertStringIncludes(shown, "ST2346789C");
  assertMatch(shown, /evt_[a-z0-9]+/);
  assertEquals((await browser.submit(one, `${path}/deliveries/1/again`)).status, 303);
  const nowMs = world.time.nowMs();
  const [claim] = await claimDeliveries(world.kv, { nowMs, count: 8 });
  assertStringIncludes(shown, claim!.payload.eventId);
  assertEquals(claim!.payload.cause, "again");
  world.time.advance(webhookDeliveries.claimMs);
  await failTry(world);
  assertStringIncludes((await browser.get("/webhooks")).text, "Failing");
});

Deno.test("a person sends sixty webhooks an hour, and no more", async () => {
  await using world = await openDashboardWorld();
  const { browser, path } = await withEndpoint(world);
  const page = await browser.get(path);
  for (let i = 0; i < 60; i++) {
    assertEquals((await browser.submit(page, `${path}/test`)).status, 303);
  }
  const refused = await browser.submit(page, `${path}/test`);
  assertEquals(refused.status, 422);
  assertStringIncludes(refused.text, "Too many actions");
});

Deno.test("the log has pages of 25, back to the oldest try that it keeps", async () => {
  await using world = await openDashboardWorld();
  const { browser, path } = await withEndpoint(world);
  const page = await browser.get(path);
  for (let i = 0; i < 30; i++) {
    await browser.submit(page, `${path}/test`);
    await failTry(world);
  }
  const triesOn = (text: string) => [...text.matchAll(/\/deliveries\/(\d+)"/g)].map(([, n]) => n);
  const newest = await browser.get(path);
  assertEquals(triesOn(newest.text), Array.from({ length: 25 }, (_, i) => String(30 - i)));
  const next = /href="(\/webhooks\/[^"]+)#deliveries" rel="next"/.exec(newest.text)?.[1];
  const older = await browser.get(next!);
  assertEquals(triesOn(older.text), ["5", "4", "3", "2", "1"]);
  assertStringIncludes(older.text, 'rel="prev"');
  assertEquals(older.text.includes('rel="next"'), false);
});

Deno.test("an endpoint of somebody else does not exist, for any act", async () => {
  await using world = await openDashboardWorld();
  const { browser: ann, account, path } = await withEndpoint(world);
  const { browser: bob } = await world.signIn("bob@example.com");
  const before = await listEndpoints(world.kv, account.id);
  const csrf = formsOf((await bob.get("/webhooks/new")).text)
    .flatMap(({ fields }) => fields).find(([name]) => name === "csrf")![1];
  await ann.submit(await ann.get(path), `${path}/test`);
  await failTry(world);
  assertEquals((await bob.get(path)).status, 404);
  assertEquals((await bob.get(`${path}/deliveries/1`)).status, 404);
  for (const act of ["", "/switch", "/rotate", "/delete", "/test", "/deliveries/1/again"]) {
    assertEquals((await bob.post(path + act, { csrf, kind: "key.created" })).status, 404, act);
  }
  assertEquals(await listEndpoints(world.kv, account.id), before);
  assertEquals((await world.browser().get("/webhooks")).status, 303, "strangers sign in first");
});
