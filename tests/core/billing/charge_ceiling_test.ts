/** Whatever a provider reports or sends, the charge stays within a multiple of the worst case that was reserved. */
import { assert, assertEquals } from "../../support/assert.ts";
import * as fc from "../../support/property.ts";
import { chatBounds } from "../../../core/calls/bounds/chat_bounds.ts";
import { chargeForEndedChat, type EndedReading } from "../../../core/calls/bounds/chat_charge.ts";
import { readChatRequest } from "../../../core/calls/request/chat_request.ts";
import { parseJsonBody } from "../../../core/calls/body/json_body.ts";
import type { Model } from "../../../core/catalog/catalog.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { chargeMultiple, chargeMultipleWithHostedTools } from "../../../core/billing/outcome.ts";
import { applyPrice } from "../../../core/billing/price.ts";
import { noTokens, type TokenUsage } from "../../../core/billing/tokens/token_bounds.ts";
import type { AppliedPrice, Outcome } from "../../../core/billing/usage/receipt.ts";
import { defaultCatalog } from "../../support/gateways/gateway_in_process.ts";

const anyModel = defaultCatalog().models.find(({ kind }) => kind === "chat")!;
const ratesOf = (input: number, output: number, read: number, write: number, more = 0) => ({
  vndPerMtok: input + more,
  outputVndPerMtok: output + more,
  cacheReadVndPerMtok: read + more,
  cacheWriteVndPerMtok: write + more,
});
const priceOf = (...rates: [number, number, number, number]) =>
  applyPrice({ unit: "token", ...ratesOf(...rates) });
const price = priceOf(8_000, 40_000, 800, 10_000);

function quote(body: JsonObject, some: Partial<Model> = {}, applied: AppliedPrice = price) {
  const model = { ...anyModel, contextWindow: 200_000, maxOutputTokens: 10_000, ...some };
  const parsed = parseJsonBody(new TextEncoder().encode(JSON.stringify(body)));
  const request = readChatRequest("messages", parsed.value);
  return { model, request, price: applied, bounds: chatBounds(request, parsed, model, applied) };
}

const ask = (content: string, max_tokens: number, more: JsonObject = {}): JsonObject => ({
  model: "m",
  max_tokens,
  messages: [{ role: "user", content }],
  ...more,
});

const reading = (some: Partial<EndedReading>): EndedReading => ({
  usage: undefined,
  usageRejected: false,
  outputBytes: 0,
  sawOutput: true,
  stopReason: undefined,
  ...some,
});
const usageOf = (some: Partial<TokenUsage>): TokenUsage => ({ ...noTokens, input: 30, ...some });

const count = fc.oneof(fc.nat(300), fc.nat(500_000), fc.nat(100_000_000));
const anyUsage: fc.Arbitrary<TokenUsage> = fc.record({
  input: count,
  cacheRead: count,
  cacheWrite: count,
  output: count,
  share: fc.double({ min: 0, max: 1, noNaN: true }),
}).map(({ share, ...buckets }) => ({
  ...buckets,
  cacheWriteHour: Math.floor(buckets.cacheWrite * (1 - share)),
  reasoning: Math.floor(buckets.output * share),
}));
const anyOutcome = fc.constantFrom<Outcome>("completed", "empty", "broken", "client_gone", "cut");
const vnd = fc.nat(100_000);
/** Prices with an hour's rate and with higher rates for long prompts. */
const anyPrice = fc.tuple(
  fc.tuple(vnd, vnd, vnd, vnd),
  fc.option(vnd, { nil: undefined }),
  fc.option(fc.tuple(fc.integer({ min: 1, max: 250_000 }), vnd)),
).map(([rates, cacheWriteHourVndPerMtok, long]) =>
  applyPrice({
    unit: "token",
    ...ratesOf(...rates),
    cacheWriteHourVndPerMtok,
    longPrompt: long === null ? undefined : {
      aboveTokens: long[0],
      ...ratesOf(...rates, long[1]),
      cacheWriteHourVndPerMtok: cacheWriteHourVndPerMtok && cacheWriteHourVndPerMtok + long[1],
    },
  })
);
const anyContent = fc.oneof(
  fc.string({ unit: "binary", maxLength: 2_000 }),
  fc.nat(40_000).map((length) => "word ".repeat(length / 5)),
);

