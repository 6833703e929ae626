/** GET /v1/status: the public status of each model, without a key. */
import { hourOf, uptime } from "../../core/routing/history/availability.ts";
import type { AvailabilityCounts } from "../../core/routing/history/availability.ts";
import { readAvailability } from "../../kv/services/status/availability.ts";
import type { Gateway } from "./gateway/gateway.ts";

/** Milliseconds between two readings of the public status from the store, however many clients ask. */
const statusCacheMs = 10_000;

/** Reads the last day from the store, at most once per `statusCacheMs`, however many requests arrive. */
export class DayOfAvailability {
  readonly #gateway: Gateway;
  #askedAtMs = -Infinity;
  #asking: Promise<void> = Promise.resolve();
  #rows: readonly AvailabilityCounts[] = [];

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  /** The last day as it was last read; unchanged while the store is silent or fails. */
  async rows(): Promise<readonly AvailabilityCounts[]> {
    const { clock } = this.#gateway;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#askedAtMs > statusCacheMs) {
      this.#askedAtMs = nowMs;
      this.#asking = this.#ask();
    }
    await this.#asking;
    return this.#rows;
  }

  async #ask(): Promise<void> {
    const { clock, kv } = this.#gateway;
    try {
      this.#rows = await readAvailability(kv, hourOf(clock.nowMs()));
    } catch {
      // The public status shows the last values rather than an error.
    }
  }
}

/** Serves the status page's data. */
export async function serveStatus(gateway: Gateway, day: DayOfAvailability): Promise<Response> {
  const rows = await day.rows();
  const { catalog, router, control, clock } = gateway;
  const models = catalog.current.models.map((model) => {
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
