/**
 * Calls of organisations with provider keys of their own, beside a small model: which keys providers see, what is
 * charged, and that nothing of it marks the operator's routes or shows a key.
 */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type { Router } from "../../../../core/routing/contract/router.ts";
import { ownKeyFee } from "../../../../core/billing/own_key_fee.ts";
import { costOfTokens } from "../../../../core/billing/price.ts";
import { findActivity } from "../../../../kv/people/audit/account_activity.ts";
import { listOwnKeys } from "../../../../kv/people/api_keys/own_keys.ts";
import { accountKey } from "../../../../kv/engine/schema/keys.ts";
import { getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { checkOwnKey } from "../../../../routes/api/call/own_key_check.ts";
import { ownKeySetting } from "../../../../routes/acts/own_keys.ts";
import { perform } from "../../../../routes/acts/operation.ts";
import {
  openTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from "../../../support/gateways/gateway_in_process.ts";
import { until } from "../../../support/until.ts";
import { ownerOf } from "../../../support/worlds/acting.ts";
import { preferringStyles, requestOf } from "../../../support/worlds/preferring_world.ts";
import { bearerPost } from "../../../support/api_post.ts";

/** The providers, with how each gets its key. */
const auths = { a: "bearer", b: "x-api-key", c: "x-goog-api-key" } as const;
type Provider = keyof typeof auths;
const providers: readonly Provider[] = ["a", "b", "c"];

const operatorSecret = "operator-key-0123456789";
const ownSecret = (provider: Provider) => `sk-own-${provider}-0123456789abcdef0123456789`;

const faults = ["none", "unauthorized", "broke", "limited", "failing", "cut"] as const;
type Fault = typeof faults[number];

/** VND for 1,000,000 tokens: with a fee, an amount that must be rounded. */
const vndPerMtok = 1_001;

const statusOf = { unauthorized: 401, broke: 402, limited: 429, failing: 500 } as const;

/** What a provider was asked with. */
interface Asked {
  readonly provider: Provider;
  readonly secret: string;
}

function answerTo(stream: boolean, isCut: boolean): Response {
  const usage = { prompt_tokens: 8, completion_tokens: 4, total_tokens: 12 };
  const about = { id: "chatcmpl-1", created: 1, model: "up" };
  const message = { role: "assistant", content: "Hello there" };
  if (!stream) {
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return Response.json({ ...about, object: "chat.completion", choices, usage });
  }
  const chunk = (members: object) =>
    `data: ${JSON.stringify({ ...about, object: "chat.completion.chunk", ...members })}\n\n`;
  const first = chunk({ choices: [{ index: 0, delta: message }] });
  const end = chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) +
    chunk({ choices: [], usage }) + "data: [DONE]\n\n";
  const headers = { "content-type": "text/event-stream" };
  return new Response(isCut ? first : first + end, { headers });
}

/** Providers that take any key of the operator, and treat others as a test says. */
class Providers implements AsyncDisposable {
  readonly asked: Asked[] = [];
  readonly faults = new Map<Provider, Fault>();
  /** Whether calls with the operator's key fail. */
  isDown = false;
  readonly #servers = new Map(providers.map((name) => [
    name,
    Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      (request) => this.#serve(name, request),
    ),
  ]));

  get entries() {
    return Object.fromEntries(
      this.#servers.entries().map(([name, { addr }]) => [name, {
        kind: "http",
        baseUrl: `http://127.0.0.1:${addr.port}`,
        apiKeyEnv: "OPERATOR_KEY",
        auth: auths[name],
        headers: { "openai-organization": "org-of-the-operator" },
      }]),
    );
  }

  async #serve(provider: Provider, request: Request): Promise<Response> {
    const { headers } = request;
    const secret = headers.get(auths[provider] === "bearer" ? "authorization" : auths[provider])
      ?.replace(/^Bearer /, "") ?? "";
    const isOwn = secret !== operatorSecret;
    assertEquals(headers.has("openai-organization"), !isOwn);
    const fault = isOwn ? this.faults.get(provider) ?? "none" : this.isDown ? "failing" : "none";
    if (request.method === "GET") {
      return fault === "unauthorized"
        ? Response.json({ error: { message: "Incorrect API key" } }, { status: 401 })
        : Response.json({ data: [] });
    }
    const body = await request.json();
    this.asked.push({ provider, secret });
    if (fault === "none" || fault === "cut") return answerTo(body.stream === true, fault === "cut");
    // Vendors repeat the key, or its end.
    const error = { message: `Not with the key ${secret}`, type: fault };
    return Response.json({ error }, { status: statusOf[fault] });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.values().map((server) => server.shutdown()));
  }
}

