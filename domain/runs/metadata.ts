/**
 * Metadata: flat labels on a run, trimmed to the plan's limit. No metadata causes a call to be
 * refused (decision 38).
 *
 * @module
 */
import { METADATA_KEY_CHARS_MAX, METADATA_VALUE_CHARS_MAX } from "../core/limits.ts";
import { ownText } from "../core/text.ts";
import { charCount, type RawJson, rawMembers, rawOf, writeObject } from "../core/raw_json.ts";

/**
 * One stored label. Numbers and booleans keep their type; null once retention has removed the
 * value.
 */
export type MetadataEntry = readonly [key: string, value: string | number | boolean | null];

/** Labels in the order sent. */
export type Metadata = readonly MetadataEntry[];

/**
 * Trims labels to the number the plan stores.
 *
 * Labels that can never be stored (long keys; long, nested or null values) are dropped first, so
 * they use no slot. Of the others, the first `keysMax` are kept, in the order sent.
 *
 * @param raw the object as sent: parsing would move keys that look like integers to the front
 * @returns labels to store, and the number dropped
 */
export function keepMetadata(
  raw: RawJson,
  keysMax: number,
): { readonly kept: Metadata; readonly dropped: number } {
  const members = rawMembers(raw);
  const kept: MetadataEntry[] = [];
  for (const [key, text] of members) {
    if (kept.length >= keysMax) break;
    if (charCount(key) > METADATA_KEY_CHARS_MAX) continue;
    const value: unknown = JSON.parse(text);
    if (isStorable(value)) kept.push([ownText(key), value]);
  }
  return { kept, dropped: members.size - kept.length };
}

/**
 * Merges the labels of a run's opening and close: each key keeps its position, and the close's
 * value wins (decision 25).
 */
export function mergeMetadata(opening: Metadata | null, closing: Metadata | null): Metadata | null {
  if (opening === null || closing === null) return closing ?? opening;
  return [...new Map([...opening, ...closing])];
}

/** Serializes labels as a JSON object, in order. */
export function writeMetadata(metadata: Metadata | null): RawJson {
  if (metadata === null) return "null" as RawJson;
  return writeObject(metadata.map(([key, value]) => [key, rawOf(value)]));
}

function isStorable(value: unknown): value is MetadataEntry[1] {
  if (typeof value === "string") return charCount(value) <= METADATA_VALUE_CHARS_MAX;
  if (typeof value === "boolean") return true;
  // 1e999 parses to Infinity, which JSON cannot write back.
  return Number.isFinite(value) && rawOf(value).length <= METADATA_VALUE_CHARS_MAX;
}
