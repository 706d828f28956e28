/**
 * Networks of addresses.
 *
 * @module
 */

/** Number of 16-bit groups in the network that a provider usually assigns to one customer: a /64. */
const NETWORK_GROUPS = 4;

/** Returns the network of one provider customer: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  // An IPv4 client on a dual-stack socket.
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [before = "", after] = address.toLowerCase().split("::");
  const head = before === "" ? [] : before.split(":");
  const tail = after === undefined || after === "" ? [] : after.split(":");
  const zeros = Array(Math.max(0, 8 - head.length - tail.length)).fill("0");
  const groups = after === undefined ? head : [...head, ...zeros, ...tail];
  const network = groups.slice(0, NETWORK_GROUPS).map((group) => parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}

/** Returns whether a host, without brackets and port, is a loopback address. */
export function isLoopback(host: string): boolean {
  return /^(localhost|::1|127(\.\d{1,3}){3})$/i.test(host);
}
