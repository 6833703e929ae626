/** Pictures that models make: each style that has a form for them carries them, and nobody pays for a lost one. */
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { convertAnswer } from "../../../../core/wire/convert/convert.ts";
import { readAnswer } from "../../../../core/wire/convert/answer_reading.ts";
import type { ProviderStyle } from "../../../../core/wire/contract/contract.ts";
import { answerFrames } from "../../../../core/wire/stream/answer_frames.ts";
import { pipeText } from "../native/piping.ts";
import { context, convertedAnswer } from "./converting.ts";
import { clientStyles, wholeAnswer } from "./provider_answers.ts";
import { streamed } from "./streaming.ts";

const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ";
const url = `data:image/png;base64,${data}`;

/** Answers of each style with a picture, after a text if there is one. */
const drawn: Partial<Record<ProviderStyle, readonly ((text: string) => JsonObject)[]>> = {
  chat: [
    (text) => chatAnswer({ content: text, images: [{ type: "image_url", image_url: { url } }] }),
    (text) =>
      chatAnswer({
        content: [
          ...text === "" ? [] : [{ type: "text", text }],
          { type: "image_url", image_url: { url } },
        ],
      }),
  ],
  responses: [(text) => {
    const answer = wholeAnswer("responses", { text });
    const item = { type: "image_generation_call", id: "ig_1", status: "completed", result: data };
    const output = Array.isArray(answer["output"]) ? answer["output"] : [];
    return { ...answer, output: [...output, item] };
  }],
  gemini: [
    (text) => geminiAnswer(text, { inlineData: { mimeType: "image/png", data } }),
    (text) =>
      geminiAnswer(text, {
        inlineData: { mimeType: "image/png", data },
        thoughtSignature: "c2ln",
      }),
  ],
};

function chatAnswer(message: JsonObject): JsonObject {
  return {
    ...wholeAnswer("chat", { text: "" }),
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" }],
    usage: {
      prompt_tokens: 20,
      completion_tokens: 1_125,
      completion_tokens_details: { image_tokens: 1_120 },
    },
  };
}

function geminiAnswer(text: string, picture: JsonObject): JsonObject {
  const parts: Json[] = [...text === "" ? [] : [{ text }], picture];
  return {
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
    usageMetadata: {
      promptTokenCount: 20,
      candidatesTokenCount: 1_125,
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1_120 }],
    },
  };
}

/** Each answer with a picture, for each client style but the one without pictures. */
function* answers(text: string) {
  for (const [name, forms] of Object.entries(drawn)) {
    const provider = clientStyles.find((style) => style === name);
    assert(provider !== undefined);
    for (const form of forms) yield { provider, body: form(text) };
  }
}

const forms = {
  chat: `"images":[{"type":"image_url","image_url":{"url":"${url}"},"index":0}]`,
  responses: `"output_format":"png","result":"${data}"`,
  gemini: `{"inlineData":{"mimeType":"image/png","data":"${data}"}}`,
};

Deno.test("a picture reaches every client whose style has a form for it, whole and streamed", () => {
  for (const text of ["", "Here it is."]) {
    for (const { provider, body } of answers(text)) {
      const frames = answerFrames(provider, body);
      for (const client of ["chat", "responses", "gemini"] as const) {
        if (client === provider) continue;
        const name = `${provider} to ${client}`;
        const whole = JSON.stringify(convertedAnswer(provider, client, body));
        assert(whole.includes(forms[client]), `${name}: ${whole}`);
        assert(whole.includes(text), name);
        const stream = streamed(provider, client, frames);
        assert(stream.text.includes(forms[client]), `${name}: ${stream.text}`);
        assertEquals([stream.reading.state, stream.reading.sawOutput], ["completed", true]);
      }
    }
  }
});

Deno.test("a native answer of a picture is output, of no more bytes than a picture has tokens", () => {
  for (const { provider, body } of answers("")) {
    const { empty, outputBytes } = readAnswer(provider, body);
    assertEquals(empty, false, provider);
    const { reading } = pipeText(provider, answerFrames(provider, body));
    assertEquals([reading.state, reading.sawOutput], ["completed", true], provider);
    assert(outputBytes <= 5_160 && reading.outputBytes <= 5_160, provider);
  }
});

Deno.test("a Messages client gets the name of a picture beside the rest, and does not pay for it", () => {
  for (const { provider, body } of answers("Here it is.")) {
    const lost: string[] = [];
    const whole = convertAnswer(provider, "messages", body, context, {}, (what) => lost.push(what));
    const text = JSON.stringify(whole);
    assert(text.includes("Here it is.") && text.includes("image/png left out"), text);
    assert(!text.includes(data), text);
    assertEquals(lost, ["answer.image"]);
    const stream = streamed(provider, "messages", answerFrames(provider, body));
    assertEquals(stream.reading.state, "completed");
    assert(stream.text.includes("image/png left out"), stream.text);
    if (provider === "responses") continue;
    assert(text.includes('"output_tokens":5'), text);
    assertEquals(stream.reading.usage?.output, 5, provider);
    assertEquals(stream.reading.usage?.outputImage, undefined, provider);
  }
});

Deno.test("an answer of a picture alone is an error for a Messages client, which names the ways that carry it", () => {
  for (const { provider, body } of answers("")) {
    const whole = () => convertedAnswer(provider, "messages", body);
    assertThrows(whole, GatewayError, "/v1/chat/completions");
    const { reading } = streamed(provider, "messages", answerFrames(provider, body));
    assertEquals(reading.error?.code, "conversion_refused", provider);
  }
});
