import { assertEquals } from "../../../support/assert.ts";
import { geminiBody } from "../../../../core/calls/exchange/gemini_body.ts";
import { type JsonBody, parseJsonBody } from "../../../../core/calls/body/json_body.ts";
import { sealsOf, withoutSeals } from "../../../../core/calls/request/sealed_items.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";

const user = { role: "user", content: "Xin chào" };
/** With a beginning that all have. */
const seal = (n: number, chars: number) => `gAAAAB${"A".repeat(chars)}${n}`;

const histories: Readonly<Record<Style, (seals: readonly string[]) => JsonObject>> = {
  messages: (seals) => ({
    messages: [user, {
      role: "assistant",
      content: seals.map((text, i) =>
        i % 2 === 0
          ? { type: "thinking", thinking: "Hm.", signature: text }
          : { type: "redacted_thinking", data: text }
      ),
    }],
  }),
  responses: (seals) => ({
    input: [
      user,
      ...seals.map((text, i) => ({
        type: "reasoning",
        id: `rs_${i}`,
        summary: [],
        encrypted_content: text,
      })),
    ],
  }),
  gemini: (seals) => ({
    contents: [{
      role: "model",
      parts: seals.map((thoughtSignature) => ({
        functionCall: { name: "read", args: {} },
        thoughtSignature,
      })),
    }],
  }),
  chat: (seals) => ({
    messages: [user, {
      role: "assistant",
      content: "Hi",
      reasoning_details: seals.map((text, i) =>
        i % 2 === 0
          ? { type: "reasoning.text", text: "Hm.", signature: text }
          : { type: "reasoning.encrypted", data: text }
      ),
    }],
  }),
};
const styles = Object.keys(histories) as Style[];

function bodyOf(style: Style, value: JsonObject): JsonBody {
  const sent = parseJsonBody(new TextEncoder().encode(JSON.stringify(value)));
  return style === "gemini" ? geminiBody(sent, { model: "m", stream: true, inArray: false }) : sent;
}

for (const style of styles) {
  Deno.test(`${style}: each sealed item has a mark of its own, however large the request, and goes alone`, () => {
    for (const chars of [90, 2_000, 200_000]) {
      const texts = [1, 2, 3].map((n) => seal(n, chars));
      const body = bodyOf(style, { ...histories[style](texts), user: "u" });
      const marks = sealsOf(style, body);
      assertEquals(new Set(marks).size, 3, `${chars} characters`);
      const alone = sealsOf(style, bodyOf(style, histories[style](texts.slice(0, 1))));
      assertEquals(alone, marks.slice(0, 1));
      const [, second] = marks;
      const changed = withoutSeals(style, body, (mark) => mark === second).body;
      assertEquals(sealsOf(style, changed), marks.filter((mark) => mark !== second));
      const { user: kept, model } = changed.value;
      assertEquals([kept, model], ["u", style === "gemini" ? "m" : undefined]);
    }
  });
}

Deno.test("a request without sealed items has no marks, nor have the gateway's own", () => {
  for (const style of styles) {
    assertEquals(sealsOf(style, bodyOf(style, histories[style]([]))), []);
    assertEquals(sealsOf(style, bodyOf(style, histories[style](["ugw1.0"]))), []);
  }
});
