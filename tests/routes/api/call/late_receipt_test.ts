/**
 * Answers whose receipt the store does not confirm in time: what the client gets, and what it pays, whether the commit
 * took effect or not.
 */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { createApp } from "../../../../routes/server/listen/app.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { type Fault, faultyKv } from "../../../support/stores/faulty_kv.ts";
import { until } from "../../../support/until.ts";
import { passTurns } from "../../../support/turns.ts";

const chatBody = (stream: boolean) => ({
  model: "premium-1",
  max_tokens: 20,
  stream,
  messages: [{ role: "user", content: "Hello" }],
});
const calls = {
  "a chat call": ["/v1/chat/completions", chatBody(false)],
  "a Messages call": ["/v1/messages", chatBody(false)],
  "a Responses call": ["/v1/responses", { model: "premium-1", input: "Hello" }],
  "an image": ["/v1/images/generations", { model: "image-1", prompt: "a cat" }],
  "a chat stream": ["/v1/chat/completions", chatBody(true)],
  "a Messages stream": ["/v1/messages", chatBody(true)],
  "a Responses stream": ["/v1/responses", { model: "premium-1", input: "Hello", stream: true }],
  "an image stream": ["/v1/images/generations", {
    model: "image-1",
    prompt: "a cat",
    stream: true,
  }],
} as const;
const speech = ["/v1/audio/speech", { model: "speech-1", input: "Hello", voice: "lan" }] as const;
const video = ["/v1/videos", { model: "video-a", prompt: "a cat", seconds: "5" }] as const;

/** How the first commit of the settlement ends; then nothing answers until the store is back. */
const firstFaults = ["before", "after"] as const satisfies readonly Fault[];

