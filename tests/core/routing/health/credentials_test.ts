import { assertEquals } from "../../../support/assert.ts";
import {
  credentialRestMaxMs,
  credentialRestMs,
  Credentials,
} from "../../../../core/routing/health/credentials.ts";

Deno.test("a limit never shortens the rest of a key that was refused", () => {
  const credentials = new Credentials(["one"]);
  credentials.refused("one", 0, "status 401");
  credentials.limited("one", 0, 1_000, "status 429");
  assertEquals(credentials.hasFresh(credentialRestMs - 1), false);
  assertEquals(credentials.hasFresh(credentialRestMs), true);
});

Deno.test("a key that is refused again and again rests longer each time, up to a bound", () => {
  const credentials = new Credentials(["one"]);
  let nowMs = 0;
  let lastRestMs = 0;
  for (let time = 0; time < 40; time++) {
    credentials.refused("one", nowMs, "status 401");
    let restMs = Math.max(lastRestMs, credentialRestMs);
    while (!credentials.hasFresh(nowMs + restMs)) restMs *= 2;
    assertEquals(restMs >= lastRestMs && restMs <= credentialRestMaxMs * 2, true);
    lastRestMs = restMs;
    nowMs += restMs;
  }
  credentials.worked("one");
  credentials.refused("one", nowMs, "status 401");
  assertEquals(credentials.hasFresh(nowMs + credentialRestMs), true);
});

Deno.test("keys are used in turn, and a resting one is skipped", () => {
  const credentials = new Credentials(["one", "two", "three"]);
  credentials.limited("two", 0, 5_000, "status 429");
  assertEquals([0, 1, 2, 3].map((at) => credentials.take(at)), ["one", "three", "one", "three"]);
  assertEquals(credentials.resting(0), 1);
  assertEquals(credentials.take(5_000), "one");
  assertEquals(credentials.take(5_000), "two");
});