function openGateway(
  servers: Providers,
  feePercent: number | undefined,
  shared: TestGatewayOptions = {},
): Promise<TestGateway> {
  return openTestGateway({
    ...shared,
    env: { OPERATOR_KEY: operatorSecret },
    file: () => ({
      defaultModel: "m",
      providers: servers.entries,
      ...(feePercent !== undefined && { ownKeys: { feePercent } }),
      models: [{
        id: "m",
        kind: "chat",
        family: "test",
        price: { unit: "token", vndPerMtok },
        routes: providers.map((provider) => ({ provider, model: "up" })),
      }],
    }),
  });
}

/** Needs of the acts on keys, from a gateway. */
const depsOf = ({ assembled: { gateway }, kv, masterKeys }: TestGateway) => ({
  kv,
  control: gateway.control,
  masterKeys,
  catalog: gateway.catalog.current,
  checkOwnKey: (provider: string, secret: string) => checkOwnKey(gateway, provider, secret),
});

interface OwnKeyCase {
  readonly fault: Fault;
  readonly fallback: boolean;
}

/** A customer with keys, which providers take while they are entered. */
async function customerWith(
  gateway: TestGateway,
  servers: Providers,
  keys: Readonly<Partial<Record<Provider, OwnKeyCase>>>,
  vnd: number,
) {
  const customer = await gateway.customer(vnd);
  const account = await getAccount(gateway.kv, customer.accountId);
  assert(account !== undefined);
  servers.faults.clear();
  const acting = ownerOf(account, gateway.time.nowMs());
  for (const provider of providers) {
    const key = keys[provider];
    if (key === undefined) continue;
    const sent = { provider, key: ownSecret(provider), fallback: key.fallback };
    const set = await perform(depsOf(gateway), acting, ownKeySetting, sent);
    assert(set.ok && set.body.isTested, JSON.stringify(set));
  }
  for (const provider of providers) servers.faults.set(provider, keys[provider]?.fault ?? "none");
  return { ...customer, acting };
}

async function ask(
  gateway: TestGateway,
  key: string,
  { path, body }: ReturnType<typeof requestOf>,
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await gateway.fetch(bearerPost(`http://gateway${path}`, key, body));
  return { status: response.status, text: await response.text() };
}

/** Everything in the store, as text. */
async function dump({ kv }: TestGateway): Promise<string> {
  const rows = await Array.fromAsync(kv.list({ prefix: [] }));
  return Deno.inspect(rows, { depth: 20, iterableLimit: 10_000, strAbbreviateSize: 100_000 });
}

/** How a call ends by the rules of docs/own-keys.md. */
interface Expected {
  readonly asked: readonly Asked[];
  /** Whose key answered; absent: nobody's. */
  readonly answered?: "own" | "operator";
  readonly isCut?: boolean;
}

function expectedOf(
  keys: Readonly<Partial<Record<Provider, OwnKeyCase>>>,
  stream: boolean,
): Expected {
  const own = providers.filter((provider) => keys[provider] !== undefined);
  const asked: Asked[] = [];
  for (const provider of own) {
    const fault = keys[provider]?.fault ?? "none";
    asked.push({ provider, secret: ownSecret(provider) });
    if (fault === "none" || fault === "cut") {
      return { asked, answered: "own", isCut: fault === "cut" && stream };
    }
  }
  if (own.some((provider) => keys[provider]?.fallback === false)) return { asked };
  asked.push({ provider: "a", secret: operatorSecret });
  return { asked, answered: "operator" };
}

