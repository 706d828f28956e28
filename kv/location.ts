/**
 * The location of a ledger: a file, memory, or a KV that other instances may use too.
 *
 * @module
 */

/** Where a ledger is stored. */
export interface KvLocation {
  readonly kind: "file" | "memory" | "url" | "platform";
  /** Its path or URL, or its name in messages. */
  readonly name: string;
}

/** The KV that the hosting platform attaches to the service. */
export const PLATFORM_KV: KvLocation = { kind: "platform", name: "the attached KV" };

/** Parses `RUNLEDGER_KV`: a path, `:memory:`, or the URL of a shared KV. */
export function parseLocation(name: string): KvLocation {
  if (name === ":memory:") return { kind: "memory", name };
  return { kind: /^https?:\/\//.test(name) ? "url" : "file", name };
}

/** Returns the location that a text or a parsed location stands for. */
export function locationOf(location: KvLocation | string): KvLocation {
  return typeof location === "string" ? parseLocation(location) : location;
}

/** Returns whether other instances may use the same store. */
export function isShared({ kind }: KvLocation): boolean {
  return kind === "url" || kind === "platform";
}

/** Returns what to check when a store does not work. */
export function adviceFor({ kind }: KvLocation): string {
  if (kind === "url") return "check RUNLEDGER_KV and RUNLEDGER_KV_TOKEN";
  return kind === "platform"
    ? "check the KV database of this app on the platform"
    : "check its disk and RUNLEDGER_KV";
}
