import { assert, assertEquals } from "../../support/assert.ts";
import { providerRequest } from "../../../core/calls/exchange/provider_request.ts";
import { presetNames, presetOf } from "../../../core/catalog/presets/presets.ts";
import { readGatewayFile } from "../../../core/catalog/read_file.ts";
import { routeCapabilitiesSchema } from "../../../core/wire/contract/capabilities.ts";
import { presetPageText } from "../../../docs/write_schema.ts";

function read(provider: object, route: object = {}) {
  return readGatewayFile(JSON.stringify({
    defaultModel: "m",
    providers: { p: provider },
    models: [{
      id: "m",
      kind: "chat",
      family: "f",
      price: { unit: "token", vndPerMtok: 1 },
      routes: [{ provider: "p", model: "model-1", ...route }],
    }],
  }));
}

function places(name: typeof presetNames[number]): Record<string, string> {
  return Object.fromEntries((presetOf(name).places ?? []).map((place) => [place, "place-1"]));
}

Deno.test("every preset is complete with its places and a key, and its facts are known ones", () => {
  assert(presetNames.length >= 30);
  for (const name of presetNames) {
    const { catalog, problems } = read({ preset: name, ...places(name), apiKeyEnv: "KEY" });
    assertEquals(problems, [], name);
    const provider = catalog?.providers["p"];
    assert(provider?.kind === "http");
    assert(URL.canParse(provider.baseUrl) && !provider.baseUrl.includes("{"), provider.baseUrl);
    const preset = presetOf(name);
    for (const facts of Object.values(preset.facts ?? {})) {
      assert(routeCapabilitiesSchema.safeParse(facts).success, name);
    }
    assert(preset.source.startsWith("https://"), name);
  }
});

Deno.test("a preset without a place, or without a key, is refused by name; one of a local server is not", () => {
  for (const name of presetNames) {
    const preset = presetOf(name);
    const { problems } = read({ preset: name });
    const wanted = [...preset.places ?? [], ...preset.isKeyless === true ? [] : ["apiKeyEnv"]];
    assertEquals(problems.length, wanted.length, problems.join("\n"));
    for (const place of wanted) {
      assert(problems.some((problem) => problem.includes(`providers.p.${place}`)), name);
    }
  }
  assertEquals(read({ preset: "vllm", region: "x" }).problems.length, 1);
});

Deno.test("what the file says comes before the preset", () => {
  const { catalog } = read({
    preset: "deepseek",
    apiKeyEnv: "KEY",
    baseUrl: "https://proxy.example",
    auth: "api-key",
    paths: { chat: "/other" },
    timeouts: { connectMs: 99 },
  }, { facts: { structured: "none" }, style: ["chat", "messages"] });
  const provider = catalog?.providers["p"];
  assert(provider?.kind === "http");
  assertEquals(provider.baseUrl, "https://proxy.example");
  assertEquals(provider.auth, "api-key");
  assertEquals(provider.timeouts.connectMs, 99);
  assertEquals(provider.paths, { chat: "/other", messages: "/anthropic/v1/messages" });
  const [chat, messages] = catalog?.models[0]?.routes ?? [];
  assertEquals(chat?.capabilities.structured, "none");
  assertEquals(chat?.capabilities.reasoning_replay, "reasoning_content");
  assertEquals(messages?.capabilities.thinking, "budget");
});

Deno.test("Converse is refused at a provider whose streams are not framed as Bedrock's", () => {
  const { problems } = read({ preset: "openai", apiKeyEnv: "KEY" }, { style: "converse" });
  assertEquals(problems.length, 1);
  assert(problems[0]?.includes('"converse" needs'), problems[0]);
});

