/**
 * Built-ins that some runtimes lack: the runtime's own where it has them, portable code elsewhere.
 *
 * - Folder `core/lib/runtime/`: what ES2024 and later added and `core` uses. `deno task check`
 *   type-checks `core` with the types of ES2023, so that a newer built-in used anywhere else does
 *   not compile.
 * - In: what the built-in takes.
 * - Out: the same result on Deno, Node 20 and later, and browsers.
 * - Never: changes a global, or gives an approximate result where the built-in is missing.
 */
export { type ExactNumber, exactNumber, isExactNumber, stringifyExactly } from "./exact_numbers.ts";
export { decodeBase64, decodeBase64Url, encodeBase64, encodeBase64Url } from "./base64.ts";
export { decodeHex, encodeHex } from "./hex.ts";
export { startPromise, withResolvers } from "./promises.ts";
export { parseUrl } from "./urls.ts";
