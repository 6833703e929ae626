/** Reads query parameters. A wrong value is an error and never replaced by a guess. */
import { GatewayError } from "../../core/lib/errors/errors.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { setImmediate } from "node:timers";

/**
 * Resolves when bytes that were handed to the server have had the chance to be sent.
 *
 * The server writes to its connections between two turns of the event loop. The first callback still belongs to the
 * turn in which it is requested, so two are needed.
 */
export function bytesLeave(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

// Writes counts in messages of the API.

/**
 * Writes a whole number with commas between thousands, as messages of the API have it in every language.
 *
 * @example
 * ```ts
 * import { counted } from "./query.ts";
 * if (counted(1234567) !== "1,234,567") throw new Error(counted(1234567));
 * ```
 */
export function counted(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}

// CSV downloads. Their common form, down to times and amounts, is in docs/accounts.md.

/** Headers of a CSV file that is saved under `fileName`. */
export function csvDownloadHeaders(fileName: string): Readonly<Record<string, string>> {
  return {
    "content-type": "text/csv; charset=utf-8",
    "content-disposition": `attachment; filename="${fileName}"`,
  };
}

/**
 * Makes the stream of a file of its parts, once the first one is there: a store that is away is then an answer with its
 * status, and no file that breaks off at its beginning.
 */
export async function fileStream<Part>(parts: AsyncIterable<Part>): Promise<ReadableStream<Part>> {
  const iterator = parts[Symbol.asyncIterator]();
  const first = await iterator.next();
  async function* all(): AsyncGenerator<Part> {
    if (first.done !== true) yield first.value;
    for (;;) {
      const next = await iterator.next();
      if (next.done === true) return;
      yield next.value;
    }
  }
  return ReadableStream.from(all());
}

/**
 * Cuts the path out of an absolute URL, as it was sent and without the cost of a parser. Every layer matches this one
 * form: a path that spells `metrics` as `%6detrics` is another path, so it cannot reach a route that a proxy in front
 * has closed. Parameters of a route are decoded where they are read.
 *
 * @example
 * ```ts
 * import { pathOf } from "./query.ts";
 * const path = pathOf("http://gateway.example/v1/models?limit=2");
 * if (path !== "/v1/models") throw new Error(path);
 * ```
 */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const query = url.indexOf("?", start);
  return start === -1 ? "/" : url.slice(start, query === -1 ? undefined : query);
}

/** Makes the error for a wrong parameter; `why` follows its name. */
export function wrongParameter(param: string, why: string): GatewayError {
  return new GatewayError("invalid_request", `${param}: ${why}`, { param });
}

/** Bounds of the rows of a page, and their number if the request names none. */
export interface RowBounds {
  readonly most: number;
  readonly otherwise: number;
}

/** The schema of the parameter `limit` of such a list. */
export function rowLimitSchema({ most, otherwise }: RowBounds): JsonObject {
  return { type: "integer", minimum: 1, maximum: most, default: otherwise };
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
export function rowLimit(query: URLSearchParams, bounds: RowBounds): number {
  const text = query.get("limit");
  if (text === null) return bounds.otherwise;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= bounds.most) return limit;
  throw wrongParameter("limit", `must be a whole number from 1 to ${bounds.most}`);
}
