import { assert, assertEquals } from "../../support/assert.ts";
import { openTestGateway } from "../../support/gateways/gateway_in_process.ts";

Deno.test("without a report a picture in the prompt is not billed by the length of its base64", async () => {
  await using gateway = await openTestGateway();
  const { key } = await gateway.customer(50_000);
  const url = `data:image/png;base64,${"A".repeat(2_000_000)}`;
  const response = await gateway.fetch(
    new Request("http://gateway.test/v1/chat/completions", {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({
        model: "premium-1",
        max_tokens: 50,
        messages: [{
          role: "user",
          content: [{ type: "text", text: "[[sandbox:no-usage]] what is it?" }, {
            type: "image_url",
            image_url: { url },
          }],
        }],
      }),
    }),
  );
  await response.text();
  assertEquals(response.status, 200);
  const billed = Number(response.headers.get("x-gateway-input-tokens"));
  assert(billed > 0 && billed < 10_000, `${billed} tokens`);
});
