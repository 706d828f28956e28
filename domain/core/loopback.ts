/**
 * Hosts that only this machine can reach.
 *
 * @module
 */

/** Tells whether a host, without brackets and port, is this machine and nothing else. */
export function isLoopback(host: string): boolean {
  return /^(localhost|::1|127(\.\d{1,3}){3})$/i.test(host);
}
