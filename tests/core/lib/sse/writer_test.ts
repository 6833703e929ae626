import { assertEquals, assertThrows } from "../../../support/assert.ts";
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import { SseSplitter } from "../../../../core/lib/sse/frame.ts";
import { encodeSseComment, encodeSseEvent } from "../../../../core/lib/sse/writer.ts";

Deno.test("a written event is read back", () => {
  const seen: string[] = [];
  const splitter = new SseSplitter(1000);
  for (
    const bytes of [encodeSseEvent("ä", "e"), encodeSseComment("ping"), encodeSseEvent("[DONE]")]
  ) {
    splitter.push(bytes, (frame) => seen.push(`${frame.event}|${frame.data}`) > 0);
  }
  assertEquals(seen, ["e|ä", "|", "|[DONE]"]);
});

Deno.test("a line break cannot add a field", () => {
  for (const breaking of ["a\nevent: x", "a\rdata: y", "\n\n"]) {
    assertThrows(() => encodeSseEvent(breaking), InvariantError);
    assertThrows(() => encodeSseEvent("a", breaking), InvariantError);
    assertThrows(() => encodeSseComment(breaking), InvariantError);
  }
});
