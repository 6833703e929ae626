/** Tests the encoding of texts in keys and of values: ASCII is written letter by letter, anything else by the encoder of the runtime. */
import { assertEquals, assertThrows } from "../../../support/assert.ts";
import {
  decodeKey,
  decodeValue,
  encodeKey,
  encodeValue,
} from "../../../../kv/engine/parts/tuple_key.ts";

/** Bytes of a part as the encoding is defined: UTF-8, with 0xff behind a zero byte, and a zero byte at the end. */
function bytesOf(text: string): number[] {
  const letters = [...new TextEncoder().encode(text)].flatMap((byte) =>
    byte === 0 ? [0, 0xff] : byte
  );
  return [0x02, ...letters, 0];
}

Deno.test("texts of any letters are encoded as UTF-8 and come back, alone and beside others", () => {
  const texts = [
    "",
    "wallet",
    "\u007f",
    "\u0080",
    "a\0",
    "\0a\0\0b",
    "\0\u00ff",
    "số dư",
    "\u{1f600}",
    "x".repeat(500),
    `${"x".repeat(130)}ư${"y".repeat(130)}`,
  ];
  for (const text of texts) {
    assertEquals([...encodeKey([text])], bytesOf(text));
    assertEquals(decodeKey(encodeKey([text])), [text]);
    for (const other of texts) {
      const key = [text, 7n, other, other];
      assertEquals(decodeKey(encodeKey(key)), key);
    }
  }
});

Deno.test("a key that ends within a text, or with letters that are not UTF-8, is refused", () => {
  for (const bytes of [[0x02], [0x02, 0x61], [0x02, 0x61, 0, 0xff], [0x02, 0xc3, 0]]) {
    assertThrows(() => decodeKey(Uint8Array.from(bytes)), TypeError);
  }
});

Deno.test("values come back, texts of every form and length among them, also beside other bytes", () => {
  const texts = ["", "a", "\u0080\u009f\u00ff", "số dư", "\u{1f600}"];
  for (const length of [126, 127, 128, 129, 16_383, 16_384, 60_000]) texts.push("é".repeat(length));
  for (const value of [...texts, 7n, null, { text: "a" }, ["a"]]) {
    const bytes = encodeValue(value);
    assertEquals(decodeValue(bytes), value);
    const beside = new Uint8Array(bytes.length + 2);
    beside.set(bytes, 1);
    assertEquals(decodeValue(beside.subarray(1, -1)), value);
  }
});
