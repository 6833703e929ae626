import { assertEquals, assertRejects } from "../../../support/assert.ts";
import { parseUrl, startPromise, withResolvers } from "../../../../core/lib/runtime/built_ins.ts";

Deno.test("withResolvers() settles its promise from outside", async () => {
  const kept = withResolvers<number>();
  kept.resolve(1);
  assertEquals(await kept.promise, 1);
  const broken = withResolvers<number>();
  broken.reject(new RangeError("no"));
  await assertRejects(() => broken.promise, RangeError, "no");
});

Deno.test("startPromise() calls immediately and turns a thrown error into a rejection", async () => {
  const seen: number[] = [];
  const sum = startPromise(
    (one: number, other: number) => {
      seen.push(one);
      return one + other;
    },
    1,
    2,
  );
  assertEquals(seen, [1]);
  assertEquals(await sum, 3);
  await assertRejects(
    () =>
      startPromise((): number => {
        throw new RangeError("no");
      }),
    RangeError,
    "no",
  );
});

Deno.test("parseUrl() returns null for text that is not a URL", () => {
  assertEquals(parseUrl("https://a.example/x")?.hostname, "a.example");
  assertEquals(parseUrl("/x", new URL("https://a.example"))?.href, "https://a.example/x");
  assertEquals(parseUrl("/x"), null);
});
