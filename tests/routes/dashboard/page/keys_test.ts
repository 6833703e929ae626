import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { newMasterKey, readMasterKeys, seal } from "../../../../core/people/api_keys/seal.ts";
import { sealOwners } from "../../../../core/people/api_keys/seal_owners.ts";
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import { updateApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { apiKeyKey } from "../../../../kv/engine/schema/keys.ts";
import { dayMs, minuteMs } from "../../../../core/lib/time/durations.ts";
import type { ReceiptDraft } from "../../../../kv/money/wallet/mod.ts";
import {
  openDashboardWorld,
  requestIdAt,
  testPassword,
} from "../../../support/worlds/dashboard_world.ts";
import { draftOf, mustReserve, topUp } from "../../../support/worlds/money_world.ts";
import { makeKey, secretForm, secretIn, works } from "../../../support/worlds/key_pages.ts";
import type { LoadedPage } from "../../../support/browser/test_browser.ts";

Deno.test("a new key is shown once, works, and is never in the clear in the store", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn();
  const made = await makeKey(browser);
  const secret = secretIn(made);
  assertEquals(made.headers.get("cache-control"), "no-store");
  assert(await works(world, secret));
  const list = await browser.get("/keys");
  assert(!secretForm.test(list.text), "the list shows a whole key");
  assertStringIncludes(list.text, `${secret.slice(0, 7)}…${secret.slice(-4)}`);
  for await (const row of world.kv.list({ prefix: [] })) {
    assert(!Deno.inspect(row, { strAbbreviateSize: 1e6 }).includes(secret));
  }
});

Deno.test("the eleventh key is refused with the reason; after a revocation there is room", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  for (let i = 0; i < 10; i++) assertEquals((await makeKey(browser)).status, 200);
  const eleventh = await makeKey(browser);
  assertEquals(eleventh.status, 422);
  assertStringIncludes(eleventh.text, "An account can have 10 active keys");
  const [first] = await listApiKeys(world.kv, account.id);
  await browser.submit(await browser.get(`/keys/${first!.id}`), `/keys/${first!.id}/revoke`);
  assertEquals((await makeKey(browser)).status, 200);
});

Deno.test("showing a key again asks for the password, and is slowed down when guessed", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const secret = secretIn(await makeKey(browser));
  const [key] = await listApiKeys(world.kv, account.id);
  const path = `/keys/${key!.id}`;
  const page = await browser.get(path);
  assert(!secretForm.test(page.text));
  const wrong = await browser.submit(page, `${path}/show`, { password: "wrong" });
  assertEquals(wrong.status, 422);
  assert(!secretForm.test(wrong.text));
  const right = await browser.submit(page, `${path}/show`, { password: testPassword });
  assertEquals(secretIn(right), secret);
  for (let i = 0; i < 8; i++) {
    await browser.submit(page, `${path}/show`, { password: "wrong" });
  }
  const stopped = await browser.submit(page, `${path}/show`, { password: testPassword });
  assertStringIncludes(stopped.text, "Too many tries");
  assert(!secretForm.test(stopped.text));
});

Deno.test("an account without a password is asked to set one first", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  await makeKey(browser);
  const [key] = await listApiKeys(world.kv, account.id);
  await world.kv.delete(["account_password", account.id]);
  const path = `/keys/${key!.id}`;
  const answer = await browser.submit(await browser.get(path), `${path}/show`, { password: "" });
  assertStringIncludes(answer.text, "has no password yet");
  assert(!secretForm.test(answer.text));
});

