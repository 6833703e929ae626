/** How well the table reads errors that it was not made for. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { classify } from "../../../../core/wire/errors/classify.ts";
import { readErrorFields } from "../../../../core/wire/errors/error_fields.ts";
import { countedPrompts, publicErrors } from "./public_errors.ts";

/** What a person judged otherwise: a text in the member for a field's name, and a code that only words explain. */
const otherwise = ["cap, read as request", "account, read as rate"];

Deno.test("errors from public reports are read as a person reads them", () => {
  const wrong: string[] = [];
  for (const [kind, status, body, source] of publicErrors) {
    assert(URL.canParse(source), source);
    const found: string = classify(status, readErrorFields(body)).kind;
    if (found !== kind) wrong.push(`${kind}, read as ${found}`);
  }
  assert(publicErrors.length >= 100);
  assertEquals(wrong, otherwise);
});

Deno.test("a prompt beyond the window has its two numbers, whatever the words around them are", () => {
  for (const [message, used, most] of countedPrompts) {
    for (
      const body of [{ error: { message } }, {
        error: { message, code: "context_length_exceeded" },
      }]
    ) {
      const { kind, counts } = classify(400, readErrorFields(body));
      assertEquals([kind, counts?.used, counts?.most], ["prompt", used, most], message);
    }
    const limited = classify(429, readErrorFields({ error: { message } }));
    assertEquals(limited.kind, "rate", message);
  }
});
