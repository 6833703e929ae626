/** Each metric moves when its event happens, and a scrape reads the store at most once a minute. */
import { mailQueue } from "../../../kv/engine/outbox/outbox.ts";
import { outboxDeadKey, outboxRowKey, walletKey } from "../../../kv/engine/schema/keys.ts";
import { readWallet } from "../../../kv/money/balances/wallets.ts";
import { noteMove } from "../../../kv/services/archive/last_move.ts";
import { verifyMoney } from "../../../kv/services/verify/verify_books.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import { idTimeMs, newId } from "../../../core/lib/ids/ids.ts";
import { dayMs, minuteMs } from "../../../core/lib/time/durations.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { openTestGateway, type TestGateway } from "../../support/gateways/gateway_in_process.ts";
import { type Fault, faultyKv } from "../../support/stores/faulty_kv.ts";
import { until } from "../../support/until.ts";
import { mockProvider } from "../api/gateway/media_world.ts";
import { bearerPost } from "../../support/api_post.ts";

const env = { GATEWAY_OPERATOR_KEY: "operator-key-of-24-characters" };

/** The value of a series after a scrape. */
async function scraped(gateway: TestGateway, series: string): Promise<number> {
  const headers = { authorization: `Bearer ${env.GATEWAY_OPERATOR_KEY}` };
  const request = new Request("http://gateway.example/metrics", { headers });
  const text = await (await gateway.fetch(request)).text();
  const line = text.split("\n").find((line) => line.startsWith(`${series} `));
  assert(line !== undefined, `no ${series}`);
  return Number(line.slice(series.length));
}

async function chat(gateway: TestGateway, key: string, model = "premium-1"): Promise<number> {
  const response = await gateway.fetch(
    bearerPost("http://gateway.example/v1/chat/completions", key, {
      model,
      max_tokens: 9,
      messages: [{ role: "user", content: "Hi" }],
    }),
  );
  await response.bytes();
  return response.status;
}

Deno.test("commits are timed; calls that wait for the store and its refusals are counted", async () => {
  const inner = await Deno.openKv(":memory:");
  let fault: Fault = "none";
  {
    const kv = faultyKv(inner, (call) => call === "commit" ? fault : "none");
    await using gateway = await openTestGateway({ kv, env });
    const { key } = await gateway.customer(1_000_000);
    assertEquals(await chat(gateway, key), 200);
    const commits = await scraped(gateway, "gateway_commit_seconds_count");
    assert(commits > 0);
    assertEquals(await scraped(gateway, "gateway_receipts_pending"), 0);
    assertEquals(await scraped(gateway, "gateway_commit_retries_total"), 0);
    fault = "before";
    const waiting = chat(gateway, key);
    await until(
      async () => await scraped(gateway, "gateway_commit_retries_total") > 0,
      "the store is asked again",
    );
    assertEquals(await scraped(gateway, "gateway_receipts_pending"), 1);
    assertEquals(await scraped(gateway, "gateway_commit_queue") <= 1, true);
    fault = "none";
    assertEquals(await waiting, 200);
    assertEquals(await scraped(gateway, "gateway_receipts_pending"), 0);
    assertEquals(await scraped(gateway, "gateway_commit_queue"), 0);
    assert(await scraped(gateway, "gateway_commit_seconds_count") > commits);
  }
  inner.close();
});