Deno.test("under another master key a right password gets the reason, not the same form", async () => {
  const masterKeys = await readMasterKeys(newMasterKey());
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const secret = secretIn(await makeKey(browser));
  const [key] = await listApiKeys(world.kv, account.id);
  await world.kv.set(apiKeyKey(account.id, key!.id), {
    ...key,
    sealed: await seal(masterKeys, secret, sealOwners.api_key(account.id, key!.id)),
  });
  const path = `/keys/${key!.id}`;
  const words = { en: "cannot decrypt it", vi: "không giải mã được" };
  for (const locale of ["en", "vi"] as const) {
    browser.cookies.set("locale", locale);
    const page = await browser.get(path);
    const answer = await browser.submit(page, `${path}/show`, { password: testPassword });
    assertStringIncludes(answer.text, words[locale]);
    assert(!answer.text.includes('name="password"'), "the same form again");
  }
  assertEquals(world.reports, ["showing a key", "showing a key"]);
  assert(await works(world, secret));
});

Deno.test("keys of others do not exist, whatever is asked of them", async () => {
  await using world = await openDashboardWorld();
  const { browser: ann, account } = await world.signIn("ann@example.com");
  const { browser: bob } = await world.signIn("bob@example.com");
  const secret = secretIn(await makeKey(ann));
  const [key] = await listApiKeys(world.kv, account.id);
  const csrf = /name="csrf" value="([^"]+)"/.exec((await bob.get("/keys/new")).text)![1]!;
  assertEquals((await bob.get(`/keys/${key!.id}`)).status, 404);
  for (const action of ["", "/show", "/rotate", "/revoke"]) {
    const answer = await bob.post(`/keys/${key!.id}${action}`, {
      csrf,
      name: "mine",
      password: testPassword,
      grace: "0",
    });
    assertEquals(answer.status, 404, action);
    assert(!answer.text.includes(secret));
  }
  assert(await works(world, secret));
  assertEquals((await bob.get("/keys/key_nothing")).status, 404);
  assertEquals((await bob.get("/keys/..%2f..%2fetc")).status, 404);
});

Deno.test("limits of a key are kept as typed and shown again", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  await makeKey(browser, {
    name: "server",
    expiry: "2026-12-31",
    dailyLimit: "100.000",
    monthlyLimit: "2,000,000",
    imagesPerDay: "1.200",
    ips: "203.0.113.7\n10.0.0.0/8",
    models: ["premium-1", "premium-1-fast"],
  });
  const [key] = await listApiKeys(world.kv, account.id);
  assertEquals(key!.expiresAtMs, Date.parse("2027-01-01T00:00:00+07:00"));
  assertEquals(key!.dailyLimitMicroVnd, 100_000_000_000n);
  assertEquals(key!.monthlyLimitMicroVnd, 2_000_000_000_000n);
  assertEquals(key!.imagesPerDay, 1_200n);
  assertEquals(key!.allowedIps, ["203.0.113.7", "10.0.0.0/8"]);
  assertEquals(key!.allowedModels, ["premium-1", "premium-1-fast"]);

  const page = await browser.get(`/keys/${key!.id}`);
  assertStringIncludes(page.text, 'value="2026-12-31"');
  assertMatch(page.text, /name="imagesPerDay"[^>]* value="1,200"/);
  const wrong = await browser.submit(page, `/keys/${key!.id}`, { imagesPerDay: "some" });
  assertStringIncludes(wrong.text, "Write a whole number above 0");
  assertMatch(page.text, /value="premium-1-fast" checked/);
  const saved = await browser.submit(page, `/keys/${key!.id}`, {
    name: "renamed",
    expiry: "",
    models: [],
    ips: "",
    monthlyLimit: "",
  });
  assertEquals(saved.status, 200);
  const [changed] = await listApiKeys(world.kv, account.id);
  assertEquals(changed!.name, "renamed");
  assertEquals(changed!.expiresAtMs, undefined);
  assertEquals(changed!.allowedModels, undefined);
  assertEquals(changed!.dailyLimitMicroVnd, 100_000_000_000n);
  assertEquals(changed!.imagesPerDay, 1_200n);
  assertEquals(changed!.hash, key!.hash);
});

