/** Calls on wallets and key limits below their worst case: limited to what is paid for, and never refused before they are exhausted. */
import { assert, assertEquals } from "../../support/assert.ts";
import { systemClock } from "../../../core/lib/time/clock.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import { isJsonObject } from "../../../core/lib/json/json.ts";
import type { ApiKeyOptions } from "../../../kv/people/api_keys/api_keys.ts";
import { credit } from "../../../kv/money/ledger/ledger.ts";
import { listReceipts } from "../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../kv/services/verify/verify_books.ts";
import { timerDelay } from "../../../sandbox/provider/base/reply.ts";
import { createSandboxTransport } from "../../../sandbox/provider/transport.ts";
import { openTestGateway, servedBy } from "../../support/gateways/gateway_in_process.ts";
import { mockProvider, type SeenRequest } from "./gateway/media_world.ts";
import { apiPost } from "../../support/api_post.ts";

const styles = ["messages", "chat", "responses", "gemini"] as const;
type ClientStyle = typeof styles[number];

const vndPerToken = 0.0083;
const maxOutputTokens = 128_000;

/** The sandbox behind a socket, so that a test sees what it gets. */
function sandboxProvider(before: () => Promise<void> = () => Promise.resolve()) {
  const sandbox = createSandboxTransport({ clock: systemClock, delay: timerDelay() });
  return mockProvider(async ({ method, path, body }) => {
    await before();
    assert(method === "POST");
    const url = `http://sandbox.invalid${path}`;
    const exchange = sandbox.open({ method, url, headers: [], body });
    const response = await exchange.response;
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    for (;;) {
      const piece = await response.body.read();
      if (piece === null) break;
      pieces.push(new Uint8Array(piece));
    }
    const type = response.header("content-type") ?? "application/json";
    return new Response(new Blob(pieces), {
      status: response.status,
      headers: { "content-type": type },
    });
  });
}

interface WorldOptions {
  readonly debtVnd?: number;
  readonly facts?: object;
  readonly before?: () => Promise<void>;
}

