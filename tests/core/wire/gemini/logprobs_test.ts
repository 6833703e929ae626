/** Log probabilities of a Gemini model reach Chat and Responses clients where the route gives them. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { accepted, convertedAnswer, refusal } from "../conversion/converting.ts";
import { streamed } from "../conversion/streaming.ts";

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

Deno.test("log probabilities are asked for where the route lists them, and refused elsewhere", () => {
  for (const client of clients) {
    const request: JsonObject = JSON.parse(JSON.stringify(asked[client]));
    const { body, dropped } = accepted(client, "gemini", request, { shared_fields: ["logprobs"] });
    assertEquals(body.generationConfig, { responseLogprobs: true, logprobs: 2 }, client);
    assertEquals(dropped, []);
    assertEquals(refusal(client, "gemini", request).code, "conversion_refused");
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