Deno.test("a key limited to a model that left the catalogue stays limited, whatever is saved", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  await makeKey(browser, { models: ["premium-1"] });
  const [key] = await listApiKeys(world.kv, account.id);
  const { name } = key!;
  await updateApiKey(world.kv, account.id, key!.id, () => ({
    name,
    allowedModels: ["left-model"],
  }));
  const path = `/keys/${key!.id}`;
  const allowed = async () => (await listApiKeys(world.kv, account.id))[0]!.allowedModels;

  const page = await browser.get(path);
  assertMatch(page.text, /value="left-model" checked/);
  assertStringIncludes(page.text, "no longer offered");
  assertEquals((await browser.submit(page, path, { name: "renamed" })).status, 200);
  assertEquals(await allowed(), ["left-model"]);
  await browser.submit(page, path, { models: ["left-model", "premium-1"] });
  assertEquals(await allowed(), ["left-model", "premium-1"]);
  for (const models of [["never-was"], ["left-model", "never-was"]]) {
    const refused = await browser.submit(page, path, { models });
    assertEquals(refused.status, 422);
    assertStringIncludes(refused.text, "A model that you selected is no longer offered");
    assertEquals(await allowed(), ["left-model", "premium-1"]);
  }
  assertEquals((await makeKey(browser, { models: ["left-model"] })).status, 422);
  await browser.submit(page, path, { models: [] });
  assertEquals(await allowed(), undefined);
});

Deno.test("a form with errors names each of them and keeps the inputs", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const answer = await makeKey(browser, {
    name: "",
    expiry: "2026-11-31",
    dailyLimit: "-5",
    monthlyLimit: "1.5",
    ips: "300.1.1.1",
  });
  assertEquals(answer.status, 422);
  for (
    const text of [
      "Give the key a name",
      "Choose a day from today on",
      "Write a whole number",
      "“300.1.1.1” is no IP address",
      'value="-5"',
    ]
  ) assertStringIncludes(answer.text, text);
  const past = await makeKey(browser, { expiry: "2026-11-19" });
  assertEquals(past.status, 422);
  assertStringIncludes(past.text, "Choose a day from today on");
  assertEquals((await listApiKeys(world.kv, account.id)).length, 0);
});

Deno.test("a key whose grace was never a number, as an earlier version could store it, has its page", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  await makeKey(browser);
  const [key] = await listApiKeys(world.kv, account.id);
  const previous = { hash: "h", untilMs: NaN };
  await world.kv.set(apiKeyKey(account.id, key!.id), { ...key, previous });
  assertEquals((await browser.get(`/keys/${key!.id}`)).status, 200);
});

Deno.test("a rotated key has a new secret; the old one works only during its grace period", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const old = secretIn(await makeKey(browser));
  const [key] = await listApiKeys(world.kv, account.id);
  const path = `/keys/${key!.id}`;
  const rotated = await browser.submit(await browser.get(path), `${path}/rotate`, { grace: "1" });
  const fresh = secretIn(rotated);
  assert(fresh !== old);
  assert(await works(world, old));
  assert(await works(world, fresh));
  world.time.advance(3_600_000);
  assert(!await works(world, old));
  assert(await works(world, fresh));
  const strange = await browser.submit(await browser.get(path), `${path}/rotate`, {
    grace: "99999999",
  });
  assert(!secretForm.test(strange.text));
});

Deno.test("a revoked key is refused at once, and can only be looked at", async () => {
  await using world = await openDashboardWorld();
  let refreshed = 0;
  const deps = world.deps.control;
  Object.assign(deps, { refresh: () => Promise.resolve(void refreshed++) });
  const { browser, account } = await world.signIn();
  const secret = secretIn(await makeKey(browser));
  const [key] = await listApiKeys(world.kv, account.id);
  const path = `/keys/${key!.id}`;
  const page = await browser.get(path);
  assertEquals((await browser.submit(page, `${path}/revoke`)).status, 303);
  assert(!await works(world, secret));
  assertEquals(refreshed, 1);
  const shown = await browser.submit(page, `${path}/show`, { password: testPassword });
  assertEquals(shown.status, 303);
  const after = await browser.get(path);
  assertStringIncludes(after.text, "Revoked");
  assert(!after.text.includes(`${path}/show`));
});

