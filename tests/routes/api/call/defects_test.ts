/** Tests that a defect of the gateway after a reservation costs the customer nothing. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { createApp } from "../../../../routes/server/listen/app.ts";
import { bearerPost } from "../../../support/api_post.ts";

const messages = [{ role: "user", content: "Hello" }];

/** A call of each way, with whose part of the gateway is broken for it. */
const calls = {
  "/v1/chat/completions": { model: "premium-1", messages },
  "/v1/messages": { model: "premium-1", max_tokens: 50, messages },
  "/v1/responses": { model: "premium-1", input: "Hello" },
  "/v1/images/generations": { model: "image-1", prompt: "A cat" },
  "/v1/audio/speech": { model: "speech-1", input: "Hello", voice: "lan" },
  "/v1/embeddings": { model: "example-embedding", input: "Hello" },
  "/v1/completions": { model: "example-completion", prompt: "Hello", max_tokens: 9 },
  "/v1/videos": { model: "video-a", prompt: "A cat" },
};

for (const [path, body] of Object.entries(calls)) {
  Deno.test(`${path}: a defect after the reservation gives the money back`, async () => {
    await using test = await openTestGateway();
    const { accountId, key } = await test.customer(1_000_000);
    const { gateway } = test.assembled;
    let opened = 0;
    const answers = new Proxy(gateway.answers, {
      get(target, name) {
        if (name !== "open") return Reflect.get(target, name);
        opened++;
        throw new Error("a defect");
      },
    });
    const app = createApp({ ...gateway, answers }, { stopping: () => false });
    const request = bearerPost(`http://gateway.example${path}`, key, body);
    const answer = await app.fetch(request, { clientAddress: "127.0.0.1" });
    await answer.body?.cancel();
    assertEquals([answer.status, opened], [500, 1], "it was reserved for when it broke");
    const all = await gateway.wallet.reserve(accountId, 1_000_000_000_000n, 0);
    assert(all.ok, "nothing is held");
    gateway.wallet.release(all.reservation);
  });
}