const ownKeys: fc.Arbitrary<Partial<Record<Provider, OwnKeyCase>>> = fc.record(
  Object.fromEntries(providers.map((provider) => [
    provider,
    fc.record({ fault: fc.constantFrom(...faults), fallback: fc.boolean() }),
  ])),
  { requiredKeys: [] },
);

/** What was learned of the operator's routes; one that was only looked at has an entry without anything in it. */
function learned(router: Pick<Router, "reports">) {
  return router.reports().map(({ route, operations, credentials }) => ({
    route: route.id,
    credentials,
    operations: Object.entries(operations).filter(([, view]) => view.windowCalls > 0),
  }));
}

/** Fees in per cent, and the µVND that they make of the 12 tokens of an answer. */
const fees = [[0, 0n], [2.5, 301n], [100, 12_012n]] as const;

for (const [feePercent, feeMicroVnd] of fees) {
  Deno.test(`own keys are used first, and charged ${feePercent} % of the price`, async () => {
    await using servers = new Providers();
    await using gateway = await openGateway(servers, feePercent);
    const fee = feePercent * 100;
    const { router, wallet } = gateway.assembled.gateway;
    const cases = fc.record({
      keys: ownKeys,
      style: fc.constantFrom(...preferringStyles),
      stream: fc.boolean(),
      vnd: fc.constantFrom(0, 1_000),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ keys, style, stream, vnd }) => {
        const { key, accountId } = await customerWith(gateway, servers, keys, vnd);
        servers.asked.length = 0;
        const before = learned(router);
        const { status, text } = await ask(gateway, key, requestOf(style, "m", {}, stream));
        const isFree = fee === 0 && Object.values(keys).some(({ fallback }) => !fallback);
        const expected = expectedOf(keys, stream);
        if (vnd === 0 && !isFree) {
          assertEquals([status, servers.asked], [402, []], text);
          return;
        }
        assertEquals(servers.asked, expected.asked, text);
        const [receipt] = (await listReceipts(gateway.kv, accountId, { limit: 10 })).receipts;
        assert(receipt !== undefined);
        assertEquals(
          receipt.attempts.map(({ ownKey }) => ownKey === true),
          expected.asked.map(({ secret }) => secret !== operatorSecret),
        );
        assertEquals(
          receipt.outcome,
          expected.answered === undefined ? "failed" : expected.isCut ? "broken" : "completed",
        );
        if (expected.answered === undefined) assert(status === 502 || status === 429, text);
        if (expected.answered === "own") {
          const { usage, ownKey } = receipt;
          assert(usage !== undefined && ownKey !== undefined);
          const priceMicroVnd = costOfTokens(receipt.price, usage);
          assertEquals(ownKey, { priceMicroVnd, fee });
          assert(priceMicroVnd > 0n);
          assertEquals(receipt.costMicroVnd, ownKeyFee(priceMicroVnd, fee));
          if (!expected.isCut) assertEquals(receipt.costMicroVnd, feeMicroVnd);
          assert(receipt.claimMicroVnd === undefined && receipt.providerCost === undefined);
        } else {
          assertEquals(receipt.ownKey, undefined);
          const cost = expected.answered === "operator" ? 12n * BigInt(vndPerMtok) : 0n;
          assertEquals(receipt.costMicroVnd, cost);
        }
        assert(receipt.costMicroVnd <= (receipt.heldMicroVnd ?? 0n), "at most what was held");
        const balance = await wallet.balance(accountId);
        assertEquals(balance.reservedMicroVnd, 0n);
        assertEquals(balance.totalMicroVnd, BigInt(vnd) * 1_000_000n - receipt.costMicroVnd);
        if (expected.answered !== "operator") assertEquals(learned(router), before);
        const model = gateway.assembled.gateway.catalog.current.defaultModel;
        assertEquals(router.status(model).state, "up");
        for (const { operations, credentials } of router.reports()) {
          assertEquals(credentials.resting, 0);
          for (const view of Object.values(operations)) assertEquals(view.windowFailures, 0);
        }
        for (const provider of providers) {
          assert(!text.includes(ownSecret(provider)), text);
        }
      }),
      { numRuns: 150 },
    );
    const { metrics } = gateway.assembled.gateway;
    assert(!/^gateway_provider_refusals_total\{/m.test(metrics.text()));
    const verified = await verifyStore(gateway.kv);
    assert(verified.ok, Deno.inspect(verified));
    const written = gateway.log.join("\n") + await dump(gateway);
    for (const provider of providers) assert(!written.includes(ownSecret(provider)), provider);
  });
}

