/** Presets: what providers get of calls that name one is what a request that says the same itself brings them. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import type { Preset, PresetParameters } from "../../../../core/calls/request/presets.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import {
  deletePreset,
  maxPresetVersions,
  savePreset,
} from "../../../../kv/people/organisations/presets.ts";
import { setCallSettings } from "../../../../kv/people/organisations/call_settings.ts";
import {
  type PreferringStyle,
  preferringStyles,
  PreferringWorld,
  requestOf,
} from "../../../support/worlds/preferring_world.ts";
import * as fc from "../../../support/property.ts";

const price = { unit: "token", vndPerMtok: 1_000 };
const modelOf = (
  id: string,
  style: string,
  providers = ["a"],
  aliases: readonly string[] = [],
) => ({
  id,
  aliases,
  kind: "chat",
  family: "test",
  price,
  contextWindow: 100_000,
  maxOutputTokens: 10_000,
  routes: providers.map((provider) => ({ provider, style, model: "up" })),
});
const open = () =>
  PreferringWorld.open(
    ["a", "b"],
    [
      modelOf("one", "chat", ["a", "b"], ["another-one"]),
      modelOf("two", "chat"),
      ...preferringStyles.map((style) => modelOf(`of-${style}`, style)),
    ],
  );

async function save({ gateway }: PreferringWorld, id: AccountId, name: string, preset: Preset) {
  const { clock, control } = gateway.assembled.gateway;
  const nowMs = clock.nowMs();
  const saved = await savePreset(gateway.kv, gateway.masterKeys, id, { name, preset, nowMs });
  await control.refresh();
  return saved;
}

// A small model of the merge, in the words of each style.

type Words = Readonly<Partial<Record<keyof PresetParameters, string>>>;
const samplingWords: Words = { temperature: "temperature", topP: "top_p" };
const words: Readonly<Record<PreferringStyle, Words>> = {
  chat: {
    ...samplingWords,
    maxTokens: "max_completion_tokens",
    stop: "stop",
    seed: "seed",
    frequencyPenalty: "frequency_penalty",
    presencePenalty: "presence_penalty",
    effort: "reasoning_effort",
  },
  messages: {
    ...samplingWords,
    topK: "top_k",
    maxTokens: "max_tokens",
    stop: "stop_sequences",
    effort: "output_config/effort",
  },
  responses: { ...samplingWords, maxTokens: "max_output_tokens", effort: "reasoning/effort" },
  gemini: Object.fromEntries(
    Object.entries({
      temperature: "temperature",
      topP: "topP",
      topK: "topK",
      maxTokens: "maxOutputTokens",
      stop: "stopSequences",
      seed: "seed",
      frequencyPenalty: "frequencyPenalty",
      presencePenalty: "presencePenalty",
      effort: "thinkingConfig/thinkingLevel",
    }).map(([name, word]) => [name, `generationConfig/${word}`]),
  ),
};

/** Writes parameters into members of a request; later ones replace earlier ones. */
function said(style: PreferringStyle, ...some: readonly PresetParameters[]): object {
  const lines = some.flatMap((parameters) => Object.entries(parameters));
  const members: Record<string, unknown> = {};
  for (const [name, value] of lines) {
    const path = Object.entries(words[style]).find(([known]) => known === name)?.[1]?.split("/");
    if (path === undefined) continue;
    let at = members;
    for (const part of path.slice(0, -1)) at = (at[part] ??= {}) as Record<string, unknown>;
    at[path.at(-1) ?? ""] = value;
  }
  return members;
}

const gap = "\n\n";
/** Members with a system prompt and a prompt. `role`: how a Chat request calls it. */
function prompted(style: PreferringStyle, system: readonly string[], role = "system"): object {
  const text = system.join(gap);
  const parts = system.map((one) => ({ text: one }));
  const has = system.length > 0;
  switch (style) {
    case "chat":
      return {
        messages: [...(has ? [{ role, content: text }] : []), { role: "user", content: "Hi" }],
      };
    case "messages":
      return has ? { system: text } : {};
    case "responses":
      return has ? { instructions: text } : {};
    case "gemini":
      return has ? { systemInstruction: { parts } } : {};
  }
}

const parametersArb = fc.record({
  temperature: fc.constantFrom(0, 0.5, 1),
  topP: fc.constantFrom(0.1, 1),
  topK: fc.constantFrom(1, 40),
  maxTokens: fc.integer({ min: 1_025, max: 5_000 }),
  stop: fc.constantFrom(["END"], ["a", "b"]),
  seed: fc.integer({ min: 0, max: 9 }),
  frequencyPenalty: fc.constantFrom(-1, 0.5),
  presencePenalty: fc.constantFrom(-1, 0.5),
  effort: fc.constantFrom("low" as const, "medium" as const, "high" as const),
}, { requiredKeys: [] });

