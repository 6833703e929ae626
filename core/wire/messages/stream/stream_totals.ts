/** What a Messages stream reports of its answer as a whole: token counts, the service tier and why it stopped. */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { EventSink } from "../../stream/dialect.ts";
import type { UsageReport } from "../../stream/reading.ts";
import { neutralTier } from "../answer/decode_answer.ts";
import { readMessagesStop } from "../answer/stop_reasons.ts";
import { enterMessagesUsage, firstMessagesUsage, type MessagesCounts } from "../answer/usage.ts";

/** Reads the token counts, the service tier and the stop of a Messages stream. */
export class StreamTotals {
  #counts: MessagesCounts = {};
  #tier: string | undefined;
  #hasStop = false;

  /** Whether a stop event was sent. */
  get hasStop(): boolean {
    return this.#hasStop;
  }

  /** Reads the counts of `message_start`. */
  first(usage: Json | undefined): UsageReport {
    return this.#enter(firstMessagesUsage(usage), usage);
  }

  /** Reads the counts of `message_delta`: cumulative, they replace the earlier ones; what is absent keeps them. */
  next(usage: Json | undefined): UsageReport {
    return this.#enter(usage, usage);
  }

  #enter(usage: Json | undefined, given: Json | undefined): UsageReport {
    const { counts, report } = enterMessagesUsage(this.#counts, usage);
    this.#counts = counts;
    const tier = isJsonObject(given) ? given.service_tier : undefined;
    if (typeof tier === "string") this.#tier = neutralTier(tier);
    return report;
  }

  /** Sends why the answer stopped. A `delta` without a reason leaves it to the answer: a call, or its plain end. */
  stop(delta: JsonObject, hasCalls: boolean, emit: EventSink): void {
    this.#hasStop = true;
    const { stop_reason: raw } = delta;
    emit({
      type: "stop",
      stop: readMessagesStop(delta, hasCalls),
      ...(typeof raw === "string" ? { raw } : {}),
      ...(this.#tier === undefined ? {} : { serviceTier: this.#tier }),
    });
  }
}
