/** Tokens of sound and pictures: read in each style, priced apart, within what was reserved. */
import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { withinCeiling } from "../../../../core/billing/outcome.ts";
import {
  billedInputTokens,
  partsWithin,
  type TokenUsage,
} from "../../../../core/billing/tokens/token_bounds.ts";
import {
  applyPrice,
  costOfTokens,
  maxPerOutputToken,
  worstCaseCost,
} from "../../../../core/billing/price.ts";
import { inputBound } from "../../../../core/calls/bounds/chat_bounds.ts";
import { readChatUsage } from "../../../../core/wire/chat/answer/answer_reading.ts";
import { readGeminiUsage } from "../../../../core/wire/gemini/answer/answer_reading.ts";
import { readResponsesUsage } from "../../../../core/wire/responses/answer/answer_reading.ts";

const count = fc.nat({ max: 100_000 });
const usage: fc.Arbitrary<TokenUsage> = fc.record({
  input: count,
  cacheRead: count,
  cacheWrite: count,
  output: count,
  parts: fc.record({
    inputAudio: count,
    inputImage: count,
    outputAudio: count,
    outputImage: count,
  }, { requiredKeys: [] }),
}).map(({ parts, ...buckets }) => ({
  ...buckets,
  reasoning: 0,
  ...partsWithin(parts, buckets),
}));
const rate = fc.nat({ max: 5_000_000 }).map((parts) => parts / 100);
const price = fc.record({
  vndPerMtok: rate,
  outputVndPerMtok: rate,
  cacheReadVndPerMtok: rate,
  cacheWriteVndPerMtok: rate,
  inputAudioVndPerMtok: rate,
  inputImageVndPerMtok: rate,
  outputAudioVndPerMtok: rate,
  outputImageVndPerMtok: rate,
}, { requiredKeys: ["vndPerMtok"] }).map((rates) => applyPrice({ unit: "token", ...rates }));

Deno.test("parts are charged at their own rates, and the rest of their buckets as text", () => {
  const price = applyPrice({
    unit: "token",
    vndPerMtok: 100,
    outputVndPerMtok: 400,
    inputAudioVndPerMtok: 900,
    outputImageVndPerMtok: 3_000,
  });
  const used = {
    input: 50,
    inputAudio: 20,
    inputImage: 10,
    cacheRead: 0,
    cacheWrite: 0,
    output: 30,
    outputImage: 25,
    outputAudio: 5,
    reasoning: 0,
  };
  // Pictures of the prompt and sound of the answer have no rate of their own here.
  assertEquals(costOfTokens(price, used), 30n * 100n + 20n * 900n + 5n * 400n + 25n * 3_000n);
});

Deno.test("no usage costs more than its reservation, whatever is sound or a picture", () => {
  fc.assert(fc.property(price, usage, (price, used) => {
    const inputTokens = billedInputTokens(used);
    const cost = costOfTokens(price, used);
    assert(cost <= worstCaseCost(price, { inputTokens, outputTokens: used.output }));
    const first = worstCaseCost(price, { inputTokens, outputTokens: 0 });
    assert(cost <= first + BigInt(used.output) * maxPerOutputToken(price, inputTokens));
    const { inputAudio: _a, inputImage: _b, ...text } = used;
    const bound = { inputTokens, outputTokens: used.output, isText: true };
    assert(costOfTokens(price, text) <= worstCaseCost(price, bound));
  }));
});

Deno.test("a usage is cut to its ceiling with its parts, and is left alone within it", () => {
  fc.assert(fc.property(price, usage, fc.integer({ min: 0, max: 100 }), (price, used, percent) => {
    const ceiling = costOfTokens(price, used) * BigInt(percent) / 100n;
    const cut = withinCeiling(used, price, ceiling);
    assert(costOfTokens(price, cut) <= ceiling);
    if (percent === 100) assertEquals(cut, used);
    assert(cut.output <= used.output && cut.input <= used.input);
  }));
});

Deno.test("details by kind are read in each style, and never exceed what is not cached", () => {
  const expected = {
    input: 80,
    inputAudio: 50,
    inputImage: 30,
    cacheRead: 20,
    cacheWrite: 0,
    output: 40,
    outputAudio: 25,
    reasoning: 5,
  };
  const details = { cached_tokens: 20, audio_tokens: 50, image_tokens: 45 };
  const produced = { reasoning_tokens: 5, audio_tokens: 25, image_tokens: 0 };
  assertEquals(
    readChatUsage({
      prompt_tokens: 100,
      completion_tokens: 40,
      total_tokens: 140,
      prompt_tokens_details: details,
      completion_tokens_details: produced,
    }),
    { kind: "counts", usage: expected },
  );
  assertEquals(
    readResponsesUsage({
      input_tokens: 100,
      output_tokens: 40,
      input_tokens_details: details,
      output_tokens_details: produced,
    }),
    { kind: "counts", usage: expected },
  );
  assertEquals(
    readGeminiUsage({
      promptTokenCount: 100,
      cachedContentTokenCount: 20,
      candidatesTokenCount: 35,
      thoughtsTokenCount: 5,
      totalTokenCount: 140,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 5 },
        { modality: "AUDIO", tokenCount: 60 },
        { modality: "IMAGE", tokenCount: 20 },
        { modality: "VIDEO", tokenCount: 20 },
      ],
      cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 10 }],
      candidatesTokensDetails: [{ modality: "AUDIO", tokenCount: 25 }],
    }),
    { kind: "counts", usage: expected },
  );
});

Deno.test("details that are nonsense make everything text", () => {
  const report = readChatUsage({
    prompt_tokens: 10,
    completion_tokens: 4,
    prompt_tokens_details: { audio_tokens: -3, image_tokens: "9" },
  });
  assertEquals(report, {
    kind: "counts",
    usage: { input: 10, cacheRead: 0, cacheWrite: 0, output: 4, reasoning: 0 },
  });
});

Deno.test("a prompt with sound is no text, so it reserves the rate of sound", () => {
  const body = {
    model: "m",
    messages: [{
      role: "user",
      content: [{ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }],
    }],
  };
  const prompt = { body, bodyBytes: 120, contextWindow: 10_000, hostedTools: 0 };
  assertEquals(inputBound(prompt).isText, false);
});
