/**
 * Decides which addresses the gateway may fetch from on behalf of a client: public unicast and
 * nothing else.
 *
 * Sources: the IANA special-purpose registries for IPv4 and IPv6 (RFC 6890 and its updates). An
 * IPv6 address that contains an IPv4 one (mapped, compatible, NAT64, 6to4, Teredo, ISATAP) is
 * always refused: such addresses serve no pictures, and each form is a way around the check of the
 * other family.
 */
import { isInNetwork, parseIpAddress } from "../addresses/ip_address.ts";

// Bounds of what media calls take from clients.

/** Characters of a video or image prompt: the largest bound of any provider. */
export const maxMediaPromptChars = 32_000;

/** Addresses of one name that are tried for a client's URL; large sites have up to 8. */
export const maxResolvedAddresses = 8;

/** Bytes of one file behind a client's URL: no more than the client could have sent itself. */
export const maxRemoteMediaBytes = 20 * 1024 * 1024;

/** Ranges of IPv4 that are not public unicast, as address and prefix length. */
const refusedIpv4: readonly (readonly [address: string, prefix: number])[] = [
  ["0.0.0.0", 8], // this network
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // carrier NAT; also a cloud's metadata address 100.100.100.200
  ["127.0.0.0", 8], // loopback
  ["168.63.129.16", 32], // a cloud's platform service, on a public number
  ["169.254.0.0", 16], // link-local; metadata services
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // protocol assignments; also a cloud's metadata address 192.0.0.192
  ["192.0.2.0", 24], // documentation
  ["192.31.196.0", 24], // AS112
  ["192.52.193.0", 24], // AMT
  ["192.88.99.0", 24], // 6to4 relays
  ["192.168.0.0", 16], // private
  ["192.175.48.0", 24], // AS112
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4], // reserved, broadcast
];

/** Ranges inside the global unicast block 2000::/3 that are refused nevertheless. */
const refusedIpv6: readonly (readonly [address: string, prefix: number])[] = [
  ["2001::", 23], // protocol assignments: Teredo, ORCHID, benchmarks …
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4
  ["2620:4f:8000::", 48], // AS112
  ["3fff::", 20], // documentation
];

function inAny(
  address: Uint8Array,
  ranges: readonly (readonly [string, number])[],
): boolean {
  return ranges.some(([network, prefix]) => {
    const bytes = parseIpAddress(network);
    return bytes !== undefined && isInNetwork(address, bytes, prefix);
  });
}

/**
 * Detects ISATAP (RFC 5214), which hides an IPv4 address behind `::5efe:` in the lower half of any
 * prefix.
 */
function isIsatap(address: Uint8Array): boolean {
  return (address[8]! & 0xfc) === 0 && address[9] === 0 && address[10] === 0x5e &&
    address[11] === 0xfe;
}

/**
 * Whether an address may be fetched from. Anything that is not the plain text of an address is refused.
 *
 * @example
 * ```ts
 * import { isPublicAddress } from "./address.ts";
 * if (!isPublicAddress("93.184.215.14")) throw new Error("a public address");
 * for (const bad of ["127.0.0.1", "169.254.169.254", "::1", "::ffff:8.8.8.8", "localhost", "8.8.8.8.8"]) {
 *   if (isPublicAddress(bad)) throw new Error(bad);
 * }
 * ```
 */
export function isPublicAddress(text: string): boolean {
  const address = parseIpAddress(text);
  if (address === undefined) return false;
  if (address.length === 4) return !inAny(address, refusedIpv4);
  const isGlobalUnicast = (address[0]! & 0xe0) === 0x20; // 2000::/3
  return isGlobalUnicast && !inAny(address, refusedIpv6) && !isIsatap(address);
}