Deno.test("the last verification and the last seal are known, whoever ran it", async () => {
  await using gateway = await openTestGateway({ env });
  const { kv, masterKeys, time } = gateway;
  const { accountId } = await gateway.customer(1_000);
  for (const scope of ["daily", "full"]) {
    assertEquals(await scraped(gateway, `gateway_verified_timestamp_seconds{scope="${scope}"}`), 0);
  }
  assertEquals(await scraped(gateway, "gateway_sealed_until_timestamp_seconds"), 0);
  await gateway.advance(dayMs);
  // Ids of ledger lines never step back, and another test of the process may have made some of a later day.
  const madeAtMs = idTimeMs("ledger", newId("ledger", time.nowMs()));
  const sealedAtMs = vietnamDayStartMs(vietnamDay(madeAtMs)) + 1.5 * dayMs;
  // The first one reads everything, since nothing is sealed.
  await verifyMoney(kv, { masterKeys, nowMs: sealedAtMs });
  const verified = async () =>
    await Promise.all(
      ["daily", "full"].map((scope) =>
        scraped(gateway, `gateway_verified_timestamp_seconds{scope="${scope}"}`)
      ),
    );
  assertEquals(await verified(), [sealedAtMs / 1000, sealedAtMs / 1000]);
  assertEquals(
    await scraped(gateway, "gateway_sealed_until_timestamp_seconds"),
    vietnamDayStartMs(vietnamDay(sealedAtMs)) / 1000,
  );
  const problems = 'gateway_verification_problems{scope="daily"}';
  assertEquals(await scraped(gateway, problems), 0);
  const wallet = await readWallet(kv, accountId);
  const { value } = await kv.get(walletKey(accountId));
  assert(typeof value === "object" && wallet.availableMicroVnd > 0n);
  await kv.set(walletKey(accountId), { ...value, availableMicroVnd: 7n });
  await gateway.advance(minuteMs);
  await verifyMoney(kv, { masterKeys, nowMs: time.nowMs() });
  assertEquals(await scraped(gateway, problems), 1);
  assertEquals(await scraped(gateway, 'gateway_verification_problems{scope="full"}'), 0);
  assertEquals(await verified(), [time.nowMs() / 1000, sealedAtMs / 1000]);
});

Deno.test("the last move to the archive is known, with the days that stayed", async () => {
  await using gateway = await openTestGateway({ env });
  const { kv } = gateway;
  const shown = async () =>
    await Promise.all(
      ["gateway_archived_timestamp_seconds", "gateway_archive_problems"].map((name) =>
        scraped(gateway, name)
      ),
    );
  assertEquals(await shown(), [0, 0]);
  await noteMove(kv, { atMs: 7_000, problems: 2 });
  await gateway.advance(minuteMs);
  assertEquals(await shown(), [7, 2]);
});

Deno.test("the outbox shows what waits, for how long, and what was given up", async () => {
  await using gateway = await openTestGateway({ env });
  const { kv, time } = gateway;
  const nowMs = time.nowMs();
  const row = { payload: {}, createdAtMs: nowMs, attempts: 0 };
  await kv.set(outboxRowKey(mailQueue.name, nowMs - 90_000, "due"), row);
  await kv.set(outboxRowKey(mailQueue.name, nowMs + 90_000, "later"), row);
  await kv.set(outboxDeadKey(mailQueue.name, "dead"), {
    ...row,
    diedAtMs: nowMs,
    reason: "failed",
  });
  assertEquals(await scraped(gateway, 'gateway_outbox_rows{queue="mail"}'), 2);
  assertEquals(await scraped(gateway, 'gateway_outbox_overdue_seconds{queue="mail"}'), 90);
  assertEquals(await scraped(gateway, 'gateway_outbox_dead_letters{queue="mail"}'), 1);
  assertEquals(await scraped(gateway, 'gateway_outbox_rows{queue="video-polls"}'), 0);
});

Deno.test("scrapes read the store at most once a minute, and never wait long for it", async () => {
  const inner = await Deno.openKv(":memory:");
  let reads = 0;
  let fault: Fault = "none";
  {
    const kv = faultyKv(inner, (call) => {
      if (call === "list" || call === "getMany") reads++;
      return fault;
    });
    await using gateway = await openTestGateway({ kv, env });
    const series = 'gateway_outbox_rows{queue="mail"}';
    reads = 0;
    for (let scrape = 0; scrape < 20; scrape++) assertEquals(await scraped(gateway, series), 0);
    assertEquals(reads, 17);
    await gateway.advance(minuteMs);
    fault = "before";
    assertEquals(await scraped(gateway, series), 0, "what was read before");
    fault = "none";
  }
  inner.close();
});