Deno.test("the owner of a key that its provider refuses is told once, and the caller in every style", async () => {
  await using servers = new Providers();
  await using gateway = await openGateway(servers, 5);
  const keys = { b: { fault: "unauthorized", fallback: false } } as const;
  const { key, accountId } = await customerWith(gateway, servers, keys, 1_000);
  const account = await getAccount(gateway.kv, accountId);
  await gateway.kv.set(accountKey(accountId), { ...account, email: "owner@example.com" });
  for (const style of preferringStyles) {
    for (const stream of [false, true]) {
      const { status, text } = await ask(gateway, key, requestOf(style, "m", {}, stream));
      assert(
        text.includes("The provider b refused your organisation's own key (status 401)"),
        text,
      );
      assertEquals(status, 502, text);
    }
  }
  await until(
    async () => (await listOwnKeys(gateway.kv, accountId))[0]?.problem,
    "the refusal is noted",
  );
  const mails = await Array.fromAsync(gateway.kv.list({ prefix: ["outbox", "mail"] }));
  assertEquals(mails.length, 1, Deno.inspect(mails));
  const { lines } = await findActivity(gateway.kv, accountId, { count: 10 });
  assertEquals(lines.filter(({ by }) => by.kind === "gateway").map(({ after }) => after), [
    { refused: "401" },
  ]);
  assertEquals(gateway.log.filter((line) => line.includes("was not told")), []);
});

const refusingStep = fc.record({
  fault: fc.constantFrom("none", "unauthorized", "broke", "limited", "failing"),
  waitMs: fc.constantFrom(0, 30_000, 61_000, 121_000, 3_600_000),
  stream: fc.boolean(),
  isEntered: fc.boolean(),
});

Deno.test("a key that its provider refuses rests, longer after each refusal, where another may serve", async () => {
  await using servers = new Providers();
  await using gateway = await openGateway(servers, 5);
  const cases = fc.record({
    fallback: fc.boolean(),
    steps: fc.array(refusingStep, { minLength: 2, maxLength: 8 }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ fallback, steps }) => {
      const keys = { a: { fault: "none", fallback } } as const;
      const { key, acting } = await customerWith(gateway, servers, keys, 1_000);
      let rest = { untilMs: 0, refusals: 0 };
      for (const { fault, waitMs, stream, isEntered } of steps) {
        if (waitMs > 0) await gateway.advance(waitMs);
        if (isEntered) {
          servers.faults.set("a", "none");
          const sent = { provider: "a", key: ownSecret("a"), fallback };
          assert((await perform(depsOf(gateway), acting, ownKeySetting, sent)).ok);
          await gateway.assembled.gateway.control.refresh();
          rest = { untilMs: 0, refusals: 0 };
        }
        servers.faults.set("a", fault);
        servers.asked.length = 0;
        const nowMs = gateway.time.nowMs();
        const isResting = nowMs < rest.untilMs;
        const asksOwn = !isResting || !fallback;
        const { text } = await ask(gateway, key, requestOf("chat", "m", {}, stream));
        const asksOperator = fallback && (!asksOwn || fault !== "none");
        assertEquals(servers.asked, [
          ...(asksOwn ? [{ provider: "a", secret: ownSecret("a") }] : []),
          ...(asksOperator ? [{ provider: "a", secret: operatorSecret }] : []),
        ], text);
        if (asksOwn && fault === "none") rest.refusals = 0;
        const isRefused = fault === "unauthorized" || fault === "broke";
        if (!asksOwn || !isRefused || (isResting && rest.refusals > 0)) continue;
        const restMs = Math.min(60_000 * 2 ** rest.refusals, 3_600_000);
        rest = { untilMs: nowMs + restMs, refusals: rest.refusals + 1 };
      }
    }),
    { numRuns: 60 },
  );
  assertEquals(gateway.assembled.gateway.router.reports().map((one) => one.credentials.resting), [
    ...providers.map(() => 0),
  ]);
});

