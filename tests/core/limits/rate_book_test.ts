/** Tests that limits are kept in every minute, that room comes back, and what a refused caller is told. */
import * as fc from "../../support/property.ts";
import { ProcessRateBook, type RateAdmission } from "../../../core/limits/rate_book.ts";
import type { RateLimits, RateSubject } from "../../../core/limits/rate_limits.ts";
import { assert, assertEquals } from "../../support/assert.ts";

function subjectOf(limits: RateLimits, id = "account"): RateSubject {
  return { id, scope: "account", limits };
}

function open() {
  const time = { nowMs: 5_000_000 };
  const book = new ProcessRateBook(() => time.nowMs);
  const begin = (subjects: readonly RateSubject[], tokens = 0, inputTokens = 0) =>
    book.begin({ subjects, tokens, inputTokens });
  return { time, book, begin };
}

function admitted(result: ReturnType<ReturnType<typeof open>["begin"]>): RateAdmission {
  assert(result.ok, "the call is admitted");
  return result;
}

const arrivals = fc.array(
  fc.record({
    pauseMs: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 30_000 })),
    tokens: fc.integer({ min: 0, max: 40 }),
    spent: fc.integer({ min: 0, max: 40 }),
  }),
  { maxLength: 200 },
);

Deno.test("in no 60 seconds are there more calls or expected tokens than the limits", () => {
  fc.assert(fc.property(
    arrivals,
    fc.integer({ min: 1, max: 12 }),
    fc.integer({ min: 40, max: 120 }),
    (calls, requestsPerMinute, tokensPerMinute) => {
      const { time, begin } = open();
      const subjects = [subjectOf({ requestsPerMinute, tokensPerMinute })];
      const seen: { atMs: number; tokens: number }[] = [];
      for (const { pauseMs, tokens } of calls) {
        time.nowMs += pauseMs;
        if (begin(subjects, tokens, tokens).ok) seen.push({ atMs: time.nowMs, tokens });
        const last = seen.filter(({ atMs }) => atMs > time.nowMs - 60_000);
        assert(last.length <= requestsPerMinute);
        assert(last.reduce((sum, call) => sum + call.tokens, 0) <= tokensPerMinute);
      }
    },
  ));
});

Deno.test("a call that waits as long as it was told is admitted, if nothing else is", () => {
  fc.assert(fc.property(arrivals, (calls) => {
    const { time, begin } = open();
    const subjects = [
      subjectOf({ requestsPerMinute: 5 }),
      subjectOf({ requestsPerMinute: 9, tokensPerMinute: 90 }, "key"),
    ];
    for (const { pauseMs, tokens, spent } of calls) {
      time.nowMs += pauseMs;
      let result = begin(subjects, tokens, tokens);
      for (let tries = 0; !result.ok; tries++) {
        assert(tries < 3, "it does not wait for ever");
        assert(result.retryAfterMs !== undefined && result.retryAfterMs <= 61_000);
        time.nowMs += result.retryAfterMs;
        result = begin(subjects, tokens, tokens);
      }
      result.call.end({ tokens: spent, isCounted: true });
    }
  }));
});

Deno.test("the tokens that a call used replace those it was expected to need", () => {
  const { time, begin, book } = open();
  const subjects = [subjectOf({ tokensPerMinute: 100 })];
  const first = admitted(begin(subjects, 90, 10));
  assert(!begin(subjects, 20, 20).ok);
  first.call.end({ tokens: 30, isCounted: true });
  first.call.end({ tokens: 0, isCounted: false });
  assertEquals(book.use(["account"]), [{
    requestsPerMinute: 1,
    tokensPerMinute: 30,
    vndPerHour: 0,
    callsAtOnce: 0,
  }]);
  const second = admitted(begin(subjects, 70, 20));
  assertEquals(second.figures, { tokens: { limit: 100, remaining: 0, resetMs: 61_000 } });
  time.nowMs += 10_000;
  second.call.end({ tokens: 250, isCounted: true });
  const third = begin(subjects, 1, 1);
  assert(!third.ok && third.figures.tokens?.remaining === 0);
  // The first 100 are gone after a minute; what came in addition counts from when it was known.
  assertEquals(third.retryAfterMs, 61_000);
});

Deno.test("a call that no provider got does not count at all", () => {
  const { begin, book } = open();
  const subjects = [subjectOf({ requestsPerMinute: 1, tokensPerMinute: 100, callsAtOnce: 1 })];
  admitted(begin(subjects, 50, 10)).call.end({ tokens: 0, isCounted: false });
  assertEquals(book.use(["account"]), [{
    requestsPerMinute: 0,
    tokensPerMinute: 0,
    vndPerHour: 0,
    callsAtOnce: 0,
  }]);
  assert(begin(subjects, 50, 10).ok);
});

