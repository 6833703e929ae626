/** Goal 14: endpoints besides Chat and Messages, against the raw pipe with the same bytes. */
import { type Effort, inTurns, type JobShape, type Measured, wholeCalls } from "./measure.ts";
import type { Row } from "./report.ts";
import type { Setting } from "./setting.ts";

const gemini: JobShape = {
  ...wholeCalls,
  path: "/v1beta/models/bench-gemini:generateContent",
  scenario: "bench-gemini",
};

/** Fewer connections: an answer is five hundred times as long. */
const embeddings: JobShape = {
  ...wholeCalls,
  path: "/v1/embeddings",
  scenario: "bench-embeddings",
  connections: 16,
};

const show = (measured: Measured) => `${measured.seen("cpuMicrosPerCall").toFixed(1)} µs`;

/** Measures the goal. */
export async function endpointRows(setting: Setting, effort: Effort): Promise<Row[]> {
  const { target } = setting.gateway;
  const compared = async (shape: JobShape) => {
    const { raw, gateway } = await inTurns(effort, {
      raw: { target: setting.raw, shape },
      gateway: { target, shape },
    });
    return {
      seen: `${show(gateway)}; raw ${show(raw)}`,
      value: gateway.ratioTo(raw, "cpuMicrosPerCall"),
    };
  };
  return [{
    goal: 14,
    measure: "1 KB JSON in the Gemini style: CPU per request / raw",
    ...await compared(gemini),
    bar: { firstStep: 1.5, goal: 0.6, better: "less", unit: "×" },
  }, {
    goal: 14,
    measure: "embeddings, 1 KB in, 540 KB out: CPU per request / raw",
    ...await compared(embeddings),
    // The pipe passes half a megabyte without JavaScript; the gateway counts the vectors, so it reads every byte.
    bar: { firstStep: 6, goal: 3, better: "less", unit: "×" },
  }];
}
