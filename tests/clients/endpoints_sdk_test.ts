import OpenAI, { APIError } from "openai";
import { assert, assertEquals } from "../support/assert.ts";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";

/** Models of the endpoints beside chat and media, all at the sandbox. */
const models = [{
  id: "embed-1",
  kind: "embedding",
  family: "test",
  price: { unit: "token", vndPerMtok: 1_000_000 },
  routes: [{ provider: "sandbox", model: "embed-up" }],
}];

async function startWithModels(folder: string): Promise<StartedGateway> {
  const file = JSON.parse(await Deno.readTextFile(new URL("../../gateway.json", import.meta.url)));
  const path = `${folder}/gateway.json`;
  await Deno.writeTextFile(
    path,
    JSON.stringify({ ...file, $schema: undefined, models: [...file.models, ...models] }),
  );
  return await startGateway({ folder, env: { GATEWAY_CONFIG: path } });
}

async function refusal(run: () => Promise<unknown>): Promise<APIError> {
  try {
    await run();
  } catch (error) {
    if (error instanceof APIError) return error;
    throw error;
  }
  throw new Error("accepted");
}

const dot = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, value, index) => sum + value * b[index]!, 0);

Deno.test("the official OpenAI SDK uses the other endpoints of a started gateway", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async (t) => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-endpoints-" });
  await using _ = {
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
  await using gateway = await startWithModels(folder);
  const openai = new OpenAI({
    baseURL: `${gateway.address}/v1`,
    apiKey: gateway.key,
    maxRetries: 0,
  });

  await t.step("embeddings.create: base64, the SDK's default, and numbers agree", async () => {
    const params = { model: "embed-1", input: ["a red cat", "a red dog", "weather"] };
    const { data: packed, response } = await openai.embeddings.create(params).withResponse();
    const plain = await openai.embeddings.create({ ...params, encoding_format: "float" });
    assertEquals([packed.model, packed.data.length], ["embed-1", 3]);
    const [cat, dog, weather] = packed.data.map(({ embedding }) => embedding);
    assertEquals(cat!.length, 256);
    for (const [i, value] of plain.data[0]!.embedding.entries()) {
      assert(Math.abs(value - cat![i]!) < 1e-6);
    }
    assert(dot(cat!, dog!) > dot(cat!, weather!));
    const { headers } = response;
    assertEquals(headers.get("x-gateway-model"), "embed-1");
    assertEquals(headers.get("x-gateway-cost-vnd"), String(packed.usage.prompt_tokens));
  });

  await t.step("embeddings.create: tokens and dimensions; errors are the SDK's", async () => {
    const { data } = await openai.embeddings.create({
      model: "embed-1",
      input: [[1, 2, 3], [4]],
      dimensions: 12,
    });
    assertEquals(data.map(({ embedding }) => embedding.length), [12, 12]);
    const error = await refusal(() => openai.embeddings.create({ model: "embed-1", input: [] }));
    assertEquals([error.status, error.param], [400, "input"]);
    const limited = await refusal(() =>
      openai.embeddings.create({ model: "embed-1", input: "[[sandbox:error-429]]" })
    );
    assertEquals(limited.status, 429);
  });

  await t.step("the books are right after all of it", async () => {
    const verified = await gateway.admin("verify");
    assertEquals(verified.code, 0, verified.output);
  });
});