async function openWorld({ debtVnd = 0, facts, before }: WorldOptions = {}) {
  const provider = sandboxProvider(before);
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "to-chat",
    wallet: { debtVnd: { others: debtVnd, toppedUp: debtVnd } },
    models: styles.map((style) => ({
      id: `to-${style}`,
      price: { unit: "token", vndPerMtok: vndPerToken * 1e6 },
      contextWindow: 1_000_000,
      maxOutputTokens,
      routes: [{ provider: "p", style, model: "m", ...(facts !== undefined && { facts }) }],
    })),
  }));
  return {
    gateway,
    provider,
    async customer(vnd: number, limits: Omit<ApiKeyOptions, "name"> = {}) {
      return await gateway.customer(vnd, limits);
    },
    ask(key: string, style: ClientStyle, model: string, { text, ...more }: Asked) {
      const { path, body } = requestOf(style, model, text, more);
      return gateway.fetch(apiPost(`http://gateway${path}`, key, body));
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

interface Asked {
  readonly text: string;
  /** A limit of the client's own. Messages requests always have one. */
  readonly limit?: number;
  readonly stream?: boolean;
  readonly extra?: object;
}

function requestOf(
  style: ClientStyle,
  model: string,
  text: string,
  { limit, stream = false, extra = {} }: Omit<Asked, "text">,
): { path: string; body: object } {
  const messages = [{ role: "user", content: text }];
  const base = { model, stream, ...extra };
  switch (style) {
    case "messages":
      return {
        path: "/v1/messages",
        body: { ...base, messages, max_tokens: limit ?? maxOutputTokens },
      };
    case "chat":
      return { path: "/v1/chat/completions", body: { ...base, messages, max_tokens: limit } };
    case "responses":
      return { path: "/v1/responses", body: { ...base, input: text, max_output_tokens: limit } };
    case "gemini": {
      const operation = stream ? "streamGenerateContent?alt=sse" : "generateContent";
      return {
        path: `/v1beta/models/${model}:${operation}`,
        body: {
          contents: [{ role: "user", parts: [{ text }] }],
          generationConfig: { temperature: 1, maxOutputTokens: limit },
        },
      };
    }
  }
}

/** The limits of output in a body that the provider got. */
function limitsOf({ json }: SeenRequest): unknown[] {
  const body = json();
  const config = body["generationConfig"];
  return [
    body["max_tokens"],
    body["max_completion_tokens"],
    body["max_output_tokens"],
    isJsonObject(config) ? config["maxOutputTokens"] : undefined,
  ].filter((limit) => limit !== undefined);
}

const stopForLength: Record<ClientStyle, RegExp> = {
  messages: /"stop_reason":\s*"max_tokens"/,
  chat: /"finish_reason":\s*"length"/,
  responses: /"reason":\s*"max_output_tokens"/,
  gemini: /"finishReason":\s*"MAX_TOKENS"/,
};

const long = "[[sandbox:length 400000]] tell me of rivers";
const short = "hello";
const header = "x-gateway-output-limit";

for (const client of styles) {
  for (const route of styles) {
    Deno.test(`${client} to ${route}: a whole answer on a wallet below its worst case is limited to what is paid for`, async () => {
      await using world = await openWorld();
      const { key, accountId } = await world.customer(100);
      const answer = await world.ask(key, client, `to-${route}`, { text: long });
      const text = await answer.text();
      assertEquals(answer.status, 200, text);
      const named = answer.headers.get(header) ?? "";
      const tokens = Number(/^tokens=(\d+); reason=balance$/.exec(named)?.[1]);
      assert(tokens >= 5_000 && tokens * vndPerToken <= 100, named);
      const [seen] = world.provider.seen;
      assert(seen !== undefined);
      assertEquals(limitsOf(seen), [tokens]);
      assert(stopForLength[client].test(text), text.slice(-400));
      const { receipts: [receipt] } = await listReceipts(world.gateway.kv, accountId, { limit: 1 });
      assert(receipt !== undefined && receipt.shortfallMicroVnd === 0n);
      assert(
        receipt.costMicroVnd > fromVnd(Math.floor(tokens * vndPerToken * 0.5)),
        `${receipt.costMicroVnd}`,
      );
      assertEquals((await verifyStore(world.gateway.kv)).problems, []);
    });
  }
}

Deno.test("where the wallet covers the worst case, the request keeps its limit and no header is added", async () => {
  await using world = await openWorld();
  const { key } = await world.customer(1_100);
  for (const style of styles) {
    const answer = await world.ask(key, style, `to-${style}`, { text: short });
    assertEquals([answer.status, answer.headers.get(header)], [200, null]);
    await answer.body?.cancel();
  }
  const limits = world.provider.seen.map(limitsOf);
  assertEquals(limits, [[maxOutputTokens], [], [], []]);
});

Deno.test("a limit of the client's own is lowered too, in the field that it used", async () => {
  await using world = await openWorld();
  const { key } = await world.customer(100);
  const extra = { max_completion_tokens: 90_000 };
  const answer = await world.ask(key, "chat", "to-chat", { text: long, limit: 80_000, extra });
  assertEquals(answer.status, 200);
  await answer.body?.cancel();
  const [seen] = world.provider.seen;
  assert(seen !== undefined);
  const [one, other, ...more] = limitsOf(seen);
  assert(typeof one === "number" && one === other && one < 20_000 && more.length === 0);
});

Deno.test("a call that costs little is answered down to the last VND, and then 402 names what is missing", async () => {
  await using world = await openWorld();
  const { key, accountId } = await world.customer(2);
  const statuses: number[] = [];
  for (let at = 0; at < 40 && statuses.at(-1) !== 402; at++) {
    const answer = await world.ask(key, "chat", "to-chat", { text: short });
    await answer.body?.cancel();
    statuses.push(answer.status);
  }
  assertEquals(statuses.at(-1), 402);
  const balance = await world.gateway.assembled.gateway.wallet.balance(accountId);
  // What is left pays neither the prompt nor sixteen tokens.
  assert(
    balance.totalMicroVnd >= 0n && balance.totalMicroVnd < fromVnd(1),
    `${balance.totalMicroVnd}`,
  );
  assert(statuses.length > 5, `${statuses.length}`);
});

for (const stream of [false, true]) {
  Deno.test(`ten ${stream ? "streams" : "whole answers"} at once run together on 1,200 VND`, async () => {
    const all = Promise.withResolvers<void>();
    let running = 0;
    await using world = await openWorld({
      before: () => {
        if (++running === 10) all.resolve();
        return all.promise;
      },
    });
    const { key } = await world.customer(1_200);
    const answers = await Promise.all(
      Array.from(
        { length: 10 },
        () => world.ask(key, "chat", "to-chat", { text: short, stream }),
      ),
    );
    assertEquals(answers.map(({ status }) => status), Array(10).fill(200));
    for (const answer of answers) await answer.text();
  });
}

for (const debtVnd of [0, 15]) {
  Deno.test(`200 whole answers at once on money for three give three and at most ${debtVnd} VND more`, async () => {
    await using world = await openWorld({ debtVnd });
    const { key, accountId } = await world.customer(60);
    // About 20 VND each.
    const text = "[[sandbox:length 9600]] tell me of rivers";
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async (_, at) => {
        const style = styles[at % styles.length] ?? "chat";
        const answer = await world.ask(key, style, `to-${style}`, { text });
        await answer.body?.cancel();
        return answer.status;
      }),
    );
    const counted = new Set(statuses);
    assert(
      statuses.includes(200) && counted.isSubsetOf(new Set([200, 402, 429])),
      `${[...counted]}`,
    );
    const { receipts } = await listReceipts(world.gateway.kv, accountId, { limit: 500 });
    const given = receipts.reduce(
      (sum, { costMicroVnd, shortfallMicroVnd }) => sum + costMicroVnd + shortfallMicroVnd,
      0n,
    );
    assert(given > fromVnd(40) && given <= fromVnd(60 + debtVnd), `${given}`);
    assertEquals((await verifyStore(world.gateway.kv)).problems, []);
  });
}