Deno.test("creating keys in a loop is slowed down", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn();
  const page = await browser.get("/keys/new");
  let refused: LoadedPage | undefined;
  for (let i = 0; i < 241; i++) refused = await browser.submit(page, "/keys", { name: "x" });
  assertStringIncludes(refused!.text, "Too many actions");
});

Deno.test("visitors without a session reach no page of keys", async () => {
  await using world = await openDashboardWorld();
  await createAccount(world.kv, { nowMs: 1 });
  for (const path of ["/keys", "/keys/new", "/keys/key_1"]) {
    assertEquals((await world.browser().get(path)).status, 303, path);
  }
});

Deno.test("a new key with limits reads only its own calls, one without the whole account, unless chosen", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const made = async (fields: Record<string, string | string[]>) => {
    await makeKey(browser, fields);
    const keys = await listApiKeys(world.kv, account.id);
    return keys.find(({ name }) => name === fields["name"])!;
  };
  assertEquals((await made({ name: "a" })).readsOnlyOwnCalls, undefined);
  assertEquals((await made({ name: "b", reading: "own" })).readsOnlyOwnCalls, true);
  const models = ["premium-1"];
  assertEquals(
    (await made({ name: "c", models, reading: "account" })).readsOnlyOwnCalls,
    undefined,
  );
  const limited = await made({ name: "d", models });
  assertEquals(limited.readsOnlyOwnCalls, true);
  const page = await browser.get(`/keys/${limited.id}`);
  await browser.submit(page, `/keys/${limited.id}`, { name: "e" });
  const kept = (await listApiKeys(world.kv, account.id)).find(({ name }) => name === "e");
  assertEquals(kept?.readsOnlyOwnCalls, true, "saving other fields leaves it as it is");
});

Deno.test("list and page show what is used of the limits of a key, and the list its last error", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  await topUp(world.kv, account.id, 1_000_000_000_000n);
  await makeKey(browser);
  const [key] = await listApiKeys(world.kv, account.id);
  const path = `/keys/${key!.id}`;
  await browser.submit(await browser.get(path), path, {
    name: "laptop",
    dailyLimit: "5.000",
    monthlyLimit: "100k",
  });
  const nowMs = world.time.nowMs();
  const settle = async (agoMs: number, priceMicroVnd: bigint, some: Partial<ReceiptDraft> = {}) => {
    const startedAtMs = nowMs - agoMs;
    const requestId = requestIdAt(startedAtMs);
    await world.wallet.settle(
      await mustReserve(world.wallet, account.id, priceMicroVnd),
      draftOf(priceMicroVnd, { requestId, keyId: key!.id, startedAtMs, ...some }),
    );
    return requestId;
  };
  await settle(minuteMs, 4_000_000_000n);
  // 10:00 in Vietnam: a day ago is another day of the same month.
  await settle(dayMs, 3_000_000_000n);
  const attempts = [{ route: "a/m", outcome: "upstream_timeout", ms: 9 }];
  const failed = await settle(2 * minuteMs, 0n, { outcome: "failed", status: 504, attempts });
  await world.wallet.indexOnce();
  const list = (await browser.get("/keys")).text;
  const page = (await browser.get(path)).text;
  assertMatch(list, /<span>₫4,000 of ₫5,000<\/span><small class="busy">80\s%/);
  assertMatch(list, /<span>₫7,000 of ₫100,000<\/span><small class="muted">7\.0\s%/);
  for (const text of [list, page]) {
    assertStringIncludes(text, 'title="₫4,000 of ₫5,000"');
    assertStringIncludes(text, 'title="₫7,000 of ₫100,000"');
    assertMatch(text, /<meter[^>]*max="5000"[^>]*value="4000"/);
  }
  assertMatch(list, new RegExp(`/receipts/${failed}"><code>upstream_timeout`));
  for (const place of ["limits", "rotate"]) {
    assertStringIncludes(list, `href="${path}#${place}"`);
    assertStringIncludes(page, `id="${place}"`);
  }
  for (const text of [list, page]) assertStringIncludes(text, `action="${path}/revoke"`);
});

