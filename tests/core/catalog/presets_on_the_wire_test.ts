/**
 * Every preset whose key is a header, at a provider of the test: for each style it names, the address, the path and the
 * header of the key arrive as its vendor documents them.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { presetNames, presetOf } from "../../../core/catalog/presets/presets.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import { openTestGateway } from "../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "../../routes/api/gateway/media_world.ts";
import { apiPost } from "../../support/api_post.ts";

const secret = "preset-secret-1234567890";

/** What arrives: preset, style, address without scheme, header of the key. */
const requests = `
openai chat api.openai.com/v1/chat/completions bearer
openai responses api.openai.com/v1/responses bearer
anthropic messages api.anthropic.com/v1/messages x-api-key
gemini gemini generativelanguage.googleapis.com/v1beta/models/model-1:generateContent x-goog-api-key
google chat generativelanguage.googleapis.com/v1beta/openai/chat/completions bearer
mistral chat api.mistral.ai/v1/chat/completions bearer
xai chat api.x.ai/v1/chat/completions bearer
xai responses api.x.ai/v1/responses bearer
groq chat api.groq.com/openai/v1/chat/completions bearer
groq responses api.groq.com/openai/v1/responses bearer
cerebras chat api.cerebras.ai/v1/chat/completions bearer
sambanova chat api.sambanova.ai/v1/chat/completions bearer
cohere chat api.cohere.ai/compatibility/v1/chat/completions bearer
nvidia chat integrate.api.nvidia.com/v1/chat/completions bearer
azure chat place-1.openai.azure.com/openai/v1/chat/completions api-key
azure responses place-1.openai.azure.com/openai/v1/responses api-key
azure-deployments chat place-1.openai.azure.com/openai/deployments/model-1/chat/completions?api-version=2024-10-21 api-key
azure-messages messages place-1.services.ai.azure.com/anthropic/v1/messages api-key
openrouter messages openrouter.ai/api/v1/messages bearer
openrouter chat openrouter.ai/api/v1/chat/completions bearer
openrouter responses openrouter.ai/api/v1/responses bearer
together chat api.together.ai/v1/chat/completions bearer
fireworks messages api.fireworks.ai/inference/v1/messages bearer
fireworks chat api.fireworks.ai/inference/v1/chat/completions bearer
fireworks responses api.fireworks.ai/inference/v1/responses bearer
deepinfra messages api.deepinfra.com/anthropic/v1/messages bearer
deepinfra chat api.deepinfra.com/v1/openai/chat/completions bearer
novita chat api.novita.ai/openai/v1/chat/completions bearer
nebius chat api.tokenfactory.nebius.com/v1/chat/completions bearer
baseten chat inference.baseten.co/v1/chat/completions bearer
huggingface chat router.huggingface.co/v1/chat/completions bearer
vercel messages ai-gateway.vercel.sh/v1/messages bearer
vercel chat ai-gateway.vercel.sh/v1/chat/completions bearer
vercel responses ai-gateway.vercel.sh/v1/responses bearer
cloudflare chat api.cloudflare.com/client/v4/accounts/place-1/ai/v1/chat/completions bearer
digitalocean messages inference.do-ai.run/v1/messages bearer
digitalocean chat inference.do-ai.run/v1/chat/completions bearer
digitalocean responses inference.do-ai.run/v1/responses bearer
scaleway chat api.scaleway.ai/v1/chat/completions bearer
ovhcloud chat oai.endpoints.kepler.ai.cloud.ovh.net/v1/chat/completions bearer
ovhcloud responses oai.endpoints.kepler.ai.cloud.ovh.net/v1/responses bearer
friendli chat api.friendli.ai/serverless/v1/chat/completions bearer
chutes chat llm.chutes.ai/v1/chat/completions bearer
poe chat api.poe.com/v1/chat/completions bearer
aihubmix chat aihubmix.com/v1/chat/completions bearer
deepseek messages api.deepseek.com/anthropic/v1/messages bearer
deepseek chat api.deepseek.com/chat/completions bearer
moonshot messages api.moonshot.ai/anthropic/v1/messages bearer
moonshot chat api.moonshot.ai/v1/chat/completions bearer
moonshot-cn messages api.moonshot.cn/anthropic/v1/messages bearer
moonshot-cn chat api.moonshot.cn/v1/chat/completions bearer
zai messages api.z.ai/api/anthropic/v1/messages bearer
zai chat api.z.ai/api/paas/v4/chat/completions bearer
zhipu messages open.bigmodel.cn/api/anthropic/v1/messages bearer
zhipu chat open.bigmodel.cn/api/paas/v4/chat/completions bearer
qwen messages dashscope-intl.aliyuncs.com/apps/anthropic/v1/messages bearer
qwen chat dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions bearer
qwen responses dashscope-intl.aliyuncs.com/compatible-mode/v1/responses bearer
qwen-cn messages dashscope.aliyuncs.com/apps/anthropic/v1/messages bearer
qwen-cn chat dashscope.aliyuncs.com/compatible-mode/v1/chat/completions bearer
qwen-cn responses dashscope.aliyuncs.com/compatible-mode/v1/responses bearer
minimax messages api.minimax.io/anthropic/v1/messages bearer
minimax chat api.minimax.io/v1/chat/completions bearer
minimax responses api.minimax.io/v1/responses bearer
minimax-cn messages api.minimaxi.com/anthropic/v1/messages bearer
minimax-cn chat api.minimaxi.com/v1/chat/completions bearer
minimax-cn responses api.minimaxi.com/v1/responses bearer
siliconflow messages api.siliconflow.com/v1/messages bearer
siliconflow chat api.siliconflow.com/v1/chat/completions bearer
siliconflow-cn messages api.siliconflow.cn/v1/messages bearer
siliconflow-cn chat api.siliconflow.cn/v1/chat/completions bearer
volcengine messages ark.cn-beijing.volces.com/api/compatible/v1/messages bearer
volcengine chat ark.cn-beijing.volces.com/api/v3/chat/completions bearer
volcengine responses ark.cn-beijing.volces.com/api/v3/responses bearer
stepfun messages api.stepfun.com/v1/messages bearer
stepfun chat api.stepfun.com/v1/chat/completions bearer
stepfun responses api.stepfun.com/v1/responses bearer
modelscope chat api-inference.modelscope.cn/v1/chat/completions bearer
xiaomi messages api.xiaomimimo.com/anthropic/v1/messages bearer
xiaomi chat api.xiaomimimo.com/v1/chat/completions bearer
greennode messages maas-llm-aiplatform-hcm.api.vngcloud.vn/v1/messages bearer
greennode chat maas-llm-aiplatform-hcm.api.vngcloud.vn/v1/chat/completions bearer
fpt chat mkp-api.fptcloud.com/chat/completions bearer
vllm messages 127.0.0.1:8000/v1/messages
vllm chat 127.0.0.1:8000/v1/chat/completions
vllm responses 127.0.0.1:8000/v1/responses
sglang chat 127.0.0.1:30000/v1/chat/completions
ollama messages 127.0.0.1:11434/v1/messages
ollama chat 127.0.0.1:11434/v1/chat/completions
ollama responses 127.0.0.1:11434/v1/responses
llama-cpp messages 127.0.0.1:8080/v1/messages
llama-cpp chat 127.0.0.1:8080/v1/chat/completions
lm-studio chat 127.0.0.1:1234/v1/chat/completions
lm-studio responses 127.0.0.1:1234/v1/responses
`;

