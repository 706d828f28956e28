/**
 * The location of a ledger: a file, memory, or a KV that other instances may use too.
 *
 * @module
 */

/** Where a ledger is stored. */
export type KvLocation =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "memory" }
  | { readonly kind: "url"; readonly url: string }
  /** The KV that the hosting platform attaches to the service. */
  | { readonly kind: "platform" };

/** Parses `RUNLEDGER_KV`: a path, `:memory:`, or the URL of a shared KV. */
export function parseLocation(text: string): KvLocation {
  if (text === ":memory:") return { kind: "memory" };
  return /^https?:\/\//.test(text) ? { kind: "url", url: text } : { kind: "file", path: text };
}

/** Returns the location that a text or a parsed location stands for. */
export function locationOf(location: KvLocation | string): KvLocation {
  return typeof location === "string" ? parseLocation(location) : location;
}

/** Returns whether other instances may use the same store. */
export function isShared({ kind }: KvLocation): boolean {
  return kind === "url" || kind === "platform";
}

/** Returns the name of a location in messages. */
export function nameOf(location: KvLocation): string {
  switch (location.kind) {
    case "file":
      return location.path;
    case "memory":
      return ":memory:";
    case "url":
      return location.url;
    case "platform":
      return "the attached KV";
  }
}

/** Returns what to check when a store does not work. */
export function adviceFor({ kind }: KvLocation): string {
  switch (kind) {
    case "file":
    case "memory":
      return "check its disk and RUNLEDGER_KV";
    case "url":
      return "check RUNLEDGER_KV and RUNLEDGER_KV_TOKEN";
    case "platform":
      return "check the KV database of this app on the platform";
  }
}
