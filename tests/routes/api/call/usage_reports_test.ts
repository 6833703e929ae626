/** What customers pay when their provider reports what cannot be: seen from outside, on the receipt and the wallet. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import type { Json } from "../../../../core/lib/json/json.ts";
import { applyPrice } from "../../../../core/billing/price.ts";
import { noTokens, type TokenUsage } from "../../../../core/billing/tokens/token_bounds.ts";
import { openUsageWorld, styles, vendorPrice } from "./usage_world.ts";

const counts = (style: BodyStyle, input: number, output: number): Record<string, Json> =>
  style === "chat"
    ? { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
    : { input_tokens: input, output_tokens: output };

const tokens = (input: number, output: number): TokenUsage => ({ ...noTokens, input, output });
const costOf = ({ input, output }: TokenUsage) => BigInt(input + output) * 8_300n;

/** A hundred tokens by our own count. */
const text = "a".repeat(400);

Deno.test("a report beyond the bounds of its call is replaced by our own count, and flagged", async () => {
  await using world = await openUsageWorld();
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

Deno.test("usage that only a total or a list of model runs shows is billed if plausible, and dropped if not", async () => {
  await using world = await openUsageWorld();
  const chat = (total_tokens: Json) => ({ ...counts("chat", 10, 20), total_tokens });
  const runs = (input_tokens: Json) => ({
    ...counts("messages", 10, 20),
    iterations: [{ type: "compaction", input_tokens, output_tokens: 30 }, {
      type: "message",
      ...counts("messages", 10, 20),
    }],
  });
  for (const stream of [false, true]) {
    const cases: [BodyStyle, Json, TokenUsage, boolean][] = [
      ["chat", chat(130), { ...tokens(10, 120), reasoning: 100 }, false],
      ["chat", chat(40_000_000), tokens(10, 20), true],
      ["chat", chat(4e12), tokens(10, 20), true],
      ["chat", chat(-5), tokens(10, 20), true],
      ["messages", runs(90_000_000), tokens(10, 20), true],
      ["messages", runs(4e12), tokens(10, 20), true],
      ["messages", runs(-5), tokens(10, 20), true],
    ];
    for (const [style, usage, billed, estimated] of cases) {
      const receipt = await world.ask(style, stream, { text: "a".repeat(80), usage });
      const name = `${style} ${JSON.stringify(usage)}`;
      assertEquals([receipt.usage, receipt.estimated], [billed, estimated], name);
    }
    // A compaction reads what was sent: so much that it can be the tokens of a second reading.
    const body = { messages: [{ role: "user", content: "word ".repeat(20_000) }] };
    const told = { text: "a".repeat(80), usage: runs(90_000) };
    const compacted = await world.ask("messages", stream, told, { body });
    assertEquals([compacted.usage, compacted.estimated], [tokens(90_010, 50), false]);
    const short = await world.ask("messages", stream, told);
    assertEquals([short.usage, short.estimated], [tokens(10, 20), true]);
  }
});

Deno.test("implausible reports are replaced in converted calls too", async () => {
  await using world = await openUsageWorld();
  for (const [style, caller] of [["chat", "messages"], ["messages", "responses"]] as const) {
    for (const stream of [false, true]) {
      const told = { text, usage: counts(style, 10, 50_000_000) };
      const receipt = await world.ask(style, stream, told, { caller });
      assertEquals([receipt.usage, receipt.estimated], [tokens(10, 100), true]);
    }
  }
});

Deno.test("hosted tools may fill the context repeatedly if the request asks for them", async () => {
  await using world = await openUsageWorld();
  const body = { tools: [{ type: "web_search_20250305", name: "web_search" }] };
  const told = { text, usage: counts("messages", 900_000, 90) };
  const searched = await world.ask("messages", false, told, { body });
  assertEquals([searched.usage, searched.estimated], [tokens(900_000, 90), false]);
  const plain = await world.ask("messages", false, told);
  assertEquals([plain.usage?.output, plain.estimated], [90, true]);
});

Deno.test("implausible reports change neither a price per call nor a price of 0", async () => {
  await using world = await openUsageWorld();
  for (const usage of [counts("chat", 10, 50_000_000), counts("chat", 50_000_000, 1), null]) {
    const flat = await world.ask("chat", false, { text, usage }, { model: "flat" });
    assertEquals(flat.costMicroVnd, 230_000_000n);
    const gratis = await world.ask("chat", true, { text, usage }, { model: "gratis" });
    assertEquals(gratis.costMicroVnd, 0n);
  }
});

Deno.test("a delivered answer is never billed as 0: missing or zero usage is counted, and flagged", async () => {
  await using world = await openUsageWorld();
  const long = "hello world ".repeat(500);
  const own = tokens(0, long.length / 4);
  let spent = 0n;
  for (const style of styles) {
    const [input, output] = style === "chat"
      ? ["prompt_tokens", "completion_tokens"]
      : ["input_tokens", "output_tokens"];
    const cases: [Json, Partial<TokenUsage>][] = [
      [counts(style, 0, 0), own],
      [counts(style, 10, 0), { ...own, input: 10 }],
      [counts(style, 10, 1), { ...own, input: 10 }],
      [counts(style, 0, 1_500), { output: 1_500 }],
      [{ [input]: 10 }, { ...own, input: 10 }],
      [{ [output]: 1_500 }, { output: 1_500 }],
      [{ [input]: 10, [output]: null }, { ...own, input: 10 }],
    ];
    for (const [usage, expected] of cases) {
      for (const stream of [false, true]) {
        // The counts of `message_start` stay where a later report leaves them out; this one has none.
        const told = { text: long, usage, first: {} };
        const asked = style === "responses" ? "max_output_tokens" : "max_tokens";
        const receipt = await world.ask(style, stream, told, { body: { [asked]: 2_000 } });
        const name = `${style} ${JSON.stringify(usage)} ${stream}`;
        assertEquals([receipt.outcome, receipt.estimated], ["completed", true], name);
        const billed = receipt.usage ?? noTokens;
        assertEquals(billed.output, expected.output, name);
        if (expected.input) assertEquals(billed.input, expected.input, name);
        else assert(billed.input > 0 && billed.input < 50, `${name}: ${billed.input}`);
        assertEquals(receipt.costMicroVnd, costOf(billed), name);
        spent += receipt.costMicroVnd;
      }
    }
  }
  assertEquals(await world.spentMicroVnd(), spent);
});

Deno.test("the output tokens of message_start are not taken for usage, whatever the caller's style", async () => {
  await using world = await openUsageWorld();
  const told = { text, first: { input_tokens: 10, output_tokens: 1 } };
  for (const caller of ["messages", "chat"] as const) {
    for (const usage of [null, {}, { input_tokens: 10 }, { output_tokens: 0 }]) {
      const receipt = await world.ask("messages", true, { ...told, usage }, { caller });
      assertEquals([receipt.usage, receipt.estimated], [tokens(10, 100), true]);
    }
  }
});

Deno.test("few tokens for many bytes are believed", async () => {
  await using world = await openUsageWorld();
  for (const style of styles) {
    for (const stream of [false, true]) {
      const spaces = { text: " ".repeat(6_000), usage: counts(style, 10, 48) };
      const receipt = await world.ask(style, stream, spaces);
      assertEquals([receipt.usage, receipt.estimated], [tokens(10, 48), false]);
    }
  }
});

Deno.test("zero reports change neither a price per call nor a price of 0", async () => {
  await using world = await openUsageWorld();
  for (const usage of [counts("chat", 0, 0), { prompt_tokens: 10 }]) {
    const flat = await world.ask("chat", false, { text, usage }, { model: "flat" });
    assertEquals([flat.costMicroVnd, flat.units], [230_000_000n, 1]);
    const gratis = await world.ask("chat", true, { text, usage }, { model: "gratis" });
    assertEquals(gratis.costMicroVnd, 0n);
  }
});

Deno.test("cache writes for an hour and long prompts are charged at their rates, and the receipt names these", async () => {
  await using world = await openUsageWorld();
  let spent = 0n;
  for (const caller of ["messages", "chat"] as const) {
    for (const stream of [false, true]) {
      const usage = {
        input_tokens: 10,
        cache_read_input_tokens: 5,
        cache_creation_input_tokens: 12,
        cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 8 },
        output_tokens: 20,
      };
      const call = { caller, model: "vendor-priced" };
      const told = { text: "a".repeat(80), usage, first: { ...usage, output_tokens: 1 } };
      const receipt = await world.ask("messages", stream, told, call);
      const { unit: _, longPrompt, ...short } = vendorPrice;
      assertEquals([receipt.usage?.cacheWrite, receipt.usage?.cacheWriteHour], [12, 8]);
      assertEquals(receipt.price, applyPrice({ unit: "token", ...short }));
      assertEquals(
        receipt.costMicroVnd,
        10n * 3_000n + 5n * 300n + 4n * 3_750n + 8n * 6_000n + 20n * 15_000n,
      );
      const body = { messages: [{ role: "user", content: "word ".repeat(20_000) }] };
      const read = { input_tokens: 20_001, output_tokens: 20 };
      const long = await world.ask(
        "messages",
        stream,
        { text: "a".repeat(80), usage: read, first: { ...read, output_tokens: 1 } },
        { ...call, body },
      );
      const { aboveTokens: __, ...rates } = longPrompt;
      assertEquals(long.price, applyPrice({ unit: "token", ...rates }));
      assertEquals(long.costMicroVnd, 20_001n * 6_000n + 20n * 22_500n);
      spent += receipt.costMicroVnd + long.costMicroVnd;
    }
  }
  assertEquals(await world.spentMicroVnd(), spent);
});