/** Address and header of a request by a preset, as a table: a wrong path costs an operator an evening. */
const requests: readonly (readonly [string, object, string, string])[] = [
  ["openai", {}, "https://api.openai.com/v1/responses", "authorization"],
  ["anthropic", {}, "https://api.anthropic.com/v1/messages", "x-api-key"],
  [
    "google",
    {},
    "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    "authorization",
  ],
  [
    "gemini",
    {},
    "https://generativelanguage.googleapis.com/v1beta/models/model-1:generateContent",
    "x-goog-api-key",
  ],
  [
    "vertex",
    { style: "gemini" },
    "https://place-1-aiplatform.googleapis.com/v1/projects/place-1/locations/place-1/publishers/google/models/model-1:generateContent",
    "",
  ],
  ["deepseek", {}, "https://api.deepseek.com/chat/completions", "authorization"],
  [
    "azure-deployments",
    {},
    "https://place-1.openai.azure.com/openai/deployments/model-1/chat/completions?api-version=2024-10-21",
    "api-key",
  ],
  ["azure", {}, "https://place-1.openai.azure.com/openai/v1/chat/completions", "api-key"],
  [
    "azure-messages",
    {},
    "https://place-1.services.ai.azure.com/anthropic/v1/messages",
    "api-key",
  ],
  [
    "vertex",
    {},
    "https://place-1-aiplatform.googleapis.com/v1/projects/place-1/locations/place-1/publishers/anthropic/models/model-1:rawPredict",
    "",
  ],
  ["bedrock", {}, "https://bedrock-runtime.place-1.amazonaws.com/model/model-1/invoke", ""],
  [
    "bedrock-key",
    {},
    "https://bedrock-runtime.place-1.amazonaws.com/model/model-1/invoke",
    "authorization",
  ],
  [
    "bedrock-key",
    { style: "converse" },
    "https://bedrock-runtime.place-1.amazonaws.com/model/model-1/converse",
    "authorization",
  ],
  ["volcengine", {}, "https://ark.cn-beijing.volces.com/api/v3/chat/completions", "authorization"],
  [
    "volcengine",
    { style: "messages" },
    "https://ark.cn-beijing.volces.com/api/compatible/v1/messages",
    "authorization",
  ],
  ["openrouter", { style: "messages" }, "https://openrouter.ai/api/v1/messages", "authorization"],
  [
    "cloudflare",
    {},
    "https://api.cloudflare.com/client/v4/accounts/place-1/ai/v1/chat/completions",
    "authorization",
  ],
  ["fpt", {}, "https://mkp-api.fptcloud.com/chat/completions", "authorization"],
];

for (const [preset, route, url, header] of requests) {
  Deno.test(`requests by the preset ${preset} ${JSON.stringify(route)}`, () => {
    const name = presetNames.find((known) => known === preset);
    assert(name !== undefined);
    const { catalog } = read({ preset, ...places(name), apiKeyEnv: "KEY" }, route);
    const provider = catalog?.providers["p"];
    const style = catalog?.models[0]?.routes[0]?.style;
    assert(provider !== undefined && style !== undefined);
    const request = providerRequest({
      provider,
      style,
      model: "model-1",
      secret: "k-1",
      body: null,
      stream: false,
      clientHeader: () => undefined,
    });
    assertEquals(request.url, url);
    const carrying = request.headers.filter(([, value]) => value.includes("k-1"));
    assertEquals(carrying.map(([name]) => name), header === "" ? [] : [header]);
  });
}

Deno.test("the table of docs/providers.md is what `deno task schema` writes", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/providers.md", import.meta.url));
  assertEquals(page, presetPageText(page));
});

Deno.test("capabilities of a route have an earlier name, and are written once", () => {
  const provider = { baseUrl: "https://p.example/v1", apiKeyEnv: "P_KEY" };
  const of = (route: object) => {
    const { catalog, problems } = read(provider, { style: "chat", ...route });
    return catalog?.models[0]?.routes[0]?.capabilities ?? problems;
  };
  const given = { thinking: "adaptive" } as const;
  assertEquals(of({ capabilities: given }), given);
  assertEquals(of({ facts: given }), given);
  assertEquals(of({ capabilities: given, facts: given }), [
    "gateway.json models.0.routes.0.facts: is the earlier name of capabilities: write one of them",
  ]);
});
