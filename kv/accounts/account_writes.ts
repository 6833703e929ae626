/** How every change of an account is tried: check-and-set, with pauses, and one answer when it does not come through. */
import { GatewayError } from "../../core/errors.ts";
import { type CasStep, compareAndSet } from "../store/cas.ts";

/** Attempts of a check-and-set on one account's row: only clicks of that person compete. */
export const accountWriteAttempts = 8;

/**
 * Runs a change until it is done.
 *
 * @throws {GatewayError} `overloaded` if others kept changing the account: the caller may try again later
 */
export async function writeAccount<Result>(step: () => Promise<CasStep<Result>>): Promise<Result> {
  const outcome = await compareAndSet(step, { attempts: accountWriteAttempts });
  if (outcome !== "conflict") return outcome.done;
  throw new GatewayError("overloaded", "The account is being changed by others; try again");
}
