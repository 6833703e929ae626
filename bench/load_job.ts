/** Input and output of the load process: one JSON text each. */
import type { ScenarioName } from "./scenarios.ts";

/** A server under load. */
export interface Target {
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Its CPU time is read at both ends of the measured time. */
  readonly pid: number;
  /** Name that it has for all models; the prompt begins with the name of the scenario then. */
  readonly model?: string;
}

export interface LoadJob {
  readonly target: Target;
  readonly path:
    | "/v1/chat/completions"
    | "/v1/messages"
    | "/v1/embeddings"
    | "/v1beta/models/bench-gemini:generateContent";
  readonly scenario: ScenarioName;
  readonly connections: number;
  /** Length of the prompt. */
  readonly promptBytes: number;
  /** Every connection makes calls one after another for this long … */
  readonly seconds: number;
  /** … and before that for this long without being counted. */
  readonly warmSeconds: number;
  /**
   * Pause between two calls of a connection, so that work after a call is not attributed to the next one. None while
   * warming up.
   */
  readonly pauseMs: number;
  /** Treatment of streams. `hold` opens the stream of each connection once, however long it takes. */
  readonly mode: "repeat" | "hold" | "leave";
}

export interface LoadResult {
  /** Calls that ended completely and without an error. */
  readonly calls: number;
  /** Connections that were opened, including warm-up. */
  readonly opened: number;
  readonly errors: number;
  /** The message of the first error. */
  readonly error: string | undefined;
  readonly seconds: number;
  readonly callP50Ms: number;
  readonly callP99Ms: number;
  readonly cpuMicros: number;
  /** Streams only. */
  readonly events: number;
  readonly firstByteP50Ms: number;
  readonly firstByteP99Ms: number;
  readonly delayP50Ms: number;
  readonly delayP99Ms: number;
  /** `hold` only: of the events that came while all streams were open. */
  readonly openDelayP50Ms: number;
  readonly openDelayP99Ms: number;
  /** `hold` only: from when to when all streams were open, by the clock that all processes share. */
  readonly openFromMs: number;
  readonly openToMs: number;
  /** `hold` only: memory of the target when all streams were open. */
  readonly peakResidentBytes: number;
  /** `leave` only: when the clients left, to compare with what the mock upstream saw. */
  readonly leftMs: number;
}
