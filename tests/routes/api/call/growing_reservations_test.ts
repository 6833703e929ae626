/** What calls hold of a wallet: enough for many at once, and never more given out than it can pay. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import {
  openTestGateway,
  servedBy,
  type TestGateway,
} from "../../../support/gateways/gateway_in_process.ts";
import { readChatStream } from "../../../support/strict_client/strict_client_chat.ts";
import { readMessagesStream } from "../../../support/strict_client/strict_client_messages.ts";
import { readResponsesStream } from "../../../support/strict_client/strict_client_responses.ts";
import { type MockProvider, mockProvider } from "../gateway/media_world.ts";
import { apiPost } from "../../../support/api_post.ts";

const paths: Record<BodyStyle, string> = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
};
const head = { id: "c", object: "chat.completion.chunk", created: 1, model: "m", usage: null };
const chunk = (more: object) => `data: ${JSON.stringify({ ...head, ...more })}\n\n`;
const delta = (content: string) =>
  chunk({ choices: [{ index: 0, delta: { content }, logprobs: null, finish_reason: null }] });
const ending = (outputTokens: number) =>
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) +
  chunk({
    choices: [],
    usage: { prompt_tokens: 10, completion_tokens: outputTokens, total_tokens: 10 + outputTokens },
  }) + "data: [DONE]\n\n";
const whole = {
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
};
const eventStream = { headers: { "content-type": "text/event-stream" } };

async function openGateway(
  provider: MockProvider,
  wallet: object = {},
  more: object = {},
): Promise<TestGateway> {
  return await openTestGateway(servedBy(provider, {
    defaultModel: "m",
    wallet,
    models: [{
      id: "m",
      price: { unit: "token", vndPerMtok: 8_300 },
      contextWindow: 1_000_000,
      maxOutputTokens: 128_000,
      routes: [{ provider: "p", style: "chat", model: "m", ...more }],
    }],
  }));
}

function ask(
  gateway: TestGateway,
  key: string,
  style: BodyStyle,
  stream: boolean,
): Promise<Response> {
  const messages = [{ role: "user", content: "hello" }];
  const body = style === "responses"
    ? { input: "hello" }
    : style === "messages"
    ? { messages, max_tokens: 128_000 }
    : { messages, ...(stream ? { stream_options: { include_usage: true } } : {}) };
  return gateway.fetch(
    apiPost(`http://gateway${paths[style]}`, key, { model: "m", stream, ...body }),
  );
}

Deno.test("ten streams without max_tokens run at once on 3,000 VND", async () => {
  const all = Promise.withResolvers<void>();
  let running = 0;
  await using provider = mockProvider(() => {
    if (++running === 10) all.resolve();
    return new Response(
      ReadableStream.from((async function* () {
        yield new TextEncoder().encode(delta("Hi"));
        await all.promise;
        yield new TextEncoder().encode(ending(20));
      })()),
      eventStream,
    );
  });
  await using gateway = await openGateway(provider);
  const { key, accountId } = await gateway.customer(3_000);
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => ask(gateway, key, "chat", true)),
  );
  assertEquals(answers.map(({ status }) => status), Array(10).fill(200));
  await Promise.all(answers.map((answer) => answer.text()));
  const { receipts } = await listReceipts(gateway.kv, accountId, { limit: 20 });
  assertEquals(receipts.map(({ outcome }) => outcome), Array(10).fill("completed"));
});

Deno.test("ten answers without max_tokens that are not streamed all succeed on 3,000 VND", async () => {
  await using provider = mockProvider(() => Response.json(whole));
  await using gateway = await openGateway(provider);
  const { key } = await gateway.customer(3_000);
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => ask(gateway, key, "chat", false)),
  );
  assertEquals(answers.map(({ status }) => status), Array(10).fill(200));
  for (const answer of answers) await answer.body?.cancel();
});

Deno.test("for a model with hidden reasoning all that a call may cost is reserved, or the limit that is", async () => {
  await using provider = mockProvider(() => new Response(delta("Hi") + ending(20), eventStream));
  await using gateway = await openGateway(provider, {}, { facts: { efforts: ["low", "high"] } });
  const { key } = await gateway.customer(1_000);
  const answer = await ask(gateway, key, "chat", true);
  assertEquals(answer.status, 200);
  await answer.text();
  // Half of the wallet, at 8,300 VND per million tokens.
  const limit = Number(provider.seen[0]?.json()["max_completion_tokens"]);
  assert(limit > 60_000 && limit * 0.0083 <= 500, `${limit}`);
});

/** More than the buffers of a connection take. */
const pieces = 100_000;
const endless = delta("x".repeat(200));
const begin = chunk({
  choices: [{
    index: 0,
    delta: { role: "assistant", content: "", refusal: null },
    logprobs: null,
    finish_reason: null,
  }],
});

/** Streams far more than the wallet of the test can pay, in small pieces. */
function flood(seen: { sent: number }): MockProvider {
  return mockProvider(() =>
    new Response(
      ReadableStream.from((async function* () {
        yield new TextEncoder().encode(begin);
        for (seen.sent = 0; seen.sent < pieces; seen.sent++) {
          yield new TextEncoder().encode(endless);
        }
      })()),
      eventStream,
    )
  );
}

for (const style of ["chat", "messages", "responses"] as const) {
  for (const outgrown of ["length", "error"] as const) {
    Deno.test(`${style}: a stream that outgrows the wallet ends with ${outgrown}, charged up to its last output`, async () => {
      const seen = { sent: 0 };
      await using provider = flood(seen);
      await using gateway = await openGateway(provider, { outgrown });
      const { key, accountId } = await gateway.customer(60);
      const answer = await ask(gateway, key, style, true);
      assertEquals(answer.status, 200);
      const bytes = new Uint8Array(await answer.arrayBuffer());
      checkEnd(style, outgrown, bytes);
      assert(seen.sent < pieces, "the upstream was stopped");
      const { receipts: [receipt] } = await listReceipts(gateway.kv, accountId, { limit: 1 });
      assert(receipt !== undefined);
      assertEquals([receipt.outcome, receipt.status, receipt.shortfallMicroVnd], ["cut", 200, 0n]);
      // A token is billed for four bytes, and held for each.
      const output = receipt.usage?.output ?? 0;
      assert(output > 1_200 && output < 1_900, `${output}`);
      assert(receipt.costMicroVnd <= fromVnd(60));
      assertEquals((await verifyStore(gateway.kv)).problems, []);
      assertEquals(
        (await gateway.assembled.gateway.wallet.balance(accountId)).totalMicroVnd,
        fromVnd(60) - receipt.costMicroVnd,
      );
    });
  }
}

function checkEnd(style: BodyStyle, outgrown: "length" | "error", bytes: Uint8Array): void {
  const outcome = style === "chat"
    ? readChatStream(bytes, true)
    : style === "messages"
    ? readMessagesStream(bytes)
    : readResponsesStream(bytes);
  if (outgrown === "error") {
    assertEquals(outcome.kind, "error");
    assertStringIncludes(JSON.stringify(outcome), "balance is used up");
    return;
  }
  const reason = outcome.kind === "completion"
    ? outcome.completion.choices[0]?.finish_reason
    : outcome.kind === "message"
    ? outcome.message.stop_reason
    : outcome.kind === "response"
    ? outcome.response.incomplete_details?.reason
    : outcome;
  const reasons = {
    chat: "length",
    messages: "max_tokens",
    responses: "max_output_tokens",
  } as const;
  assertEquals(reason, reasons[style]);
}
