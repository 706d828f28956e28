/**
 * Stored form of the results of a run's checks: one text, because ten objects take three times as long
 * to write.
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

type Packed = readonly [
  check: string,
  id: string,
  version: number,
  severity: number,
  status: number,
  got: string | null,
  message: string | null,
  at: number,
  revision: number,
  reason?: string,
];

/** Encodes results. If they do not fit into one value, all their texts are cut to fewer characters. */
export function encodeResults(results: readonly CheckResult[]): string {
  const text = JSON.stringify(results.map(packed));
  if (text.length <= CHARS_MAX) return text;
  const lengthOf = (value: string | null) => value?.length ?? 0;
  const longest = results.map(({ got, message }) => Math.max(lengthOf(got), lengthOf(message)));
  return encodeResults(results.map((result) => shortened(result, Math.max(...longest) >> 1)));
}

/** Decodes what {@link encodeResults} encoded; null, the value of an absent row, has no results. */
export function decodeResults(value: unknown): readonly CheckResult[] {
  return value === null ? [] : JSON.parse(String(value)).map(unpacked);
}

function packed(result: CheckResult): Packed {
  const { check, id, version, severity, status, got, message, at, revision, reason } = result;
  const [severityAt, statusAt] = [
    CHECK_SEVERITIES.indexOf(severity),
    CHECK_STATUSES.indexOf(status),
  ];
  const fields = [check, id, version, severityAt, statusAt, got, message, at, revision] as const;
  return reason === undefined ? fields : [...fields, reason];
}

function unpacked(fields: Packed): CheckResult {
  const [check, id, version, severityAt, statusAt, got, message, at, revision, reason] = fields;
  const [severity, status] = [CHECK_SEVERITIES[severityAt], CHECK_STATUSES[statusAt]];
  if (severity === undefined || status === undefined) throw new TypeError("Not a check result");
  const result = { check, id, version, severity, status, got, message, at, revision };
  return reason === undefined ? result : { ...result, reason };
}

function shortened(result: CheckResult, chars: number): CheckResult {
  const cut = (text: string | null) =>
    text === null || text.length <= chars ? text : `${cutText(text, Math.max(0, chars - 1))}…`;
  return { ...result, got: cut(result.got), message: cut(result.message) };
}
