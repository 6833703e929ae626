/** A call must not be one thing to the gateway, which prices it, and another to the provider, which makes it. */
import { assertEquals, assertThrows } from "@std/assert";
import { parseJsonBody } from "../../core/call/json_body.ts";
import { GatewayError } from "../../core/errors.ts";

const parse = (text: string) => parseJsonBody(new TextEncoder().encode(text));

Deno.test("a field that decides the cost is refused in other case: some providers would take it", () => {
  const bodies = [
    '{"model":"a","Model":"dear"}',
    '{"MODEL":"dear","model":"a"}',
    '{"model":"a","N":16}',
    '{"model":"a","\\u0042ackground":true}',
    '{"model":"a","Max_Tokens":9}',
    '{"model":"a","Service_Tier":"priority"}',
    '{"model":"a","tools":[],"Tools":[{"type":"web_search"}]}',
    '{"model":"a","provideroptions":{}}',
    // Letters with a third case: some servers take `\u017f` for an `s` and U+212A for a `k`.
    '{"model":"a","\u017ferver_tier":1,"\u017fpeed":"fast"}',
    '{"model":"a","fallbac\u212as":"default"}',
  ];
  for (const body of bodies) {
    assertThrows(() => parse(body), GatewayError, "is named");
  }
});

Deno.test("other fields may be written as their provider likes", () => {
  const body = parse('{"model":"a","customField":1,"CustomField":2,"messages":[{"Model":"x"}]}');
  assertEquals([...body.fields.keys()], ["model", "customField", "CustomField", "messages"]);
});
