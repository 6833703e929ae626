/** Tests that every rate limit of the table is merged, counted, shared and refused, whichever subject it binds. */
import { recordOf } from "../../../core/lib/base/record_of.ts";
import { ProcessRateBook } from "../../../core/limits/rate_book.ts";
import {
  limitNames,
  limitTable,
  periodLimitNames,
  periodLimitsFrom,
  periodLimitsOf,
  type RateLimitName,
  rateLimitNames,
} from "../../../core/limits/limit_table.ts";
import {
  rateLimitsFrom,
  type RateSources,
  rateSubjects,
} from "../../../core/limits/rate_limits.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const nobody: RateSources = {
  accountId: newId("account", 1),
  keyId: newId("apiKey", 1),
  defaults: undefined,
  account: undefined,
  key: undefined,
  model: undefined,
};

/** Limits that set one alone. */
function only(name: RateLimitName, limit: number) {
  return rateLimitsFrom(rateLimitNames, (one) => one === name ? limit : undefined);
}

Deno.test("every limit is either a rate or of a period", () => {
  assertEquals([...rateLimitNames, ...periodLimitNames].sort(), [...limitNames].sort());
});

Deno.test("every rate limit binds by itself, is replaced, lifted, and the lower of two applies", () => {
  for (const name of rateLimitNames) {
    const limitsOf = (sources: Partial<RateSources>) =>
      rateSubjects({ ...nobody, ...sources })?.map(({ scope, limits }) => [scope, limits[name]]);
    const defaults = { account: only(name, 7), key: only(name, 5) };
    assertEquals(limitsOf({ defaults }), [["account", 7], ["key", 5]], name);
    assertEquals(
      limitsOf({ defaults, account: recordOf([name], () => 9) }),
      [["account", 9], ["key", 5]],
      name,
    );
    const lifted = recordOf([name], () => "none" as const);
    assertEquals(limitsOf({ defaults, account: lifted }), [["key", 5]], name);
    for (const [own, least] of [[4, 4], [6, 5]] as const) {
      assertEquals(limitsOf({ defaults: { key: only(name, 5) }, key: only(name, own) }), [
        ["key", least],
      ], name);
    }
    const model = { id: "m", rateLimits: { all: only(name, 3), account: only(name, 2) } };
    assertEquals(limitsOf({ model }), [["account_model", 2], ["model", 3]], name);
  }
});

Deno.test("every rate limit refuses the call that exceeds it, counts, and is shared between instances", () => {
  for (const name of rateLimitNames) {
    const [here, there] = [
      new ProcessRateBook(() => 1_000_000),
      new ProcessRateBook(() => 1_000_000),
    ];
    const subjects = [{ id: "s", scope: "account", limits: only(name, 2) } as const];
    const cost = { expectedMicroVnd: 1_000_000n, leastMicroVnd: 1_000_000n };
    const call = { subjects, tokens: 1, inputTokens: 1, cost };
    assert(here.begin(call).ok && here.begin(call).ok, name);
    const refused = here.begin(call);
    assert(!refused.ok, name);
    assertEquals([refused.limitName, refused.limit, refused.needed], [name, 2, 1]);
    assertEquals(here.use(["s"])[0]?.[name], 2);
    for (const [id, use] of here.publish()) there.merge(id, use, undefined);
    assertEquals(there.use(["s"])[0]?.[name], 2, "what an instance publishes arrives");
    assert(!there.begin(call).ok, name);
  }
});

Deno.test("every limit of a period has a member of its own in rows", () => {
  const row = periodLimitsFrom((name) => BigInt(periodLimitNames.indexOf(name) + 1));
  assertEquals(Object.keys(row), periodLimitNames.map((name) => limitTable[name].stored));
  assertEquals(
    periodLimitsOf(row).map(({ limitName, limit }) => [limitName, limit]),
    periodLimitNames.map((name, at) => [name, BigInt(at + 1)]),
  );
});
