/**
 * Bounds how long a call waits for its receipt when the store does not answer. Then the client gets an error, while the
 * settlement goes on until the store is back or the process stops.
 *
 * What the client is charged then is in docs/internals/MONEY.md.
 */
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { Deadlines } from "../../../core/lib/time/deadlines.ts";

/**
 * What happens to the charge of a call whose receipt is late:
 *
 * - `forgone`: a whole answer, of which the client got nothing, is free.
 * - `kept`: the client has what a stream sent, or can fetch a video that was accepted.
 */
export type LateCharge = "forgone" | "kept";

/** The answer was refused because its receipt was not confirmed in time. */
export class LateReceiptError extends GatewayError {
  override name = "LateReceiptError";
  /** The settlement, which goes on. */
  readonly settling: Promise<Receipt>;

  constructor(charge: LateCharge, settling: Promise<Receipt>) {
    super(
      "maintenance",
      charge === "forgone"
        ? "The store does not answer, so this answer is withheld; nothing is charged. Try again"
        : "The store does not answer, so the end of this answer is withheld; what it produced is charged",
      charge === "forgone" ? {} : { retry: false },
    );
    this.settling = settling;
  }
}

/**
 * Resolves with the receipt, or rejects after `waitMs`.
 *
 * @param onLate called before it rejects
 * @throws {LateReceiptError} if the settlement goes on
 */
export function receiptInTime(
  settling: Promise<Receipt>,
  { deadlines, waitMs, charge, onLate }: {
    readonly deadlines: Deadlines;
    readonly waitMs: number;
    readonly charge: LateCharge;
    readonly onLate: () => void;
  },
): Promise<Receipt> {
  return new Promise((resolve, reject) => {
    const deadline = deadlines.create(() => {
      onLate();
      reject(new LateReceiptError(charge, settling));
    });
    deadline.arm(waitMs);
    settling.then((receipt) => {
      deadline.disarm();
      resolve(receipt);
    }, (error) => {
      deadline.disarm();
      reject(error);
    });
  });
}
