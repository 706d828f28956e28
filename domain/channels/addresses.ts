/**
 * Kinds of IP addresses, for the check of what may be called (decision 54).
 *
 * @module
 */
import ipaddr from "ipaddr.js";

/** An IP address. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A network: its address and the length of its prefix. */
export type Network = readonly [Address, number];

/** IPv6 addresses that providers assign. All other ones have special purposes. */
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** Server of a cloud that answers its machines with their settings, at an address like a public one. */
const PUBLIC_METADATA = ipaddr.IPv4.parseCIDR("168.63.129.16/32");

/** The same of other clouds, in private networks. */
const PRIVATE_METADATA = ["fd00:ec2::254/128", "fd20:ce::254/128", "100.100.100.200/32"]
  .map((text) => ipaddr.parseCIDR(text));

/** Kinds that no listed host name opens: metadata, and IPv6 addresses that contain an IPv4 one. */
const BY_NETWORK_ALONE: ReadonlySet<string> = new Set([
  "linkLocal",
  "unspecified",
  "multicast",
  "broadcast",
  "ipv4Mapped",
  "rfc6145",
  "rfc6052",
  "6to4",
  "teredo",
]);

/** IPv6 addresses that contain an IPv4 one in their last 32 bits; few systems still use them. */
const COMPATIBLE = ipaddr.IPv6.parseCIDR("::/96");

/** Parses an address in its usual notation, without brackets; null for any other text. */
export function parseAddress(text: string): Address | null {
  // The library also reads octal, hexadecimal and short forms, which URLs contain in none of them.
  const isUsual = text.includes(":")
    ? ipaddr.IPv6.isValid(text)
    : ipaddr.IPv4.isValidFourPartDecimal(text);
  return isUsual ? ipaddr.parse(text) : null;
}

/** Parses `address/bits`; null for any other text, and for an address with bits beyond the prefix. */
export function parseNetwork(text: string): Network | null {
  const [, start = "", bits] = /^(.+)\/(\d{1,3})$/.exec(text) ?? [];
  const address = parseAddress(start);
  if (address === null || !ipaddr.isValidCIDR(text)) return null;
  const first = address.kind() === "ipv4"
    ? ipaddr.IPv4.networkAddressFromCIDR(text)
    : ipaddr.IPv6.networkAddressFromCIDR(text);
  return first.toString() === address.toString() ? [address, Number(bits)] : null;
}

/** Returns whether a network contains an address. IPv4 and IPv6 never contain each other. */
export function contains([start, bits]: Network, address: Address): boolean {
  return start.kind() === address.kind() && address.match(start, bits);
}

/** Returns whether an address is outside of all private, reserved and metadata networks. */
export function isPublic(address: Address): boolean {
  if (address.range() !== "unicast") return false;
  return address.kind() === "ipv4"
    ? !contains(PUBLIC_METADATA, address)
    : contains(GLOBAL_V6, address);
}

/**
 * Returns whether only a listed network opens an address, and no listed host name: its owner may be
 * someone else than the one who answers there.
 */
export function needsNetwork(address: Address): boolean {
  return BY_NETWORK_ALONE.has(address.range()) ||
    [PUBLIC_METADATA, ...PRIVATE_METADATA].some((network) => contains(network, address)) ||
    (contains(COMPATIBLE, address) && address.range() !== "loopback");
}
