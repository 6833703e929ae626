/** Customers who met a limit in the last day are listed with their numbers; other refusals are not. */
import { newId } from "../../../../../core/lib/ids/ids.ts";
import type { RefusedCall } from "../../../../../kv/services/calls/refused_calls.ts";
import { RefusedHourCounts } from "../../../../../kv/services/calls/refused_hours.ts";
import { assert, assertMatch, assertStringIncludes } from "../../../../support/assert.ts";
import { operatorWorld } from "../../../../support/worlds/operator_world.ts";
import { refuse } from "../../../../support/worlds/refused_calls.ts";

Deno.test("limits that were met in 24 hours are counted by customer, and no other refusals", () =>
  operatorWorld(async ({ world, operator }) => {
    const [ann, bob] = [await world.customer("ann"), await world.customer("bob")];
    const counts = new RefusedHourCounts(world.nowMs);
    const keyId = newId("apiKey", 0);
    const met = async (accountId: typeof ann.id, change: Partial<RefusedCall>, agoMs = 1_000) => {
      const atMs = world.nowMs - agoMs;
      counts.add(await refuse(world.kv, { accountId, keyId, atMs }, change));
    };
    const rate = { status: 429, code: "rate_limit_reached" } as const;
    for (let at = 0; at < 3; at++) await met(ann.id, rate);
    await met(ann.id, { status: 429, code: "spending_limit_reached" });
    await met(ann.id, rate, 50 * 3_600_000);
    await met(bob.id, {});
    const operation = world.kv.atomic();
    counts.write(operation);
    await operation.commit();
    const { text } = await (await operator("staff")).get("/operator/limits");
    const [, row = ""] = /<tr[^>]*>((?:(?!<\/tr>).)*ann@example\.com.*?)<\/tr>/s.exec(text) ?? [];
    assertMatch(
      row.replaceAll(/<[^>]+>/g, " "),
      /ann@example\.com\s+3\s+1\s+0\s+Limits of this customer/,
    );
    assertStringIncludes(row, `/operator/accounts/${ann.id}/limits`);
    assert(!text.includes("bob@example.com"));
    assertStringIncludes(text, "gateway.json sets no limits.");
  }));
