/** Reads `Idempotency-Key`, and computes the hashes by which a repeated request is recognized. */
import { GatewayError } from "../../lib/errors/errors.ts";
import type { MediaBody } from "./body.ts";
import { sha256Hex } from "../../lib/hash/sha256.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";

/** Most characters of an `Idempotency-Key`: UUIDs have 36, and 255 is the usual bound. */
export const maxIdempotencyKeyChars = 255;

/** An idempotency key with the request that it belongs to. */
export interface IdempotencyKey {
  /** Hash of the client's key. */
  readonly id: string;
  /** Hash of key and request together. Without the key, which is not stored, a prompt cannot be guessed from it. */
  readonly fingerprint: string;
}

/**
 * Checks the value of the header.
 *
 * @throws {GatewayError} `invalid_request` if it is no valid key
 */
export function requireIdempotencyKey(key: string): void {
  if (key.length <= maxIdempotencyKeyChars && /^[\x21-\x7e]+$/.test(key)) return;
  throw new GatewayError(
    "invalid_request",
    `Idempotency-Key: must be 1 to ${maxIdempotencyKeyChars} visible characters, e.g. a UUID`,
    { param: "idempotency-key" },
  );
}

/** Lists the contents to hash. A repeated form has another boundary, so its parts are hashed. */
async function contentsOf(body: MediaBody): Promise<readonly string[]> {
  if (body.kind === "json") return ["json", await sha256Hex(body.json.bytes)];
  const contents = ["form"];
  for (const part of body.parts) contents.push(part.name, await sha256Hex(part.body));
  return contents;
}

/**
 * Reads the header and hashes it with the request.
 *
 * @example
 * ```ts
 * import { readMediaBody } from "./body.ts";
 * import { readIdempotencyKey } from "./idempotency_key.ts";
 * const body = readMediaBody(new TextEncoder().encode('{"model":"video-a"}'), "application/json");
 * const [one, two] = [await readIdempotencyKey("a", body), await readIdempotencyKey("b", body)];
 * if (one.id === two.id) throw new Error("two ids for two keys");
 * ```
 *
 * @param path is hashed with the request where keys of several paths share one namespace
 * @throws {GatewayError} `invalid_request` if the value is not a valid key
 */
export async function readIdempotencyKey(
  key: string,
  body: MediaBody,
  path?: string,
): Promise<IdempotencyKey> {
  requireIdempotencyKey(key);
  const where = path === undefined ? [] : [path];
  const request = stringifyExactly([key, ...where, ...await contentsOf(body)]);
  return {
    id: await sha256Hex(key),
    fingerprint: await sha256Hex(request),
  };
}
