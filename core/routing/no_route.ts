import type { Model } from "../catalog/catalog.ts";
import { GatewayError } from "../lib/errors/errors.ts";
import { maintenanceRetrySeconds } from "./health/limits.ts";
import type { Operation, Router } from "./contract/router.ts";

/**
 * Builds the error for a client if no route of a model may be tried.
 *
 * Either all of them are paused because their providers asked for it (429 with the soonest
 * `retry-after`), or operators have taken all of them out (503).
 */
export function noRouteError(
  router: Router,
  model: Model,
  operation: Operation,
  customer?: string,
): GatewayError {
  const seconds = router.retryAfterSeconds(model, operation, customer);
  return seconds === undefined
    ? new GatewayError("maintenance", "This model is out of service at the moment", {
      retryAfterSeconds: maintenanceRetrySeconds,
    })
    : new GatewayError(
      "rate_limit_exceeded",
      "All providers of this model limit the rate of calls at the moment",
      { retryAfterSeconds: seconds },
    );
}
