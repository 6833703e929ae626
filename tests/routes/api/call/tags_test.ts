/** Tags of calls: from each endpoint onto the receipt, and never to a provider as a header. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { openTestGateway, type TestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { tagsText } from "../../../../core/billing/usage/call_tags.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { createUsageApi } from "../../../../routes/usage_api/usage_api.ts";
import { setRequiredTags } from "../../../../kv/people/accounts/account_settings.ts";
import { bearerPost } from "../../../support/api_post.ts";

const messages = [{ role: "user", content: "Hi" }];

/** A request of each endpoint, with its own tags besides the header's. */
const requests: readonly [path: string, body: Record<string, unknown>, tags: string][] = [
  ["/v1/chat/completions", { model: "premium-1", max_tokens: 5, messages, user: "u1" }, "user=u1"],
  [
    "/v1/messages",
    { model: "premium-1", max_tokens: 5, messages, metadata: { user_id: "u2" } },
    "user=u2",
  ],
  [
    "/v1/responses",
    { model: "premium-1", max_output_tokens: 16, input: "Hi", metadata: { team: "ads" } },
    "team=ads",
  ],
  [
    "/v1beta/models/premium-1:generateContent",
    { contents: [{ role: "user", parts: [{ text: "Hi" }] }], labels: { cost: "c1" } },
    "cost=c1",
  ],
  ["/v1/embeddings", { model: "example-embedding", input: "Hi", user: "u3" }, "user=u3"],
  ["/v1/images/generations", { model: "image-1", prompt: "Hi", user: "u4" }, "user=u4"],
];

async function post(
  gateway: TestGateway,
  key: string,
  [path, body]: readonly [string, Record<string, unknown>, ...unknown[]],
  headers: Record<string, string> = {},
): Promise<Response> {
  return await gateway.fetch(bearerPost(`http://gateway.example${path}`, key, body, headers));
}

async function tagsOfLast(gateway: TestGateway, accountId: AccountId): Promise<string | undefined> {
  const { receipts: [receipt] } = await listReceipts(gateway.kv, accountId, { limit: 1 });
  assert(receipt !== undefined, "a receipt");
  return receipt.tags && tagsText(receipt.tags);
}

Deno.test("the receipt of every kind of call has the tags of the header and of its style", async () => {
  await using gateway = await openTestGateway();
  const { key, accountId } = await gateway.customer(1_000_000);
  for (const request of requests) {
    await gateway.advance(1_000);
    const response = await post(gateway, key, request, { "x-gateway-tags": "env=prod" });
    assertEquals(response.status, 200, `${request[0]}: ${await response.clone().text()}`);
    await response.text();
    const tags = [...request[2].split(","), "env=prod"].sort().join();
    assertEquals(await tagsOfLast(gateway, accountId), tags, request[0]);
  }
});

Deno.test("a malformed header is a 400 in the style of the caller, and reserves nothing", async () => {
  await using gateway = await openTestGateway();
  const { key, accountId } = await gateway.customer(1_000_000);
  for (const request of requests) {
    const response = await post(gateway, key, request, { "x-gateway-tags": "team" });
    assertEquals(response.status, 400, request[0]);
    assertStringIncludes(await response.text(), "x-gateway-tags: must be pairs");
  }
  assertEquals((await listReceipts(gateway.kv, accountId, { limit: 1 })).receipts, []);
  const { reservedMicroVnd } = await gateway.assembled.gateway.wallet.balance(accountId);
  assertEquals(reservedMicroVnd, 0n);
});

Deno.test("an account can require tags: a call without them is refused on every endpoint", async () => {
  await using gateway = await openTestGateway();
  const { key, accountId } = await gateway.customer(1_000_000);
  await setRequiredTags(gateway.kv, accountId, ["team", "env"], { nowMs: gateway.time.nowMs() });
  await gateway.assembled.gateway.control.refresh();
  for (const request of requests) {
    const refused = await post(gateway, key, request, { "x-gateway-tags": "env=prod,x=1" });
    if (request[2] === "team=ads") assertEquals(refused.status, 200);
    else {
      assertEquals(refused.status, 400, request[0]);
      assertStringIncludes(await refused.text(), "requires the tag team");
    }
    const response = await post(gateway, key, request, { "x-gateway-tags": "env=prod,team=a" });
    assertEquals(response.status, 200, `${request[0]}: ${await response.text()}`);
  }
});

Deno.test("usage, receipts and calls can be asked for by tag, and usage grouped by one", async () => {
  await using gateway = await openTestGateway();
  const { key, accountId } = await gateway.customer(1_000_000);
  const [chat] = requests;
  assert(chat !== undefined);
  for (const tags of ["team=a", "team=a,env=x", "team=b", undefined]) {
    await gateway.advance(1_000);
    const headers = tags === undefined ? undefined : { "x-gateway-tags": tags };
    await (await post(gateway, key, chat, headers)).text();
  }
  const { kv, assembled: { gateway: { clock, directory, wallet } } } = gateway;
  const usageApi = createUsageApi({
    baseUrl: "http://localhost",
    vatRates: [],
    seller: undefined,
    kv,
    clock,
    directory,
    wallet,
  });
  const get = async (path: string) => {
    const headers = { authorization: `Bearer ${key}` };
    return await usageApi.fetch(new Request(`http://gateway.example${path}`, { headers }));
  };
  const json = async (path: string) => await (await get(path)).json();
  const counts = ({ data }: { data: { tag?: string; model?: string; calls: number }[] }) =>
    data.map(({ tag, model, calls }) => `${tag ?? model} ${calls}`).sort();
  assertEquals((await json("/v1/receipts?tag=team:a")).data.length, 2);
  assertEquals((await json("/v1/calls?tag=env:x")).data.length, 1);
  assertEquals((await json("/v1/calls?tag=env:y")).data.length, 0);
  assertEquals((await json("/v1/usage?tag=team:a")).total.calls, 2);
  assertEquals(counts(await json("/v1/usage?group_by=tag:team")), ["a 2", "b 1"]);
  assertEquals(counts(await json("/v1/usage?group_by=tag:user&tag=user:u1")), ["u1 4"]);
  assertEquals(counts(await json("/v1/usage?tag=team:b&group_by=model")), ["premium-1 1"]);
  for (
    const wrong of [
      "tag=team",
      "group_by=tag",
      "group_by=tag:1",
      "group_by=day:x",
      "group_by=tag:env&tag=team:a",
    ]
  ) {
    assertEquals((await get(`/v1/usage?${wrong}`)).status, 400, wrong);
  }
  assertEquals(await tagsOfLast(gateway, accountId), "user=u1");
});
