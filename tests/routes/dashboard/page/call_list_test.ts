/** The list of calls on the usage page: answered and refused ones together, found by what one knows of a call. */
import type { AccountId, ApiKeyId, RequestId } from "../../../../core/lib/ids/ids.ts";
import { errorTable } from "../../../../core/lib/errors/errors.ts";
import { errorFamilies, errorFamilyOf } from "../../../../routes/usage_api/search/call_filter.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { livePath } from "../../../support/browser/live_log.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  requestIdAt,
} from "../../../support/worlds/dashboard_world.ts";
import { draftOf, mustReserve, topUp } from "../../../support/worlds/money_world.ts";
import { refuse } from "../../../support/worlds/refused_calls.ts";

async function customer(world: DashboardWorld, email = "ann@example.com") {
  const { browser, account } = await world.signIn(email);
  await topUp(world.kv, account.id, 1_000_000_000_000n);
  const made = await createApiKey(world.kv, world.deps.masterKeys, account.id, {
    name: "server",
    nowMs: world.time.nowMs(),
  });
  if (!made.ok) throw new Error(made.reason);
  return { browser, accountId: account.id, keyId: made.record.id };
}

interface Owner {
  readonly accountId: AccountId;
  readonly keyId: ApiKeyId;
}

/** A call with a receipt: answered, or failed at the provider. */
async function answer(
  world: DashboardWorld,
  { accountId, keyId }: Owner,
  atMs: number,
  failure?: string,
): Promise<RequestId> {
  const requestId = requestIdAt(atMs);
  const failed = failure === undefined ? {} : {
    status: 504,
    outcome: "failed" as const,
    attempts: [{ route: "a/premium-1", outcome: failure, ms: 70 }],
  };
  await world.wallet.settle(
    await mustReserve(world.wallet, accountId, 1n),
    draftOf(failure === undefined ? 1n : 0n, { requestId, keyId, startedAtMs: atMs, ...failed }),
  );
  return requestId;
}

/** The calls that a page lists, in its order. */
function listed(text: string): string[] {
  return [...text.matchAll(/\/receipts\/(req_\w+)/g)].map(([, id]) => id ?? "");
}

Deno.test("answered and refused calls are one list, newest first, on as many pages as it takes", async () => {
  await using world = await openDashboardWorld();
  const ann = await customer(world);
  const ids: string[] = [];
  for (let i = 0; i < 120; i++) {
    const atMs = world.time.nowMs() - i * 1_000;
    const isRefused = i % 3 === 0;
    ids.push(
      isRefused
        ? (await refuse(world.kv, { ...ann, atMs })).requestId
        : await answer(world, ann, atMs),
    );
  }
  const seen: string[] = [];
  let path: string | undefined = "/usage";
  while (path !== undefined) {
    const { text } = await ann.browser.get(path);
    seen.push(...listed(text));
    path = /href="(\/usage\?[^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
  }
  assertEquals(seen, ids);
});

Deno.test("the list is filtered by status, error, model, key and second", async () => {
  await using world = await openDashboardWorld();
  const ann = await customer(world);
  const nowMs = world.time.nowMs();
  const ok = await answer(world, ann, nowMs - 1_000);
  const failed = await answer(world, ann, nowMs - 2_000, "upstream_timeout");
  const { requestId: poor } = await refuse(world.kv, { ...ann, atMs: nowMs - 3_000 });
  const { requestId: wrong } = await refuse(world.kv, { ...ann, atMs: nowMs - 4_000 }, {
    status: 400,
    code: "invalid_request",
    message: "max_tokens: must be a positive integer",
    model: "image-1",
  });
  const shown = async (query: string) => listed((await ann.browser.get(`/usage?${query}`)).text);
  assertEquals(await shown(""), [ok, failed, poor, wrong]);
  assertEquals(await shown("status=ok"), [ok]);
  assertEquals(await shown("status=error"), [failed, poor, wrong]);
  assertEquals(await shown("status=refused"), [poor, wrong]);
  assertEquals(await shown("status=402"), [poor]);
  assertEquals(await shown("status=5xx"), [failed]);
  assertEquals(await shown("error=upstream_timeout"), [failed]);
  assertEquals(await shown("error=invalid_request&status=refused"), [wrong]);
  assertEquals(await shown("model=image-1"), [wrong]);
  assertEquals(await shown("key=key_other"), []);
  const second = new Date(nowMs - 3_000 + 7 * 3_600_000).toISOString().slice(0, 19);
  assertEquals(await shown(`until=${second}`), [poor, wrong]);
  assertEquals(await shown("until=nonsense&status="), [ok, failed, poor, wrong]);
});

