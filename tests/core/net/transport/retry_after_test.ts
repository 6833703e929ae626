import { assertEquals } from "../../../support/assert.ts";
import {
  maxRetryAfterSeconds,
  retryAfterSeconds,
} from "../../../../core/net/transport/retry_after.ts";
import { ManualTime } from "../../../support/manual_time.ts";

const clock = new ManualTime(Date.UTC(2026, 10, 20, 12));
const noon = "Fri, 20 Nov 2026 12:00:00 GMT";

const table: readonly [headers: Record<string, string>, seconds: number | undefined][] = [
  [{}, undefined],
  [{ "retry-after": "7" }, 7],
  [{ "retry-after": "1.2" }, 2],
  [{ "retry-after": "-5" }, undefined],
  [{ "retry-after": "soon 5" }, undefined],
  [{ "retry-after-ms": "1500", "retry-after": "9" }, 2],
  // By the provider's own clock, however wrong it is.
  [{ "retry-after": "Fri, 20 Nov 2026 12:00:30 GMT", date: noon }, 30],
  [{ "retry-after": "Tue, 01 Jan 2030 00:00:10 GMT", date: "Tue, 01 Jan 2030 00:00:00 GMT" }, 10],
  [{ "retry-after": noon, date: noon }, 0],
  // By ours, where it tells no time or none that can be read.
  [{ "retry-after": "Fri, 20 Nov 2026 12:00:30 GMT" }, 30],
  [{ "retry-after": "Friday, 20-Nov-26 12:01:00 GMT" }, 60],
  [{ "retry-after": "2026-11-20T12:00:05Z" }, 5],
  [{ "retry-after": "Fri, 20 Nov 2026 12:00:30 GMT", date: "today" }, 30],
  [{ "retry-after": "Fri, 20 Nov 2026 11:59:00 GMT" }, undefined],
  // However it is said, a day at most.
  [{ "retry-after": "86400" }, maxRetryAfterSeconds],
  [{ "retry-after": "86401" }, maxRetryAfterSeconds],
  [{ "retry-after": "999999999" }, maxRetryAfterSeconds],
  [{ "retry-after-ms": "999999999" }, maxRetryAfterSeconds],
  [{ "retry-after": "Tue, 01 Jan 2030 00:00:00 GMT", date: noon }, maxRetryAfterSeconds],
  [{ "retry-after": "Tue, 01 Jan 2030 00:00:00 GMT" }, maxRetryAfterSeconds],
];

for (const [headers, seconds] of table) {
  Deno.test(`retryAfterSeconds() of ${JSON.stringify(headers)} is ${seconds}`, () => {
    assertEquals(retryAfterSeconds((name) => headers[name], clock), seconds);
  });
}
