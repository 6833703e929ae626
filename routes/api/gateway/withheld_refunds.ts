/**
 * Refunds calls whose answer was withheld although their charge had landed: the commit was on its way when the store
 * stopped answering. One at a time, since many may be of one wallet.
 */
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { errorName } from "../../../core/lib/base/assert.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { refundCall } from "../../../kv/money/ledger/refunds.ts";
import { systemReasonText } from "../../../kv/money/ledger/system_reasons.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import type { CallLog } from "../../telemetry/call_log.ts";
import type { EventCounts } from "../../telemetry/telemetry.ts";
import type { KeyedCall } from "./keyed_call.ts";

/** Attempts of a refund: ten minutes with the pauses between them, far longer than a server takes to restart. */
const refundAttempts = 24;

/** Milliseconds of the first pause between two attempts; each further one doubles it. */
const refundPauseMs = 250;

/** Milliseconds of the longest such pause. */
const refundPauseMaxMs = 30_000;

/** Text that the customer reads on the statement. */
const reason = systemReasonText({ kind: "withheld" });

interface DueRefund {
  readonly receipt: Receipt;
  readonly keyedCall: KeyedCall | undefined;
}

export interface WithheldRefundsDeps {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly log: CallLog;
  readonly events: Pick<EventCounts, "withheldRefunded">;
}

/** The refunds that one process owes. The wallet engine bounds how many calls wait for their receipts. */
export class WithheldRefunds {
  readonly #deps: WithheldRefundsDeps;
  readonly #due: DueRefund[] = [];
  #running: Promise<void> | undefined;

  constructor(deps: WithheldRefundsDeps) {
    this.#deps = deps;
  }

  add(receipt: Receipt, keyedCall: KeyedCall | undefined): void {
    this.#due.push({ receipt, keyedCall });
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Resolves when nothing is owed, or after `waitMs`. */
  async rest(waitMs: number): Promise<void> {
    if (this.#running === undefined) return;
    await Promise.race([this.#running, this.#pause(waitMs)]);
  }

  async #run(): Promise<void> {
    for (let next = this.#due.shift(); next !== undefined; next = this.#due.shift()) {
      await this.#refund(next);
    }
  }

  async #refund({ receipt, keyedCall }: DueRefund): Promise<void> {
    const { kv, clock, log, events } = this.#deps;
    for (let attempt = 1;; attempt++) {
      try {
        await refundCall(kv, receipt, {
          reason,
          atMs: clock.nowMs(),
          attach: async (op) => await keyedCall?.freeRefunded(op),
        });
        return events.withheldRefunded("refunded");
      } catch (error) {
        if (attempt >= refundAttempts) {
          events.withheldRefunded("failed");
          const fields = { request_id: receipt.requestId, error: errorName(error) };
          return log.event("error", "a withheld answer was not refunded", fields);
        }
        await this.#pause(Math.min(refundPauseMaxMs, refundPauseMs * 2 ** (attempt - 1)));
      }
    }
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.#deps.deadlines.create(resolve).arm(delayMs));
  }
}
