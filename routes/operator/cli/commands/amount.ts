/** Reads amounts of the admin command as the pages do, and repeats them in its answer so that a slip is noticed. */
import { formatVnd, microVndPerVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { parseWrittenAmount } from "../../../../core/billing/money/read_amount.ts";

/**
 * Parses an amount in whole VND as an operator types it: `50.000` means what it means in the operator's forms.
 * `undefined` for an empty text, fractions and anything ambiguous.
 *
 * @example
 * ```ts
 * import { readTypedVnd } from "./amount.ts";
 * if (readTypedVnd("50.000") !== 50_000_000_000n) throw new Error("not fifty thousand");
 * if (readTypedVnd("-50000") !== -50_000_000_000n) throw new Error("not a debit");
 * for (const unclear of ["50.0000", "50.5", "0", ""]) {
 *   if (readTypedVnd(unclear) !== undefined) throw new Error(unclear);
 * }
 * ```
 */
export function readTypedVnd(text: string): bigint | undefined {
  const amountMicroVnd = parseWrittenAmount(text);
  const isWhole = amountMicroVnd !== undefined && amountMicroVnd !== 0n &&
    amountMicroVnd % microVndPerVnd === 0n;
  return isWhole ? amountMicroVnd : undefined;
}

/** Formats an amount with spaces between thousands: half of the readers would take a dot or a comma for a fraction. */
function spaced(amountMicroVnd: bigint): string {
  return `${formatVnd(amountMicroVnd).replace(/\B(?=(\d{3})+(?!\d))/g, " ")} VND`;
}

/**
 * Describes what a command did.
 *
 * @param amountMicroVnd above 0 for a credit
 *
 * @example
 * ```ts
 * import { movementSummary } from "./amount.ts";
 * const text = movementSummary(1_050_000_000_000n, "applied");
 * if (text !== "Credited 1 050 000 VND") throw new Error(text);
 * ```
 */
export function movementSummary(amountMicroVnd: bigint, status: "applied" | "duplicate"): string {
  const act = amountMicroVnd > 0n ? "credited" : "debited";
  const amount = spaced(amountMicroVnd > 0n ? amountMicroVnd : -amountMicroVnd);
  return status === "applied"
    ? `${act === "credited" ? "Credited" : "Debited"} ${amount}`
    : `Nothing moved: this operation has ${act} ${amount} before`;
}
