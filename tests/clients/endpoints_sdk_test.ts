import { ApiError as GoogleError, GoogleGenAI } from "@google/genai";
import OpenAI, { APIError, toFile } from "openai";
import { chimeMp3Base64 } from "../../sandbox/provider/media/assets/chime_mp3.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";

/** Models of the endpoints beside chat and media, all at the sandbox. */
const models = [{
  id: "embed-1",
  kind: "embedding",
  family: "test",
  price: { unit: "token", vndPerMtok: 1_000_000 },
  routes: [{ provider: "sandbox", model: "embed-up" }],
}, {
  id: "transcribe-1",
  kind: "transcription",
  family: "test",
  price: { unit: "second", vndPerMinute: 600 },
  routes: [{ provider: "sandbox" }],
}, {
  id: "rerank-1",
  kind: "rerank",
  family: "test",
  price: { unit: "search", vnd: 50 },
  routes: [{ provider: "sandbox" }],
}, {
  id: "moderation-1",
  kind: "moderation",
  family: "test",
  price: { unit: "request", vnd: 0 },
  routes: [{ provider: "sandbox" }],
}, {
  id: "complete-1",
  kind: "completion",
  family: "test",
  price: { unit: "token", vndPerMtok: 1_000_000 },
  routes: [{ provider: "sandbox" }],
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

  await t.step("embedContent of Google's SDK: the same vectors, in its form", async () => {
    const google = new GoogleGenAI({
      apiKey: gateway.key,
      httpOptions: { baseUrl: gateway.address },
    });
    const texts = ["a red cat", "a red dog"];
    const { data } = await openai.embeddings.create({
      model: "embed-1",
      input: texts,
      dimensions: 12,
      encoding_format: "float",
    });
    const { embeddings } = await google.models.embedContent({
      model: "embed-1",
      contents: texts,
      config: { outputDimensionality: 12, taskType: "RETRIEVAL_QUERY" },
    });
    assertEquals(embeddings?.map(({ values }) => values), data.map(({ embedding }) => embedding));
    const error = await google.models.embedContent({ model: "embed-1", contents: [""] })
      .then(() => undefined, (thrown) => thrown);
    assert(error instanceof GoogleError);
    assertEquals(error.status, 400);
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

  const recording = () =>
    toFile(Uint8Array.fromBase64(chimeMp3Base64.join("")), "chime.mp3", { type: "audio/mpeg" });

  await t.step("audio.transcriptions.create: JSON, text and events, by the second", async () => {
    const { data, response } = await openai.audio.transcriptions.create({
      model: "transcribe-1",
      file: await recording(),
    }).withResponse();
    const seconds = Number(/recording of ([\d.]+) seconds/.exec(data.text)?.[1]);
    assert(seconds > 0);
    const { headers } = response;
    assertEquals(headers.get("x-gateway-price-vnd-per-second"), "10");
    assertEquals(headers.get("x-gateway-cost-vnd"), String(Math.max(1, Math.round(seconds)) * 10));
    const srt = await openai.audio.transcriptions.create({
      model: "transcribe-1",
      file: await recording(),
      response_format: "srt",
    });
    assert(srt.startsWith("1\n00:00:00,000 --> "));
    const stream = await openai.audio.transcriptions.create({
      model: "transcribe-1",
      file: await recording(),
      stream: true,
    });
    let text = "";
    let last = "";
    for await (const event of stream) {
      if (event.type === "transcript.text.delta") text += event.delta;
      last = event.type;
    }
    assertEquals([text, last], [data.text, "transcript.text.done"]);
  });

  await t.step("audio.translations.create, and the error for what is no audio", async () => {
    const { text } = await openai.audio.translations.create({
      model: "transcribe-1",
      file: await recording(),
    });
    assert(text.includes("recording of"));
    const words = await toFile(new TextEncoder().encode("words"), "words.mp3");
    const error = await refusal(() =>
      openai.audio.transcriptions.create({ model: "transcribe-1", file: words })
    );
    assertEquals([error.status, error.param], [400, "file"]);
  });

  await t.step("rerank: the SDK has no method for it, but its client sends it", async () => {
    const { data, response } = await openai.post<{ results: { index: number }[] }>("/rerank", {
      body: { model: "rerank-1", query: "red cat", documents: ["a dog", "a red cat", "a cat"] },
    }).withResponse();
    assertEquals(response.headers.get("x-gateway-cost-vnd"), "50");
    const { results } = data;
    assertEquals(results.map(({ index }) => index), [1, 2, 0]);
  });

  await t.step("moderations.create: texts and parts, free, and without a model", async () => {
    const { data, response } = await openai.moderations.create({ input: ["hello", "violence"] })
      .withResponse();
    assertEquals(data.results.map(({ flagged }) => flagged), [false, true]);
    assertEquals(data.model, "moderation-1");
    assertEquals(response.headers.get("x-gateway-cost-vnd"), "0");
    const url = "data:image/png;base64,iVBORw0KGgo=";
    const parts = await openai.moderations.create({
      model: "moderation-1",
      input: [{ type: "text", text: "hate" }, { type: "image_url", image_url: { url } }],
    });
    assertEquals(parts.results.map(({ categories }) => categories.hate), [true]);
    const error = await refusal(() => openai.moderations.create({ input: [] }));
    assertEquals([error.status, error.param], [400, "input"]);
  });

  await t.step("completions.create: with suffix, streamed, and by a chat model", async () => {
    const params = { model: "complete-1", prompt: "a = 1", suffix: "c = 3", max_tokens: 40 };
    const { data, response } = await openai.completions.create(params).withResponse();
    assertEquals(data.choices[0]!.text, "You said: a = 1, before: c = 3");
    assertEquals(response.headers.get("x-gateway-cost-vnd"), String(data.usage!.total_tokens));
    for (const model of ["complete-1", "premium-1"]) {
      const { suffix: _, ...rest } = params;
      const whole = await openai.completions.create({ ...rest, model });
      assertEquals(whole.object, "text_completion");
      let text = "";
      for await (
        const { choices } of await openai.completions.create({ ...rest, model, stream: true })
      ) {
        text += choices.map((choice) => choice.text).join("");
      }
      assertEquals(text, whole.choices[0]!.text);
    }
    const error = await refusal(() => openai.completions.create({ ...params, model: "premium-1" }));
    assertEquals([error.status, error.param], [400, "suffix"]);
  });

  await t.step("the books are right after all of it", async () => {
    const verified = await gateway.admin("verify");
    assertEquals(verified.code, 0, verified.output);
  });
});
