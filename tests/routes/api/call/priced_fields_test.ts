/** One answer is paid for, so one answer is asked for: no field that decides the cost reaches a provider unseen. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { errorOf, type MediaWorld, mockProvider, openMediaWorld } from "../gateway/media_world.ts";

const size = { contextWindow: 100_000, maxOutputTokens: 10_000 };
const routes = [{ provider: "p1" }];
const models = [
  {
    id: "per-token",
    kind: "chat",
    family: "t",
    ...size,
    price: { unit: "token", vndPerMtok: 8_300 },
    routes: [{ provider: "p1", style: ["chat", "messages", "responses"] }],
  },
  {
    id: "per-call",
    kind: "chat",
    family: "t",
    ...size,
    price: { unit: "request", vnd: 230 },
    routes,
  },
  { id: "image-t", kind: "image", family: "t", price: { unit: "image", vnd: 1000 }, routes },
  { id: "speech-t", kind: "speech", family: "t", price: { unit: "request", vnd: 1350 }, routes },
];

const messages = [{ role: "user", content: "hi" }];
const bodies: Record<string, Record<string, unknown>> = {
  "/v1/chat/completions": { model: "per-token", messages },
  "/v1/messages": { model: "per-token", messages, max_tokens: 100 },
  "/v1/responses": { model: "per-token", input: "hi" },
  "/v1/images/generations": { model: "image-t", prompt: "x" },
  "/v1/images/edits": {
    model: "image-t",
    prompt: "x",
    image: "data:image/png;base64,iVBORw0KGgoAAAAA",
  },
  "/v1/audio/speech": { model: "speech-t", input: "hi", voice: "lan" },
};

/** The call is a 400 naming `param`, nothing reaches the provider, nothing is charged or held. */
async function assertRefused(
  world: MediaWorld,
  seen: readonly unknown[],
  answer: Response,
  param: string,
  name: string,
) {
  const error = await errorOf(answer);
  assertEquals([error.status, error.type], [400, "invalid_request_error"], name);
  assert(
    error.param === param || error.message.toLowerCase().includes(param),
    `${name}: ${error.message}`,
  );
  assertEquals(seen.length, 0, `${name} reached the provider`);
  const { totalMicroVnd, reservedMicroVnd } = await world.gateway.wallet.balance(world.accountId);
  assertEquals([totalMicroVnd, reservedMicroVnd], [1_000_000_000_000n, 0n], name);
}

Deno.test("fields that decide the cost are refused inside extra_body on every endpoint", async () => {
  await using provider = mockProvider(() => Response.json({}));
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models });
  const hidden = [{ n: 9 }, { model: "dear" }, { max_tokens: 99_999 }, { best_of: 9 }, { N: 9 }];
  for (const [path, body] of Object.entries(bodies)) {
    for (const extra_body of hidden) {
      const answer = await world.post(path, { ...body, extra_body });
      const param = `extra_body.${Object.keys(extra_body)[0]?.toLowerCase()}`;
      await assertRefused(world, provider.seen, answer, param, `${path} ${param}`);
    }
  }
});

Deno.test("in forms other spellings of fields that decide the cost are refused", async () => {
  await using provider = mockProvider(() => Response.json({}));
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models });
  const send = (name: string, value: string) => {
    const form = new FormData();
    form.append("model", "image-t");
    form.append("prompt", "x");
    form.append("image[]", new File([Uint8Array.fromBase64("iVBORw0KGgoAAAAA")], "a.png"));
    form.append(name, value);
    return world.send("/v1/images/edits", { method: "POST", body: form });
  };
  const spellings = ["N", "n[]", "n[0]", " n", "Model", "model[]", "extra_body[n]", "extra_body"];
  for (const name of spellings) {
    const param = name.trim().replace(/\[.*/, "").toLowerCase();
    await assertRefused(world, provider.seen, await send(name, "5"), param, name);
  }
  await (await send("n", "2")).body?.cancel();
  assertEquals(provider.seen.length, 1, "the plain name passes, and so does image[]");
});

Deno.test("best_of is refused for a price per call, and reserved for a price per token", async () => {
  await using provider = mockProvider(() =>
    Response.json({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{
        index: 0,
        message: { role: "assistant", content: "a".repeat(400) },
        finish_reason: "stop",
      }],
      usage: { prompt_tokens: 10, completion_tokens: 1_600, total_tokens: 1_610 },
    })
  );
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models });
  const ask = (model: string, more: object) =>
    world.post("/v1/chat/completions", { model, messages, max_tokens: 100, ...more });
  for (const more of [{ best_of: 16 }, { n: 2 }, { n: 1, best_of: 2 }]) {
    const param = Object.keys(more).at(-1) ?? "";
    await assertRefused(world, provider.seen, await ask("per-call", more), param, param);
  }
  const tooMany = await ask("per-token", { best_of: 17 });
  await assertRefused(world, provider.seen, tooMany, "best_of", "17");
  // Sixteen answers were made; the provider reports them all, and so many were reserved.
  const best = await ask("per-token", { best_of: 16 });
  await best.body?.cancel();
  const receipt = await world.receiptOf(best);
  assertEquals([receipt?.usage?.output, receipt?.estimated], [1_600, false]);
  // Sixteen answers for the price of one are no report of one.
  const one = await ask("per-token", {});
  await one.body?.cancel();
  const doubted = await world.receiptOf(one);
  assertEquals([doubted?.usage?.output, doubted?.estimated], [100, true]);
});
