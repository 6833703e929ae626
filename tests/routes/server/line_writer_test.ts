import { assertEquals } from "@std/assert";
import { limits } from "../../../core/limits.ts";
import { createLineWriter } from "../../../routes/server/line_writer.ts";

Deno.test("lines are written together, whole and in order, also where the output takes a few bytes at a time", () => {
  let written = "";
  const decoder = new TextDecoder();
  const lines = createLineWriter((bytes) => {
    const taken = bytes.subarray(0, 3);
    written += decoder.decode(taken, { stream: true });
    return taken.length;
  });
  lines.write("first đồng");
  lines.write("second");
  assertEquals(written, "");
  lines.flush();
  assertEquals(written, "first đồng\nsecond\n");
});

Deno.test("many lines do not wait for the moment to pass", () => {
  let calls = 0;
  const lines = createLineWriter((bytes) => {
    calls++;
    return bytes.length;
  });
  lines.write("x".repeat(limits.logBufferChars));
  assertEquals(calls, 1);
  lines.flush();
});
