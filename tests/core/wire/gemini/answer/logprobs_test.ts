/** Log probabilities of Gemini models reach Chat and Responses clients, and those of their models Gemini clients. */
import { assert, assertEquals } from "../../../../support/assert.ts";
import type { JsonObject } from "../../../../../core/lib/json/json.ts";
import { accepted, convertedAnswer, refusal } from "../../conversion/converting.ts";
import { streamed } from "../../conversion/streaming.ts";

const asked = {
  chat: { model: "m", messages: [{ role: "user", content: "a" }], logprobs: true, top_logprobs: 2 },
  responses: {
    model: "m",
    input: "a",
    include: ["message.output_text.logprobs"],
    top_logprobs: 2,
  },
} as const;

const clients = ["chat", "responses"] as const;

const hi = { token: "Hí", logProbability: -0.25 };
const ho = { token: "Ho", logProbability: -1.5 };

const answer: JsonObject = {
  candidates: [{
    content: { role: "model", parts: [{ text: "Hí" }] },
    finishReason: "STOP",
    index: 0,
    logprobsResult: { chosenCandidates: [hi], topCandidates: [{ candidates: [hi, ho] }] },
  }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
};

Deno.test("log probabilities are asked for, and refused where the route lists no such field", () => {
  for (const client of clients) {
    const request: JsonObject = JSON.parse(JSON.stringify(asked[client]));
    const { body, dropped } = accepted(client, "gemini", request);
    assertEquals(body.generationConfig, { responseLogprobs: true, logprobs: 2 }, client);
    assertEquals(dropped, []);
    const { code } = refusal(client, "gemini", request, { shared_fields: [] });
    assertEquals(code, "conversion_refused");
  }
});

Deno.test("log probabilities come with their text, whole and streamed", () => {
  const entry = (token: string, logprob: number) =>
    `"token":"${token}","logprob":${logprob},"bytes":[${new TextEncoder().encode(token)}]`;
  for (const client of clients) {
    const whole = JSON.stringify(convertedAnswer("gemini", client, answer));
    const stream = `data: ${JSON.stringify(answer)}\r\n\r\n`;
    const { text } = streamed("gemini", client, stream);
    for (const written of [whole, text]) {
      assert(written.includes(entry("Hí", -0.25)), written);
      assert(written.includes(entry("Ho", -1.5)), written);
    }
  }
});

const asGemini = (config: JsonObject): JsonObject => ({
  model: "m",
  contents: [{ role: "user", parts: [{ text: "a" }] }],
  generationConfig: config,
});

Deno.test("a Gemini client's request for log probabilities reaches the styles that have them", () => {
  const include = ["reasoning.encrypted_content", "message.output_text.logprobs"];
  const cases: readonly (readonly [JsonObject, JsonObject, JsonObject])[] = [
    [{ responseLogprobs: true }, { logprobs: true }, { include }],
    [{ responseLogprobs: true, logprobs: 2 }, { logprobs: true, top_logprobs: 2 }, {
      include,
      top_logprobs: 2,
    }],
    [{ responseLogprobs: false, logprobs: 0 }, {}, {}],
    [{ logprobs: 2 }, {}, {}],
  ];
  for (const [config, chat, responses] of cases) {
    const expected = { chat, responses };
    for (const target of clients) {
      const { body, dropped } = accepted("gemini", target, asGemini(config));
      const { include, logprobs, top_logprobs } = body;
      const asks = Array.isArray(include) && include.includes("message.output_text.logprobs");
      assertEquals(
        JSON.stringify({ ...(asks ? { include } : {}), logprobs, top_logprobs }),
        JSON.stringify({ ...expected[target] }),
      );
      const isLost = config.responseLogprobs === undefined;
      assertEquals(dropped, isLost ? ["generationConfig.logprobs"] : []);
    }
  }
  for (const target of ["messages", "converse"] as const) {
    const { param } = refusal("gemini", target, asGemini({ responseLogprobs: true }));
    assertEquals(param, "generationConfig.responseLogprobs");
  }
  const capabilities = { shared_fields: [] };
  const { code } = refusal("gemini", "chat", asGemini({ responseLogprobs: true }), capabilities);
  assertEquals(code, "conversion_refused");
});

Deno.test("a Gemini client gets the log probabilities of other styles, whole and streamed", () => {
  const entry = (token: string, logprob: number, top_logprobs: JsonObject[]) => ({
    token,
    logprob,
    bytes: null,
    top_logprobs,
  });
  const { top_logprobs: _, ...ho } = entry("Ho", -1.5, []);
  const given = [entry("Hí", -0.25, [ho]), entry("!", -0.5, [])];
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  const logprobs = { content: given, refusal: null };
  const chunks = [
    { choices: [{ index: 0, delta: { content: "Hí!" }, logprobs, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage },
  ];
  const message = { role: "assistant", content: "Hí!" };
  const part = { type: "output_text", text: "Hí!", annotations: [], logprobs: given };
  const item = {
    id: "m",
    type: "message",
    role: "assistant",
    status: "completed",
    content: [part],
  };
  const response = { id: "r", object: "response", status: "completed", output: [item] };
  const answers: Readonly<Record<(typeof clients)[number], JsonObject>> = {
    chat: { choices: [{ index: 0, message, logprobs, finish_reason: "stop" }], usage },
    responses: response,
  };
  const place = { item_id: "m", output_index: 0, content_index: 0 };
  const streams = {
    chat: chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("") +
      "data: [DONE]\n\n",
    responses: [
      { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
      { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
      { type: "response.output_text.delta", ...place, delta: "Hí!", logprobs: given },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response },
    ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
  } as const;
  const expected = JSON.stringify({
    topCandidates: [
      { candidates: [{ token: "Ho", logProbability: -1.5 }] },
      { candidates: [] },
    ],
    chosenCandidates: [
      { token: "Hí", logProbability: -0.25 },
      { token: "!", logProbability: -0.5 },
    ],
  });
  for (const provider of clients) {
    const whole = JSON.stringify(convertedAnswer(provider, "gemini", answers[provider]));
    const { text } = streamed(provider, "gemini", streams[provider]);
    for (const written of [whole, text]) {
      assertEquals(written.split(`"logprobsResult":${expected}`).length, 2, written);
    }
  }
});
