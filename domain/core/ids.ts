/**
 * Identifiers: `<prefix>_<region>_<32 hex>` (contract 1).
 *
 * @module
 */

/** Regions of a deployment (contract 1). */
export const REGIONS = ["eu", "us"] as const;

/** One of {@link REGIONS}. */
export type Region = typeof REGIONS[number];

/** Validated identifier of a run. */
export type RunId = string & { readonly __brand: "RunId" };

/** Validated identifier of an event; unique within its run (decision 19). */
export type EventId = string & { readonly __brand: "EventId" };

/** Validated identifier of a score; unique within its run, like an event's. */
export type ScoreId = string & { readonly __brand: "ScoreId" };

/** Kinds of objects that a team configures; paths and actions of the audit log have these names. */
export const CONFIG_KINDS = [
  "budget",
  "channel",
  "check",
  "judge",
  "pause",
  "rule",
  "silence",
] as const;

/** One of {@link CONFIG_KINDS}. */
export type ConfigKind = typeof CONFIG_KINDS[number];

/** Prefixes of identifiers that clients may send. */
export type IdPrefix = "run" | "evt" | "key" | "scr";

/** Result of checking an identifier: the pattern is checked before the region (decision 5). */
export type IdVerdict = "valid" | "invalid_id" | "unknown_region";

/** Any id of a two-letter region. */
const PATTERN = /^([a-z]+)_([a-z]{2})_[0-9a-f]{32}$/;

/** Valid ids by prefix. */
const VALID = {
  run: /^run_(eu|us)_[0-9a-f]{32}$/,
  evt: /^evt_(eu|us)_[0-9a-f]{32}$/,
  key: /^key_(eu|us)_[0-9a-f]{32}$/,
  scr: /^scr_(eu|us)_[0-9a-f]{32}$/,
} as const;

/** Checks a value as an identifier with this prefix. */
export function judgeId(prefix: IdPrefix, value: unknown): IdVerdict {
  if (typeof value !== "string") return "invalid_id";
  if (VALID[prefix].test(value)) return "valid";
  return PATTERN.exec(value)?.[1] === prefix ? "unknown_region" : "invalid_id";
}

/** Returns whether a value is the id of a run. */
export function isRunId(value: unknown): value is RunId {
  return judgeId("run", value) === "valid";
}

/** Returns whether a text is a region. */
export function isRegion(text: string | undefined): text is Region {
  return text === "eu" || text === "us";
}

/** Buffer of the id being generated; a new array for each id would take ten times as long. */
const minted = new Uint8Array(16);

/**
 * Generates the 32 hex digits of a UUIDv7 (decision 33).
 *
 * @param nowMs unix milliseconds, the first 48 bits
 * @param random 10 random bytes, of which 74 bits are used
 */
export function uuid7Hex(nowMs: number, random: Uint8Array): string {
  const high = Math.floor(nowMs / 2 ** 32);
  minted[0] = high >> 8;
  minted[1] = high;
  minted[2] = nowMs >>> 24;
  minted[3] = nowMs >>> 16;
  minted[4] = nowMs >>> 8;
  minted[5] = nowMs;
  minted.set(random, 6);
  // Version 7 and the variant replace six random bits.
  minted[6] = (minted[6] ?? 0) & 0x0f | 0x70;
  minted[8] = (minted[8] ?? 0) & 0x3f | 0x80;
  return minted.toHex();
}

/** Identifier of a team inside the store. */
export type TeamId = string & { readonly __brand: "TeamId" };
