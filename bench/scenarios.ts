/**
 * Answers of the mock upstream, chosen by the model name of the request, which passes through every gateway.
 *
 * `json` does not stream; the others stream `events` events, `everyMs` apart or as fast as the client reads.
 */
export const scenarios = {
  "bench-json": { kind: "json" },
  /** The same in the Gemini style, whose model is in the path. */
  "bench-gemini": { kind: "json" },
  /** A small body with a large answer: sixteen vectors. */
  "bench-embeddings": { kind: "json" },
  /** As fast as possible, ten events per write: the mock must not be the slowest part. */
  "bench-burst": { kind: "stream", events: 200, everyMs: 0, eventsPerWrite: 10 },
  /** The pace of a quick model. */
  "bench-paced": { kind: "stream", events: 200, everyMs: 10, eventsPerWrite: 1 },
  /** For a thousand open streams. */
  "bench-slow": { kind: "stream", events: 100, everyMs: 100, eventsPerWrite: 1 },
  /** For thousands of open streams, at the pace of a model that thinks: two events a second. */
  "bench-sparse": { kind: "stream", events: 30, everyMs: 500, eventsPerWrite: 1 },
  /** One event, to measure the first byte only. */
  "bench-first": { kind: "stream", events: 1, everyMs: 0, eventsPerWrite: 1 },
  /** Without end, until the client leaves. */
  "bench-endless": { kind: "stream", events: 1_000_000, everyMs: 20, eventsPerWrite: 1 },
} as const;

export type ScenarioName = keyof typeof scenarios;

export function isScenarioName(name: string): name is ScenarioName {
  return Object.hasOwn(scenarios, name);
}
