/** The official Gemini library against the gateway: its own style natively, and models of the others. */
import { assert, assertEquals } from "../support/assert.ts";
import {
  ApiError,
  type Candidate,
  type Content,
  FunctionCallingConfigMode,
  type GenerateContentConfig,
  type GenerateContentResponse,
  GoogleGenAI,
  Type,
} from "@google/genai";
import { startConvertingGateway } from "../support/gateways/converting_gateway.ts";

const names = ["get_weather", "get_time", "get_news"] as const;
const tools = [{
  functionDeclarations: [
    ...names.slice(0, 2).map((name) => ({
      name,
      description: `The tool ${name}`,
      parameters: {
        type: Type.OBJECT,
        properties: { city: { type: Type.STRING }, days: { type: Type.INTEGER, minimum: 1 } },
        required: ["city"],
      },
    })),
    {
      name: names[2],
      parametersJsonSchema: { type: "object", properties: { city: { type: "string" } } },
    },
  ],
}];
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

function textOf({ content }: Candidate): string {
  return content?.parts?.map(({ text }) => text ?? "").join("") ?? "";
}

async function errorOf(answer: Promise<unknown>): Promise<ApiError> {
  const error = await answer.catch((reason: unknown) => reason);
  assert(error instanceof ApiError, String(error));
  return error;
}