Deno.test("without an offer, keys that must be used fail their calls, and the others are left out", async () => {
  await using servers = new Providers();
  await using offering = await openGateway(servers, 5);
  const { masterKeys, kv } = offering;
  const only = await customerWith(offering, servers, { a: { fault: "none", fallback: false } }, 9);
  const also = await customerWith(offering, servers, { a: { fault: "none", fallback: true } }, 9);
  await using gateway = await openGateway(servers, undefined, { masterKeys, kv });
  servers.asked.length = 0;
  const refused = await ask(gateway, only.key, requestOf("chat", "m"));
  assert(
    refused.status === 502 && refused.text.includes("offers no keys of your own"),
    refused.text,
  );
  assertEquals(servers.asked, []);
  const served = await ask(gateway, also.key, requestOf("chat", "m"));
  assertEquals(served.status, 200, served.text);
  assertEquals(servers.asked, [{ provider: "a", secret: operatorSecret }]);
});

/** A call of each kind, and whether own keys serve it. */
const callsOfKinds: readonly (readonly [path: string, body: object, isOwn?: false])[] = [
  ["/v1/embeddings", { model: "example-embedding", input: "Xin chào" }],
  ["/v1/images/generations", { model: "image-1", prompt: "a lotus", n: 2 }],
  ["/v1/audio/speech", { model: "speech-1", input: "Xin chào", voice: "alloy" }],
  ["/v1/rerank", { model: "example-rerank", query: "a", documents: ["b", "c"] }],
  ["/v1/moderations", { model: "example-moderation", input: "a" }],
  ["/v1/completions", { model: "example-completion", prompt: "Once", max_tokens: 20 }],
  ["/v1/completions", {
    model: "example-completion",
    prompt: "Once",
    max_tokens: 20,
    stream: true,
  }],
  ["/v1/videos", { model: "video-a", prompt: "a lotus", seconds: "5" }, false],
];

Deno.test("every kind of call but videos is served by own keys, at a part of what others pay", async () => {
  const feePercent = 3.3;
  await using gateway = await openTestGateway({
    file: (file) => ({ ...file, ownKeys: { feePercent } }),
  });
  const [plain, own] = [await gateway.customer(100_000), await gateway.customer(100_000)];
  const account = await getAccount(gateway.kv, own.accountId);
  assert(account !== undefined);
  const sent = { provider: "sandbox", key: "sandbox-key-0123456789" };
  const set = await perform(depsOf(gateway), ownerOf(account, 0), ownKeySetting, sent);
  assert(set.ok);
  for (const [path, body, isOwn = true] of callsOfKinds) {
    const receiptOf = async ({ key, accountId }: typeof own) => {
      const { status, text } = await ask(gateway, key, { path, body });
      assert(status < 300, `${path}: ${text}`);
      return (await listReceipts(gateway.kv, accountId, { limit: 1 })).receipts[0];
    };
    const [usual, served] = [await receiptOf(plain), await receiptOf(own)];
    const priceMicroVnd = usual?.costMicroVnd ?? 0n;
    assert(priceMicroVnd > 0n, path);
    if (!isOwn) {
      assertEquals([served?.ownKey, served?.costMicroVnd], [undefined, priceMicroVnd], path);
      continue;
    }
    assertEquals(served?.ownKey, { priceMicroVnd, fee: 330 }, path);
    assertEquals(served?.costMicroVnd, ownKeyFee(priceMicroVnd, 330), path);
  }
  const verified = await verifyStore(gateway.kv);
  assert(verified.ok, Deno.inspect(verified));
});

