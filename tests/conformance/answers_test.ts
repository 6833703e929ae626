/** Every recorded answer converts to what a strict client of every other style accepts, and means the same there. */
import { assertEquals } from "../support/assert.ts";
import type { Style } from "../../core/wire/contract/contract.ts";
import { convertAnswer } from "../../core/wire/convert/convert.ts";
import { isJsonObject } from "../../core/lib/json/json.ts";
import { context, readWhole } from "./clients.ts";
import { type Gist, gistOf } from "./gist.ts";
import { describeRecordings, otherStyles } from "./recordings.ts";

/** Messages and Gemini clients have one place for text and refusal; the other two separate them. */
function comparable(gist: Gist, styles: readonly Style[]): unknown {
  const { text, refusal, calls, ...rest } = gist;
  const together = styles.includes("messages") || styles.includes("gemini");
  const legacy = calls.some((one) => one.startsWith(" "));
  return {
    ...rest,
    ...(together ? {} : { text, refusal }),
    calls: legacy ? calls.map((one) => one.replace(/^\S* /, "")) : calls,
  };
}

describeRecordings("recorded answers", (recordings) => {
  for (const { name, style, status, answer } of recordings) {
    if (!isJsonObject(answer) || status !== 200 || "input_tokens" in answer) continue;
    for (const to of otherStyles(style)) {
      Deno.test(`${name}: the answer means the same to a strict ${to} client`, () => {
        const converted = readWhole(to, convertAnswer(style, to, answer, context, {}));
        const [there, here] = [gistOf(to, converted), gistOf(style, answer)];
        const both = [style, to];
        if (here.calls.some((one) => one.startsWith(" "))) {
          // The old form has no ids; the client gets one.
          assertEquals(there.calls.map((one) => one.replace(/^\S+ /, " ")), here.calls);
          assertEquals(there.tokens, here.tokens);
          return;
        }
        assertEquals(comparable(there, both), comparable(here, both));
        if (here.refusal === "") assertEquals(there.text, here.text);
      });
    }
  }
});
