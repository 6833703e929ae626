/**
 * Reads a request body within bounds of size and time, whatever its framing declares.
 *
 * - Folder `routes/http/body/`: request bodies: read within bounds, slowly where memory is short, or discarded.
 * - In: requests in any state, and bounds.
 * - Out: bytes, or the error with which a body is refused.
 * - Never: keeps a large body before it was admitted, or waits for a slow client without end.
 */
import type { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { uncountedBodyBytes } from "../../../core/net/transport/read_whole.ts";
import { maxRequestBodyBytes } from "../../../core/lib/base/limits.ts";
import { tooLarge } from "./body_errors.ts";
import { type BodyAdmission, readLarge, readSlowly, refuse } from "./large_body.ts";
import type { HttpRequest } from "./http_request.ts";
import { readAtOnce, readWidely, widelyReadBodyBytes } from "./small_body.ts";

/** Bounds on a request body. */
export interface BodyBounds {
  /** Default: `maxRequestBodyBytes`. */
  readonly maxBytes?: number;
  readonly admission?: BodyAdmission;
  /**
   * Reads a small body with a wide buffer, so that the next one of its connection arrives with its head: see
   * `widelyReadBodyBytes`.
   */
  readonly isReadWidely?: boolean;
}

/**
 * Reads the body of a request.
 *
 * @throws {GatewayError} `request_too_large` above `maxBytes` (also for chunked bodies), `request_timeout` when the
 * client sends too slowly, `invalid_request` when it breaks off, and any error of the admission
 */
export function readRequestBody(
  request: HttpRequest,
  deadlines: Deadlines,
  { maxBytes = maxRequestBodyBytes, admission, isReadWidely = false }: BodyBounds = {},
): Promise<Uint8Array> {
  const arrived = request.arrivedBody?.();
  if (arrived !== undefined) {
    return arrived.length <= maxBytes
      ? Promise.resolve(arrived)
      : Promise.reject(tooLarge(maxBytes));
  }
  const declared = request.headers.get("content-length");
  const declaredBytes = /^\d{1,15}$/.test(declared ?? "") ? Number(declared) : undefined;
  if (declaredBytes === undefined) {
    return readSlowly(request, deadlines, { maxBytes, declaredBytes, admission });
  }
  if (declaredBytes > maxBytes) return refuse(request, deadlines, tooLarge(maxBytes));
  if (declaredBytes > uncountedBodyBytes) {
    return readLarge(request, deadlines, { maxBytes, declaredBytes, admission });
  }
  // The server does not read past the content-length, so this is bounded.
  return readAtOnce(
    deadlines,
    isReadWidely && declaredBytes <= widelyReadBodyBytes
      ? () => readWidely(request, declaredBytes)
      : () => request.bytes(),
  );
}