Deno.test("the Gemini SDK on models of every style", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async (t) => {
  await using gateway = await startConvertingGateway();
  const ai = new GoogleGenAI({
    apiKey: gateway.key,
    httpOptions: { baseUrl: gateway.address, retryOptions: { attempts: 1 } },
  });

  const styles = ["gemini", "messages", "chat", "responses", "converse"];
  for (const model of styles.map((style) => `only-${style}`)) {
    const whole = (contents: string | Content[], config: GenerateContentConfig = {}) =>
      ai.models.generateContent({ model, contents, config: { maxOutputTokens: 2_000, ...config } });
    const streamed = async (contents: string | Content[], config: GenerateContentConfig = {}) => {
      const chunks: GenerateContentResponse[] = [];
      const stream = await ai.models.generateContentStream({
        model,
        contents,
        config: { maxOutputTokens: 2_000, ...config },
      });
      for await (const chunk of stream) chunks.push(chunk);
      return chunks;
    };

    await t.step(`${model}: text, streamed and whole alike`, async () => {
      const answer = await whole("Tell me of rivers", { systemInstruction: "Be short." });
      assert(answer.text?.includes("rivers"));
      assertEquals(answer.candidates?.[0]?.finishReason, "STOP");
      assertEquals(answer.modelVersion, model);
      const chunks = await streamed("Tell me of rivers", { systemInstruction: "Be short." });
      assert(chunks.length > 2);
      assertEquals(chunks.map((chunk) => chunk.text ?? "").join(""), answer.text);
      const last = chunks.at(-1);
      assertEquals(last?.candidates?.[0]?.finishReason, "STOP");
      assertEquals(last?.usageMetadata?.totalTokenCount, answer.usageMetadata?.totalTokenCount);
    });

    await t.step(`${model}: two answers, or a refusal that names the field`, async () => {
      const config = { candidateCount: 2 };
      if (model !== "only-gemini" && model !== "only-chat") {
        const { message } = await errorOf(whole("Tell me of rivers", config));
        assert(message.includes("candidateCount"), message);
        return;
      }
      const answer = await whole("Tell me of rivers", config);
      const texts = answer.candidates?.map((candidate) => textOf(candidate)) ?? [];
      assert(texts.length === 2 && texts.every((text) => text.includes("rivers")), texts.join());
      const chunks = await streamed("Tell me of rivers", config);
      const parts = chunks.flatMap((chunk) => chunk.candidates ?? []);
      assertEquals(
        [0, 1].map((index) =>
          parts.filter((part) => (part.index ?? 0) === index).map(textOf).join("")
        ),
        texts,
      );
      const counts = [answer, chunks.at(-1)].map((one) => one?.usageMetadata?.totalTokenCount);
      assert(counts[0] !== undefined && counts[0] === counts[1], counts.join());
    });

    await t.step(`${model}: one tool, three at once, and a forced one`, async () => {
      const one = await whole("call get_time", { tools });
      assertEquals(one.functionCalls?.map((call) => call.name), ["get_time"]);
      assertEquals(typeof one.functionCalls?.[0]?.args?.["city"], "string");
      const chunks = await streamed("call all tools", { tools });
      const made = chunks.flatMap((chunk) => chunk.functionCalls ?? []);
      assertEquals(made.map((call) => call.name), [...names]);
      assertEquals(new Set(made.map((call) => call.id)).size, 3);
      const forced = await whole("Hello", {
        tools,
        toolConfig: {
          functionCallingConfig: {
            mode: FunctionCallingConfigMode.ANY,
            allowedFunctionNames: ["get_news"],
          },
        },
      });
      assertEquals(forced.functionCalls?.map((call) => call.name), ["get_news"]);
    });

    await t.step(`${model}: an agent's ten turns, streamed, with a picture`, async () => {
      const history: Content[] = [];
      for (let turn = 0; turn < 10; turn++) {
        const picture = turn === 0 ? [{ inlineData: { mimeType: "image/png", data: png } }] : [];
        history.push({
          role: "user",
          parts: [...picture, { text: `Turn ${turn}: call all tools` }],
        });
        const config = { tools, thinkingConfig: { includeThoughts: true } };
        const parts = (await streamed(history, config))
          .flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? []);
        history.push({ role: "model", parts });
        const made = parts.flatMap((part) => part.functionCall ?? []);
        assertEquals(made.length, 3, `turn ${turn}`);
        history.push({
          role: "user",
          parts: made.map(({ id, name }) => ({
            functionResponse: {
              ...(id === undefined ? {} : { id }),
              name: name ?? "",
              response: turn === 4 ? { error: `failed ${turn}` } : { output: `result ${turn}` },
            },
          })),
        });
        const answer = await whole(history, config);
        assert(
          answer.text?.includes(turn === 4 ? "failed 4" : `result ${turn}`),
          answer.text ?? "",
        );
        history.push({ role: "model", parts: answer.candidates?.[0]?.content?.parts ?? [] });
      }
    });

    await t.step(`${model}: an answer by schema, a cut by length, thoughts`, async () => {
      const json = await whole("Name a city", {
        responseMimeType: "application/json",
        responseSchema: {
          type: Type.OBJECT,
          properties: { city: { type: Type.STRING } },
          required: ["city"],
        },
      });
      assertEquals(typeof JSON.parse(json.text ?? "").city, "string");
      const cut = await whole("Tell me [[sandbox:length 500]]", { maxOutputTokens: 20 });
      assertEquals(cut.candidates?.[0]?.finishReason, "MAX_TOKENS");
      const thinking = await streamed("Why?", {
        thinkingConfig: { includeThoughts: true },
      });
      const thoughts = thinking.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? [])
        .filter((part) => part.thought === true);
      assert(thoughts.length > 0);
    });

    await t.step(
      `${model}: refusals and errors in the middle are errors of the library`,
      async () => {
        const refused = await errorOf(whole("[[sandbox:error-400]]"));
        assertEquals(refused.status, 400);
        assert(refused.message.includes("INVALID_ARGUMENT"), refused.message);
        // The library shows an error in the middle only if it arrives by itself; else the finish reason is missing.
        const broken = await streamed(
          "Tell me of rivers [[sandbox:error-after 2]] [[sandbox:pace 20]]",
        )
          .catch((error: unknown) => error);
        if (Array.isArray(broken)) {
          assert(broken.every((chunk) => chunk.candidates?.[0]?.finishReason === undefined));
        } else assert(broken instanceof ApiError);
      },
    );

    await t.step(`${model}: tokens are counted without a charge`, async () => {
      const { totalTokens } = await ai.models.countTokens({ model, contents: "Tell me of rivers" });
      assert(totalTokens !== undefined && totalTokens > 2 && totalTokens < 30);
    });
  }

  await t.step("chats keep their history, with signatures", async () => {
    const chat = ai.chats.create({ model: "only-messages", config: { maxOutputTokens: 2_000 } });
    for (const text of ["One", "Two"]) {
      const parts: string[] = [];
      for await (const chunk of await chat.sendMessageStream({ message: text })) {
        parts.push(chunk.text ?? "");
      }
      assertEquals(parts.join(""), `You said: ${text}`);
    }
    // The library keeps each chunk as a content of its own.
    assert(chat.getHistory().length >= 4);
  });

  await t.step("models are listed and shown", async () => {
    const listed: string[] = [];
    for await (const model of await ai.models.list({ config: { pageSize: 3 } })) {
      listed.push(model.name ?? "");
    }
    assertEquals(listed.toSorted(), [
      "models/only-chat",
      "models/only-converse",
      "models/only-gemini",
      "models/only-messages",
      "models/only-responses",
    ]);
    const shown = await ai.models.get({ model: "only-chat" });
    assertEquals([shown.name, shown.inputTokenLimit], ["models/only-chat", 200_000]);
  });

  await t.step("a limit of the provider's rate says when to come back", async () => {
    const asked = ai.models.generateContent({
      model: "only-chat",
      contents: "[[sandbox:error-429]]",
    });
    const busy = await errorOf(asked);
    assert(busy.status === 429 && busy.message.includes("RESOURCE_EXHAUSTED"), busy.message);
    assert(busy.message.includes('"retryDelay":"2s"'), busy.message);
  });

  await t.step("the ledger adds up", async () => {
    const { code, output } = await gateway.admin("verify");
    assertEquals(code, 0, output);
  });
});