Deno.test("a key without limits has its spending of today and of the month in the list", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  await topUp(world.kv, account.id, 1_000_000_000_000n);
  await makeKey(browser);
  const [key] = await listApiKeys(world.kv, account.id);
  // The month has 20 days: the last call is of the one before.
  for (const [agoMs, vnd] of [[minuteMs, 4n], [dayMs, 3n], [21 * dayMs, 9n]] as const) {
    const startedAtMs = world.time.nowMs() - agoMs;
    const price = vnd * 1_000_000_000n;
    await world.wallet.settle(
      await mustReserve(world.wallet, account.id, price),
      draftOf(price, { requestId: requestIdAt(startedAtMs), keyId: key!.id, startedAtMs }),
    );
  }
  const { text } = await browser.get("/keys");
  const spent = [...text.matchAll(/<data class="money"[^>]*>([^<]*)<\/data><small/g)];
  assertEquals(spent.map(([, shown]) => shown), ["₫4,000", "₫7,000"]);
  assert(!text.includes("<meter"));
});

Deno.test("what is wrong with a limit stands under its row and names the cell", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  await makeKey(browser);
  const [key] = await listApiKeys(world.kv, account.id);
  const path = `/keys/${key!.id}`;
  const page = await browser.get(path);
  const { text } = await browser.submit(page, path, { dailyLimit: "5.5", imagesPerDay: "x" });
  for (const name of ["dailyLimit", "imagesPerDay"]) {
    assertMatch(text, new RegExp(`name="${name}"[^>]*aria-describedby="${name}-error"`));
  }
  assertMatch(text, /id="dailyLimit-error"><strong>Money, Day:/);
  assertMatch(text, /id="imagesPerDay-error"><strong>Images, Day:/);
  assertStringIncludes(text, "2 fields need attention");
  assertStringIncludes(text, 'value="5.5"');
});

Deno.test("limits are shown with marks between thousands, and saving them again changes nothing", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  await makeKey(browser, { name: "laptop", dailyLimit: "1500000", tokensPerMinute: "20000" });
  const before = (await listApiKeys(world.kv, account.id))[0]!;
  const path = `/keys/${before.id}`;
  for (const [locale, shown] of [["en", "1,500,000"], ["vi", "1.500.000"]] as const) {
    browser.cookies.set("locale", locale);
    const page = await browser.get(path);
    assertStringIncludes(page.text, `value="${shown}"`);
    assertEquals((await browser.submit(page, path)).status, 200);
    assertEquals((await listApiKeys(world.kv, account.id))[0], before);
  }
});

Deno.test("the owner is told of every key that is made, rotated or revoked, in the same commit and once", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  await world.deliver();
  const subjects = async () => (await world.deliver()).map(({ subject }) => subject);
  const made = await makeKey(browser, { name: "laptop" });
  assertEquals(await subjects(), ["Khoá API mới: laptop"]);
  const [key] = await listApiKeys(world.kv, account.id);
  const path = `/keys/${key!.id}`;
  await browser.submit(await browser.get(path), `${path}/rotate`, { grace: "24" });
  await browser.submit(await browser.get(path), `${path}/revoke`);
  const mails = await world.deliver();
  assertEquals(mails.map(({ subject }) => subject).sort(), [
    "Đã cấp lại khoá API: laptop",
    "Đã thu hồi khoá API: laptop",
  ]);
  const secret = secretIn(made);
  assert(mails.every(({ text, html }) => !text.includes(secret) && !html.includes(secret)));
});
