/** IP address ranges in CIDR form (RFC 4632, RFC 4291): what the owner of a key may allow. */

/** An address as a number, with its length in bits. */
interface Address {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

function parseIpv4(text: string): Address | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  let value = 0n;
  for (const part of parts) {
    if (!/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return undefined;
    value = (value << 8n) | BigInt(part);
  }
  return { bits: 32, value };
}

function parseGroups(text: string): bigint[] | undefined {
  if (text === "") return [];
  const groups: bigint[] = [];
  for (const part of text.split(":")) {
    if (!/^[0-9a-f]{1,4}$/i.test(part)) return undefined;
    groups.push(BigInt(`0x${part}`));
  }
  return groups;
}

function parseIpv6(text: string): Address | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0]!);
  const tail = halves.length === 2 ? parseGroups(halves[1]!) : [];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  let value = 0n;
  for (const group of [...head, ...Array<bigint>(missing).fill(0n), ...tail]) {
    value = (value << 16n) | group;
  }
  return { bits: 128, value };
}

function parseAddress(text: string): Address | undefined {
  // An IPv4 client of a dual-stack socket shows up as ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2).
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(text);
  return parseIpv4(mapped?.[1] ?? text) ?? parseIpv6(text);
}

interface Range extends Address {
  readonly prefixBits: number;
}

function parseRange(text: string): Range | undefined {
  const [addressText, prefixText, ...rest] = text.split("/");
  if (rest.length > 0 || addressText === undefined) return undefined;
  const address = parseAddress(addressText);
  if (address === undefined) return undefined;
  if (prefixText === undefined) return { ...address, prefixBits: address.bits };
  if (!/^\d{1,3}$/.test(prefixText) || Number(prefixText) > address.bits) return undefined;
  return { ...address, prefixBits: Number(prefixText) };
}

/** Tells whether a text is an address or a range that can be allowed. */
export function isAddressRange(text: string): boolean {
  return parseRange(text) !== undefined;
}

/**
 * Tells whether `address` lies in one of `ranges`. An address or range that cannot be read allows nothing.
 *
 * @example
 * ```ts
 * import { isAddressAllowed } from "./address_ranges.ts";
 * if (!isAddressAllowed("10.1.2.3", ["10.1.0.0/16"])) throw new Error("refused");
 * if (isAddressAllowed("10.2.2.3", ["10.1.0.0/16", "2001:db8::/32"])) throw new Error("allowed");
 * ```
 */
export function isAddressAllowed(address: string, ranges: readonly string[]): boolean {
  const client = parseAddress(address);
  if (client === undefined) return false;
  return ranges.some((text) => {
    const range = parseRange(text);
    if (range === undefined || range.bits !== client.bits) return false;
    const shift = BigInt(range.bits - range.prefixBits);
    return client.value >> shift === range.value >> shift;
  });
}
