import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { newId } from "../../../../../core/lib/ids/ids.ts";
import { fromVnd } from "../../../../../core/billing/money/micro_vnd.ts";
import { vietnamDay } from "../../../../../core/lib/time/vietnam_time.ts";
import { claimKey } from "../../../../../kv/engine/schema/keys.ts";
import { operatorWorld } from "../../../../support/worlds/operator_world.ts";
import { dayMs } from "../../../../../core/lib/time/durations.ts";

Deno.test("claims are shown by day, provider and route, with their sum, in both languages", () =>
  operatorWorld(async ({ world, operator }) => {
    const instanceId = newId("instance", world.nowMs);
    const claim = (daysAgo: number, route: string, commit: number, vnd: number) =>
      world.kv.set(
        claimKey({ day: vietnamDay(world.nowMs - daysAgo * dayMs), route }, { instanceId, commit }),
        { calls: 2, claimMicroVnd: fromVnd(vnd) },
      );
    await claim(0, "north/large", 1, 16_000);
    await claim(0, "north/large", 2, 600);
    await claim(3, "south/m#chat", 3, 70);
    await claim(40, "north/large", 4, 9_000);
    for (const [name, locale] of [["staff", "en"], ["second", "vi"]] as const) {
      const browser = await operator(name, locale);
      const page = await browser.get("/operator/claims");
      assertEquals(page.status, 200);
      const text = page.text.replace(/<[^>]*>/g, " ").replace(/[.,](?=\d{3})/g, "");
      for (const part of ["16600", "16670", "north/large", "south/m#chat", "south "]) {
        assertStringIncludes(text, part, locale);
      }
      assert(!text.includes("9000"), "older than the last 30 days");
      const from = vietnamDay(world.nowMs - 41 * dayMs);
      const longer = await browser.get(`/operator/claims?from=${from}`);
      assertStringIncludes(longer.text.replace(/[.,](?=\d{3})/g, ""), "9000");
    }
  }));
