import { assertEquals } from "../../../support/assert.ts";
import { hasBillableBeta, sortBetas } from "../../../../core/wire/billable_features/asked_for.ts";

const none = new Set<never>();

Deno.test("a beta that makes tokens dearer is left out and named, the others stay as they are", () => {
  const dropped = ["anthropic-beta.context-1m"];
  assertEquals(sortBetas("a-1, context-1m-2025-08-07,b-2", none), { kept: "a-1,b-2", dropped });
  assertEquals(sortBetas(" Context-1M-2025-08-07 ", none), { kept: undefined, dropped });
  assertEquals(sortBetas("context-1m-2026-01-01,context-1m", none), { kept: undefined, dropped });
});

Deno.test("a header without it passes to the last blank, and so does all that a route allows", () => {
  // What agents send: each of these only unlocks fields.
  const usual =
    "claude-code-20250219, interleaved-thinking-2025-05-14 ,context-management-2025-06-27,advisor-tool-2026-03-01," +
    "fast-mode-2026-02-01,server-side-fallback-2026-07-01";
  assertEquals(sortBetas(usual, none), { kept: usual, dropped: [] });
  const long = "a ,context-1m-2025-08-07";
  assertEquals(sortBetas(long, new Set(["long_context"] as const)), { kept: long, dropped: [] });
  assertEquals(sortBetas("not-context-1m-2025-08-07", none).dropped, []);
});

Deno.test("betas in a body are found as words and as a list", () => {
  assertEquals(hasBillableBeta("a, context-1m-2025-08-07"), true);
  assertEquals(hasBillableBeta(["a", ["context-1m-2025-08-07"]]), true);
  assertEquals(
    [hasBillableBeta("a"), hasBillableBeta([]), hasBillableBeta({}), hasBillableBeta(1)],
    [
      false,
      false,
      false,
      false,
    ],
  );
});
