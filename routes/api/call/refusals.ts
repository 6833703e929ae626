/** Leaves a trace of calls that fail without a receipt: a log line, and a row that the customer can find. */
import { type ErrorStyle, GatewayError, wireStatus } from "../../../core/lib/errors/errors.ts";
import { unforeseen } from "../../../core/lib/base/assert.ts";
import { idTimeMs } from "../../../core/lib/ids/ids.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { knownError } from "../../http/error_response.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { Incoming } from "./incoming.ts";

/** What was called. */
interface Called {
  /** The served path, without what the caller may have written behind it. */
  readonly endpoint: string | undefined;
  readonly style: ErrorStyle;
}

/**
 * Logs a call that failed without a receipt, and keeps it if the caller's key is known. Each error code has a message,
 * and so a budget, of its own in the log: a flood of wrong keys does not hide an empty wallet.
 */
export function traceFailure(
  gateway: Gateway,
  incoming: Incoming,
  called: Called,
  error: unknown,
): void {
  const { requestId, principal, isAdmitted } = incoming;
  if (!(error instanceof GatewayError)) {
    const fields = { request_id: requestId, ...unforeseen(error) };
    gateway.log.event("error", "unexpected error", fields);
  }
  // Its receipt and its line describe its end.
  if (isAdmitted === true) return;
  keep(gateway, incoming, called, error);
  const known = knownError(error);
  const status = wireStatus(known, called.style);
  if (called.endpoint !== undefined) {
    gateway.observer.refused({ endpoint: called.endpoint, status, code: known.code });
  }
  if (!(error instanceof GatewayError)) return;
  gateway.log.event("info", `call refused: ${error.code}`, {
    request_id: requestId,
    endpoint: called.endpoint,
    status,
    ...(principal && { account_id: principal.accountId, key_id: principal.key.id }),
  });
}

function keep(
  { refusedCalls, clock }: Gateway,
  { requestId, principal, refusedKey, chosen }: Incoming,
  { endpoint, style }: Called,
  error: unknown,
): void {
  const key = principal === undefined
    ? refusedKey
    : { accountId: principal.accountId, keyId: principal.key.id };
  if (key === undefined) return;
  const known = knownError(error);
  const atMs = idTimeMs("request", requestId);
  refusedCalls.add({
    ...key,
    requestId,
    atMs,
    latencyMs: Math.max(0, clock.nowMs() - atMs),
    status: wireStatus(known, style),
    code: known.code,
    message: known.message,
    ...defined({ endpoint, model: chosen?.model.id, figures: known.figures }),
  });
}
