/** The quick way to rename the model of an answer gives the bytes of the careful one, or says that it is in doubt. */
import { jsonKey } from "../../../../core/lib/json/json_cursor.ts";
import { ClientModel } from "../../../../core/wire/stream/client_model.ts";
import { assertEquals } from "../../../support/assert.ts";

const client = ClientModel.of("premium-1");
const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

const sure = [
  '{"model":"vendor-1","n":1}',
  '{ "n": [1, {"a": "b"}], "model" :\n "vendor-1" }',
  '{"model":"premium-1"}',
  '{"model":"","n":1}',
  '{"model":"a \\"quoted\\" name","text":"say \\"model\\": \\"x\\""}',
];

const doubtful = [
  '{"model":"vendor-1","choices":[{"model":"inner"}]}',
  '{"model":"one","model":"two"}',
  '{"mod\\u0065l":"vendor-1","inner":{"model":"x"}}',
  '{"model":"vendor-1","text":"\\u00e9"}',
  '{"model":"vendor-1","text":"é"}',
  '{"kind":"model","model":"vendor-1"}',
];

for (const text of sure) {
  Deno.test(`the only model of ${text} is renamed`, () => {
    const bytes = encode(text);
    const quick = client.inOnlyMember({ bytes, text }, "model");
    assertEquals(
      quick && decode(quick),
      decode(client.inAnswer(bytes, jsonKey("model"))),
    );
  });
}

for (const text of doubtful) {
  Deno.test(`${text} is left to the careful way`, () => {
    assertEquals(client.inOnlyMember({ bytes: encode(text), text }, "model"), undefined);
  });
}
