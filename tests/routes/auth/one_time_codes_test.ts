import { assertEquals } from "../../support/assert.ts";
import { totpStep } from "../../../routes/auth/one_time_codes.ts";

/** RFC 6238, appendix B, SHA-1: the secret "12345678901234567890"; of its eight digits the last six. */
const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
const vectors: readonly (readonly [seconds: number, code: string])[] = [
  [59, "287082"],
  [1111111109, "081804"],
  [1111111111, "050471"],
  [1234567890, "005924"],
  [2000000000, "279037"],
  [20000000000, "353130"],
];

Deno.test("codes are those of RFC 6238", () => {
  for (const [seconds, code] of vectors) {
    assertEquals(totpStep(secret, code, seconds * 1000), Math.floor(seconds / 30), code);
  }
});

Deno.test("a clock may be one step off, not two", () => {
  const [seconds, code] = [1111111109, "081804"];
  const step = Math.floor(seconds / 30);
  const at = (steps: number) => totpStep(secret, code, (step + steps) * 30_000);
  assertEquals([-2, -1, 0, 1, 2].map(at), [undefined, step, step, step, undefined]);
});

Deno.test("what is no code is none", () => {
  for (const typed of ["", "28708", "2870822", "28708a", "-87082", "２８７０８２"]) {
    assertEquals(totpStep(secret, typed, 59_000), undefined, typed);
  }
  assertEquals(totpStep(secret, "287 082", 59_000), 1, "as apps show it");
});
