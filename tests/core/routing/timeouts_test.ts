import { assert, assertEquals } from "../../support/assert.ts";
import { buildCatalog } from "../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../core/catalog/schema.ts";
import { defaultFirstOutputMs } from "../../../core/catalog/entries/model.ts";
import { maxCallMs } from "../../../core/lib/base/limits.ts";
import {
  answerTimeoutMs,
  idleMs,
  ownFirstOutputMs,
  slowAfterMs,
} from "../../../core/routing/timeouts.ts";
import { minuteMs } from "../../../core/lib/time/durations.ts";

function timesOf(timeouts: Record<string, number>, model: Record<string, number> = {}) {
  const built = buildCatalog(gatewayFileSchema.parse({
    defaultModel: "m",
    providers: { p: { kind: "http", baseUrl: "https://p.example", apiKeyEnv: "KEY", timeouts } },
    models: [{
      id: "m",
      kind: "chat",
      family: "f",
      price: { unit: "request", vnd: 1 },
      routes: [{ provider: "p" }],
      ...model,
    }],
  }));
  if (!built.ok) throw new Error(built.problems.join());
  const { catalog } = built;
  const [m] = catalog.models;
  const [route] = m!.routes;
  return {
    idle: idleMs(catalog, route!),
    own: ownFirstOutputMs(catalog, route!),
    slow: slowAfterMs(catalog, m!, route!),
    whole: answerTimeoutMs(catalog, m!, route!, false),
  };
}

Deno.test("by default only the call's own limit ends a model that reasons for five minutes", () => {
  const { idle, own, slow, whole } = timesOf({});
  assertEquals([own, whole], [undefined, undefined]);
  assert(idle > 5 * minuteMs && idle < maxCallMs);
  assertEquals(slow, defaultFirstOutputMs);
});

Deno.test("configured timeouts apply, and the shorter one decides when a second route starts", () => {
  const written = timesOf({ firstOutputMs: 20_000, idleMs: 1_000 }, { slowAfterMs: 40_000 });
  assertEquals(written, { idle: 1_000, own: 20_000, slow: 20_000, whole: 20_000 });
  assertEquals(timesOf({ firstOutputMs: 20_000 }, { slowAfterMs: 4_000 }).slow, 4_000);
});