Deno.test("calls at once are counted until they end", () => {
  const { begin } = open();
  const subjects = [subjectOf({ callsAtOnce: 2 })];
  const first = admitted(begin(subjects));
  admitted(begin(subjects));
  const refused = begin(subjects);
  assert(!refused.ok);
  assertEquals([refused.limitName, refused.limit, refused.retryAfterMs], ["callsAtOnce", 2, 1_000]);
  first.call.end({ tokens: 0, isCounted: true });
  first.call.end({ tokens: 0, isCounted: true });
  admitted(begin(subjects));
  assert(!begin(subjects).ok);
});

Deno.test("a refused call takes nothing of the limits that would have allowed it", () => {
  const { begin, book } = open();
  const account = subjectOf({ requestsPerMinute: 10 });
  const key = { id: "key", scope: "key", limits: { requestsPerMinute: 1 } } as const;
  admitted(begin([account, key]));
  const refused = begin([account, key]);
  assert(!refused.ok && refused.scope === "key");
  assertEquals(refused.figures.requests, { limit: 1, remaining: 0, resetMs: 61_000 });
  assertEquals(book.use(["account", "key"]).map(({ requestsPerMinute }) => requestsPerMinute), [
    1,
    1,
  ]);
});

Deno.test("a prompt beyond the limit is refused for good, a long answer waits for an empty minute", () => {
  const { begin } = open();
  const subjects = [subjectOf({ tokensPerMinute: 100 })];
  const tooLarge = begin(subjects, 150, 101);
  assert(!tooLarge.ok && tooLarge.retryAfterMs === undefined);
  const long = admitted(begin(subjects, 150, 80));
  assertEquals(long.figures.tokens?.remaining, 0);
  assert(!begin(subjects, 1, 1).ok);
});

Deno.test("limits that are changed count what was used before", () => {
  const { begin } = open();
  for (let call = 0; call < 5; call++) admitted(begin([subjectOf({ callsAtOnce: 100 })], 10, 10));
  assert(!begin([subjectOf({ requestsPerMinute: 5 })]).ok);
  assert(!begin([subjectOf({ tokensPerMinute: 50 })], 1, 1).ok);
  assert(begin([subjectOf({ requestsPerMinute: 6, tokensPerMinute: 60 })], 10, 10).ok);
});

Deno.test("the least recently used subjects are evicted beyond 50,000", () => {
  const { time, begin, book } = open();
  const one = (at: number) => begin([subjectOf({ requestsPerMinute: 1 }, `account ${at}`)]);
  for (let at = 0; at < 50_000; at++) admitted(one(at));
  assert(!one(0).ok);
  time.nowMs += 1;
  admitted(one(50_000));
  assertEquals(
    book.use(["account 0", "account 1"]).map(({ requestsPerMinute }) => requestsPerMinute),
    [1, 0],
  );
});

Deno.test("money counts from admission, is corrected by the cost, and is exact to a millionth of a VND", () => {
  const { time, book } = open();
  const begin = (expectedMicroVnd: bigint, leastMicroVnd = expectedMicroVnd) =>
    book.begin({
      subjects: [{ id: "model m", scope: "model", limits: { vndPerHour: 1_000_000_000 } }],
      tokens: 0,
      inputTokens: 0,
      cost: { expectedMicroVnd, leastMicroVnd },
    });
  const limitMicroVnd = 1_000_000_000n * 1_000_000n;
  const ends: [costMicroVnd: bigint | undefined, isCounted: boolean, leftMicroVnd: bigint][] = [
    [1n, true, limitMicroVnd - 1n],
    [0n, true, limitMicroVnd - 1n],
    [undefined, false, limitMicroVnd - 1n],
    [limitMicroVnd - 3n, true, 2n],
    [undefined, true, 0n],
  ];
  for (const [costMicroVnd, isCounted, leftMicroVnd] of ends) {
    const { call } = admitted(begin(1n));
    const end = costMicroVnd === undefined ? {} : { costMicroVnd };
    call.end({ tokens: 0, isCounted, ...end });
    if (leftMicroVnd < 2n) break;
    const most = admitted(begin(leftMicroVnd));
    assert(!begin(1n).ok, "all of it is used");
    most.call.end({ tokens: 0, isCounted: false });
  }
  assert(begin(1n).ok, "one is left");
  const refused = begin(1n);
  assert(!refused.ok && (refused.retryAfterMs ?? 0) > 3_600_000);
  const never = begin(limitMicroVnd * 2n);
  assert(!never.ok);
  assertEquals([never.retryAfterMs, never.needed], [undefined, 2_000_000_000]);
  time.nowMs += 3_660_000;
  assert(begin(limitMicroVnd * 2n, 1n).ok, "what it may cost beyond the limit is capped");
});
