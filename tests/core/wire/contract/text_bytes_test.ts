import { assertEquals } from "../../../support/assert.ts";
import { textBytes } from "../../../../core/wire/stream/reading.ts";

Deno.test("textBytes: counts UTF-8 bytes of texts of any length", () => {
  for (const text of ["a", "ạ", "😀", "\ud83d", "aạ😀"]) {
    for (const length of [0, 1, 5_460, 5_461, 5_462, 16_384, 20_000]) {
      const long = text.repeat(length);
      assertEquals(textBytes(long), new TextEncoder().encode(long).length);
    }
  }
});

Deno.test("textBytes: anything but a text has none", () => {
  for (const value of [undefined, null, 7, true, ["a"], { a: "b" }]) {
    assertEquals(textBytes(value), 0);
  }
});