Deno.test("a wallet that pays a tenth of the price gets as far as one ten times as large", async () => {
  await using gateway = await openTestGateway({
    file: (file) => ({ ...file, ownKeys: { feePercent: 10 } }),
  });
  const { wallet } = gateway.assembled.gateway;
  const cases = fc.record({
    style: fc.constantFrom(...preferringStyles),
    stream: fc.boolean(),
    // From too little for the prompt up to enough for the whole answer.
    vnd: fc.integer({ min: 1, max: 60 }),
    tokens: fc.integer({ min: 20, max: 1_500 }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ style, stream, vnd, tokens }) => {
      const ended = async (given: number, hasKey: boolean) => {
        const { key, accountId } = await gateway.customer(given);
        if (hasKey) {
          const account = await getAccount(gateway.kv, accountId);
          assert(account !== undefined);
          const sent = { provider: "sandbox", key: "sandbox-key-0123456789" };
          assert((await perform(depsOf(gateway), ownerOf(account, 0), ownKeySetting, sent)).ok);
        }
        const { path, body } = requestOf(style, "premium-1", {}, stream);
        const text = `Write [[sandbox:length ${tokens}]]`;
        const json = JSON.stringify(body).replaceAll('"Hi"', JSON.stringify(text))
          .replace(/("max\w*[tT]okens"|"max_\w+"):50/, "$1:4000");
        const { status } = await ask(gateway, key, { path, body: JSON.parse(json) });
        const [receipt] = (await listReceipts(gateway.kv, accountId, { limit: 1 })).receipts;
        const balance = await wallet.balance(accountId);
        assertEquals(balance.reservedMicroVnd, 0n);
        assert(balance.totalMicroVnd >= 0n);
        return { status, receipt };
      };
      const own = await ended(vnd, true);
      if (own.receipt?.ownKey !== undefined) {
        const { ownKey, costMicroVnd, shortfallMicroVnd } = own.receipt;
        assertEquals([ownKey.fee, shortfallMicroVnd], [1_000, 0n]);
        assertEquals(costMicroVnd, ownKeyFee(ownKey.priceMicroVnd, 1_000));
      }
      if (stream) {
        // Where it is cut depends on how its bytes arrive; money is taken for a token with each byte.
        const { price, outcome } = own.receipt ?? {};
        if (price === undefined || outcome === "failed") return;
        const whole = { input: 50, cacheRead: 0, cacheWrite: 0, output: tokens, reasoning: 0 };
        const enough = 10n * ownKeyFee(costOfTokens(price, whole), 1_000);
        if (BigInt(vnd) * 1_000_000n >= enough) assertEquals(outcome, "completed");
        return;
      }
      const usual = await ended(vnd * 10, false);
      assertEquals(own.status, usual.status);
      assertEquals(own.receipt?.outcome, usual.receipt?.outcome);
      assertEquals(own.receipt?.usage, usual.receipt?.usage);
      assertEquals(own.receipt?.ownKey?.priceMicroVnd, usual.receipt?.costMicroVnd);
    }),
    { numRuns: 60 },
  );
});

Deno.test("what own keys answer hides no outage of the operator's routes", async () => {
  await using servers = new Providers();
  await using gateway = await openGateway(servers, 0);
  const plain = await gateway.customer(1_000);
  const own = await customerWith(gateway, servers, { a: { fault: "none", fallback: true } }, 1_000);
  const { router, catalog } = gateway.assembled.gateway;
  servers.isDown = true;
  for (let i = 0; i < 3; i++) {
    assert((await ask(gateway, plain.key, requestOf("chat", "m"))).status > 499);
  }
  assertEquals((await ask(gateway, own.key, requestOf("chat", "m"))).status, 200);
  assertEquals(router.status(catalog.current.defaultModel).state, "down");
});
