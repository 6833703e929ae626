/** A gateway whose provider says any text with any report of usage, in each style, whole and streamed. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import type { Json } from "../../../../core/lib/json/json.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { openTestGateway, servedBy } from "../../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "../gateway/media_world.ts";
import { apiPost } from "../../../support/api_post.ts";

export const styles: readonly BodyStyle[] = ["messages", "chat", "responses"];
const paths: Record<BodyStyle, string> = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
};

/** What a provider says: a text, and the counts of its style's `usage`; `null` is none at all. */
export interface Told {
  readonly text: string;
  readonly usage: Json;
  /** Messages streams: the counts of `message_start`; by default the input of `usage` and one token. */
  readonly first?: Json;
}

const event = (name: string, body: object) =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...body })}\n\n`;

/** The answers of a provider, by its style. */
export const transcripts: Record<
  BodyStyle,
  { whole(told: Told): object; stream(told: Told): string }
> = {
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

export interface World extends AsyncDisposable {
  /** One call; `caller` is its style where it is another than the provider's. */
  ask(style: BodyStyle, stream: boolean, told: Told, call?: Call): Promise<Receipt>;
  spentMicroVnd(): Promise<bigint>;
}

export interface Call {
  readonly caller?: BodyStyle;
  readonly model?: string;
  readonly body?: object;
}

const price = { unit: "token", vndPerMtok: 8_300 };
/** As vendors price: cache writes by how long they are kept, and long prompts. */
export const vendorPrice = {
  unit: "token",
  vndPerMtok: 3_000,
  outputVndPerMtok: 15_000,
  cacheReadVndPerMtok: 300,
  cacheWriteVndPerMtok: 3_750,
  cacheWriteHourVndPerMtok: 6_000,
  longPrompt: { aboveTokens: 20_000, vndPerMtok: 6_000, outputVndPerMtok: 22_500 },
} as const;
const size = { contextWindow: 100_000, maxOutputTokens: 10_000 };
const credit = 1_000_000;

export async function openUsageWorld(): Promise<World> {
  let now: { style: BodyStyle; told: Told } | undefined;
  const provider = mockProvider((request) => {
    assert(now !== undefined);
    const transcript = transcripts[now.style];
    return request.json()["stream"] === true
      ? new Response(transcript.stream(now.told), {
        headers: { "content-type": "text/event-stream" },
      })
      : Response.json(transcript.whole(now.told));
  });
  const model = (id: string, style: BodyStyle, more: object = {}) => ({
    id,
    kind: "chat",
    family: "test",
    price,
    ...size,
    ...more,
    routes: [{ provider: "p", style, model: "m", allow: ["web_search"] }],
  });
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "chat",
    models: [
      ...styles.map((style) => model(style, style)),
      model("flat", "chat", { price: { unit: "request", vnd: 230 } }),
      model("vendor-priced", "messages", { price: vendorPrice }),
      model("gratis", "chat", { price: { unit: "token", vndPerMtok: 0 } }),
    ],
  }));
  const { key, accountId } = await gateway.customer(credit);
  return {
    async ask(style, stream, told, { caller = style, model = style, body = {} } = {}) {
      now = { style, told };
      const answer = await gateway.fetch(apiPost(`http://gateway${paths[caller]}`, key, {
        model,
        stream,
        ...(caller === "responses"
          ? { input: "hi", max_output_tokens: 100 }
          : { messages: [{ role: "user", content: "hi" }], max_tokens: 100 }),
        ...body,
      }));
      const text = await answer.text();
      assertEquals(answer.status, 200, text);
      const [receipt] = (await listReceipts(gateway.kv, accountId, { limit: 1 })).receipts;
      assertEquals(receipt?.requestId, answer.headers.get("x-request-id"));
      assert(receipt !== undefined);
      return receipt;
    },
    async spentMicroVnd() {
      const balance = await gateway.assembled.gateway.wallet.balance(accountId);
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
