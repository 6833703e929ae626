/**
 * The API key: `sk-` + 43 base62 characters (256 random bits) + 6 of checksum.
 *
 * The checksum is public: with it mistyped and invented keys are refused without reading the store,
 * and secret scanners recognise keys of the gateway.
 *
 * - Folder `core/people/api_keys/`: the form of API keys, how they are sealed at rest, and the address ranges that
 *   owners allow.
 * - In: key texts, master keys, addresses.
 * - Out: new keys, hashes, masked and sealed texts, verdicts.
 * - Never: writes a key anywhere; `kv/people/api_keys/` stores its hash and its sealed text.
 */
import { sha256Hex } from "../../lib/hash/sha256.ts";
import { isInNetwork, parseClientAddress } from "../../net/addresses/ip_address.ts";

// IP address ranges in CIDR form (RFC 4632, RFC 4291), from which an owner allows a key to be used.

interface Range {
  readonly network: Uint8Array;
  readonly prefixBits: number;
}

function parseRange(text: string): Range | undefined {
  const [addressText = "", prefixText, ...rest] = text.split("/");
  const network = parseClientAddress(addressText);
  if (rest.length > 0 || network === undefined) return undefined;
  const bits = network.length * 8;
  if (prefixText === undefined) return { network, prefixBits: bits };
  if (!/^\d{1,3}$/.test(prefixText) || Number(prefixText) > bits) return undefined;
  return { network, prefixBits: Number(prefixText) };
}

/** Whether a text is an address or a range that can be allowed. */
export function isAddressRange(text: string): boolean {
  return parseRange(text) !== undefined;
}

/**
 * Whether `address` is in one of `ranges`. An address or range that cannot be parsed allows
 * nothing.
 *
 * @example
 * ```ts
 * import { isAddressAllowed } from "./api_key.ts";
 * if (!isAddressAllowed("10.1.2.3", ["10.1.0.0/16"])) throw new Error("refused");
 * if (isAddressAllowed("10.2.2.3", ["10.1.0.0/16", "2001:db8::/32"])) throw new Error("allowed");
 * ```
 */
export function isAddressAllowed(address: string, ranges: readonly string[]): boolean {
  const client = parseClientAddress(address);
  if (client === undefined) return false;
  return ranges.some((text) => {
    const range = parseRange(text);
    return range !== undefined && isInNetwork(client, range.network, range.prefixBits);
  });
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const secretLength = 43; // 62^43 > 2^256
const checksumLength = 6; // 62^6 > 2^32
const form = /^(sk|mk)-[0-9A-Za-z]{49}$/;

/** Purpose of a key: `sk`, calls of models; `mk`, the management API, never calls. */
export type KeyPrefix = "sk" | "mk";

function crc32(text: string): number {
  let crc = 0xffffffff;
  for (let i = 0; i < text.length; i++) {
    crc ^= text.charCodeAt(i);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function checksum(secret: string): string {
  let rest = crc32(secret);
  let text = "";
  for (let i = 0; i < checksumLength; i++) {
    text = alphabet[rest % 62]! + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/**
 * Creates a key from the platform's secure random source.
 *
 * @example
 * ```ts
 * import { isWellFormedApiKey, newApiKey } from "./api_key.ts";
 * const key = newApiKey();
 * if (!isWellFormedApiKey(key)) throw new Error("own key refused");
 * ```
 */
export function newApiKey(prefix: KeyPrefix = "sk"): string {
  let secret = "";
  const bytes = new Uint8Array(64);
  while (secret.length < secretLength) {
    crypto.getRandomValues(bytes);
    for (const byte of bytes) {
      // 248 = 4 × 62: larger bytes are discarded, so that every character is equally likely.
      if (byte < 248 && secret.length < secretLength) secret += alphabet[byte % 62];
    }
  }
  return `${prefix}-${secret}${checksum(secret)}`;
}

/** Whether a text has the form of a key. Says nothing about whether the key is active. */
export function isWellFormedApiKey(text: string, prefix: KeyPrefix = "sk"): boolean {
  return form.exec(text)?.[1] === prefix &&
    checksum(text.slice(3, 3 + secretLength)) === text.slice(3 + secretLength);
}

/**
 * Hashes a key for the index under which it is found: SHA-256 in hex. A key has 256 random bits, so
 * no slow hash is needed.
 */
export async function hashApiKey(key: string): Promise<string> {
  return await sha256Hex(key);
}

/** Masks a key for lists, leaving enough to distinguish keys. */
export function maskApiKey(key: string): string {
  return `${key.slice(0, 7)}…${key.slice(-4)}`;
}