Deno.test("property: the charge is within a multiple of the worst case, whatever is reported or sent", () => {
  fc.assert(fc.property(
    anyPrice,
    anyContent,
    fc.nat(100_000),
    fc.option(fc.tuple(anyUsage, fc.option(anyUsage))),
    fc.oneof(fc.nat(10_000), fc.nat(5_000_000_000)),
    anyOutcome,
    fc.boolean(),
    fc.boolean(),
    (
      applied,
      content,
      maxTokens,
      report,
      outputBytes,
      outcome,
      runsTools,
      stopped,
    ) => {
      const quoted = quote(ask(content, maxTokens), {}, applied);
      const usage = report === null
        ? undefined
        : report[1] === null
        ? report[0]
        : { ...report[0], said: report[1] };
      const charge = chargeForEndedChat(quoted, {
        outcome,
        runsTools,
        carriesTier: false,
        reading: reading({
          usage,
          outputBytes,
          stopReason: stopped ? "end_turn" : undefined,
        }),
      });
      const multiple = runsTools ? chargeMultipleWithHostedTools : chargeMultiple;
      assert(charge.priceMicroVnd >= 0n);
      assert(charge.priceMicroVnd <= quoted.bounds.costMicroVnd * multiple);
      assert(charge.claimMicroVnd >= 0n);
      for (const tokens of Object.values(charge.usage)) {
        assert(Number.isSafeInteger(tokens) && tokens >= 0);
      }
    },
  ));
});

Deno.test("property: a truthful report is billed to the token, and its route is not blamed", () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(fc.property(
    anyContent.filter((content) => content !== ""),
    fc.integer({ min: 1, max: 10_000 }),
    fc.tuple(share, share, share, share),
    fc.integer({ min: 1, max: 128 }),
    (content, maxTokens, [inputShare, cachedShare, outputShare, thoughtShare], bytesPerToken) => {
      const body = ask(content, maxTokens);
      const quoted = quote(body, { contextWindow: 1_000_000 });
      // At most a token for each byte, and the frame of a conversation.
      const bytes = new TextEncoder().encode(JSON.stringify(body)).length;
      const whole = 1 + Math.floor(inputShare * bytes);
      const cacheRead = Math.floor(whole * cachedShare);
      const output = 1 + Math.floor(outputShare * (maxTokens - 1));
      const reasoning = Math.floor(output * thoughtShare);
      const usage = { input: whole - cacheRead, cacheRead, cacheWrite: 0, output, reasoning };
      const outputBytes = Math.max(1, (output - reasoning) * bytesPerToken);
      const charge = chargeForEndedChat(quoted, {
        outcome: "completed",
        runsTools: false,
        carriesTier: false,
        reading: reading({ usage, outputBytes, stopReason: "end_turn" }),
      });
      assertEquals(charge.usage, usage);
      assertEquals([charge.estimated, charge.claimMicroVnd], [false, 0n]);
      assertEquals(charge.implausible, undefined);
    },
  ));
});

const completed = (body: JsonObject, some: Partial<EndedReading>, runsTools = false) =>
  chargeForEndedChat(quote(body), {
    outcome: "completed",
    runsTools,
    carriesTier: false,
    reading: reading({ outputBytes: 400, stopReason: "end_turn", ...some }),
  });

Deno.test("a report of two million tokens for a short prompt is not charged, and the difference is claimed", () => {
  const body = ask("What is the capital of Vietnam?", 100);
  const charge = completed(body, { usage: usageOf({ input: 2_000_000, output: 90 }) });
  assert(charge.usage.input < 50);
  assertEquals([charge.usage.output, charge.estimated, charge.implausible], [90, true, "input"]);
  assertEquals(charge.claimMicroVnd, BigInt(2_000_000 - charge.usage.input) * 8_000n);
});

Deno.test("reasoning beyond the caller's bound is charged up to the ceiling, and not judged false", () => {
  const body = ask("What is the capital of Vietnam?", 100);
  const charge = completed(body, { usage: usageOf({ output: 39_000, reasoning: 38_900 }) });
  const bound = quote(body).bounds.costMicroVnd;
  assert(charge.priceMicroVnd <= bound * 4n && charge.priceMicroVnd > bound * 3n);
  assertEquals([charge.estimated, charge.implausible], [true, undefined]);
  assertEquals(
    charge.priceMicroVnd + charge.claimMicroVnd,
    30n * 8_000n + 39_000n * 40_000n,
  );
});

