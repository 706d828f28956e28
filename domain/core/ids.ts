/**
 * Identifiers: `<prefix>_<region>_<32 hex>` (contract 1).
 *
 * @module
 */

/** The regions a deployment can be (contract 1). */
export const REGIONS = ["eu", "us"] as const;

/** One of {@link REGIONS}. */
export type Region = typeof REGIONS[number];

/** A run's identifier, checked. */
export type RunId = string & { readonly __brand: "RunId" };

/** An event's identifier, checked; unique within its run (decision 19). */
export type EventId = string & { readonly __brand: "EventId" };

/** A score's identifier, checked; unique within its run, as an event's. */
export type ScoreId = string & { readonly __brand: "ScoreId" };

/** The prefixes that are judged. */
export type IdPrefix = "run" | "evt" | "key" | "scr";

/** What a text is when read as an identifier: the pattern is judged before the region (decision 5). */
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

/** Judges a value as an identifier with this prefix. */
export function judgeId(prefix: IdPrefix, value: unknown): IdVerdict {
  if (typeof value !== "string") return "invalid_id";
  if (VALID[prefix].test(value)) return "valid";
  return PATTERN.exec(value)?.[1] === prefix ? "unknown_region" : "invalid_id";
}

/** Whether a text names a region. */
export function isRegion(text: string | undefined): text is Region {
  return text === "eu" || text === "us";
}

/** The id being minted; a new array each time would take ten times as long. */
const minted = new Uint8Array(16);

/**
 * The 32 hex digits of a UUIDv7 (decision 33).
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
  // Version 7 and the variant stand in the place of six random bits.
  minted[6] = (minted[6] ?? 0) & 0x0f | 0x70;
  minted[8] = (minted[8] ?? 0) & 0x3f | 0x80;
  return minted.toHex();
}

/** A team's identifier inside the store. */
export type TeamId = string & { readonly __brand: "TeamId" };