Deno.test("a refused call is found by its id, says why, and is shown to its owner only", async () => {
  await using world = await openDashboardWorld();
  const ann = await customer(world);
  const call = await refuse(world.kv, { ...ann, atMs: world.time.nowMs() - 1_000 }, {
    status: 400,
    code: "invalid_request",
    message: "tools.0.<b>: is not allowed",
    leftOut: 99,
  });
  const found = await ann.browser.get(`/receipts?id=%20${call.requestId}%0A`);
  assertEquals([found.status, found.headers.get("location")], [
    303,
    `/receipts/${call.requestId}`,
  ]);
  const page = await ann.browser.get(`/receipts/${call.requestId}`);
  assertEquals(page.status, 200);
  for (
    const part of [
      call.requestId,
      "400",
      "invalid_request",
      "The request has a mistake.",
      "Correct what the message names, then call again.",
      "Not charged",
      "tools.0.&lt;b&gt;: is not allowed",
      "99 more",
      "4\u00a0ms",
      "/v1/messages",
      "server",
    ]
  ) assertStringIncludes(page.text, part);
  const bob = await customer(world, "bob@example.com");
  assertEquals((await bob.browser.get(`/receipts/${call.requestId}`)).status, 404);
  assert(!listed((await bob.browser.get("/usage")).text).includes(call.requestId));
  assertEquals((await ann.browser.get("/receipts?id=nonsense")).status, 404);
  assertEquals((await world.browser().get("/receipts?id=x")).status, 303);
});

Deno.test("an open page shows a refused call by itself", async () => {
  await using world = await openDashboardWorld();
  const ann = await customer(world);
  await answer(world, ann, world.time.nowMs() - 2_000);
  const poll = await livePath(ann.browser, "/usage");
  assertEquals((await ann.browser.get(poll)).status, 204);
  const call = await refuse(world.kv, { ...ann, atMs: world.time.nowMs() - 1_000 });
  assertStringIncludes((await ann.browser.get(poll)).text, `/receipts/${call.requestId}`);
});

Deno.test("from each call one gets to the next newer and the next older, answered or refused", async () => {
  await using world = await openDashboardWorld();
  const ann = await customer(world);
  const bob = await customer(world, "bob@example.com");
  const nowMs = world.time.nowMs();
  // Several within a second, and some hours apart.
  const ages = [0, 100, 250, 3_600_000, 3_600_900, 7_200_000, 90_000_000];
  const ids: string[] = [];
  for (const [at, age] of ages.entries()) {
    const atMs = nowMs - age;
    const call = at % 3 === 1
      ? (await refuse(world.kv, { ...ann, atMs })).requestId
      : await answer(world, ann, atMs);
    ids.push(call);
    await answer(world, bob, atMs - 20);
  }
  world.time.advance(6_000);
  const link = (text: string, walk: string) =>
    new RegExp(`href="/receipts/(req_\\w+)"[^>]*data-walk="${walk}"`).exec(text)?.[1];
  for (const [at, id] of ids.entries()) {
    const { text } = await ann.browser.get(`/receipts/${id}`);
    assertEquals([link(text, "newer"), link(text, "older")], [ids[at - 1], ids[at + 1]], `${at}`);
  }
});

Deno.test("errors are found by what they are about, and a tag that is none is refused", async () => {
  await using world = await openDashboardWorld();
  const ann = await customer(world);
  const nowMs = world.time.nowMs();
  const late = await answer(world, ann, nowMs - 3_000, "upstream_timeout");
  const poor = (await refuse(world.kv, { ...ann, atMs: nowMs - 2_000 })).requestId;
  await answer(world, ann, nowMs - 1_000);
  world.time.advance(6_000);
  const found = async (query: string) => listed((await ann.browser.get(`/usage?${query}`)).text);
  assertEquals(await found("error=family:provider"), [late]);
  assertEquals(await found("error=family:money"), [poor]);
  assertEquals(await found("error=family:limits"), []);
  const families = new Set(Object.keys(errorTable).map(errorFamilyOf));
  assertEquals([...families].sort(), [...errorFamilies].sort(), "no family without a code");
  const wrong = await ann.browser.get("/usage?tag=search");
  assertEquals([wrong.status, listed(wrong.text)], [422, []]);
  assertStringIncludes(wrong.text, "Enter a key and a value such as team=search.");
  assertStringIncludes(wrong.text, 'value="search"');
  assertEquals((await ann.browser.get("/usage/export.csv?tag=search")).status, 422);
});