/** The ways to name a preset: as the model, or in the field of aggregators, with the model or without. */
const namings: Readonly<
  Record<string, (name: string, model: string) => readonly [model: string, members: object]>
> = {
  model: (name) => [`@preset/${name}`, {}],
  field: (name, model) => [model, { preset: name }],
  longField: (name, model) => [model, { preset: `@preset/${name}` }],
  fieldAlone: (name, model) => [model, { preset: name, model: undefined }],
  both: (name) => [`@preset/${name}`, { preset: name }],
  noField: (name) => [`@preset/${name}`, { preset: null }],
};

const textArb = fc.option(
  fc.constantFrom("Be brief.", 'Say "chào" 🐟.\nTwice.', "x".repeat(9_000)),
  {
    nil: undefined,
  },
);

Deno.test("the provider gets the merge of a preset and a request, in every style and on every route", async () => {
  await using world = await open();
  // A refusal is enough: what was asked is what counts, and each style has its own answers.
  world.faults.set("a", "invalid");
  const { key, accountId } = await world.gateway.customer(100_000);
  let number = 0;
  const property = fc.asyncProperty(
    fc.record({
      style: fc.constantFrom(...preferringStyles),
      route: fc.constantFrom(...preferringStyles),
      of: parametersArb,
      own: parametersArb,
      system: textArb,
      ownSystem: textArb,
      role: fc.constantFrom("system", "developer"),
      stream: fc.boolean(),
      naming: fc.constantFrom(...Object.values(namings)),
    }),
    async ({ style, route, of, own, system, ownSystem, role, stream, naming }) => {
      const name = `p${number++ % 40}`;
      const preset: Preset = {
        model: `of-${route}`,
        parameters: of,
        ...(system !== undefined && { system }),
      };
      await save(world, accountId, name, preset);
      // Without a bound of its own, as a request of `requestOf` has one.
      const bare = { max_tokens: undefined, max_output_tokens: undefined, generationConfig: {} };
      const ask = async (model: string, members: object) => {
        world.asked.length = 0;
        const { status, text } = await world.ask(key, requestOf(style, model, members, stream));
        return { bodies: world.asked.map(({ body }) => JSON.parse(body)), status, text };
      };
      const ownParts = ownSystem === undefined ? [] : [ownSystem];
      const parts = system === undefined ? ownParts : [system, ...ownParts];
      const [model, members] = naming(name, preset.model);
      const called = await ask(model, {
        ...bare,
        ...members,
        ...prompted(style, ownParts, role),
        ...said(style, own),
      });
      const merged = await ask(`of-${route}`, {
        ...bare,
        ...prompted(style, parts, ownSystem === undefined ? "system" : role),
        ...said(style, of, own),
      });
      assertEquals(called.bodies, merged.bodies, `${called.text}\n${merged.text}`);
      assertEquals(called.status, merged.status);
      assertEquals(called.text.replaceAll(/req_\w+/g, ""), merged.text.replaceAll(/req_\w+/g, ""));
    },
  );
  await fc.assert(property, { numRuns: 300 });
  await world.checkBooks();
});

