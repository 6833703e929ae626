import { assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import {
  FrameTemplate,
  literalBytes,
  literalEnd,
  literalLength,
} from "../../../../core/lib/json/json_literal.ts";

/** Generates any string, including lone surrogates and control characters. */
const anyText = fc.string({ unit: "binary" });

Deno.test("literalEnd finds the end of every literal that JSON.stringify writes", () => {
  fc.assert(fc.property(anyText, anyText, (value, after) => {
    const literal = JSON.stringify(value);
    assertEquals(literalEnd(literal + after, 0), literal.length);
  }));
});

Deno.test("literalEnd accepts exactly what JSON.parse accepts", () => {
  const piece = fc.constantFrom('"', "\\", "u", "d83d", "/", "n", "x", "\t", "é", "0", " ");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const text = `"${pieces.join("")}"`;
      const end = literalEnd(text, 0);
      let parses = true;
      try {
        JSON.parse(text);
      } catch {
        parses = false;
      }
      assertEquals(end === text.length, parses, text);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("literalBytes and literalLength measure the text, however it is escaped", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), (value) => {
    const bytes = new TextEncoder().encode(value).length;
    const ascii = JSON.stringify(value).replace(
      /[\u007f-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    for (const literal of [JSON.stringify(value), ascii]) {
      assertEquals([literalBytes(literal), literalLength(literal)], [bytes, value.length]);
    }
  }));
});

/** Frames around a piece of text, as vendors write them. */
const shapes: readonly ((text: string, noise: string) => string)[] = [
  (text) => `{"index":0,"delta":{"content":${text}},"finish_reason":null}`,
  (text) => `{"type":"d","delta":{"type":"text_delta","content":${text}}          }`,
  (text, noise) => `{"delta":{"content":${text}},"usage":null,"obfuscation":${noise}}`,
];

Deno.test("a template matches the frames of its shape and gives their literal", () => {
  fc.assert(fc.property(anyText, anyText, anyText, anyText, (a, b, noiseA, noiseB) => {
    for (const shape of shapes) {
      const template = new FrameTemplate();
      template.learn(shape(JSON.stringify(a), JSON.stringify(noiseA)), "content", a);
      const literal = JSON.stringify(b);
      assertEquals(template.match(shape(literal, JSON.stringify(noiseB))), literal);
    }
  }));
});

Deno.test("a template matches nothing that differs elsewhere", () => {
  const template = new FrameTemplate();
  template.learn('{"d":{"content":"a"},"finish_reason":null}', "content", "a");
  const others = [
    '{"d":{"content":"a"},"finish_reason":"stop"}',
    '{"d":{"content":"a","x":1},"finish_reason":null}',
    '{"D":{"content":"a"},"finish_reason":null}',
    '{"d":{"content":"a"},"finish_reason":null}x',
    '{"d":{"content":"a\\x"},"finish_reason":null}',
    '{"d":{"content":null},"finish_reason":null}',
    '{"d":{"content":"a',
    "",
  ];
  for (const other of others) assertEquals(template.match(other), undefined, other);
});

Deno.test("a frame with an ambiguous member is not learnt", () => {
  const frames = [
    '{"content":"b","d":{"content":"a"}}',
    '{"d":{"content":"b"}}',
    '{"d":{"content" : "a"}}',
    "{}",
  ];
  for (const frame of frames) {
    const template = new FrameTemplate();
    template.learn(frame, "content", "a");
    assertEquals(template.match(frame), undefined, frame);
  }
});

Deno.test("padding is accepted only if no string follows the text", () => {
  const template = new FrameTemplate();
  template.learn('{"content":"a","s":"x y"}', "content", "a");
  assertEquals(template.match('{"content":"b","s":"xy"}'), undefined);
});
