/**
 * IP addresses as bytes, four or sixteen of them, and the blocks that contain them.
 *
 * - Folder `core/net/addresses/`: IP addresses and host names as values.
 * - In: text of addresses and hosts.
 * - Out: bytes of an address, blocks, verdicts.
 * - Never: resolves a name or opens a connection; it imports nothing.
 */

/** Reads dotted IPv4 with four decimal parts and nothing else: the form that URL parsers and resolvers write. */
function parseIpv4(text: string): Uint8Array | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  const bytes = new Uint8Array(4);
  for (const [index, part] of parts.entries()) {
    if (!/^(?:0|[1-9]\d{0,2})$/.test(part)) return undefined;
    const value = Number(part);
    if (value > 255) return undefined;
    bytes[index] = value;
  }
  return bytes;
}

function parseIpv6(text: string): Uint8Array | undefined {
  // A zone (fe80::1%eth0) only makes sense on a local link.
  if (text.includes("%")) return undefined;
  let source = text;
  const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  if (tail !== null) {
    const v4 = parseIpv4(tail[2]!);
    if (v4 === undefined) return undefined;
    const high = (v4[0]! << 8 | v4[1]!).toString(16);
    const low = (v4[2]! << 8 | v4[3]!).toString(16);
    source = `${tail[1]}${high}:${low}`;
  }
  const halves = source.split("::");
  if (halves.length > 2) return undefined;
  const groupsOf = (half: string) => half === "" ? [] : half.split(":");
  const head = groupsOf(halves[0]!);
  const rest = halves.length === 2 ? groupsOf(halves[1]!) : [];
  const missing = 8 - head.length - rest.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array.from({ length: missing }, () => "0"), ...rest];
  const bytes = new Uint8Array(16);
  for (const [index, group] of groups.entries()) {
    if (!/^[0-9a-f]{1,4}$/i.test(group)) return undefined;
    const value = Number.parseInt(group, 16);
    bytes[index * 2] = value >> 8;
    bytes[index * 2 + 1] = value & 0xff;
  }
  return bytes;
}

/**
 * Reads an IP address as resolvers and URL parsers write it; IPv6 without brackets. `undefined` for names and for
 * forms such as `0x7f.1` (URL parsers turn those into dotted form before they come here).
 */
export function parseIpAddress(text: string): Uint8Array | undefined {
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

const mappedNetwork = new Uint8Array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0]);

/** Reads the address of a client: one of IPv4 shows up on a dual-stack socket as `::ffff:a.b.c.d` (RFC 4291, 2.5.5.2). */
export function parseClientAddress(text: string): Uint8Array | undefined {
  const address = parseIpAddress(text);
  return address !== undefined && isInNetwork(address, mappedNetwork, 96)
    ? address.subarray(12)
    : address;
}

/**
 * Whether the first `prefixBits` bits of both addresses agree. An address of the other family is in
 * no network of this one.
 */
export function isInNetwork(
  address: Uint8Array,
  network: Uint8Array,
  prefixBits: number,
): boolean {
  if (address.length !== network.length) return false;
  const wholeBytes = prefixBits >> 3;
  for (let i = 0; i < wholeBytes; i++) {
    if (address[i] !== network[i]) return false;
  }
  const bits = prefixBits & 7;
  if (bits === 0) return true;
  const mask = 0xff << (8 - bits) & 0xff;
  return (address[wholeBytes]! & mask) === (network[wholeBytes]! & mask);
}

/**
 * Returns the part of an IP address that one customer holds, or any other text as it is.
 *
 * For IPv4 that is the address itself, for IPv6 the /64, in which every household has 2^64
 * addresses to rotate through.
 *
 * @example
 * ```ts
 * import { addressBlock } from "./ip_address.ts";
 * if (addressBlock("203.0.113.9") !== "203.0.113.9") throw new Error();
 * if (addressBlock("2001:db8:1:2:3::9") !== "2001:db8:1:2") throw new Error(addressBlock("2001:db8:1:2:3::9"));
 * if (addressBlock("::ffff:203.0.113.9") !== "203.0.113.9") throw new Error();
 * ```
 */
export function addressBlock(text: string): string {
  const [withoutZone = ""] = text.split("%");
  const address = parseClientAddress(withoutZone);
  if (address === undefined) return text;
  if (address.length === 4) return address.join(".");
  const groups = [0, 2, 4, 6].map((at) => (address[at]! << 8 | address[at + 1]!).toString(16));
  return groups.join(":");
}

/**
 * Returns the network of an IP address, from which one person can get many addresses, or any other text as
 * it is: for IPv4 the /24, for IPv6 the /48 of a site.
 *
 * @example
 * ```ts
 * import { networkOf } from "./ip_address.ts";
 * if (networkOf("203.0.113.9") !== networkOf("203.0.113.200")) throw new Error("two networks");
 * if (networkOf("2001:db8:1:2::9") !== networkOf("2001:db8:1:3::9")) throw new Error("two networks");
 * if (networkOf("2001:db8:1::9") === networkOf("2001:db8:2::9")) throw new Error("one network");
 * ```
 */
export function networkOf(text: string): string {
  const block = addressBlock(text);
  const parts = block.split(block.includes(":") ? ":" : ".");
  return parts.length === 4 ? parts.slice(0, 3).join(block.includes(":") ? ":" : ".") : block;
}
