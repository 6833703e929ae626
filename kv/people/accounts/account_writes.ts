/** Repeats changes of accounts: check-and-set with pauses, and one error if it keeps failing. */
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { type CasStep, compareAndSet } from "../../engine/store/cas.ts";

/**
 * Attempts of a check-and-set on the row of an account, for which only requests of that person
 * compete.
 */
export const accountWriteAttempts = 8;

/**
 * Repeats a change until it succeeds.
 *
 * @throws {GatewayError} `overloaded` if others kept changing the account: the caller may try again
 * later
 */
export async function writeAccount<Result>(step: () => Promise<CasStep<Result>>): Promise<Result> {
  const outcome = await compareAndSet(step, { attempts: accountWriteAttempts });
  if (outcome !== "conflict") return outcome.done;
  throw new GatewayError("overloaded", "The account is being changed by others; try again");
}