Deno.test("a version of a preset is named in headers and on the receipt, and never changes", async () => {
  await using world = await open();
  const { key, accountId } = await world.gateway.customer(100_000);
  const { key: foreign } = await world.gateway.customer(100_000);
  const versions = maxPresetVersions + 2;
  for (let at = 1; at <= versions; at++) {
    await save(world, accountId, "support", { model: "one", system: `Version ${at}.` });
  }
  for (const style of preferringStyles) {
    for (const version of [undefined, ...Array.from({ length: versions }, (_, i) => i + 1)]) {
      world.asked.length = 0;
      const name = version === undefined ? "@preset/support" : `@preset/support@${version}`;
      const { status, headers, text } = await world.ask(key, requestOf(style, name));
      const isKept = version === undefined || version > 2;
      assertEquals(status, isKept ? 200 : 400, text);
      if (!isKept) {
        assertStringIncludes(text, name);
        assertEquals(world.asked, []);
        continue;
      }
      const meant = `@preset/support@${version ?? versions}`;
      assertEquals(headers.get("x-gateway-model"), "one");
      assertEquals(headers.get("x-gateway-model-mapped-from"), meant);
      assertStringIncludes(world.asked[0]?.body ?? "", `Version ${version ?? versions}.`);
      const [receipt] = await world.receipts(accountId);
      assertEquals([receipt?.model, receipt?.mappedFrom], ["one", meant]);
    }
    for (const name of ["@preset/other", "@preset/support@99", "@preset/Support", "@preset/"]) {
      assertEquals((await world.ask(key, requestOf(style, name))).status, 400, name);
    }
    assertEquals((await world.ask(foreign, requestOf(style, "@preset/support"))).status, 400);
    for (const preset of ["other", "support@99", "Support", "", "two@preset/support", 1, {}]) {
      const { status, text } = await world.ask(key, requestOf(style, "one", { preset }));
      assertEquals(status, 400, text);
      assertStringIncludes(text, "preset: ");
    }
    const latest = `support@${versions}`;
    for (const preset of ["other", latest]) {
      const request = requestOf(style, "@preset/support", { preset });
      assertEquals((await world.ask(key, request)).status, 400, preset);
    }
    const others = [
      requestOf(style, "two@preset/support"),
      requestOf(style, "two", { preset: latest }),
      requestOf(style, `two@preset/${latest}`, { preset: latest }),
    ];
    for (const other of others) {
      const { headers } = await world.ask(key, other);
      assertEquals(headers.get("x-gateway-model"), "two");
      assertEquals(headers.get("x-gateway-model-mapped-from"), `@preset/${latest}`);
    }
  }
  const nowMs = world.gateway.time.nowMs();
  assert(await deletePreset(world.gateway.kv, accountId, "support", { nowMs }));
  await world.gateway.assembled.gateway.control.refresh();
  assertEquals((await world.ask(key, requestOf("chat", "@preset/support"))).status, 400);
  const rows = await Array.fromAsync(world.gateway.kv.list({ prefix: ["preset"] }));
  assertEquals(rows, []);
  await world.checkBooks();
});

Deno.test("a preset chooses models and providers where the request does not, within the settings of the key", async () => {
  await using world = await open();
  const { key, accountId } = await world.gateway.customer(100_000);
  const ask = async (name: string, members: object = {}, headers: Record<string, string> = {}) => {
    world.asked.length = 0;
    const answer = await world.ask(key, requestOf("chat", name, members), headers);
    return [answer.status, world.asked.map(({ provider }) => provider).join()];
  };
  await save(world, accountId, "pinned", { model: "one", calls: { only: ["b"], models: ["two"] } });
  await save(world, accountId, "any", { model: "auto" });
  assertEquals(await ask("@preset/pinned"), [200, "b"]);
  assertEquals(await ask("@preset/pinned", { provider: { only: ["a"] } }), [200, "a"]);
  assertEquals(await ask("@preset/pinned", {}, { "x-gateway-route": "only=a" }), [200, "a"]);
  assertEquals((await ask("@preset/any"))[0], 200);
  world.faults.set("b", "down");
  const both = { provider: { only: ["a", "b"], order: ["b"] } };
  assertEquals(await ask("@preset/pinned", both), [200, "b,a"]);
  world.faults.clear();
  const nowMs = world.gateway.time.nowMs();
  const calls = {
    ignore: ["b"],
    allowedModels: ["one"],
    rules: [{ name: "secret", action: "mask", pattern: "s3cret" }],
  } as const;
  await setCallSettings(world.gateway.kv, accountId, { teamId: undefined, calls, nowMs });
  await world.gateway.assembled.gateway.control.refresh();
  assertEquals((await ask("@preset/pinned"))[0], 403);
  await save(world, accountId, "pinned", { model: "one", calls: { only: ["b"] } });
  assertEquals((await ask("@preset/pinned"))[0], 400);
  await save(world, accountId, "pinned", { model: "one", system: "The s3cret." });
  assertEquals(await ask("@preset/pinned"), [200, "a"]);
  assert(!world.asked[0]?.body.includes("s3cret"), world.asked[0]?.body);
  await save(world, accountId, "pinned", { model: "two" });
  assertEquals((await ask("@preset/pinned"))[0], 403);
  await world.checkBooks();
});

