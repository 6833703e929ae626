import {
  failureCodes,
  failureOf,
  knownStreamEnds,
  streamEndOf,
} from "../../../../core/billing/usage/call_failure.ts";
import type { Outcome } from "../../../../core/billing/usage/receipt.ts";
import { assert, assertEquals } from "../../../support/assert.ts";

const failed = (outcome: Outcome, status: number, ...codes: readonly string[]) =>
  failureOf({
    outcome,
    status,
    attempts: codes.map((code) => ({ route: "a/m", outcome: code, ms: 1 })),
  });

Deno.test("a failed call has type, code and words of its last attempt", () => {
  assertEquals(failed("failed", 429, "upstream_timeout", "rate_limit_exceeded"), {
    type: "rate_limit_error",
    code: "rate_limit_exceeded",
    message: "The provider was at its limit",
  });
  assertEquals(failed("failed", 503)?.code, "no_route");
  assertEquals(failed("failed", 503)?.type, "service_unavailable");
  assertEquals(failed("failed", 502, "connection_lost")?.type, "api_error");
  assertEquals(failed("withheld", 503)?.code, "maintenance");
  assertEquals(failed("completed", 200, "ok"), undefined);
  assertEquals(failed("client_gone", 499, "stopped"), undefined);
});

Deno.test("every known code has its own words, an unknown one has general ones", () => {
  const words = failureCodes.map((code) => failed("failed", 502, code)?.message);
  assertEquals(new Set(words).size, failureCodes.length);
  assert(failed("failed", 502, "constructor")?.message.includes("provider"));
});

Deno.test("every end of a stream has its own words, an error of the provider has general ones", () => {
  const words = knownStreamEnds.map((endCode) => streamEndOf({ endCode })?.message);
  assertEquals(new Set(words).size, knownStreamEnds.length);
  assert(streamEndOf({ endCode: "overloaded" })?.message.includes("provider"));
  assertEquals(streamEndOf({}), undefined);
});