Deno.test("a stream that was ended costs no more output than requested, whatever it had reported", () => {
  for (const outcome of ["cut", "broken", "client_gone"] as const) {
    const charge = chargeForEndedChat(quote(ask("Write", 100)), {
      outcome,
      runsTools: false,
      carriesTier: false,
      reading: reading({
        outputBytes: 21_000,
        answerBytes: 21_000,
        usage: usageOf({ output: 5_200 }),
      }),
    });
    assertEquals([charge.usage.input, charge.usage.output], [30, 100], outcome);
    assertEquals(charge.claimMicroVnd, 5_150n * 40_000n, outcome);
  }
});

Deno.test("large but possible reports are believed: tools of the vendor, pictures, files, hosted tools", () => {
  const part = (content: JsonObject): JsonObject => ({
    ...ask("", 1_000),
    messages: [{ role: "user", content: [content] }],
  });
  const tool = { type: "computer_20250124", name: "computer", display_width_px: 1024 };
  const cases: [string, JsonObject, number, boolean][] = [
    ["a frame", ask("hi", 100), 200, false],
    ["a tool of the vendor", ask("hi", 1_000, { tools: [tool] }), 1_400, false],
    [
      "a picture of many tiles",
      part({ type: "image", source: { type: "url", url: "https://a/b.png" } }),
      25_501,
      false,
    ],
    [
      "a file whose pages are few bytes",
      part({
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: "A".repeat(2_000) },
      }),
      6_000,
      false,
    ],
    [
      "a file elsewhere",
      part({ type: "document", source: { type: "file", file_id: "f" } }),
      190_000,
      false,
    ],
    [
      "a search, round after round",
      ask("hi", 1_000, { tools: [{ type: "web_search_20250305", name: "web_search" }] }),
      404_500,
      true,
    ],
  ];
  for (const [name, body, input, runsTools] of cases) {
    const usage = usageOf({ input, output: 90 });
    const charge = completed(body, { usage }, runsTools);
    assertEquals([charge.usage, charge.estimated], [usage, false], name);
    assertEquals([charge.claimMicroVnd, charge.implausible], [0n, undefined], name);
  }
});

Deno.test("no request makes a truthful route look false", () => {
  const cases: [string, JsonObject, Partial<EndedReading>][] = [
    ["a page for each byte", {
      ...ask("", 100),
      messages: [{
        role: "user",
        content: [{ type: "document", source: { type: "base64", data: "A".repeat(999) } }],
      }],
    }, { usage: usageOf({ input: 150_000, output: 90 }) }],
    ["a window that the file has too small", ask("word ".repeat(200_000), 100), {
      usage: usageOf({ input: 900_000, output: 90 }),
    }],
    ["spaces, the longest entry of a vocabulary each", ask("Write spaces", 100), {
      outputBytes: 12_800,
      usage: usageOf({ output: 100 }),
    }],
    [
      "tools that are a few bytes each, and more when they are written out",
      ask("hi", 100, { tools: Array(2_000).fill({ name: "a", input_schema: {} }) }),
      { usage: usageOf({ input: 190_000, output: 90 }) },
    ],
    ["hidden reasoning outside of the bound", ask("Think", 1), {
      outputBytes: 4,
      usage: usageOf({ output: 60_000, reasoning: 0 }),
    }],
  ];
  for (const [name, body, some] of cases) {
    assertEquals(completed(body, some).implausible, undefined, name);
  }
  const thought = { outputBytes: 90_000, answerBytes: 400, usage: usageOf({ output: 9_000 }) };
  assertEquals(completed(ask("Think", 100), thought).implausible, undefined);
  const flood = completed(ask("Write", 100), {
    outputBytes: 21_000,
    answerBytes: 21_000,
    usage: usageOf({ output: 5 }),
  });
  assertEquals(flood.implausible, "output");
  const million = completed(ask("Write", 100), { usage: usageOf({ output: 50_000_000 }) });
  assertEquals([million.implausible, million.usage.output], ["output", 100]);
});
