/**
 * Requests to `auto`: whatever they need and whatever the key may use, the model that answers is that of a small model of
 * the rules, and the call is charged at its price.
 */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { applyPrice } from "../../../../core/billing/price.ts";
import {
  type Fault,
  type PreferringStyle,
  preferringStyles,
  PreferringWorld,
  requestOf,
} from "../../../support/worlds/preferring_world.ts";

interface TestModel {
  readonly id: string;
  readonly vndPerMtok: number;
  readonly contextWindow: number;
  readonly vision: boolean;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Each has a provider of its own name. No two have one price. */
const models: readonly TestModel[] = [
  { id: "blind", vndPerMtok: 100, contextWindow: 9_000, vision: false, facts: {} },
  { id: "short", vndPerMtok: 200, contextWindow: 2_000, vision: true, facts: {} },
  {
    id: "plain",
    vndPerMtok: 300,
    contextWindow: 9_000,
    vision: true,
    facts: { structured: "none" },
  },
  {
    id: "free",
    vndPerMtok: 400,
    contextWindow: 9_000,
    vision: true,
    facts: { tool_choice_required: false },
  },
  { id: "whole", vndPerMtok: 900, contextWindow: 9_000, vision: true, facts: {} },
];

const entries = models.map(({ id, vndPerMtok, contextWindow, vision, facts }) => ({
  id,
  kind: "chat",
  family: "test",
  vision,
  contextWindow,
  maxOutputTokens: 2_000,
  price: { unit: "token", vndPerMtok },
  routes: [{ provider: id, model: "up", priority: 0, facts }],
}));

/** What a request needs, and what its caller said. */
interface Wanted {
  readonly style: PreferringStyle;
  readonly stream: boolean;
  readonly image: boolean;
  readonly schema: boolean;
  readonly tool: boolean;
  readonly isLong: boolean;
  readonly pool: readonly string[];
  readonly allowed: readonly string[];
  readonly faults: Readonly<Record<string, "down" | undefined>>;
}

const names = models.map(({ id }) => id);
const some = fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 });

const wanted: fc.Arbitrary<Wanted> = fc.record({
  style: fc.constantFrom(...preferringStyles),
  stream: fc.boolean(),
  image: fc.boolean(),
  schema: fc.boolean(),
  tool: fc.boolean(),
  isLong: fc.boolean(),
  pool: fc.oneof(fc.constant([]), some),
  allowed: fc.oneof(fc.constant(names), some),
  faults: fc.record(Object.fromEntries(names.map((name) => [
    name,
    fc.constantFrom("down" as const, undefined, undefined),
  ]))),
});

const schema = { type: "object", properties: {}, additionalProperties: false };
const parameters = { type: "object", properties: {} };
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/** Members of a style for what a request needs. */
const members: Record<PreferringStyle, (wanted: Wanted) => object> = {
  chat: ({ image, schema: isSchema, tool, isLong }) => ({
    max_tokens: isLong ? 4_000 : 50,
    ...(image && {
      messages: [{
        role: "user",
        content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } }],
      }],
    }),
    ...(isSchema &&
      { response_format: { type: "json_schema", json_schema: { name: "x", schema } } }),
    ...(tool && {
      tools: [{ type: "function", function: { name: "f", parameters } }],
      tool_choice: "required",
    }),
  }),
  messages: ({ image, schema: isSchema, tool, isLong }) => ({
    max_tokens: isLong ? 4_000 : 50,
    ...(image && {
      messages: [{
        role: "user",
        content: [{
          type: "image",
          source: { type: "base64", media_type: "image/png", data: pixel },
        }],
      }],
    }),
    ...(isSchema && { output_config: { format: { type: "json_schema", schema } } }),
    ...(tool && {
      tools: [{ name: "f", input_schema: parameters }],
      tool_choice: { type: "any" },
    }),
  }),
  responses: ({ image, schema: isSchema, tool, isLong }) => ({
    max_output_tokens: isLong ? 4_000 : 50,
    ...(image && {
      input: [{
        role: "user",
        content: [{ type: "input_image", image_url: `data:image/png;base64,${pixel}` }],
      }],
    }),
    ...(isSchema && { text: { format: { type: "json_schema", name: "x", schema } } }),
    ...(tool && {
      tools: [{ type: "function", name: "f", parameters }],
      tool_choice: "required",
    }),
  }),
  gemini: ({ image, schema: isSchema, tool, isLong }) => ({
    generationConfig: {
      maxOutputTokens: isLong ? 4_000 : 50,
      ...(isSchema && { responseMimeType: "application/json", responseJsonSchema: schema }),
    },
    ...(image && {
      contents: [{ role: "user", parts: [{ inlineData: { mimeType: "image/png", data: pixel } }] }],
    }),
    ...(tool && {
      tools: [{ functionDeclarations: [{ name: "f", parameters }] }],
      toolConfig: { functionCallingConfig: { mode: "ANY" } },
    }),
  }),
};

