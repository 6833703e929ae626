/** What the top bar says: what operators announce comes before what routes show. */
import { newId } from "../../../../core/lib/ids/ids.ts";
import type { Announcement } from "../../../../kv/people/operators/announcements.ts";
import { serviceState } from "../../../../routes/dashboard/page/top_bar_state.ts";
import { assertEquals } from "../../../support/assert.ts";

const nowMs = Date.UTC(2026, 10, 20);
const announced = (kind: Announcement["kind"], startsAtMs: number): Announcement => ({
  id: newId("announcement", startsAtMs),
  kind,
  title: "t",
  startsAtMs,
  updates: [],
});

Deno.test("the state of the service is the worst that is known", () => {
  const rows = [
    [{}, "operational"],
    [{ models: ["up", "down"] }, "degraded"],
    [{ models: ["degraded"] }, "degraded"],
    [{ announcements: [announced("incident", nowMs)], models: ["up"] }, "incident"],
    [{ announcements: [announced("maintenance", nowMs)] }, "maintenance"],
    [{ announcements: [announced("maintenance", nowMs + 1)] }, "operational"],
    [{ maintenance: "soon back" }, "maintenance"],
  ] as const;
  for (const [some, state] of rows) {
    const known = { maintenance: undefined, announcements: [], models: ["up"] as const, ...some };
    assertEquals(serviceState({ ...known, nowMs }), state);
  }
});