Deno.test("what a style has no field for is named as lost, and counts have the preset's prompt", async () => {
  await using world = await open();
  const { key, accountId } = await world.gateway.customer(100_000);
  await save(world, accountId, "seeded", {
    model: "one",
    system: "word ".repeat(500),
    parameters: { seed: 1, temperature: 0.2 },
  });
  const lost = new Map<string, string | null>();
  for (const style of preferringStyles) {
    const { headers } = await world.ask(key, requestOf(style, "@preset/seeded"));
    lost.set(style, headers.get("x-gateway-conversion"));
  }
  assertStringIncludes(lost.get("messages") ?? "", "seed");
  assertStringIncludes(lost.get("responses") ?? "", "seed");
  assert(!(lost.get("chat") ?? "").includes("seed"));
  const messages = [{ role: "user", content: "Hi" }];
  const contents = [{ role: "user", parts: [{ text: "Hi" }] }];
  const counts = [
    ["/v1/messages/count_tokens", { model: "@preset/seeded", messages }],
    ["/v1/responses/input_tokens", { model: "@preset/seeded", input: "Hi" }],
    ["/v1beta/models/@preset/seeded:countTokens", {
      generateContentRequest: { model: "models/@preset/seeded", contents },
    }],
    ["/v1/messages/count_tokens", { model: "one", preset: "seeded", messages }],
    ["/v1/responses/input_tokens", { preset: "seeded", input: "Hi" }],
    ["/v1beta/models/one:countTokens", { preset: "seeded", contents }],
    ["/v1beta/models/one:countTokens", {
      generateContentRequest: { model: "models/one", preset: "seeded", contents },
    }],
  ] as const;
  for (const [path, body] of counts) {
    const { status, text } = await world.ask(key, { path, body });
    assertEquals(status, 200, text);
    const { input_tokens: tokens, totalTokens = tokens } = JSON.parse(text);
    assert(totalTokens > 400, text);
  }
});

interface Row {
  readonly id: string;
  readonly display_name: string;
  readonly alias_of?: string;
}

Deno.test("lists of models have the presets that a key may call, with the facts of the model that answers", async () => {
  await using world = await open();
  const property = fc.asyncProperty(
    fc.record({
      presets: fc.array(
        fc.record({
          model: fc.constantFrom("one", "two", "one:nitro", "another-one", "gone", "auto"),
          models: fc.uniqueArray(fc.constantFrom("one", "two", "another-one", "gone")),
        }),
        { maxLength: 5 },
      ),
      allowedModels: fc.constantFrom(undefined, ["one"], ["two"], ["one", "two"]),
    }),
    async ({ presets, allowedModels }) => {
      const { key, accountId } = await world.gateway.customer(100_000, defined({ allowedModels }));
      for (const [i, { model, models }] of presets.entries()) {
        await save(world, accountId, `p${i}`, { model, calls: { models } });
      }
      const get = async (path: string, headers: HeadersInit = {}) => {
        const response = await world.gateway.fetch(
          new Request(`http://gateway${path}`, {
            headers: { authorization: `Bearer ${key}`, ...headers },
          }),
        );
        return [response.status, await response.json()] as const;
      };
      const [, chat] = await get("/v1/models");
      const [, messages] = await get("/v1/models", { "anthropic-version": "2023-06-01" });
      const [, gemini] = await get("/v1beta/models");
      for (const [i, { model }] of presets.entries()) {
        const name = `@preset/p${i}`;
        const call = await world.ask(key, requestOf("chat", name));
        const answered = call.headers.get("x-gateway-model");
        const isListed = call.status === 200 && model !== "auto";
        const of = (list: readonly Row[]) => list.find(({ id }) => id === name);
        const row = of(chat.data);
        assertEquals([row, of(messages.data)].map((one) => one !== undefined), [
          isListed,
          isListed,
        ]);
        const geminiRow = gemini.models.find((one: { name: string }) =>
          one.name === `models/${name}`
        );
        assertEquals(geminiRow !== undefined, isListed);
        for (const path of [name, `${name}@1`, encodeURIComponent(name)]) {
          const [status, one] = await get(`/v1/models/${path}`);
          const [geminiStatus, geminiOne] = await get(`/v1beta/models/${path}`);
          assertEquals([status, geminiStatus], isListed ? [200, 200] : [404, 404], path);
          if (!isListed) continue;
          assertEquals({ ...one, id: name, display_name: row?.display_name }, row);
          assertEquals(geminiOne.name, `models/${decodeURIComponent(path)}`);
        }
        if (!isListed) continue;
        const [, own] = await get(`/v1/models/${answered}`);
        assertEquals({ ...row, alias_of: undefined }, {
          ...own,
          id: name,
          display_name: `${own.display_name} (${name})`,
          alias_of: undefined,
        });
        assertEquals(row?.alias_of, answered);
      }
    },
  );
  await fc.assert(property, { numRuns: 60 });
});
