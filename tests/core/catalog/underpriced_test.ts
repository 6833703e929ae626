import { assert, assertEquals } from "../../support/assert.ts";
import { buildCatalog } from "../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../core/catalog/schema.ts";
import { type Underpriced, underpricedRoutes } from "../../../core/catalog/underpriced.ts";

/** The warnings for one model with one route. */
function found(
  kind: string,
  price: object,
  cost: object,
  more: object = {},
): readonly Underpriced[] {
  const built = buildCatalog(gatewayFileSchema.parse({
    defaultModel: "chat",
    currencies: { USD: 25_000 },
    providers: { p: { kind: "sandbox", currency: "USD" } },
    models: [
      {
        id: "chat",
        kind: "chat",
        family: "f",
        price: { unit: "request", vnd: 1 },
        routes: [{ provider: "p" }],
      },
      { id: "m", kind, family: "f", price, ...more, routes: [{ provider: "p", cost }] },
    ],
  }));
  assert(built.ok, built.ok ? "" : built.problems.join());
  return underpricedRoutes(built.catalog);
}

const worst = (warnings: readonly Underpriced[]) =>
  warnings.map(({ bucket, priceMicroVnd, costMicroVnd, rates }) =>
    [bucket, Number(priceMicroVnd) / 1e6, Number(costMicroVnd) / 1e6, rates] as const
  );

Deno.test("a price that covers its cost in every rate is fine, to the last µVND", () => {
  const price = { unit: "token", vndPerMtok: 5_000, outputVndPerMtok: 15_000 };
  assertEquals(found("chat", price, { unit: "token", perMtok: 0.2, outputPerMtok: 0.6 }), []);
  const one = found("chat", price, { unit: "token", perMtok: 0.2, outputPerMtok: "0.600001" });
  assertEquals(worst(one), [["output", 15_000, 15_000.025, 3]], "with sound and pictures");
});

Deno.test("the rate that is furthest below its cost is named", () => {
  const price = { unit: "token", vndPerMtok: 5_000, cacheReadVndPerMtok: 100 };
  const cost = { unit: "token", perMtok: 0.21, cacheReadPerMtok: 0.1 };
  const [warning] = found("chat", price, cost);
  assertEquals(warning?.bucket, "cache_read");
  assertEquals([warning?.model, warning?.route], ["m", "p/m"]);
});

Deno.test("long prompts and tiers are compared with what they cost", () => {
  const price = {
    unit: "token",
    vndPerMtok: 5_000,
    longPrompt: { aboveTokens: 300_000, vndPerMtok: 10_000 },
    serviceTiers: { flex: 0.5 },
  };
  const cheap = { unit: "token", perMtok: 0.1 };
  assertEquals(found("chat", price, cheap), []);
  const flex = { ...cheap, perMtok: 0.15, serviceTiers: { flex: 0.5 } };
  assertEquals(found("chat", price, flex), []);
  assertEquals(found("chat", price, { ...cheap, perMtok: 0.15 })[0]?.bucket, "input.flex");
  // Between 200,000 and 300,000 tokens the provider charges for a long prompt, the customer pays for a short one.
  const long = { ...cheap, longPrompt: { aboveTokens: 200_000, perMtok: 0.25 } };
  assertEquals(worst(found("chat", { ...price, serviceTiers: {} }, long))[0]?.slice(0, 3), [
    "input.long",
    5_000,
    6_250,
  ]);
});

Deno.test("pieces, seconds, videos and tools are compared, too", () => {
  const image = { unit: "image", vnd: 500 };
  assertEquals(found("image", image, { unit: "image", amount: "0.02" }), []);
  assertEquals(worst(found("image", image, { unit: "image", amount: "0.021" })), [
    ["image", 500, 525, 1],
  ]);
  const minute = { unit: "second", vndPerMinute: 100 };
  assertEquals(worst(found("transcription", minute, { unit: "second", perMinute: 0.006 })), [
    ["second", 100, 150, 1],
  ]);
  const search = { unit: "request", vnd: 500, hostedTools: { web_search: { vndPerUse: 200 } } };
  const tools = { unit: "request", amount: 0.01, hostedTools: { web_search: { perUse: "0.01" } } };
  assertEquals(worst(found("chat", search, tools)), [["web_search", 200, 250, 1]]);
  const videoRules = { profile: "A" };
  const video = { unit: "video", tiers: [{ fromSeconds: 1, toSeconds: 10, vnd: 2_500 }] };
  const model = { videoRules };
  assertEquals(found("video", video, { unit: "second", perMinute: "0.6" }, model), []);
  assertEquals(worst(found("video", video, { unit: "second", perMinute: "0.66" }, model)), [
    ["video.10", 2_500, 2_750, 1],
  ]);
});

Deno.test("a price per call over a cost per token cannot be compared", () => {
  assertEquals(found("chat", { unit: "request", vnd: 1 }, { unit: "token", perMtok: 100 }), []);
});
