/**
 * Failed credentials by where they come from: guessing is slow, and nobody else notices.
 *
 * @module
 */
import { FAILED_TRIES } from "../limits.ts";

/**
 * Times of the last failed tries of each address. Only failed ones ever ask here, so a credential that
 * works is never refused for what others behind its address do.
 */
export class FailedTries {
  readonly #addressesMax: number;
  /** By network, the one that failed last at the end; each with its times, oldest first. */
  readonly #times = new Map<string, number[]>();

  /**
   * Creates a memory of tries without any.
   *
   * @param addressesMax networks remembered; beyond them the one that failed longest ago goes
   */
  constructor(addressesMax: number = FAILED_TRIES.addressesMax) {
    this.#addressesMax = addressesMax;
  }

  /**
   * Counts a failed try: 0 when it is told so, otherwise the seconds (at least 1) until one is again.
   *
   * In any minute an address is told about 30; those beyond are not counted themselves.
   *
   * @param address IP address as text
   */
  count(address: string, nowMs: number): number {
    const network = networkOf(address);
    const times = this.#times.get(network) ?? [];
    this.#times.delete(network);
    this.#times.set(network, times);
    this.#forgetOldest();
    const past = nowMs - FAILED_TRIES.windowMs;
    const [oldest] = times;
    if (oldest !== undefined && times.length >= FAILED_TRIES.max) {
      if (oldest > past) return Math.max(1, Math.ceil((oldest - past) / 1_000));
      times.shift();
    }
    times.push(nowMs);
    return 0;
  }

  /** Networks that are remembered. */
  get size(): number {
    return this.#times.size;
  }

  #forgetOldest(): void {
    if (this.#times.size <= this.#addressesMax) return;
    const [oldest] = this.#times.keys();
    if (oldest !== undefined) this.#times.delete(oldest);
  }
}

/** Groups of 16 bits of the network that one customer of a provider usually has: a /64. */
const NETWORK_GROUPS = 4;

/** What tries are counted by: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  // An IPv4 client at a socket for both.
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
