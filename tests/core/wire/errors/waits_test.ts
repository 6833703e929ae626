/** The time to wait is read in each form in which a vendor tells it. */
import { assertEquals } from "../../../support/assert.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { retryAfterSeconds } from "../../../../core/net/transport/retry_after.ts";
import { bodyWaitSeconds, waitUntilSeconds } from "../../../../core/wire/errors/body_wait.ts";
import { decodeProviderError } from "../../../../core/wire/convert/provider_errors.ts";
import type { Json } from "../../../../core/lib/json/json.ts";

const clock = new ManualTime();
const nowMs = clock.nowMs();
const at = (seconds: number) => new Date(nowMs + seconds * 1000);

const byHeader:
  readonly (readonly [headers: Record<string, string>, seconds: number | undefined])[] = [
    [{ "retry-after": "7" }, 7],
    [{ "retry-after": "1.2" }, 2],
    [{ "retry-after": at(30).toUTCString() }, 30],
    [{ "retry-after-ms": "2500" }, 3],
    [{ "x-ms-retry-after-ms": "1500" }, 2],
    // Nothing is left of tokens only.
    [{
      "x-ratelimit-remaining-requests": "5",
      "x-ratelimit-reset-requests": "10m",
      "x-ratelimit-remaining-tokens": "0",
      "x-ratelimit-reset-tokens": "1m20.4s",
    }, 81],
    [{ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "250ms" }, 1],
    [{
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": String(Math.floor(at(40).getTime() / 1000)),
    }, 40],
    [{ "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(at(40).getTime()) }, 40],
    [{ "ratelimit-remaining": "0", "ratelimit-reset": "12" }, 12],
    [{ "ratelimit": '"api";r=0;t=55' }, 55],
    [{ "ratelimit": '"api";r=3;t=55, "tokens";r=0;t=20' }, 20],
    [{ "ratelimit": "limit=100, remaining=0, reset=9" }, 9],
    [{ "ratelimit": '"api";r=3;t=55' }, undefined],
    [{
      "anthropic-ratelimit-input-tokens-remaining": "0",
      "anthropic-ratelimit-input-tokens-reset": at(25).toISOString(),
    }, 25],
    // What resets although something is left is no reason to wait.
    [{ "x-ratelimit-remaining-tokens": "100", "x-ratelimit-reset-tokens": "9m" }, undefined],
    [{ "x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon" }, undefined],
    [{ "retry-after": "3", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "60" }, 3],
  ];

Deno.test("headers: seconds, dates, milliseconds, and the reset of a limit that is used up", () => {
  for (const [headers, seconds] of byHeader) {
    assertEquals(
      retryAfterSeconds((name) => headers[name], clock),
      seconds,
      JSON.stringify(headers),
    );
  }
});

const byBody: readonly (readonly [body: Json, seconds: number | undefined])[] = [
  [{
    error: {
      details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "21s" }],
    },
  }, 21],
  [{ error: { retry_after: 4 } }, 4],
  [{ error: { retry_after: "4.5" } }, 5],
  [{ retryAfter: 6 }, 6],
  [{ error: { message: "slow" }, retry_after: 7 }, 7],
  [{ error: { retry_after_ms: 1500 } }, 2],
  [{ error: { type: "usage_limit_reached", resets_in_seconds: 90 } }, 90],
  [{ error: "Model x is currently loading", estimated_time: 20.5 }, 21],
  [{ error: { metadata: { retry_after_seconds: 8 } } }, 8],
  [{ error: { message: "Please try again in 1m20.4s." } }, 81],
  [{ error: { message: "Please retry after 20 seconds." } }, 20],
  [{ error: { message: "Please wait 35 seconds before retrying." } }, 35],
  [{ error: { message: "please try again after 1 seconds" } }, 1],
  [{ error: { message: "Please try again later." } }, undefined],
];

Deno.test("bodies: RetryInfo, members and words", () => {
  for (const [body, seconds] of byBody) {
    const said = JSON.stringify(body);
    assertEquals(bodyWaitSeconds(body, said), seconds, said);
    const error = decodeProviderError("chat", 429, said);
    assertEquals(error.retryAfterSeconds, seconds, said);
  }
});

Deno.test("bodies: the moment of a reset, and headers that are repeated there", () => {
  const rows: readonly (readonly [body: Json, seconds: number | undefined])[] = [
    [{ error: { metadata: { headers: { "X-RateLimit-Reset": String(at(40).getTime()) } } } }, 40],
    [{ error: { metadata: { headers: { "Retry-After": "9" } } } }, 9],
    [{ error: { resets_at: Math.floor(at(50).getTime() / 1000) } }, 50],
    [{ error: { reset_time: at(15).toISOString() } }, 15],
    [{ error: { resets_at: Math.floor(at(-50).getTime() / 1000) } }, undefined],
    [{ error: { metadata: { headers: { "X-RateLimit-Limit": "20" } } } }, undefined],
  ];
  for (const [body, seconds] of rows) {
    const text = JSON.stringify(body);
    assertEquals(waitUntilSeconds(text, nowMs), seconds, text);
  }
  assertEquals(waitUntilSeconds("reset {", nowMs), undefined);
});
