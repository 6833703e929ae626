import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { type AccountId, newId, type TeamId } from "../../../core/lib/ids/ids.ts";
import { createTeam } from "../../../kv/people/organisations/teams.ts";
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import { createAccount } from "../../../kv/people/accounts/accounts.ts";
import { createApiKey, revokeApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import { openControl } from "../../../kv/engine/control/control.ts";
import { openKeyDirectory } from "../../../kv/people/api_keys/key_directory.ts";
import { openWalletEngine, type WalletEngine } from "../../../kv/money/wallet/mod.ts";
import { parquetReadObjects } from "hyparquet";
import { parseCsv } from "../../../core/lib/base/csv.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { answerId as answerIdOf } from "../../../core/wire/fields/answer_ids.ts";
import { refundCall } from "../../../kv/money/ledger/refunds.ts";
import { readReceipt } from "../../../kv/money/receipts/receipts.ts";
import { createUsageApi } from "../../../routes/usage_api/usage_api.ts";
import { requestIdAt } from "../../support/worlds/dashboard_world.ts";
import { refuse } from "../../support/worlds/refused_calls.ts";
import { ManualTime } from "../../support/manual_time.ts";
import { draftOf, mustReserve, topUp } from "../../support/worlds/money_world.ts";

async function openWorld() {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime(Date.UTC(2026, 10, 20, 3));
  const control = await openControl(kv, time);
  const wallet = await openWalletEngine(kv, { clock: time, timer: time });
  const directory = openKeyDirectory(kv, control, time);
  const app = createUsageApi({
    baseUrl: "http://localhost",
    vatRates: [],
    seller: undefined,
    kv,
    clock: time,
    directory,
    wallet,
  });
  const masterKeys = await readMasterKeys(newMasterKey());
  return {
    kv,
    time,
    wallet,
    control,
    app,
    masterKeys,
    async customer() {
      const account = await createAccount(kv, { nowMs: time.nowMs() });
      await topUp(kv, account.id, 1_000_000_000n);
      const made = await createApiKey(kv, masterKeys, account.id, {
        name: "server",
        nowMs: time.nowMs(),
      });
      if (!made.ok) throw new Error(made.reason);
      return { accountId: account.id, keyId: made.record.id, secret: made.secret };
    },
    /** A further key of the account, which reads only its own calls. */
    async limitedKey({ accountId }: { accountId: AccountId }) {
      const made = await createApiKey(kv, masterKeys, accountId, {
        name: "given away",
        nowMs: time.nowMs(),
        readsOnlyOwnCalls: true,
      });
      if (!made.ok) throw new Error(made.reason);
      return { accountId, keyId: made.record.id, secret: made.secret };
    },
    async get(path: string, secret?: string) {
      const headers = secret === undefined ? undefined : { "x-api-key": secret };
      const response = await app.request(path, headers === undefined ? {} : { headers });
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
    async [Symbol.asyncDispose]() {
      await wallet.close();
      control.close();
      kv.close();
    },
  };
}

type World = Awaited<ReturnType<typeof openWorld>>;
type Customer = Awaited<ReturnType<World["customer"]>>;

async function call(wallet: WalletEngine, customer: Customer, atMs: number, model = "premium-1") {
  const requestId = requestIdAt(atMs);
  await wallet.settle(
    await mustReserve(wallet, customer.accountId, 1_245_000n),
    draftOf(1_245_000n, { requestId, keyId: customer.keyId, startedAtMs: atMs, model }),
  );
  return requestId;
}

Deno.test("usage sums exactly, by day, key or model", async () => {
  await using world = await openWorld();
  const customer = await world.customer();
  const nowMs = world.time.nowMs();
  await call(world.wallet, customer, nowMs);
  await call(world.wallet, customer, nowMs, "image-1");
  await call(world.wallet, customer, nowMs - 86_400_000);
  const byDay = await world.get("/v1/usage", customer.secret);
  assertEquals(byDay.status, 200);
  assertEquals(byDay.body.total.calls, 3);
  assertEquals(byDay.body.total.cost_vnd, "3.735");
  assertEquals(
    byDay.body.data.map((row: { day: string; calls: number }) => [row.day, row.calls]),
    [["2026-11-19", 1], ["2026-11-20", 2]],
  );
  const byModel = await world.get("/v1/usage?group_by=model&from=2026-11-20", customer.secret);
  assertEquals(byModel.body.data.map((row: { model: string }) => row.model).sort(), [
    "image-1",
    "premium-1",
  ]);
  const filtered = await world.get("/v1/usage?model=image-1", customer.secret);
  assertEquals(filtered.body.total.cost_vnd, "1.245");
});

Deno.test("a call is looked up in the form of OpenRouter, by its id or that of its answer", async () => {
  await using world = await openWorld();
  const customer = await world.customer();
  const limited = await world.limitedKey(customer);
  const other = await world.customer();
  const requestId = await call(world.wallet, customer, world.time.nowMs());
  const answerId = answerIdOf("chatcmpl-", requestId);
  for (const id of [requestId, answerId]) {
    const { status, body: { data } } = await world.get(`/v1/generation?id=${id}`, customer.secret);
    assertEquals(status, 200);
    assertEquals([data.id, data.total_cost, data.usage, data.currency], [
      requestId,
      1.245,
      1.245,
      "VND",
    ]);
    assertEquals([data.model, data.api_type, data.is_byok], ["premium-1", "completions", false]);
    assertEquals(data.tokens_prompt, data.native_tokens_prompt);
  }
  const refused = [
    [customer, "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT", 404],
    [customer, "req_0", 404],
    [customer, "", 400],
    [limited, requestId, 404],
    [other, requestId, 404],
  ] as const;
  for (const [{ secret }, id, status] of refused) {
    assertEquals((await world.get(`/v1/generation?id=${id}`, secret)).status, status, id);
  }
  // Only videos can be refunded, and what came back is no cost.
  const video = requestIdAt(world.time.nowMs());
  const draft = draftOf(1_245_000n, { requestId: video, keyId: customer.keyId, kind: "video" });
  await world.wallet.settle(await mustReserve(world.wallet, customer.accountId, 1_245_000n), draft);
  const receipt = await readReceipt(world.kv, video);
  assert(receipt);
  await refundCall(world.kv, receipt, { reason: "test", atMs: world.time.nowMs() });
  const { body: { data } } = await world.get(`/v1/generation?id=${video}`, customer.secret);
  assertEquals([data.api_type, data.total_cost], ["video", 0]);
});

Deno.test("usage is grouped by the member and the team of the key, and adds up to the whole", async () => {
  await using world = await openWorld();
  const customer = await world.customer();
  const { accountId } = customer;
  const nowMs = world.time.nowMs();
  const team = await createTeam(world.kv, accountId, { name: "Search", nowMs });
  assert(typeof team === "object");
  const bob = newId("account", 0);
  const owners: { memberId?: AccountId; teamId?: TeamId; madeByProgram?: true }[] = [
    { memberId: bob, teamId: team.id },
    { memberId: bob },
    { madeByProgram: true },
  ];
  const keys = await Promise.all(owners.map(async (owner) => {
    const made = await createApiKey(world.kv, world.masterKeys, accountId, {
      name: "k",
      nowMs,
      ...owner,
    });
    assert(made.ok);
    return { accountId, keyId: made.record.id, secret: made.secret };
  }));
  for (const key of [customer, ...keys, ...keys]) await call(world.wallet, key, nowMs);
  const groups = async (by: "member" | "team") => {
    const { body } = await world.get(`/v1/usage?group_by=${by}`, customer.secret);
    const rows: { member?: string; team?: string; calls: number }[] = body.data;
    assertEquals(rows.reduce((sum, { calls }) => sum + calls, 0), body.total.calls);
    return Object.fromEntries(rows.map((row) => [row[by], row.calls]));
  };
  assertEquals(await groups("member"), { [bob]: 4, [accountId]: 1, "": 2 });
  assertEquals(await groups("team"), { [team.id]: 2, "": 5 });
});

Deno.test("a receipt is read by its id, by its owner only", async () => {
  await using world = await openWorld();
  const ann = await world.customer();
  const bob = await world.customer();
  const id = await call(world.wallet, ann, world.time.nowMs());
  const receipt = await world.get(`/v1/receipts/${id}`, ann.secret);
  assertEquals(receipt.status, 200);
  assertEquals(receipt.body.request_id, id);
  assertEquals(receipt.body.cost_vnd, "1.245");
  assertEquals(receipt.body.key_name, "server");
  assertEquals(receipt.body.usage, {
    billed_input_tokens: 6,
    input_tokens: 3,
    cache_read_tokens: 2,
    cache_write_tokens: 1,
    cache_write_1h_tokens: 0,
    output_tokens: 4,
    reasoning_tokens: 1,
  });
  assert(!JSON.stringify(receipt.body).includes("sandbox/"), "the provider's name is not theirs");
  const foreign = await world.get(`/v1/receipts/${id}`, bob.secret);
  const missing = await world.get("/v1/receipts/req_0000", bob.secret);
  assertEquals(foreign.status, 404);
  assertEquals(foreign.body, missing.body);
});

Deno.test("receipts are listed newest first and paged without gaps", async () => {
  await using world = await openWorld();
  const customer = await world.customer();
  const nowMs = world.time.nowMs();
  const made: string[] = [];
  for (let i = 0; i < 25; i++) made.unshift(await call(world.wallet, customer, nowMs - 60_000 + i));
  const seen: string[] = [];
  let path = "/v1/receipts?limit=10";
  for (;;) {
    const { body } = await world.get(path, customer.secret);
    seen.push(...body.data.map((row: { request_id: string }) => row.request_id));
    if (!body.has_more) break;
    path = `/v1/receipts?limit=10&before=${body.last_id}`;
  }
  assertEquals(seen, made);
});

Deno.test("the balance is exact and moves with calls", async () => {
  await using world = await openWorld();
  const customer = await world.customer();
  await call(world.wallet, customer, world.time.nowMs());
  const { body } = await world.get("/v1/balance", customer.secret);
  assertEquals(body, {
    object: "balance",
    currency: "VND",
    balance_vnd: "998.755",
    owed_vnd: "0",
    reserved_vnd: "0",
  });
});

Deno.test("without a valid key the API returns no data", async () => {
  await using world = await openWorld();
  const customer = await world.customer();
  for (const path of ["/v1/usage", "/v1/balance", "/v1/receipts", "/v1/receipts/req_1"]) {
    const { status, body } = await world.get(path);
    assertEquals(status, 401, path);
    assertEquals(body.error.type, "authentication_error");
    assertEquals((await world.get(path, "sk-wrong")).status, 401);
  }
  await revokeApiKey(world.kv, customer.accountId, customer.keyId, world.time.nowMs());
  await world.control.refresh();
  assertEquals((await world.get("/v1/balance", customer.secret)).status, 401);
});

Deno.test("wrong parameters are named", async () => {
  await using world = await openWorld();
  const { secret } = await world.customer();
  for (
    const [query, param] of [
      ["usage?from=yesterday", "from"],
      ["usage?to=2026-13-01", "to"],
      ["usage?group_by=__proto__", "group_by"],
      ["usage?from=2020-01-01", "from"],
      ["usage?from=2026-11-20&to=2026-11-17", "from"],
      ["usage?from=2026-11-21", "from"],
      ["usage?from=", "from"],
      ["receipts?before=../x", "before"],
      ["receipts?from=2026-11-20&to=2026-11-17", "from"],
      ["receipts?from=2027-01-01&to=2028-01-01", "from"],
      ["receipts?limit=x", "limit"],
      ["receipts?limit=0", "limit"],
      ["receipts?limit=-1", "limit"],
      ["receipts?limit=1e9", "limit"],
      ["receipts?limit=201", "limit"],
      ["receipts?limit=", "limit"],
    ] as const
  ) {
    const { status, body } = await world.get(`/v1/${query}`, secret);
    assertEquals(status, 400, query);
    assertEquals(body.error.param, param, query);
  }
  for (const query of ["usage?to=2026-12-31", "usage?from=2026-11-20&to=2026-11-20"]) {
    const { status, body } = await world.get(`/v1/${query}`, secret);
    assertEquals([status, body.to], [200, "2026-11-20"], query);
  }
  for (const query of ["receipts?limit=200", "receipts?to=2026-12-31", "receipts?limit=1"]) {
    assertEquals((await world.get(`/v1/${query}`, secret)).status, 200, query);
  }
  const post = await world.app.request("/v1/usage", { method: "POST" });
  assertEquals(post.status, 405);
  assertEquals(post.headers.get("allow"), "GET");
  assertStringIncludes(post.headers.get("x-request-id")!, "req_");
  await post.body?.cancel();
});

Deno.test("a key that reads only its own calls sees no balance and nothing of other keys", async () => {
  await using world = await openWorld();
  const customer = await world.customer();
  const limited = await world.limitedKey(customer);
  const nowMs = world.time.nowMs();
  const others = await call(world.wallet, customer, nowMs);
  const own = await call(world.wallet, limited, nowMs);
  const refused = await world.get("/v1/balance", limited.secret);
  assertEquals([refused.status, refused.body.error.type], [403, "permission_error"]);
  assert(!JSON.stringify(refused.body).includes("1000"));
  assertEquals((await world.get("/v1/usage", limited.secret)).body.total.calls, 1);
  const list = await world.get("/v1/receipts", limited.secret);
  assertEquals(list.body.data.map((row: { request_id: string }) => row.request_id), [own]);
  assertEquals((await world.get(`/v1/receipts/${own}`, limited.secret)).status, 200);
  assertEquals((await world.get(`/v1/receipts/${others}`, limited.secret)).status, 404);
  for (const path of ["/v1/usage", "/v1/receipts"]) {
    const other = await world.get(`${path}?key=${customer.keyId}`, limited.secret);
    assertEquals(other.status, 403, path);
    assertEquals((await world.get(`${path}?key=${limited.keyId}`, limited.secret)).status, 200);
  }
  assertEquals((await world.get("/v1/usage", customer.secret)).body.total.calls, 2);
  assertEquals((await world.get(`/v1/receipts/${own}`, customer.secret)).status, 200);
});

Deno.test("answered and refused calls are listed together, filtered, and found by their ids", async () => {
  await using world = await openWorld();
  const customer = await world.customer();
  const limited = await world.limitedKey(customer);
  const stranger = await world.customer();
  const nowMs = world.time.nowMs();
  const answered = await call(world.wallet, customer, nowMs - 1_000);
  const { requestId: poor } = await refuse(world.kv, { ...customer, atMs: nowMs - 2_000 });
  const own = await refuse(world.kv, { ...limited, atMs: nowMs - 3_000 }, {
    status: 400,
    code: "invalid_request",
    message: "max_tokens: must be a positive integer",
    leftOut: 7,
  });
  const ids = async (query: string, { secret }: { secret: string } = customer) => {
    const { status, body } = await world.get(`/v1/calls${query}`, secret);
    assertEquals(status, 200, JSON.stringify(body));
    return body.data.map((row: { request_id: string }) => row.request_id);
  };
  assertEquals(await ids(""), [answered, poor, own.requestId]);
  assertEquals(await ids("?limit=1"), [answered]);
  assertEquals(await ids(`?before=${answered}`), [poor, own.requestId]);
  assertEquals(await ids("?status=ok"), [answered]);
  assertEquals(await ids("?status=refused"), [poor, own.requestId]);
  assertEquals(await ids("?status=400"), [own.requestId]);
  assertEquals(await ids("?error=insufficient_balance"), [poor]);
  assertEquals(await ids(`?key=${customer.keyId}`), [answered, poor]);
  assertEquals(await ids("", limited), [own.requestId]);
  assertEquals(await ids("", stranger), []);
  assertEquals((await world.get("/v1/calls?status=bad", customer.secret)).status, 400);

  const found = await world.get(`/v1/calls/${own.requestId}`, customer.secret);
  assertEquals(found.body, {
    object: "refused_call",
    request_id: own.requestId,
    key_id: limited.keyId,
    started_at: new Date(own.atMs).toISOString(),
    endpoint: "/v1/messages",
    model: "premium-1",
    status: 400,
    error: {
      type: "invalid_request_error",
      code: "invalid_request",
      message: "max_tokens: must be a positive integer",
    },
    latency_ms: 4,
    left_out: 7,
  });
  const receipt = await world.get(`/v1/calls/${answered}`, customer.secret);
  assertEquals([receipt.body.object, receipt.body.cost_vnd], ["receipt", "1.245"]);
  for (
    const [id, { secret }] of [[poor, stranger], [poor, limited], [answered, limited]] as const
  ) assertEquals((await world.get(`/v1/calls/${id}`, secret)).status, 404);
  assertEquals((await world.get("/v1/calls/nonsense", customer.secret)).status, 404);
});

Deno.test("the months of an account are listed, and the statement of one comes in every form", async () => {
  await using world = await openWorld();
  const customer = await world.customer();
  await call(world.wallet, customer, world.time.nowMs());
  const list = await world.get("/v1/statements", customer.secret);
  assertEquals(list.body.data, [{ object: "statement", month: "2026-11", complete: false }]);
  const { status, body } = await world.get("/v1/statements/2026-11", customer.secret);
  assertEquals([status, body.closing_vnd, body.calls.cost_vnd], [200, "998.755", "1.245"]);
  for (const format of ["pdf", "xlsx", "csv"]) {
    const answer = await world.app.request(
      `/v1/statements/2026-11?format=${format}&language=en`,
      { headers: { "x-api-key": customer.secret } },
    );
    assertEquals(answer.status, 200);
    assertStringIncludes(
      answer.headers.get("content-disposition") ?? "",
      `statement-2026-11-en.${format}`,
    );
    assertEquals(answer.headers.get("cache-control"), "no-store");
    assert((await answer.bytes()).length > 300);
  }
  for (const wrong of ["2026-12", "2026-13", "x", "2026-11?format=doc", "2026-11?language=fr"]) {
    assertEquals((await world.get(`/v1/statements/${wrong}`, customer.secret)).status, 400, wrong);
  }
  const limited = await world.limitedKey(customer);
  assertEquals((await world.get("/v1/statements/2026-11", limited.secret)).status, 403);
});

Deno.test("an export has each receipt of the period once, in every form, also as another program reads it", async () => {
  await using world = await openWorld();
  const customer = await world.customer();
  const nowMs = world.time.nowMs();
  const ids: string[] = [];
  for (let at = 0; at < 450; at++) {
    ids.push(await call(world.wallet, customer, nowMs - at, at % 2 === 0 ? "even" : "odd"));
  }
  await call(world.wallet, customer, nowMs - 40 * 86_400_000);
  const last = (await world.get("/v1/receipts?limit=1", customer.secret)).body.data[0];
  const file = async (query: string, secret = customer.secret) => {
    const answer = await world.app.request(
      `/v1/usage/export?from=2026-11-20&to=2026-11-20${query}`,
      {
        headers: { "x-api-key": secret },
      },
    );
    return { status: answer.status, bytes: await answer.bytes() };
  };
  const textOf = async (query: string) => new TextDecoder().decode((await file(query)).bytes);
  const lines = (await textOf("&format=ndjson")).trimEnd().split("\n").map((line) =>
    JSON.parse(line)
  );
  assertEquals(lines.map((line) => line.request_id).sort(), ids.toSorted());
  assertEquals(lines.find((line) => line.request_id === last.request_id)?.cost_vnd, "1.245");
  const [head = [], ...rows] = parseCsv(await textOf(""));
  assertEquals(rows.length, 450);
  const parquet = await parquetReadObjects({ file: (await file("&format=parquet")).bytes.buffer });
  assertEquals(Object.keys(parquet[0] ?? {}), head);
  const cells = parquet.map((row) => [
    row["request_id"],
    row["model"],
    formatVnd(BigInt(Math.round(Number(row["cost_vnd"]) * 1e6))),
    String(row["output_tokens"]),
    String(row["stream"]),
    new Date(row["started_at"]).getTime(),
  ]);
  const expected = rows.map((row) => {
    const cell = (name: string) => row[head.indexOf(name)] ?? "";
    return [
      cell("request_id"),
      cell("model"),
      cell("cost_vnd"),
      cell("output_tokens"),
      cell("stream"),
      Date.parse(cell("started_at")),
    ];
  });
  assertEquals(cells, expected);
  assertEquals(parseCsv(await textOf("&model=odd")).length, 226);
  assertEquals((await file("&format=xml")).status, 400);
  const limited = await world.limitedKey(customer);
  assertEquals(
    new TextDecoder().decode((await file("", limited.secret)).bytes).split("\r\n").length,
    2,
  );
});

Deno.test("usage over time has a value for each day or hour, in parts, as the usage page draws it", async () => {
  await using world = await openWorld();
  const customer = await world.customer();
  const nowMs = world.time.nowMs();
  await call(world.wallet, customer, nowMs);
  await call(world.wallet, customer, nowMs, "image-1");
  await call(world.wallet, customer, nowMs - 86_400_000);
  const ask = (query: string) => world.get(`/v1/usage/series${query}`, customer.secret);
  const { body } = await ask("?from=2026-11-18&to=2026-11-20&interval=day");
  assertEquals(body.bars, ["2026-11-18", "2026-11-19", "2026-11-20"]);
  assertEquals(
    body.data.map((part: { of: string; values: number[] }) => [part.of, part.values]),
    [["premium-1", [0, 1.245, 1.245]], ["image-1", [0, 0, 1.245]]],
  );
  const keys = await ask("?metric=calls&group_by=key&interval=day&from=2026-11-20");
  assertEquals(keys.body.data, [{ of: customer.keyId, values: [2] }]);
  const wrong = [
    ["?metric=colour", "metric"],
    ["?group_by=planet", "group_by"],
    ["?from=2026-11-01&to=2026-11-20&interval=hour", "interval"],
    ["?from=2026-11-19&group_by=tag:team&interval=hour", "interval"],
    ["?from=2026-01-01", "from"],
    ["?tag=team:a&metric=errors", "metric"],
  ] as const;
  for (const [query, param] of wrong) {
    const { status, body } = await ask(query);
    assertEquals([status, body.error.param], [400, param], query);
  }
});
