import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { maxReportedTokens } from "../../../../core/billing/tokens/limits.ts";
import {
  estimateOutputTokens,
  roughInputTokens,
  tokensOfUnseenImage,
  tokensOfUnseenPage,
} from "../../../../core/billing/tokens/rough_estimate.ts";

Deno.test("output is billed at four bytes a token, rounded up, and never beyond the bound", () => {
  assertEquals([0, 1, 4, 5, 4000].map(estimateOutputTokens), [0, 1, 1, 2, 1000]);
  assertEquals(estimateOutputTokens(Number.MAX_SAFE_INTEGER), maxReportedTokens);
});

Deno.test("text counts by its UTF-8 length in every style", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), (text) => {
    fc.pre(!text.startsWith("data:"));
    const bytes = new TextEncoder().encode(text).length;
    assertEquals(roughInputTokens(text), Math.ceil(bytes / 4));
  }));
  const request = {
    messages: [{ role: "user", content: [{ type: "text", text: "x".repeat(4000) }] }],
  };
  const tokens = roughInputTokens(request);
  assert(tokens >= 1000 && tokens < 1020, String(tokens));
});

Deno.test("pictures and files cost a flat rate, whatever their size", () => {
  const data = "A".repeat(1_000_000);
  const image = { type: "base64", media_type: "image/png", data };
  const pdf = { type: "base64", media_type: "application/pdf", data };
  assertEquals(roughInputTokens([image, pdf]), tokensOfUnseenImage + tokensOfUnseenPage);
  const urls = [`data:image/png;base64,${data}`, `data:application/pdf;base64,${data}`];
  assertEquals(roughInputTokens(urls), tokensOfUnseenImage + tokensOfUnseenPage);
});

Deno.test("proofs and ids cost nothing", () => {
  const proof = "A".repeat(100_000);
  assertEquals(roughInputTokens({ signature: proof, encrypted_content: proof, id: proof }), 0);
});