async function world() {
  const time = new ManualTime();
  const inner = await Deno.openKv(":memory:");
  /** Commits that still work, then the fault of one commit, then none works. */
  let plan: { working: number; fault: Fault } | undefined;
  let isDown = false;
  const kv = faultyKv(inner, (call) => {
    if (isDown) return "before";
    if (plan === undefined || call !== "commit") return "none";
    if (plan.working-- > 0) return "none";
    isDown = true;
    return plan.fault;
  });
  const test = await openTestGateway({
    kv,
    env: { GATEWAY_RECEIPT_WAIT_MS: "20000" },
    file: (file) => ({
      ...file,
      models: (file["models"] as object[]).map((entry) => ({
        ...entry,
        rateLimits: { all: { vndPerHour: 1_000_000 } },
      })),
    }),
  });
  const { accountId, key } = await test.customer(1_000_000);
  const deadlines = new Deadlines({ clock: time, timer: time });
  const { wallet } = test.assembled.gateway;
  /** Settlements wait for it before any commit is made of them. */
  let queue: Promise<void> | undefined;
  let queued = 0;
  const settle: typeof wallet.settle = async (...call) => {
    queued++;
    await queue;
    return await wallet.settle(...call);
  };
  const gateway = {
    ...test.assembled.gateway,
    deadlines,
    wallet: new Proxy(wallet, {
      get(target, name) {
        if (name === "settle") return settle;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    }),
  };
  const app = createApp(gateway, { stopping: () => false });
  const send = async (path: string, body: unknown, idempotencyKey?: string) =>
    await app.fetch(
      new Request(`http://gateway.example${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          ...idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
        },
        body: JSON.stringify(body),
      }),
      { clientAddress: "127.0.0.1" },
    );
  return {
    time,
    log: test.log,
    send,
    metrics: () => gateway.metrics.text(),
    /** The store breaks with `fault` in the commit after `working` ones. */
    breakStore(fault: Fault, working = 0) {
      plan = { working, fault };
    },
    /** Keeps settlements from becoming part of a commit, as those under way do; returns what lets them go on. */
    holdSettlements() {
      const { promise, resolve } = Promise.withResolvers<void>();
      queue = promise;
      queued = 0;
      return { isWaiting: () => queued > 0, release: resolve };
    },
    /** Repairs the store; resolves with the receipt of the call once its settlement is over. */
    async repair({ headers }: Response) {
      plan = undefined;
      isDown = false;
      const requestId = headers.get("x-request-id") ?? "none";
      const isOver = () =>
        test.log.some((line) => line.includes(requestId) && line.includes("outcome"));
      await until(isOver, "the settlement");
      const receipt = (await this.receipts()).find((one) => one.requestId === requestId);
      assert(receipt !== undefined);
      return receipt;
    },
    /** Draws nearly all money, so that calls need the store only for their receipts. */
    async drawMuch() {
      const drawn = await gateway.wallet.reserve(accountId, 900_000_000_000n);
      assert(drawn.ok);
      gateway.wallet.release(drawn.reservation);
    },
    isDown: () => isDown,
    async receipts() {
      await gateway.wallet.indexOnce();
      return (await listReceipts(inner, accountId, { limit: 10 })).receipts;
    },
    /** What is used of the model's spending limit. */
    async ratedVnd(model: string) {
      return (await gateway.rates.use([`model ${model}`]))[0]?.vndPerHour;
    },
    async spentMicroVnd() {
      await gateway.withheldRefunds.rest(20_000);
      await gateway.wallet.indexOnce();
      assertEquals((await verifyStore(inner)).problems, []);
      const { totalMicroVnd } = await gateway.wallet.balance(accountId);
      return 1_000_000_000_000n - totalMicroVnd;
    },
    async [Symbol.asyncDispose]() {
      await test[Symbol.asyncDispose]();
      inner.close();
    },
  };
}

type World = Awaited<ReturnType<typeof world>>;

/** Opens the lease on the wallet, so that the next call needs the store only for its receipt. */
async function warm(w: World): Promise<bigint> {
  const response = await w.send(...calls["a chat call"]);
  assertEquals(response.status, 200);
  await response.bytes();
  const spentMicroVnd = await w.spentMicroVnd();
  await w.drawMuch();
  return spentMicroVnd;
}

Deno.test("a whole answer whose charge is in no commit yet is free, and its client is told so", async () => {
  await using w = await world();
  const before = await warm(w);
  const settlements = w.holdSettlements();
  const answering = w.send(...calls["a chat call"]);
  await until(settlements.isWaiting, "the settlement");
  w.time.advance(21_000);
  const response = await answering;
  assertEquals([response.status, response.headers.get("x-should-retry")], [503, "true"]);
  assertStringIncludes(await response.text(), "withheld; nothing is charged. Try again");
  settlements.release();
  const receipt = await w.repair(response);
  assertEquals([receipt.outcome, receipt.costMicroVnd], ["withheld", 0n]);
  assertEquals(await w.spentMicroVnd() - before, 0n);
  assertStringIncludes(w.metrics(), 'gateway_late_receipts_total{charge="forgone"} 1\n');
});

/** The text of an answer that the store keeps waiting. */
async function late(w: World, answering: Promise<Response>): Promise<[Response, string]> {
  const whole = answering.then(async (response): Promise<[Response, string]> => {
    return [response, await response.text().catch((error) => `broken: ${error}`)];
  });
  let isOver = false;
  whole.then(() => isOver = true, () => isOver = true);
  await until(() => w.isDown() || isOver, "the store is needed");
  if (isOver) throw new Error(`answered at once: ${(await whole)[1]}`);
  w.time.advance(19_000);
  await passTurns(3);
  assertEquals(isOver, false, "it waits as long as it may");
  w.time.advance(2_000);
  return await whole;
}

for (const fault of firstFaults) {
  for (const [name, [path, body]] of Object.entries(calls)) {
    const isStream = name.endsWith("stream");
    const ends = isStream ? "ends with an error and is charged" : "is withheld and free";
    Deno.test(`${name} whose receipt is late ${ends} (commit fails ${fault} it took effect)`, async () => {
      await using w = await world();
      const before = await warm(w);
      const ratedBefore = await w.ratedVnd(body.model);
      w.breakStore(fault);
      const [response, text] = await late(w, w.send(path, body));
      if (!isStream) {
        assertEquals(await w.ratedVnd(body.model), ratedBefore, "what is free is not spent");
      }
      assertEquals(response.status, isStream ? 200 : 503);
      assertStringIncludes(text, "The store does not answer");
      const requestId = response.headers.get("x-request-id") ?? "none";
      assert(requestId.startsWith("req_"), requestId);
      // The commit that charges it was sent, and whether it landed is not known.
      const told = isStream
        ? "is charged"
        : `may be charged, and is refunded then: see the receipt ${requestId}.`;
      assertStringIncludes(text, told);
      if (!isStream) {
        assertEquals(response.headers.get("x-should-retry"), "true");
        assertEquals(response.headers.get("retry-after"), "2");
      }
      for (const end of ["[DONE]", "message_stop", "response.completed"]) {
        assertEquals(text.includes(end), false, `no clean end: ${end}`);
      }
      const landed = await w.repair(response);
      const spent = await w.spentMicroVnd() - before;
      if (isStream) {
        assertEquals([landed.outcome, spent], ["completed", landed.costMicroVnd]);
        assert(spent > 0n);
      } else {
        assertEquals(spent, 0n, "nothing is paid");
        const isFree = landed.costMicroVnd === 0n;
        assertEquals(
          [landed.outcome, isFree],
          fault === "before" ? ["withheld", true] : ["completed", false],
        );
      }
      const charge = isStream ? "kept" : "undecided";
      assertStringIncludes(w.metrics(), `gateway_late_receipts_total{charge="${charge}"} 1\n`);
      const refunds = !isStream && fault === "after" ? 1 : 0;
      assertStringIncludes(
        w.metrics(),
        `gateway_withheld_refunds_total{result="refunded"} ${refunds}\n`,
      );
    });
  }

  Deno.test(`speech whose receipt is late breaks off and is free (commit fails ${fault} it took effect)`, async () => {
    await using w = await world();
    const before = await warm(w);
    w.breakStore(fault);
    const [response, text] = await late(w, w.send(...speech));
    assertEquals(response.status, 200);
    assertStringIncludes(text, "broken: ");
    await w.repair(response);
    assertEquals(await w.spentMicroVnd() - before, 0n);
  });

  Deno.test(`a withheld call frees its idempotency key (commit fails ${fault} it took effect)`, async () => {
    await using w = await world();
    const before = await warm(w);
    w.breakStore(fault, 1); // the claim of the key works
    const call = calls["a chat call"];
    const [response] = await late(w, w.send(...call, "key-1"));
    assertEquals(response.status, 503);
    await w.repair(response);
    assertEquals(await w.spentMicroVnd() - before, 0n);
    const again = await w.send(...call, "key-1");
    assertEquals([again.status, again.headers.get("idempotent-replayed")], [200, null]);
    const bytes = await again.bytes();
    const third = await w.send(...call, "key-1");
    assertEquals([third.status, third.headers.get("idempotent-replayed")], [200, "true"]);
    assertEquals(await third.bytes(), bytes);
    assertEquals(await w.spentMicroVnd() - before, before, "charged once, as the call before");
  });

  Deno.test(`a stream with a key that ended late is not replayed (commit fails ${fault} it took effect)`, async () => {
    await using w = await world();
    await warm(w);
    w.breakStore(fault, 1);
    const [first] = await late(w, w.send(...calls["a chat stream"], "key-1"));
    assertEquals(first.status, 200);
    await w.repair(first);
    const again = await w.send(...calls["a chat stream"], "key-1");
    assertEquals([again.status, again.headers.get("idempotent-replayed")], [409, null]);
    await again.body?.cancel();
  });

  Deno.test(`a video whose receipt is late exists, and its key finds it (commit fails ${fault} it took effect)`, async () => {
    await using w = await world();
    const before = await warm(w);
    w.breakStore(fault, 1);
    const [response, text] = await late(w, w.send(...video, "key-1"));
    assertEquals([response.status, response.headers.get("x-should-retry")], [503, "false"]);
    assertStringIncludes(text, "is charged");
    const receipt = await w.repair(response);
    const again = await w.send(...video, "key-1");
    assertEquals(again.status, 200);
    assertEquals((await again.json()).object, "video");
    assertEquals(await w.spentMicroVnd() - before, receipt.costMicroVnd);
  });
}
