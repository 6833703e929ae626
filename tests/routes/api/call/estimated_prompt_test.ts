import { assert, assertEquals } from "../../../support/assert.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { apiPost } from "../../../support/api_post.ts";

Deno.test("without a report a picture in the prompt is not billed by the length of its base64", async () => {
  await using gateway = await openTestGateway();
  const { key } = await gateway.customer(50_000);
  const url = `data:image/png;base64,${"A".repeat(2_000_000)}`;
  const response = await gateway.fetch(apiPost("http://gateway.test/v1/chat/completions", key, {
    model: "premium-1",
    max_tokens: 50,
    messages: [{
      role: "user",
      content: [{ type: "text", text: "[[sandbox:no-usage]] what is it?" }, {
        type: "image_url",
        image_url: { url },
      }],
    }],
  }));
  await response.text();
  assertEquals(response.status, 200);
  const billed = Number(response.headers.get("x-gateway-input-tokens"));
  assert(billed > 0 && billed < 10_000, `${billed} tokens`);
});

const vietnamese = "Xin hãy kể cho tôi nghe về dòng sông Mê Kông và những người sống ở hai bên bờ. "
  .repeat(60);
const escaped = (text: string) =>
  text.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
const triggered = "[[sandbox:no-usage]] ";

/** Bodies whose bytes say nothing of their tokens, with what the model reads of each. */
const bodies: Readonly<Record<string, { readonly json: string; readonly same: string }>> = {
  "spaces between the members": {
    json: `{"model":"premium-1",${
      " ".repeat(40_000)
    }"max_tokens":50,"messages":[{"role":"user","content":"${triggered}hello"}]}`,
    same:
      `{"model":"premium-1","max_tokens":50,"messages":[{"role":"user","content":"${triggered}hello"}]}`,
  },
  "metadata": {
    json: `{"model":"premium-1","metadata":{"note":"${
      "x".repeat(8_000)
    }"},"max_tokens":50,"messages":[{"role":"user","content":"${triggered}hello"}]}`,
    same:
      `{"model":"premium-1","max_tokens":50,"messages":[{"role":"user","content":"${triggered}hello"}]}`,
  },
  "Vietnamese as escapes": {
    json: `{"model":"premium-1","max_tokens":50,"messages":[{"role":"user","content":"${triggered}${
      escaped(vietnamese)
    }"}]}`,
    same:
      `{"model":"premium-1","max_tokens":50,"messages":[{"role":"user","content":"${triggered}${vietnamese}"}]}`,
  },
};

for (const [what, { json, same }] of Object.entries(bodies)) {
  for (const style of ["messages", "chat"] as const) {
    for (const stream of [false, true]) {
      Deno.test(`${style}, ${stream ? "streamed" : "whole"}: without a report, ${what} cost what the model reads`, async () => {
        await using gateway = await openTestGateway();
        const path = style === "messages" ? "/v1/messages" : "/v1/chat/completions";
        /** A customer each: what is known of a prompt is known by key. */
        const billed = async (body: string) => {
          const { key, accountId } = await gateway.customer(50_000);
          const sent = stream ? body.replace("{", '{"stream":true,') : body;
          const answer = await gateway.fetch(
            new Request(`http://gateway.test${path}`, {
              method: "POST",
              headers: { "x-api-key": key, "content-type": "application/json" },
              body: sent,
            }),
          );
          const text = await answer.text();
          assertEquals(answer.status, 200, text);
          const { receipts: [receipt] } = await listReceipts(gateway.kv, accountId, { limit: 1 });
          assert(receipt?.estimated === true);
          return receipt.usage?.input;
        };
        const { key } = await gateway.customer(1);
        const count = await gateway.fetch(
          new Request("http://gateway.test/v1/messages/count_tokens", {
            method: "POST",
            headers: { "x-api-key": key, "content-type": "application/json" },
            body: same,
          }),
        );
        const counted = Number((await count.json()).input_tokens);
        // A long body of a stream is not kept for the tokenizer: its text counts at four bytes per token.
        for (const input of [await billed(json), await billed(same)]) {
          assert(input !== undefined);
          assert(Math.abs(input - counted) <= counted * 0.3 + 16, `${input} for ${counted}`);
        }
      });
    }
  }
}
