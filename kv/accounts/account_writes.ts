/** How every change of an account is tried: check-and-set, with pauses, and one answer when it does not come through. */
import { GatewayError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { type CasStep, compareAndSet } from "../store/cas.ts";

/**
 * Runs a change until it is done.
 *
 * @throws {GatewayError} `overloaded` if others kept changing the account: the caller may try again later
 */
export async function writeAccount<Result>(step: () => Promise<CasStep<Result>>): Promise<Result> {
  const outcome = await compareAndSet(step, { attempts: limits.accountWriteAttempts });
  if (outcome !== "conflict") return outcome.done;
  throw new GatewayError("overloaded", "The account is being changed by others; try again");
}
