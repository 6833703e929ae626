import { assert, assertEquals } from "../../../support/assert.ts";
import OpenAI from "openai";
import { serveGateway } from "../../../support/gateways/served_gateway.ts";

Deno.test("a reference to an item of a recent answer is replaced by the item, for whole answers and streams", async () => {
  await using gateway = await serveGateway();
  const key = /: (sk-\S+)$/m.exec(await gateway.line(/: sk-\S+$/m))![1]!;
  const openai = new OpenAI({ baseURL: `${gateway.address}/v1`, apiKey: key, maxRetries: 0 });
  const model = "premium-1";
  const whole = await openai.responses.create({ model, input: "first words" });
  let streamed: string | undefined;
  const stream = await openai.responses.create({ model, input: "second words", stream: true });
  for await (const event of stream) {
    if (event.type === "response.output_item.added") streamed = event.item.id ?? undefined;
  }
  for (const id of [whole.output[0]!.id, streamed]) {
    assert(id !== undefined);
    const next = await openai.responses.create({
      model,
      input: [
        { role: "user", content: "What did I say?" },
        { type: "item_reference", id },
        { role: "user", content: "Go on." },
      ],
    });
    assert(next.output_text.length > 0);
  }
});

Deno.test("without the store, or for another account, a reference is refused with a hint", async () => {
  await using gateway = await serveGateway();
  const key = /: (sk-\S+)$/m.exec(await gateway.line(/: sk-\S+$/m))![1]!;
  const openai = new OpenAI({ baseURL: `${gateway.address}/v1`, apiKey: key, maxRetries: 0 });
  const answer = await openai.responses.create({ model: "premium-1", input: "hi", store: false });
  const refused = await openai.responses.create({
    model: "premium-1",
    input: [{ type: "item_reference", id: answer.output[0]!.id! }],
  }).catch((error) => error);
  assertEquals(refused.status, 400);
  assert(String(refused.message).includes("send the item itself"), refused.message);
});