/** A file with one model of one provider on this machine. */
function vendorFile(port: number, how: { readonly kind: "http" } | { readonly preset: string }) {
  return {
    defaultModel: "talk",
    providers: {
      vendor: { ...how, baseUrl: `http://127.0.0.1:${port}`, apiKeyEnv: "PROVIDER_KEY" },
    },
    models: [{
      id: "talk",
      kind: "chat",
      family: "test",
      price: { unit: "token", vndPerMtok: 1_000 },
      contextWindow: 100_000,
      maxOutputTokens: 1_000,
      routes: [{ provider: "vendor", style: "chat", model: "vendor-9" }],
    }],
  };
}

Deno.test("refusals of the operator by a provider are counted by status, and its resting keys", async () => {
  let status = 401;
  await using provider = mockProvider(() =>
    Response.json({ error: { message: "Insufficient credit", type: "error" } }, { status })
  );
  await using gateway = await openTestGateway({
    env: { ...env, PROVIDER_KEY: "provider-secret-1234567890" },
    file: () => vendorFile(provider.port, { kind: "http" }),
  });
  const { key } = await gateway.customer(1_000);
  const refused = (code: number) =>
    scraped(gateway, `gateway_provider_refusals_total{provider="vendor",status="${code}"}`);
  const resting = 'gateway_provider_keys_resting{provider="vendor"}';
  assertEquals(await scraped(gateway, resting), 0);
  assertEquals(await chat(gateway, key, "talk"), 502);
  assertEquals([await refused(401), await scraped(gateway, resting)], [1, 1]);
  status = 402;
  assertEquals(await chat(gateway, key, "talk"), 502);
  assertEquals(await refused(402), 1);
  // What the customer did wrong is no refusal of the operator.
  status = 400;
  await chat(gateway, key, "talk");
  assertEquals([await refused(401), await refused(402)], [1, 1]);
});

/** A provider that tells its credit, and what it was asked. */
const tellingProviders = {
  deepseek: {
    path: "/user/balance",
    answer: { balance_infos: [{ currency: "CNY", total_balance: "110.00" }, { currency: "{}" }] },
    shown: [['{provider="vendor",currency="CNY"}', 110]],
  },
  moonshot: {
    path: "/v1/users/me/balance",
    answer: { code: 0, data: { available_balance: -3.5 } },
    shown: [['{provider="vendor",currency="USD"}', -3.5]],
  },
} as const;

for (const [preset, { path, answer, shown }] of Object.entries(tellingProviders)) {
  Deno.test(`the credit at ${preset} is asked for at most every ten minutes`, async () => {
    await using provider = mockProvider(() => Response.json(answer));
    await using gateway = await openTestGateway({
      env: { ...env, PROVIDER_KEY: "provider-secret-1234567890" },
      file: () => vendorFile(provider.port, { preset }),
    });
    for (let scrape = 0; scrape < 3; scrape++) {
      for (const [labels, amount] of shown) {
        assertEquals(await scraped(gateway, `gateway_provider_credit${labels}`), amount);
      }
    }
    const asked = provider.seen.map(({ method, path, headers }) =>
      [method, path, headers.get("authorization")].join(" ")
    );
    assertEquals(asked, [`GET ${path} Bearer provider-secret-1234567890`]);
    await gateway.advance(10 * minuteMs);
    await scraped(gateway, "gateway_calls_in_flight");
    assertEquals(provider.seen.length, 2);
  });
}

Deno.test("memory, processor time and build are those of the process", async () => {
  await using gateway = await openTestGateway({ env });
  const rss = await scraped(gateway, "process_resident_memory_bytes");
  const heap = await scraped(gateway, "gateway_heap_bytes");
  assert(rss > heap && heap > 1_000_000, `${rss} ${heap}`);
  const before = await scraped(gateway, "process_cpu_seconds_total");
  assert(before > 0 && await scraped(gateway, "process_cpu_seconds_total") >= before);
  const build = `gateway_build_info{deno="${Deno.version.deno}",schema="1"}`;
  assertEquals(await scraped(gateway, build), 1);
  assertEquals(await scraped(gateway, "gateway_workers_replaced_total"), 0);
});
