/** GET /v1/status: the public status of each model, without a key. */
import type { Model } from "../../core/catalog/catalog.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  constant,
  dateTime,
  type DescribedField,
  listField,
  objectField,
  text,
} from "../../core/lib/json/schemas.ts";
import { modelStates, type ModelStatus } from "../../core/routing/contract/router.ts";
import {
  type AvailabilityCounts,
  hourOf,
  uptime,
} from "../../core/routing/history/availability.ts";
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

/** A model and what is known of it. */
interface KnownModel {
  readonly model: Model;
  readonly status: ModelStatus;
  /** The share of a day's calls that were answered; absent: there were none. */
  readonly answeredShare: number | undefined;
}

const maybeMs: JsonObject = { type: ["number", "null"] };

const firstOutputFields: readonly DescribedField<ModelStatus>[] = [
  always("p50", maybeMs, ({ p50FirstOutputMs }) => p50FirstOutputMs ?? null),
  always("p95", maybeMs, ({ p95FirstOutputMs }) => p95FirstOutputMs ?? null),
];

const modelFields: readonly DescribedField<KnownModel>[] = [
  always("id", text, ({ model }) => model.id),
  always("kind", text, ({ model }) => model.kind),
  always("status", { type: "string", enum: [...modelStates] }, ({ status }) => status.state),
  objectField(
    "first_output_ms",
    "Milliseconds to the first output.",
    firstOutputFields,
    ({ status }) => status,
  ),
  always(
    "uptime_24h",
    { type: ["number", "null"], description: "1 is always." },
    ({ answeredShare }) =>
      answeredShare === undefined ? null : Math.round(answeredShare * 100_000) / 100_000,
  ),
];

interface ServiceStatus {
  readonly isMaintained: boolean;
  readonly checkedAtMs: number;
  readonly models: readonly KnownModel[];
}

/** The fields of the public status. */
export const statusFields: readonly DescribedField<ServiceStatus>[] = [
  constant("object", "status"),
  always("maintenance", { type: "boolean" }, ({ isMaintained }) => isMaintained),
  always("checked_at", dateTime, ({ checkedAtMs }) => new Date(checkedAtMs).toISOString()),
  listField("models", "A model.", modelFields, ({ models }) => models),
];

/** Serves the status page's data. */
export async function serveStatus(gateway: Gateway, day: DayOfAvailability): Promise<Response> {
  const rows = await day.rows();
  const { catalog, router, control, clock } = gateway;
  const status = fieldsJson(statusFields, {
    isMaintained: control.switches.maintenance !== undefined,
    checkedAtMs: clock.nowMs(),
    models: catalog.current.models.map((model): KnownModel => ({
      model,
      status: router.status(model),
      answeredShare: uptime(rows, model.id),
    })),
  });
  return Response.json(status, { headers: { "cache-control": "public, max-age=10" } });
}
