/**
 * Memory of the real process while more large answers arrive at once than it may hold, for slow clients.
 * `GATEWAY_MEMORY_TEST=full` requests 60 answers of 60 MB; the usual run has fewer.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { bufferedAnswerBytes } from "../../core/lib/bytes/answer_budget.ts";
import { maxImageAnswerBytes } from "../../core/media/images/attempt.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { newPayer } from "../support/worlds/money_process.ts";
import { peakDuring, residentMegabytes } from "../support/resident_memory.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";
import { until } from "../support/until.ts";

const full = Deno.env.get("GATEWAY_MEMORY_TEST") === "full";
const size = full ? { answers: 60, megabytes: 60 } : { answers: 24, megabytes: 40 };
const megabyte = 1024 * 1024;
/** Milliseconds for a rush of answers, even on a busy machine. */
const rushMs = 120_000;

const operatorKey = "operator-key-of-the-memory-test";
const operator = { authorization: `Bearer ${operatorKey}` };

const head = new TextEncoder().encode('{"created":1,"data":[{"b64_json":"');
const piece = new Uint8Array(megabyte).fill(0x41);
const tail = new TextEncoder().encode('"}]}');
const answerBytes = head.length + size.megabytes * megabyte + tail.length;

/** One picture of many megabytes, with a content length or in chunks. */
function largeAnswer(isDeclared: boolean): Response {
  let pieces = 0;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => controller.enqueue(head),
    pull(controller) {
      if (pieces++ < size.megabytes) return controller.enqueue(piece);
      controller.enqueue(tail);
      controller.close();
    },
  }, { highWaterMark: 0 });
  const headers = new Headers({ "content-type": "application/json" });
  if (isDeclared) headers.set("content-length", String(answerBytes));
  return new Response(body, { headers });
}

function configuration(providerPort: number) {
  return {
    defaultModel: "chat-t",
    providers: {
      p: { kind: "http", baseUrl: `http://127.0.0.1:${providerPort}`, apiKeyEnv: "PROVIDER_KEY" },
    },
    models: [{
      id: "chat-t",
      kind: "chat",
      family: "test",
      contextWindow: 1_000,
      maxOutputTokens: 100,
      price: { unit: "token", vndPerMtok: 1_000 },
      routes: [{ provider: "p", style: "chat" }],
    }, {
      id: "image-t",
      kind: "image",
      family: "test",
      price: { unit: "image", vnd: 1_000 },
      routes: [{ provider: "p" }],
    }],
  };
}

Deno.test("a rush of large answers keeps within memory, and every one of them arrives whole", {
  ignore: Deno.build.os !== "linux",
  sanitizeOps: false,
  sanitizeResources: false,
}, async () => {
  let asked = 0;
  await using provider = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      await request.bytes();
      return largeAnswer(asked++ % 2 === 0);
    },
  );
  const folder = await Deno.makeTempDir({ prefix: "gateway-test-" });
  try {
    const file = `${folder}/gateway.json`;
    await Deno.writeTextFile(file, JSON.stringify(configuration(provider.addr.port)));
    const env = {
      GATEWAY_CONFIG: file,
      PROVIDER_KEY: "secret",
      GATEWAY_OPERATOR_KEY: operatorKey,
    };
    await using gateway = await startGateway({ folder, env });
    const payers = await Promise.all([1, 2, 3].map(() => newPayer(gateway, 1_000_000)));
    const ask = (index: number, signal?: AbortSignal) =>
      fetch(`${gateway.address}/v1/images/generations`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${payers[index % payers.length]?.key}`,
          "content-type": "application/json",
        },
        body: JSON.stringify({ model: "image-t", prompt: "a cat" }),
        signal: signal ?? null,
      });
    const call = async (index: number) => {
      const response = await ask(index);
      assertEquals(response.status, 200);
      assertEquals(response.headers.get("content-length"), String(answerBytes));
      // Some clients wait before they read, so that answers gather.
      if (index % 3 === 0) await sleep(500);
      let length = 0;
      for await (const chunk of response.body!) length += chunk.length;
      assertEquals(length, answerBytes);
    };
    const bufferedBytes = async () => {
      const text = await (await fetch(`${gateway.address}/metrics`, { headers: operator })).text();
      return Number(/^gateway_held_answer_bytes (\d+)$/m.exec(text)?.[1]);
    };
    const idle = await residentMegabytes(gateway.pid);
    const rush = () => Promise.all(Array.from({ length: size.answers }, (_, index) => call(index)));
    const first = await peakDuring(gateway.pid, rush());
    const second = await peakDuring(gateway.pid, rush());
    const report = `idle ${idle} MB, peaks ${first} and ${second} MB for ${size.answers} answers ` +
      `of ${size.megabytes} MB at once`;
    if (full) Deno.stderr.writeSync(new TextEncoder().encode(`${report}\n`));
    // Clients that leave: before their answer begins, and before and while they read it.
    await Promise.all(Array.from({ length: 12 }, async (_, index) => {
      const leaving = new AbortController();
      const asking = ask(index, leaving.signal);
      if (index % 3 === 0) leaving.abort();
      try {
        const response = await asking;
        if (index % 3 === 1) await response.body!.getReader().read();
        leaving.abort();
        await response.body?.cancel();
      } catch {
        // Left.
      }
    }));
    await until(
      async () => await bufferedBytes() === 0,
      "the space of clients that left is released",
      rushMs,
    );
    // Each is held once; half as much again is in use while one that came in chunks grows, and some is not collected
    // yet.
    const bound = (bufferedAnswerBytes + maxImageAnswerBytes) / megabyte;
    assert(Math.max(first, second) - idle < 2 * bound + 150, report);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
