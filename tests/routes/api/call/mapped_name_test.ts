import { assertEquals } from "../../../support/assert.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { apiPost } from "../../../support/api_post.ts";

const messages = [{ role: "user", content: "Hi" }];
const bodies = {
  "/v1/messages": { max_tokens: 5, messages },
  "/v1/messages/count_tokens": { messages },
  "/v1/chat/completions": { max_tokens: 5, messages },
  "/v1/responses": { max_output_tokens: 5, input: "Hi" },
};

Deno.test("the sent model name comes back in one spelling, whatever the endpoint", async () => {
  await using gateway = await openTestGateway();
  const { key } = await gateway.customer(10_000);
  for (const name of ["no-such-model", "vendor/model:free [x]", "mô hình 50%", 'a"b\\c^d`e|{f}']) {
    for (const [path, body] of Object.entries(bodies)) {
      const response = await gateway.fetch(
        apiPost(`http://gateway${path}`, key, { model: name, ...body }),
      );
      await response.body?.cancel();
      const told = response.headers.get("x-gateway-model-mapped-from") ?? "";
      assertEquals(decodeURIComponent(told), name, path);
      // ASCII stands as it was sent: most names can be read without decoding.
      const plain = name.replace("mô hình 50%", "m%C3%B4 h%C3%ACnh 50%25");
      assertEquals(told, plain, path);
    }
  }
});
