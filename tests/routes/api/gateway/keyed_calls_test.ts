/** `Idempotency-Key` on every paid POST: however often a client asks, it is charged once and gets one answer. */
import {
  assert,
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { replayedAnswerMs } from "../../../../core/calls/replay/replayed_answers.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import type { RequestId } from "../../../../core/lib/ids/ids.ts";
import { maxIdempotencyKeyChars } from "../../../../core/calls/body/idempotency_key.ts";
import {
  idempotencyClaimMs,
  idempotencyKeptMs,
} from "../../../../kv/services/calls/idempotency.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { listReceipts, readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { createApp } from "../../../../routes/server/listen/app.ts";
import { KeyedCalls } from "../../../../routes/api/gateway/keyed_calls.ts";
import {
  openTestGateway,
  type TestGatewayOptions,
} from "../../../support/gateways/gateway_in_process.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { until } from "../../../support/until.ts";

interface TestCall {
  readonly path: string;
  readonly body: Record<string, unknown> | (() => FormData);
}

const turn = (trigger: string) => [{ role: "user", content: `Hello ${trigger}` }];
const chat = (trigger = "", stream = false): TestCall => ({
  path: "/v1/chat/completions",
  body: { model: "premium-1", max_tokens: 20, stream, messages: turn(trigger) },
});
const messages = (stream: boolean): TestCall => ({ ...chat("", stream), path: "/v1/messages" });
const responses = (stream: boolean): TestCall => ({
  path: "/v1/responses",
  body: { model: "premium-1", stream, input: "Hello" },
});
const image = (stream: boolean): TestCall => ({
  path: "/v1/images/generations",
  body: { model: "image-1", prompt: "a cat", stream },
});
const edit: TestCall = {
  path: "/v1/images/edits",
  body: () => {
    const form = new FormData();
    form.append("model", "image-1");
    form.append("prompt", "a cat");
    const png = Uint8Array.fromBase64("iVBORw0KGgoAAAAA");
    form.append("image", new File([png], "a.png", { type: "image/png" }));
    return form;
  },
};
const speech: TestCall = {
  path: "/v1/audio/speech",
  body: { model: "speech-1", input: "Hello", voice: "lan" },
};
const paid: Readonly<Record<string, TestCall>> = {
  "a chat call": chat(),
  "a chat stream": chat("", true),
  "a Messages call": messages(false),
  "a Messages stream": messages(true),
  "a Responses call": responses(false),
  "a Responses stream": responses(true),
  "an image": image(false),
  "an image stream": image(true),
  "an edit": edit,
  "speech": speech,
};

async function open(options: TestGatewayOptions & { readonly vnd?: number } = {}) {
  const test = await openTestGateway(options);
  const { accountId, key } = await test.customer(options.vnd ?? 1_000_000);
  const time = new ManualTime();
  const keyedCalls = new KeyedCalls(new Deadlines({ clock: time, timer: time }));
  let idleMs = 0;
  const { clock } = test.assembled.gateway;
  const gateway = {
    ...test.assembled.gateway,
    keyedCalls,
    clock: { nowMs: () => clock.nowMs() + idleMs, monotonicMs: () => clock.monotonicMs() },
  };
  const app = createApp(gateway, { stopping: () => false });
  return {
    test,
    key,
    accountId,
    keyedCalls,
    time,
    idle: (ms: number) => idleMs += ms,
    async send(
      { path, body }: TestCall,
      idempotencyKey?: string,
      signal?: AbortSignal,
      secret = key,
    ) {
      const isForm = typeof body === "function";
      const request = new Request(`http://gateway.example${path}`, {
        method: "POST",
        signal: signal ?? null,
        headers: {
          authorization: `Bearer ${secret}`,
          ...isForm ? {} : { "content-type": "application/json" },
          ...idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
        },
        body: isForm ? body() : JSON.stringify(body),
      });
      return await app.fetch(request, { clientAddress: "127.0.0.1" });
    },
    /** Calls that were charged; proves the books beside. */
    async charged(): Promise<number> {
      await gateway.wallet.indexOnce();
      assertEquals((await verifyStore(test.kv)).problems, []);
      const { receipts } = await listReceipts(test.kv, accountId, { limit: 100 });
      return receipts.filter(({ costMicroVnd }) => costMicroVnd > 0n).length;
    },
    [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
  };
}

async function refusalOf(response: Response) {
  const { error } = await response.json();
  return {
    status: response.status,
    message: String(error.message),
    retry: response.headers.get("x-should-retry"),
  };
}

for (const [name, call] of Object.entries(paid)) {
  Deno.test(`${name} repeated with its key is charged once and answered with the same bytes`, async () => {
    await using world = await open();
    const first = await world.send(call, "key-1");
    assertEquals([first.status, first.headers.get("idempotent-replayed")], [200, null]);
    const bytes = await first.bytes();
    assert(bytes.length > 0);
    const again = await world.send(call, "key-1");
    assertEquals([again.status, again.headers.get("idempotent-replayed")], [200, "true"]);
    assertEquals(await again.bytes(), bytes);
    for (const header of ["content-type", "x-request-id", "x-gateway-cost-vnd"]) {
      assertEquals(again.headers.get(header), first.headers.get(header), header);
    }
    assertEquals(await world.charged(), 1);
    const other = await world.send(call, "key-2");
    await other.body?.cancel();
    assertNotEquals(other.headers.get("x-request-id"), first.headers.get("x-request-id"));
    assertEquals(world.keyedCalls.running, 0);
  });
}

for (const stream of [false, true]) {
  const what = stream ? "a stream" : "a call";

  Deno.test(`a repeat of ${what} while it runs waits for it and gets its answer`, async () => {
    await using world = await open();
    const call = chat("[[sandbox:slow 100]]", stream);
    const answers = await Promise.all([1, 2, 3, 4].map(async () => {
      const response = await world.send(call, "key-1");
      return [response.status, await response.text()] as const;
    }));
    assertEquals(answers[0]![0], 200);
    for (const answer of answers) assertEquals(answer, answers[0]);
    assertEquals(await world.charged(), 1);
  });

  Deno.test(`${what} that failed at no cost leaves its key free`, async () => {
    await using world = await open();
    for (let time = 0; time < 2; time++) {
      const failed = await world.send(chat("[[sandbox:error-500]]", stream), "key-1");
      assertNotEquals(failed.status, 200);
      assertNotEquals(failed.status, 409);
      await failed.body?.cancel();
    }
    const served = await world.send(chat("", stream), "key-1");
    assertEquals([served.status, served.headers.get("idempotent-replayed")], [200, null]);
    await served.bytes();
    assertEquals(await world.charged(), 1);
  });
}

Deno.test("a call whose client stopped waiting runs to its end; the retry gets its answer", async () => {
  await using world = await open();
  const impatient = new AbortController();
  const call = chat("[[sandbox:slow 200]]");
  const lost = world.send(call, "key-1", impatient.signal);
  await until(() => world.keyedCalls.running === 1, "the call runs");
  impatient.abort();
  const retried = await world.send(call, "key-1");
  assertEquals([retried.status, retried.headers.get("idempotent-replayed")], [200, "true"]);
  assertEquals((await retried.json()).object, "chat.completion");
  await (await lost).body?.cancel();
  assertEquals(await world.charged(), 1);
});

Deno.test("a stream that its client left is charged once; a repeated request gets the id of the receipt", async () => {
  await using world = await open();
  const call = chat("[[sandbox:pace 20]]", true);
  const left = await world.send(call, "key-1");
  const reader = left.body!.getReader();
  for (let events = 0; events < 3; events++) await reader.read();
  await reader.cancel();
  const requestId = left.headers.get("x-request-id") as RequestId;
  await until(async () => await readReceipt(world.test.kv, requestId) !== undefined, "a receipt");
  const receipt = await readReceipt(world.test.kv, requestId);
  assertEquals(receipt?.outcome, "client_gone");
  const refusal = await refusalOf(await world.send(call, "key-1"));
  assertEquals([refusal.status, refusal.retry], [409, "false"]);
  assertStringIncludes(refusal.message, requestId);
  assertEquals(await world.charged(), 1);
});

Deno.test("when the answer is no longer kept a repeated request gets the id of the receipt, for a day", async () => {
  await using world = await open();
  const first = await world.send(chat(), "key-1");
  await first.bytes();
  const requestId = first.headers.get("x-request-id") as RequestId;
  const cost = (await readReceipt(world.test.kv, requestId))!.costMicroVnd;
  assert(world.keyedCalls.replayed.usedBytes > 0);
  world.time.advance(replayedAnswerMs + 1_000);
  assertEquals(world.keyedCalls.replayed.usedBytes, 0);
  const refusal = await refusalOf(await world.send(chat(), "key-1"));
  assertEquals([refusal.status, refusal.retry], [409, "false"]);
  assertStringIncludes(refusal.message, requestId);
  assertStringIncludes(refusal.message, `${formatVnd(cost)} VND`);
  world.idle(idempotencyKeptMs + 1_000);
  const late = await world.send(chat(), "key-1");
  assertEquals(late.status, 200);
  await late.bytes();
  assertEquals(await world.charged(), 2);
});

Deno.test("another instance knows the key during its call and after it", async () => {
  await using one = await open();
  await using two = await open({ kv: one.test.kv });
  const call = chat("[[sandbox:slow 200]]");
  const elsewhere = () => two.send(call, "key-1", undefined, one.key);
  const running = one.send(call, "key-1");
  await until(() => one.keyedCalls.running === 1, "the call runs");
  await until(async () => {
    for await (const _ of one.test.kv.list({ prefix: ["call_order"] })) return true;
    return false;
  }, "its key is known");
  const early = await refusalOf(await elsewhere());
  assertEquals([early.status, early.retry], [409, "true"]);
  const first = await running;
  await first.bytes();
  const late = await refusalOf(await elsewhere());
  assertEquals([late.status, late.retry], [409, "false"]);
  assertStringIncludes(late.message, first.headers.get("x-request-id")!);
  assertEquals(await one.charged(), 1);
});

Deno.test("the key of a process that died can be claimed again when its call can no longer run", async () => {
  await using world = await open();
  const lost = world.send(chat("[[sandbox:stall]]"), "key-1");
  await until(() => world.keyedCalls.running === 1, "the call runs");
  await using after = await open({ kv: world.test.kv });
  const retry = () => after.send(chat("[[sandbox:stall]]"), "key-1", undefined, world.key);
  assertEquals((await refusalOf(await retry())).status, 409);
  after.idle(idempotencyClaimMs + 1_000);
  const taken = retry();
  // A call that has its key may still be on its way to a route: only one that runs can be stopped.
  const running = [world, after].map(({ test }) => test.assembled.gateway.calls);
  await until(() => running.every((calls) => calls.count === 1), "both calls run");
  for (const calls of running) calls.stopAll();
  for (const response of await Promise.all([lost, taken])) await response.body?.cancel();
  assertEquals(await world.charged(), 0);
});

Deno.test("a key belongs to one request of one account, and a call with it needs nothing more than one without it", async () => {
  await using world = await open();
  const first = await world.send(chat(), "key-1");
  await first.bytes();
  for (const other of [chat("other"), messages(false)]) {
    assertEquals((await world.send(other, "key-1")).status, 422, other.path);
  }
  const running = world.send(chat("[[sandbox:slow 50]]"), "key-2");
  await until(() => world.keyedCalls.running === 1, "the call runs");
  assertEquals((await world.send(chat("other"), "key-2")).status, 422, "at once");
  await (await running).bytes();
  for (const key of ["two words", "k".repeat(maxIdempotencyKeyChars + 1)]) {
    assertEquals((await world.send(chat(), key)).status, 400, key);
  }
  const stranger = await world.test.customer(1_000);
  const foreign = await world.send(chat(), "key-1", undefined, stranger.key);
  assertEquals([foreign.status, foreign.headers.get("idempotent-replayed")], [200, null]);
  await foreign.bytes();
  assertEquals(await world.charged(), 2);
  assertEquals(world.keyedCalls.running, 0);
});

Deno.test("a refused call leaves its key free, and the row of a key contains no prompt", async () => {
  await using world = await open({ vnd: 0 });
  for (let time = 0; time < 2; time++) {
    assertEquals((await world.send(chat("secret-word"), "secret-key")).status, 402);
  }
  assertEquals(world.keyedCalls.running, 0);
  const { key } = await world.test.customer(1_000);
  await (await world.send(chat("secret-word"), "secret-key", undefined, key)).bytes();
  let rows = 0;
  for await (const { value } of world.test.kv.list({ prefix: ["call_order"] })) {
    rows++;
    assert(!/secret/.test(JSON.stringify(value)));
  }
  assertEquals(rows, 1);
});
