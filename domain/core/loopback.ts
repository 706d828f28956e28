/**
 * Recognizes hosts that only this machine can reach.
 *
 * @module
 */

/** Returns whether a host, without brackets and port, is a loopback address. */
export function isLoopback(host: string): boolean {
  return /^(localhost|::1|127(\.\d{1,3}){3})$/i.test(host);
}
