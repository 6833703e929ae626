import { DayHistory } from "../../../../core/routing/history/availability.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { writeDayHistory } from "../../../../kv/services/status/availability.ts";
import { costOfCall } from "../../../../routes/dashboard/public/home/landing.tsx";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
} from "../../../support/worlds/dashboard_world.ts";

/** Seven answered calls and a failed one of the default model today. */
async function callsOfToday(world: DashboardWorld): Promise<void> {
  const nowMs = world.time.nowMs();
  const history = new DayHistory(nowMs);
  for (let i = 0; i < 7; i++) history.note("premium-1", nowMs, 300);
  history.note("premium-1", nowMs, undefined);
  const instance = newId("instance", nowMs);
  await writeDayHistory(world.deps.kv, instance, history.current(nowMs));
}

Deno.test("every model has a page with its price, endpoints and code, in both languages", async () => {
  await using world = await openDashboardWorld();
  for (const language of ["en", "vi"]) {
    const browser = world.browser({ "accept-language": language });
    for (const { id, displayName } of world.deps.catalog.models) {
      const { status, text } = await browser.get(`/models/${encodeURIComponent(id)}`);
      assertEquals(status, 200, id);
      assertStringIncludes(text, `>${displayName}</h1>`);
      assertStringIncludes(text, "₫");
      assertStringIncludes(text, 'href="/docs/api/');
      assertStringIncludes(text, "YOUR_KEY");
    }
  }
});

Deno.test("the page of a model shows answered calls and speed of 30 days", async () => {
  await using world = await openDashboardWorld();
  await callsOfToday(world);
  const { text } = await world.browser().get("/models/premium-1");
  assertStringIncludes(text, "Last 30 days: 87.50\u00a0% of calls answered");
  assertStringIncludes(text, "≤ 330\u00a0ms");
  assert(!(await world.browser().get("/models/image-1")).text.includes("330\u00a0ms"));
});

Deno.test("an alias leads to the page of its model, an unknown name to a 404", async () => {
  await using world = await openDashboardWorld();
  const browser = world.browser();
  const alias = await browser.get("/models/premium-latest");
  assertEquals([alias.status, alias.headers.get("location")], [301, "/models/premium-1"]);
  assertEquals((await browser.get("/models/nothing")).status, 404);
});

Deno.test("the calculator counts as a call is charged, and takes figures with separators", async () => {
  await using world = await openDashboardWorld();
  const { text } = await world.browser().get(
    "/?model=premium-1&in=1.000.000&out=0&calls=10#calculator",
  );
  // 8,300 VND for each million tokens: 10 calls on 30 days.
  assertStringIncludes(text, "₫2,490,000");
  const model = world.deps.catalog.defaultModel;
  assertEquals(costOfCall({ model, input: 1_000_000, output: 0 }), 8_300_000_000n);
  assertEquals((await world.browser().get("/?model=nothing&in=-1&out=x")).status, 200);
});
