/** The other threads of this process that serve calls, as one of them sees them. */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import type { ReplayedAnswer } from "../../../core/calls/replay/replayed_answers.ts";

/** Questions to the other threads. */
export interface Peers {
  /** The metrics of all threads, in the Prometheus text format. */
  metrics(): Promise<string>;
  /** Finds an answer that another thread keeps for repeats. */
  replayed(id: string): Promise<ReplayedAnswer | undefined>;
  /** Waits for the call that another thread runs under an idempotency key; false if none does, or it takes too long. */
  finished(id: string): Promise<boolean>;
  /** Finds items of Responses answers that other threads keep. */
  items(account: AccountId, ids: readonly string[]): Promise<readonly JsonObject[]>;
}
