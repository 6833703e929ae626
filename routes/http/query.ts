/** Reads query parameters. A wrong value is an error and never replaced by a guess. */
import { GatewayError } from "../../core/lib/errors/errors.ts";

/** Makes the error for a wrong parameter; `why` follows its name. */
export function wrongParameter(param: string, why: string): GatewayError {
  return new GatewayError("invalid_request", `${param}: ${why}`, { param });
}

/**
 * Reads how many rows are requested.
 *
 * @throws {GatewayError} naming `limit` if it is given but not a whole number from 1 to `most`
 *
 * @example
 * ```ts
 * import { rowLimit } from "./query.ts";
 * const bounds = { most: 200, otherwise: 50 };
 * if (rowLimit(new URLSearchParams("limit=7"), bounds) !== 7) throw new Error();
 * if (rowLimit(new URLSearchParams(), bounds) !== 50) throw new Error();
 * ```
 */
export function rowLimit(
  query: URLSearchParams,
  bounds: { readonly most: number; readonly otherwise: number },
): number {
  const text = query.get("limit");
  if (text === null) return bounds.otherwise;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= bounds.most) return limit;
  throw wrongParameter("limit", `must be a whole number from 1 to ${bounds.most}`);
}
