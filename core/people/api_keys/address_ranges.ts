/**
 * IP address ranges in CIDR form (RFC 4632, RFC 4291), from which an owner allows a key to be used.
 */
import { isInNetwork, parseClientAddress } from "../../net/addresses/ip_address.ts";

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
 * import { isAddressAllowed } from "./address_ranges.ts";
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
