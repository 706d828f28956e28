/**
 * Stored form of the results of a run's checks: one text, because ten objects take three times as long
 * to write, and a short one, because a row above 1,000 bytes takes another page of the file.
 *
 * @module
 */
import {
  CHECK_SEVERITIES,
  CHECK_STATUSES,
  type CheckResult,
} from "../../domain/runs/check_result.ts";
import { cutText } from "../../domain/core/text.ts";

/** Maximum characters of the text: a value holds 65,536 bytes, and a character takes two at most. */
const CHARS_MAX = 30_000;

/**
 * A stored result; fields that few results have are left out. `id` is without the prefix that all of
 * the list have, and `outcome` holds severity and status. `revision` and `at` are differences to those
 * of the list, because one judgement usually makes all results.
 */
type Packed = readonly [
  check: string,
  id: string,
  version: number,
  outcome: number,
  got?: string | null,
  message?: string | null,
  reason?: string | null,
  revision?: number,
  at?: number,
];

/** The stored list. */
type PackedList = readonly [
  revision: number,
  at: number,
  idPrefix: string,
  results: readonly Packed[],
];

/** Encodes results. If they do not fit into one value, all their texts are cut to fewer characters. */
export function encodeResults(results: readonly CheckResult[]): string {
  const { revision = 0, at = 0 } = results[0] ?? {};
  const prefix = prefixOf(results);
  const all = results.map((each) => packed(each, revision, at, prefix.length));
  const list: PackedList = [revision, at, prefix, all];
  const text = JSON.stringify(list);
  if (text.length <= CHARS_MAX) return text;
  const lengthOf = (value: string | null) => value?.length ?? 0;
  const longest = results.map(({ got, message }) => Math.max(lengthOf(got), lengthOf(message)));
  return encodeResults(results.map((result) => shortened(result, Math.max(...longest) >> 1)));
}

/** Decodes what {@link encodeResults} encoded; null, the value of an absent row, has no results. */
export function decodeResults(value: unknown): readonly CheckResult[] {
  if (value === null) return [];
  const [revision, at, prefix, results]: PackedList = JSON.parse(String(value));
  return results.map((each) => unpacked(each, revision, at, prefix));
}

function packed(result: CheckResult, revision: number, at: number, prefixChars: number): Packed {
  const { check, id, version, severity, status, got, message, reason = null } = result;
  const outcome = CHECK_SEVERITIES.indexOf(severity) * CHECK_STATUSES.length +
    CHECK_STATUSES.indexOf(status);
  const [revisions, ms] = [result.revision - revision, result.at - at];
  const rest = id.slice(prefixChars);
  const isUsual = reason === null && revisions === 0 && ms === 0;
  if (!isUsual) return [check, rest, version, outcome, got, message, reason, revisions, ms];
  if (message !== null) return [check, rest, version, outcome, got, message];
  return [check, rest, version, outcome, got];
}

/** Returns what all identifiers begin with: checks of one day share a third of theirs. */
function prefixOf(results: readonly CheckResult[]): string {
  let prefix = results[0]?.id ?? "";
  for (const { id } of results) {
    while (!id.startsWith(prefix)) prefix = prefix.slice(0, -1);
  }
  return prefix;
}

function unpacked(fields: Packed, ofRevision: number, from: number, prefix: string): CheckResult {
  const [check, id, version, outcome, got = null, message = null, reason = null, ...rest] = fields;
  const [revisions = 0, ms = 0] = rest;
  const severity = CHECK_SEVERITIES[Math.floor(outcome / CHECK_STATUSES.length)];
  const status = CHECK_STATUSES[outcome % CHECK_STATUSES.length];
  if (severity === undefined || status === undefined) throw new TypeError("Not a check result");
  const [revision, at] = [ofRevision + revisions, from + ms];
  const texts = { check, id: `${prefix}${id}`, got, message };
  const result = { ...texts, version, severity, status, at, revision };
  return reason === null ? result : { ...result, reason };
}

function shortened(result: CheckResult, chars: number): CheckResult {
  const cut = (text: string | null) =>
    text === null || text.length <= chars ? text : `${cutText(text, Math.max(0, chars - 1))}…`;
  return { ...result, got: cut(result.got), message: cut(result.message) };
}