Deno.test("a call within the limit of its key is limited to what the limit leaves, and the header says so", async () => {
  await using world = await openWorld();
  const { key, accountId } = await world.customer(100_000, { dailyLimitMicroVnd: fromVnd(100) });
  const first = await world.ask(key, "chat", "to-chat", { text: long });
  assertEquals(first.status, 200);
  await first.body?.cancel();
  const tokens = Number(
    /^tokens=(\d+); reason=key_limit$/.exec(first.headers.get(header) ?? "")?.[1],
  );
  assert(tokens * vndPerToken <= 100);
  const statuses: number[] = [];
  for (let at = 0; at < 50 && statuses.at(-1) !== 402; at++) {
    const answer = await world.ask(key, "messages", "to-chat", { text: long });
    const body = await answer.text();
    statuses.push(answer.status);
    if (answer.status === 402) assert(body.includes("daily limit"), body);
  }
  assertEquals(statuses.at(-1), 402);
  const spent = 100n * 1_000_000n;
  const { receipts } = await listReceipts(world.gateway.kv, accountId, { limit: 100 });
  const sum = receipts.reduce((total, { costMicroVnd }) => total + costMicroVnd, 0n);
  assert(sum <= spent && sum > spent * 9n / 10n, `${sum}`);
});

Deno.test("ten calls at once within the limit of a key that pays one worst case all succeed", async () => {
  await using world = await openWorld();
  const { key } = await world.customer(100_000, { dailyLimitMicroVnd: fromVnd(1_200) });
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => world.ask(key, "chat", "to-chat", { text: short })),
  );
  assertEquals(answers.map(({ status }) => status), Array(10).fill(200));
  for (const answer of answers) await answer.body?.cancel();
});

Deno.test("a stream on less than its first reservation begins, and ends when the money is used up", async () => {
  await using world = await openWorld();
  const { key, accountId } = await world.customer(10);
  const answer = await world.ask(key, "chat", "to-chat", { text: long, stream: true });
  assertEquals([answer.status, answer.headers.get(header)], [200, null]);
  assert(stopForLength.chat.test(await answer.text()));
  const { receipts: [receipt] } = await listReceipts(world.gateway.kv, accountId, { limit: 1 });
  assertEquals([receipt?.outcome, receipt?.shortfallMicroVnd], ["cut", 0n]);
});

Deno.test("a stream of a model that hides output is limited as a whole answer is", async () => {
  await using world = await openWorld({ facts: { efforts: ["low", "high"] } });
  const { key } = await world.customer(100);
  const answer = await world.ask(key, "chat", "to-chat", { text: long, stream: true });
  assertEquals(answer.status, 200);
  assert(/^tokens=\d+; reason=balance$/.test(answer.headers.get(header) ?? ""));
  assert(stopForLength.chat.test(await answer.text()));
});

for (const debtVnd of [0, 200]) {
  Deno.test(`a budget for thinking above what the wallet covers stays, and the difference is debt up to ${debtVnd} VND`, async () => {
    await using world = await openWorld({ debtVnd });
    const { key, accountId } = await world.customer(50);
    await credit(world.gateway.kv, {
      accountId,
      amountMicroVnd: fromVnd(10),
      kind: "topup",
      operationId: "test:more",
      reason: "test",
      atMs: 1,
    });
    const extra = { thinking: { type: "enabled", budget_tokens: 40_000 } };
    const asked = { text: "[[sandbox:length 60000]] rivers", limit: 64_000, extra };
    const answer = await world.ask(key, "messages", "to-messages", asked);
    assertEquals([answer.status, answer.headers.get(header)], [200, null]);
    await answer.body?.cancel();
    const [seen] = world.provider.seen;
    assert(seen !== undefined);
    assertEquals(limitsOf(seen), [64_000]);
    const { totalMicroVnd } = await world.gateway.assembled.gateway.wallet.balance(accountId);
    assert(totalMicroVnd >= -fromVnd(debtVnd), `${totalMicroVnd}`);
    assertEquals((await verifyStore(world.gateway.kv)).problems, []);
  });
}