/** Models that a call tries. */
const mostTried = 3;

/** The models that a call may try by the rules, in order. */
function expected({ image, schema, tool, isLong, pool, allowed }: Wanted): string[] {
  return models
    .filter(({ id }) => allowed.includes(id) && (pool.length === 0 || pool.includes(id)))
    .filter(({ id, vision }) =>
      (!image || vision) && (!schema || id !== "plain") && (!tool || id !== "free") &&
      (!isLong || id !== "short")
    )
    .sort((a, b) => a.vndPerMtok - b.vndPerMtok)
    .slice(0, mostTried)
    .map(({ id }) => id);
}

/** Paths of counts in the place of calls; Chat has none. */
const countPaths: Partial<Record<PreferringStyle, string>> = {
  messages: "/v1/messages/count_tokens",
  responses: "/v1/responses/input_tokens",
  gemini: "/v1beta/models/auto:countTokens",
};

/** A count of a request is one for the model that is tried first. */
async function checkCount(world: PreferringWorld, key: string, one: Wanted): Promise<void> {
  const { style, pool, allowed } = one;
  const path = countPaths[style];
  if (path === undefined) return;
  const said = pool.length === 0 ? {} : { models: pool };
  const { body } = requestOf(style, "auto", { ...members[style](one), ...said });
  const { status, headers, text } = await world.ask(key, { path, body });
  const isForbidden = pool.some((id) => !allowed.includes(id));
  const [first] = isForbidden ? [] : expected(one);
  assertEquals(headers.get("x-gateway-model"), first ?? null, text);
  assertEquals(status, isForbidden ? 403 : first === undefined ? 400 : 200, text);
}

async function check(world: PreferringWorld, one: Wanted): Promise<void> {
  const { style, stream, pool, allowed, faults } = one;
  await world.reopen();
  for (const name of names) world.faults.set(name, faults[name] as Fault);
  const { key, accountId } = await world.gateway.customer(1_000_000, { allowedModels: allowed });
  const said = pool.length === 0 ? {} : { models: pool };
  const request = requestOf(style, "auto", { ...members[style](one), ...said }, stream);
  await checkCount(world, key, one);
  const { status, headers, text } = await world.ask(key, request);
  const [receipt] = await world.receipts(accountId);
  if (pool.some((id) => !allowed.includes(id))) {
    assertEquals([status, receipt], [403, undefined], text);
    return;
  }
  const tried = expected(one);
  const answering = tried.find((name) => faults[name] === undefined);
  assertEquals(
    world.asked.map(({ provider }) => provider),
    answering === undefined ? tried : tried.slice(0, tried.indexOf(answering) + 1),
    text,
  );
  if (answering === undefined) {
    assertEquals(status >= 400, true);
    assertEquals(tried.length > 0 || status === 400, true, "nothing meets it");
    assertEquals(receipt?.costMicroVnd ?? 0n, 0n);
    return;
  }
  assertEquals([status, headers.get("x-gateway-model")], [200, answering], text);
  const { vndPerMtok } = models.find(({ id }) => id === answering)!;
  assertEquals(receipt?.model, answering);
  assertEquals(receipt?.mappedFrom, "auto");
  assertEquals(receipt?.price, applyPrice({ unit: "token", vndPerMtok }));
  assertEquals(receipt?.costMicroVnd, BigInt(12 * vndPerMtok));
}

Deno.test("the model that answers `auto` is that of the rules, at its own price", async () => {
  await using world = await PreferringWorld.open(names, entries);
  await fc.assert(fc.asyncProperty(wanted, (one) => check(world, one)), { numRuns: 200 });
  await world.checkBooks();
});

Deno.test("with a suffix or a wish for speed the quickest model answers `auto`", async () => {
  await using world = await PreferringWorld.open(names, entries);
  const { key } = await world.gateway.customer(1_000_000);
  const modelOf = async (name: string, more: object = {}) =>
    (await world.ask(key, requestOf("chat", name, more, true))).headers.get("x-gateway-model");
  // Nothing is measured yet: the price decides.
  assertEquals(await modelOf("auto:nitro"), "blind");
  assertEquals(await modelOf("openrouter/auto"), "blind");
  assertEquals(await modelOf("auto:floor"), "blind");
  const { router } = world.gateway.assembled.gateway;
  const { models: known } = world.gateway.assembled.gateway.catalog.current;
  const [route] = known.find(({ id }) => id === "whole")?.routes ?? [];
  assert(route !== undefined);
  router.noteThroughput(route, "chat_stream", 1_000, 1_000);
  assertEquals(await modelOf("auto:nitro"), "whole");
  assertEquals(await modelOf("auto", { provider: { sort: "throughput" } }), "whole");
  assertEquals(await modelOf("auto"), "blind");
  const cheapest = requestOf("chat", "auto", { provider: { max_price: { prompt: 50 } } });
  assertEquals((await world.ask(key, cheapest)).status, 400);
});