/** Presets whose keys sign requests or buy tokens: tests/routes/api/clouds has their requests. */
const clouds: ReadonlySet<string> = new Set(["vertex", "bedrock", "bedrock-key"]);

const chatStyles = ["messages", "chat", "responses", "gemini"] as const satisfies readonly Style[];

const clientPaths = (model: string): Readonly<Record<Style, string>> => ({
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  gemini: `/v1beta/models/${model}:generateContent`,
});

const turn = [{ role: "user", content: "Hi" }];
const bodies = (model: string): Readonly<Record<Style, object>> => ({
  messages: { model, max_tokens: 9, messages: turn },
  chat: { model, messages: turn },
  responses: { model, input: "Hi" },
  gemini: { contents: [{ parts: [{ text: "Hi" }] }] },
});

/** The address of a preset, with the host as the first part of a path of the test's provider. */
function addressAt(port: number, name: typeof presetNames[number]): string {
  const { baseUrl, places = [] } = presetOf(name);
  const filled = places.reduce((url, place) => url.replace(`{${place}}`, "place-1"), baseUrl);
  return filled.replace(/^https?:\/\//, `http://127.0.0.1:${port}/`);
}

Deno.test("address, path and key of every preset are those that its vendor documents", async () => {
  await using provider = mockProvider(() =>
    Response.json({ error: { message: "no" } }, { status: 400 })
  );
  const names = presetNames.filter((name) => !clouds.has(name));
  const models = names.flatMap((preset) =>
    chatStyles.filter((style) => presetOf(preset).styles.includes(style))
      .map((style) => ({ preset, style, id: `${preset}-${style}` }))
  );
  await using gateway = await openTestGateway({
    env: { PRESET_KEY: secret },
    file: () => ({
      defaultModel: models[0]?.id,
      providers: Object.fromEntries(names.map((preset) => [preset, {
        preset,
        baseUrl: addressAt(provider.port, preset),
        ...Object.fromEntries((presetOf(preset).places ?? []).map((place) => [place, "place-1"])),
        ...presetOf(preset).isKeyless === true ? {} : { apiKeyEnv: "PRESET_KEY" },
      }])),
      models: models.map(({ preset, style, id }) => ({
        id,
        kind: "chat",
        family: "f",
        price: { unit: "token", vndPerMtok: 1 },
        routes: [{ provider: preset, model: "model-1", style }],
      })),
    }),
  });
  const { key } = await gateway.customer(1_000_000);
  const arrived: string[] = [];
  for (const { preset, style, id } of models) {
    const response = await gateway.fetch(
      apiPost(`http://gateway${clientPaths(id)[style]}`, key, bodies(id)[style]),
    );
    await response.body?.cancel();
    const request = provider.seen.at(-1);
    assert(request !== undefined, id);
    const carrying = [...request.headers].filter(([, value]) => value.includes(secret))
      .map(([name, value]) => value === `Bearer ${secret}` ? "bearer" : name);
    arrived.push([preset, style, request.path.slice(1), ...carrying].join(" "));
  }
  assertEquals(provider.seen.length, models.length);
  assertEquals(arrived, requests.trim().split("\n"));
});
