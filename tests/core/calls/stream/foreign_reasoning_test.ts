import { assertEquals } from "../../../support/assert.ts";
import { withoutForeignReasoning } from "../../../../core/calls/request/sealed_items.ts";
import { parseJsonBody } from "../../../../core/calls/body/json_body.ts";

const parse = (value: unknown) => parseJsonBody(new TextEncoder().encode(JSON.stringify(value)));
const question = { role: "user", content: "1 ugw1 and w1. are no seals" };

Deno.test("thinking that we sealed does not reach a Messages vendor; what the vendor signed does", () => {
  const vendors = { type: "thinking", thinking: "mine", signature: "EqQBCkgIAR==" };
  const ours = { type: "thinking", thinking: "other", signature: "ugw1.0" };
  const text = { type: "text", text: "answer" };
  const body = parse({
    model: "m",
    messages: [question, { role: "assistant", content: [vendors, ours, text] }, question],
  });
  assertEquals(withoutForeignReasoning("messages", body, {}), {
    messages: [question, { role: "assistant", content: [vendors, text] }, question],
  });
});

Deno.test("bodies without a seal are not touched, in any style", () => {
  for (const style of ["messages", "chat", "responses"] as const) {
    assertEquals(
      withoutForeignReasoning(style, parse({ messages: [question], input: "1" }), {}),
      {},
    );
  }
});

Deno.test("sources that we wrote into a text do not reach a Messages vendor; the text does", () => {
  const source = {
    type: "web_search_result_location",
    url: "https://example.com",
    title: null,
    encrypted_index: "ugw1.0",
    cited_text: "",
  };
  const said = { role: "assistant", content: [{ type: "text", text: "a", citations: [source] }] };
  assertEquals(
    withoutForeignReasoning("messages", parse({ model: "m", messages: [question, said] }), {}),
    { messages: [question, { role: "assistant", content: [{ type: "text", text: "a" }] }] },
  );
});
