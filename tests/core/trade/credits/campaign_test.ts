import { assertEquals } from "../../../support/assert.ts";
import {
  type Campaign,
  campaignRefusal,
  expiryOf,
  giftFor,
  maxGiven,
} from "../../../../core/trade/credits/campaign.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";

const startMs = Date.UTC(2026, 10, 20);

function campaignOf(some: Partial<Campaign> = {}): Campaign {
  return {
    id: newId("campaign", startMs),
    kind: "bonus",
    name: "Tết",
    gift: { kind: "amount", amountMicroVnd: fromVnd(20_000) },
    budgetMicroVnd: fromVnd(100_000),
    startsAtMs: startMs,
    perAccount: 1,
    createdAtMs: startMs,
    createdBy: { email: "command line" },
    givenMicroVnd: 0n,
    grants: 0,
    expiredMicroVnd: 0n,
    ...some,
  };
}

Deno.test("a bonus is a share of the top-up in whole VND, at most the cap", () => {
  const gift = { kind: "percent", percent: 10, capMicroVnd: fromVnd(50_000) } as const;
  const terms = { gift, minTopupMicroVnd: fromVnd(100_000) };
  const bonus = [99_999, 100_000, 123_456, 500_000, 9_000_000]
    .map((vnd) => Number(giftFor(terms, fromVnd(vnd)) / 1_000_000n));
  assertEquals(bonus, [0, 10_000, 12_345, 50_000, 50_000]);
});

Deno.test("a campaign promises the smaller of its two bounds", () => {
  assertEquals(maxGiven(campaignOf()), fromVnd(100_000));
  assertEquals(maxGiven(campaignOf({ maxGrants: 3 })), fromVnd(60_000));
  assertEquals(maxGiven(campaignOf({ maxGrants: 30 })), fromVnd(100_000));
});

const refusals: readonly (readonly [string, Partial<Campaign>, number, string | undefined])[] = [
  ["open", {}, 0, undefined],
  ["before its start", {}, -1, "not_yet"],
  ["at its end", { endsAtMs: startMs + 10 }, 10, "over"],
  ["paused", { pausedAtMs: startMs }, 0, "paused"],
  ["waiting for a second operator", { needsApproval: true }, 0, "approval"],
  ["agreed to", { needsApproval: true, approvedBy: { email: "b@example.com" } }, 0, undefined],
  ["with room for just one more", { givenMicroVnd: fromVnd(80_000), grants: 4 }, 0, undefined],
  ["with too little left", { givenMicroVnd: fromVnd(80_001), grants: 4 }, 0, "budget"],
  ["with all grants made", { maxGrants: 2, grants: 2 }, 0, "budget"],
];
for (const [what, some, afterMs, why] of refusals) {
  Deno.test(`a campaign ${what}: ${why ?? "gives"}`, () => {
    assertEquals(campaignRefusal(campaignOf(some), fromVnd(20_000), startMs + afterMs), why);
  });
}

Deno.test("credit expires whole days after it was given, or never", () => {
  assertEquals(expiryOf({ expiresAfterDays: 30 }, startMs), startMs + 30 * 86_400_000);
  assertEquals(expiryOf({}, startMs), undefined);
});
