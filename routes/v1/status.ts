/** GET /v1/status: how each model does, for everyone, without a key. */
import { hourOf, uptime } from "../../core/routing/availability.ts";
import type { AvailabilityCounts } from "../../core/routing/availability.ts";
import { limits } from "../../core/limits.ts";
import { readAvailability } from "../../kv/availability.ts";
import type { Gateway } from "./gateway.ts";

/** Reads the day from the store at most once per `limits.statusCacheMs`, whatever strangers ask for. */
export class DayOfAvailability {
  readonly #gateway: Gateway;
  #readAtMs = -Infinity;
  #rows: Promise<AvailabilityCounts[]> = Promise.resolve([]);

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  async rows(): Promise<AvailabilityCounts[]> {
    const { clock, kv } = this.#gateway;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#readAtMs > limits.statusCacheMs) {
      this.#readAtMs = nowMs;
      this.#rows = readAvailability(kv, hourOf(clock.nowMs()));
      this.#rows.catch(() => this.#readAtMs = -Infinity);
    }
    return await this.#rows;
  }
}

/** Serves the status page's data. */
export async function serveStatus(gateway: Gateway, day: DayOfAvailability): Promise<Response> {
  const rows = await day.rows();
  const { config, router, control, clock } = gateway;
  const models = config.catalog.models.map((model) => {
    const status = router.status(model);
    const share = uptime(rows, model.id);
    return {
      id: model.id,
      kind: model.kind,
      status: status.state,
      first_output_ms: {
        p50: status.p50FirstOutputMs ?? null,
        p95: status.p95FirstOutputMs ?? null,
      },
      uptime_24h: share === undefined ? null : Math.round(share * 100_000) / 100_000,
    };
  });
  return Response.json({
    object: "status",
    maintenance: control.switches.maintenance !== undefined,
    checked_at: new Date(clock.nowMs()).toISOString(),
    models,
  }, { headers: { "cache-control": "public, max-age=10" } });
}
