/**
 * Metadata: flat labels on a run, trimmed to the plan and never a reason to refuse (decision 38).
 *
 * @module
 */
import { METADATA_KEY_CHARS_MAX, METADATA_VALUE_CHARS_MAX } from "../core/limits.ts";
import { ownText } from "../core/text.ts";
import { charCount, type RawJson, rawMembers, rawOf, writeObject } from "../core/raw_json.ts";

/** One stored label. Numbers and booleans stay typed; null once its value is no longer kept. */
export type MetadataEntry = readonly [key: string, value: string | number | boolean | null];

/** Labels in the order they were sent. */
export type Metadata = readonly MetadataEntry[];

/** What is kept of the labels sent, and how many were dropped. */
export interface KeptMetadata {
  /** The labels to store, in sent order. */
  readonly kept: Metadata;
  /** How many labels were not stored; told in `Runledger-Dropped`. */
  readonly dropped: number;
}

/**
 * Trims labels to what the plan stores.
 *
 * Labels that can never be stored go first (long keys, long, nested or null values), so that they
 * use no place; of the rest the first `keysMax` stay, in the order they were sent.
 *
 * @param raw the object as sent: parsing would move keys that look like integers to the front
 */
export function keepMetadata(raw: RawJson, keysMax: number): KeptMetadata {
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
 * Joins the labels of a run's opening and its close: each key keeps its place, the close's value
 * wins (decision 25).
 */
export function mergeMetadata(opening: Metadata | null, closing: Metadata | null): Metadata | null {
  if (opening === null || closing === null) return closing ?? opening;
  return [...new Map([...opening, ...closing])];
}

/** Writes labels as a JSON object in their order. */
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
