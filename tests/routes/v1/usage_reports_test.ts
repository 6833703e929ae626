/** What customers pay when their provider reports what cannot be: seen from outside, on the receipt and the wallet. */
import { assert, assertEquals } from "@std/assert";
import type { Style } from "../../../core/dialects/contract.ts";
import type { Json } from "../../../core/json.ts";
import { noTokens, type TokenUsage } from "../../../core/money/token_usage.ts";
import type { Receipt } from "../../../core/receipt.ts";
import { listReceipts } from "../../../kv/receipts.ts";
import { verifyStore } from "../../../kv/verify.ts";
import { openTestGateway } from "../../support/gateway_in_process.ts";
import { mockProvider } from "./media/media_world.ts";

const styles: readonly Style[] = ["messages", "chat", "responses"];
const paths: Record<Style, string> = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
};

/** What a provider says: a text, and the counts of its style's `usage`; `null` is none at all. */
interface Told {
  readonly text: string;
  readonly usage: Json;
  /** Messages streams: the counts of `message_start`; by default the input of `usage` and one token. */
  readonly first?: Json;
}

const event = (name: string, body: object) =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...body })}\n\n`;

const transcripts: Record<Style, { whole(told: Told): object; stream(told: Told): string }> = {
  messages: {
    whole: ({ text, usage }) => ({
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage,
    }),
    stream: ({ text, usage, first }) =>
      event("message_start", {
        message: {
          id: "msg_1",
          type: "message",
          role: "assistant",
          model: "m",
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: first ?? { input_tokens: 10, output_tokens: 1 },
        },
      }) +
      event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
      event("content_block_delta", { index: 0, delta: { type: "text_delta", text } }) +
      event("content_block_stop", { index: 0 }) +
      event("message_delta", {
        delta: { stop_reason: "end_turn", stop_sequence: null },
        ...(usage === null ? {} : { usage }),
      }) + event("message_stop", {}),
  },
  chat: {
    whole: ({ text, usage }) => ({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{
        index: 0,
        message: { role: "assistant", content: text },
        finish_reason: "stop",
      }],
      ...(usage === null ? {} : { usage }),
    }),
    stream: ({ text, usage }) => {
      const chunk = (more: object) => {
        const head = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
        return `data: ${JSON.stringify({ ...head, ...more })}\n\n`;
      };
      const choice = (delta: object, finish_reason: string | null) =>
        chunk({ choices: [{ index: 0, delta, finish_reason }] });
      return choice({ role: "assistant", content: text }, null) + choice({}, "stop") +
        (usage === null ? "" : chunk({ choices: [], usage })) + "data: [DONE]\n\n";
    },
  },
  responses: {
    whole: (told) => response(told),
    stream: (told) => {
      const { output, usage: _, ...open } = response(told);
      const head = { output_index: 0, item_id: "i" };
      return [
        event("response.created", {
          sequence_number: 0,
          response: { ...open, status: "in_progress", output: [], usage: null },
        }),
        event("response.output_item.added", {
          sequence_number: 1,
          output_index: 0,
          item: { ...output[0], status: "in_progress", content: [] },
        }),
        event("response.output_text.delta", {
          sequence_number: 2,
          ...head,
          content_index: 0,
          delta: told.text,
          logprobs: [],
        }),
        event("response.output_item.done", {
          sequence_number: 3,
          output_index: 0,
          item: output[0],
        }),
        event("response.completed", { sequence_number: 4, response: response(told) }),
      ].join("");
    },
  },
};

function response({ text, usage }: Told) {
  return {
    id: "resp_1",
    object: "response",
    created_at: 1,
    status: "completed",
    model: "m",
    error: null,
    incomplete_details: null,
    output: [{
      id: "i",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text, annotations: [] }],
    }],
    usage,
  };
}

interface World extends AsyncDisposable {
  /** One call; `caller` is its style where it is another than the provider's. */
  ask(style: Style, stream: boolean, told: Told, call?: Call): Promise<Receipt>;
  spentMicroVnd(): Promise<bigint>;
}

interface Call {
  readonly caller?: Style;
  readonly model?: string;
  readonly body?: object;
}

const price = { unit: "token", vndPerMtok: 8_300 };
const size = { contextWindow: 100_000, maxOutputTokens: 10_000 };
const credit = 1_000_000;

async function open(): Promise<World> {
  let now: { style: Style; told: Told } | undefined;
  const provider = mockProvider((request) => {
    assert(now !== undefined);
    const transcript = transcripts[now.style];
    return request.json()["stream"] === true
      ? new Response(transcript.stream(now.told), {
        headers: { "content-type": "text/event-stream" },
      })
      : Response.json(transcript.whole(now.told));
  });
  const model = (id: string, style: Style, more: object = {}) => ({
    id,
    kind: "chat",
    family: "test",
    price,
    ...size,
    ...more,
    routes: [{ provider: "p", style, model: "m", allow: ["web_search"] }],
  });
  const gateway = await openTestGateway({
    env: { PROVIDER_KEY: "provider-secret-1234567890" },
    file: () => ({
      defaultModel: "chat",
      providers: {
        p: {
          kind: "http",
          baseUrl: `http://127.0.0.1:${provider.port}`,
          apiKeyEnv: "PROVIDER_KEY",
        },
      },
      models: [
        ...styles.map((style) => model(style, style)),
        model("flat", "chat", { price: { unit: "request", vnd: 230 } }),
        model("gratis", "chat", { price: { unit: "token", vndPerMtok: 0 } }),
      ],
    }),
  });
  const { key, accountId } = await gateway.customer(credit);
  return {
    async ask(style, stream, told, { caller = style, model = style, body = {} } = {}) {
      now = { style, told };
      const answer = await gateway.fetch(
        new Request(`http://gateway${paths[caller]}`, {
          method: "POST",
          headers: { "x-api-key": key, "content-type": "application/json" },
          body: JSON.stringify({
            model,
            stream,
            ...(caller === "responses"
              ? { input: "hi", max_output_tokens: 100 }
              : { messages: [{ role: "user", content: "hi" }], max_tokens: 100 }),
            ...body,
          }),
        }),
      );
      const text = await answer.text();
      assertEquals(answer.status, 200, text);
      const [receipt] = (await listReceipts(gateway.kv, accountId, { limit: 1 })).receipts;
      assertEquals(receipt?.requestId, answer.headers.get("x-request-id"));
      assert(receipt !== undefined);
      return receipt;
    },
    async spentMicroVnd() {
      const balance = await gateway.assembled.gateway.teller.balance(accountId);
      assertEquals(balance.reservedMicroVnd, 0n);
      assert((await verifyStore(gateway.kv)).ok);
      return BigInt(credit) * 1_000_000n - balance.totalMicroVnd;
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

const counts = (style: Style, input: number, output: number): Record<string, Json> =>
  style === "chat"
    ? { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
    : { input_tokens: input, output_tokens: output };

const tokens = (input: number, output: number): TokenUsage => ({ ...noTokens, input, output });
const costOf = ({ input, output }: TokenUsage) => BigInt(input + output) * 8_300n;

/** A hundred tokens by our own count. */
const text = "a".repeat(400);

Deno.test("a report beyond the bounds of its call takes nobody's money: that side is counted by us, and flagged", async () => {
  await using world = await open();
  let spent = 0n;
  for (const style of styles) {
    for (const stream of [false, true]) {
      const ask = (usage: Json) => world.ask(style, stream, { text, usage });
      const sane = await ask(counts(style, 10, 90));
      assertEquals([sane.usage, sane.estimated], [tokens(10, 90), false]);
      const output = await ask(counts(style, 10, 50_000_000));
      assertEquals([output.usage, output.estimated], [tokens(10, 100), true], style);
      const input = await ask(counts(style, 50_000_000, 90));
      assertEquals([input.usage?.output, input.estimated], [90, true], style);
      assert((input.usage?.input ?? 0) < 50, `${style}: ${input.usage?.input} tokens of "hi"`);
      for (const receipt of [sane, output, input]) {
        assertEquals(receipt.costMicroVnd, costOf(receipt.usage ?? noTokens));
        assertEquals(receipt.outcome, "completed");
        spent += receipt.costMicroVnd;
      }
    }
  }
  assertEquals(await world.spentMicroVnd(), spent);
});

Deno.test("what only a total or a list of model runs shows is billed where it can be, and dropped where not", async () => {
  await using world = await open();
  const chat = (total_tokens: Json) => ({ ...counts("chat", 10, 20), total_tokens });
  const runs = (input_tokens: Json) => ({
    ...counts("messages", 10, 20),
    iterations: [{ type: "compaction", input_tokens, output_tokens: 30 }, {
      type: "message",
      ...counts("messages", 10, 20),
    }],
  });
  for (const stream of [false, true]) {
    const cases: [Style, Json, TokenUsage, boolean][] = [
      ["chat", chat(130), { ...tokens(10, 120), reasoning: 100 }, false],
      ["chat", chat(40_000_000), tokens(10, 20), true],
      ["chat", chat(4e12), tokens(10, 20), true],
      ["chat", chat(-5), tokens(10, 20), true],
      ["messages", runs(90_000), tokens(90_010, 50), false],
      ["messages", runs(90_000_000), tokens(10, 20), true],
      ["messages", runs(4e12), tokens(10, 20), true],
      ["messages", runs(-5), tokens(10, 20), true],
    ];
    for (const [style, usage, billed, estimated] of cases) {
      const receipt = await world.ask(style, stream, { text: "a".repeat(80), usage });
      const name = `${style} ${JSON.stringify(usage)}`;
      assertEquals([receipt.usage, receipt.estimated], [billed, estimated], name);
    }
  }
});

Deno.test("the same holds where the caller speaks another style than the provider", async () => {
  await using world = await open();
  for (const [style, caller] of [["chat", "messages"], ["messages", "responses"]] as const) {
    for (const stream of [false, true]) {
      const told = { text, usage: counts(style, 10, 50_000_000) };
      const receipt = await world.ask(style, stream, told, { caller });
      assertEquals([receipt.usage, receipt.estimated], [tokens(10, 100), true]);
    }
  }
});

Deno.test("tools of the provider may fill the context again and again, where they were asked for", async () => {
  await using world = await open();
  const body = { tools: [{ type: "web_search_20250305", name: "web_search" }] };
  const told = { text, usage: counts("messages", 900_000, 90) };
  const searched = await world.ask("messages", false, told, { body });
  assertEquals([searched.usage, searched.estimated], [tokens(900_000, 90), false]);
  const plain = await world.ask("messages", false, told);
  assertEquals([plain.usage?.output, plain.estimated], [90, true]);
});

Deno.test("a price per call and a price of nothing stay what they are", async () => {
  await using world = await open();
  for (const usage of [counts("chat", 10, 50_000_000), counts("chat", 50_000_000, 1), null]) {
    const flat = await world.ask("chat", false, { text, usage }, { model: "flat" });
    assertEquals(flat.costMicroVnd, 230_000_000n);
    const gratis = await world.ask("chat", true, { text, usage }, { model: "gratis" });
    assertEquals(gratis.costMicroVnd, 0n);
  }
});
