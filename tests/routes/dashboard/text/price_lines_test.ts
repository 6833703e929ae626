import { assertEquals } from "../../../support/assert.ts";
import { priceLines } from "../../../../routes/dashboard/text/model_prices.ts";

/** Lines as a page shows them, with usual spaces. */
function shown(price: Parameters<typeof priceLines>[0], locale: "en" | "vi"): string[] {
  return priceLines(price, 22_000, locale)
    .map(({ amount, unit }) => `${amount} ${unit}`.replaceAll("\u00a0", " "));
}

Deno.test("a price is shown with all that it has: long prompts, sound, tiers, tools", () => {
  const price = {
    unit: "token",
    vndPerMtok: 0.75,
    outputVndPerMtok: "12500.5",
    inputAudioVndPerMtok: 90,
    longPrompt: { aboveTokens: 200_000, vndPerMtok: 1.5, outputVndPerMtok: 20_000 },
    serviceTiers: { flex: 0.5 },
    hostedTools: { web_search: { vndPerUse: 250.25 }, code_execution: { vndPerCall: 800 } },
  } as const;
  assertEquals(shown(price, "en"), [
    "₫0.75 in · ₫12,500.50 out per 1M tokens",
    "₫1.50 in · ₫20,000.00 out per 1M tokens, prompts above 200,000 tokens",
    "₫90 per 1M tokens of audio in",
    "× 0.5 service tier flex",
    "₫250.25 Web search, each",
    "₫800 Code execution, per call",
  ]);
  assertEquals(shown(price, "vi")[3], "× 0,5 hạng dịch vụ flex");
  const perCall = { unit: "request", vnd: 5, hostedTools: price.hostedTools } as const;
  assertEquals(shown(perCall, "vi"), [
    "5 ₫ mỗi lượt gọi",
    "250,25 ₫ Tìm trên web, mỗi lần",
    "800 ₫ Chạy mã, mỗi lượt gọi",
  ]);
});
