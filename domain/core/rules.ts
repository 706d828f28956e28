/**
 * Rules of single fields, shared by the schemas, which add messages, the repair and a fast path.
 *
 * @module
 */
import { charCount, isObject } from "./raw_json.ts";
import {
  AGENT_CHARS_MAX,
  COST_USD_MAX,
  LABEL_CHARS_MAX,
  SCORE_NAME_CHARS_MAX,
  SCORES_MAX,
} from "./limits.ts";

/** Text that may become part of a storage key, where lone surrogates would collide. */
export function isText(value: unknown, charsMax: number): value is string {
  return typeof value === "string" && value.isWellFormed() && !isLonger(value, charsMax);
}

/** Name that people see and filter by: not empty, no control characters or surrounding white space. */
export function isName(value: unknown, charsMax: number): value is string {
  return isText(value, charsMax) && value !== "" && value.trim() === value &&
    !/\p{Cc}/u.test(value);
}

/**
 * Returns whether a text can be a path segment: not empty, and neither "." nor "..", which URL
 * normalization removes, so that no client could request it.
 */
export function isPathPart(value: string): boolean {
  return value !== "" && value !== "." && value !== "..";
}

/** Valid slug of an agent. */
export function isAgent(value: unknown): value is string {
  return isName(value, AGENT_CHARS_MAX) && isPathPart(value);
}

/** Valid customer that a cost is attributed to. */
export function isCustomer(value: unknown): value is string {
  return isText(value, LABEL_CHARS_MAX) && isPathPart(value);
}

/** Valid label. */
export function isLabel(value: unknown): value is string {
  return isText(value, LABEL_CHARS_MAX);
}

/** Valid number of tokens or milliseconds (decision 34). */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Returns whether a value is absent or valid. */
export function isAbsentOr<T>(
  isValid: (value: unknown) => value is T,
  value: unknown,
): value is T | undefined {
  return value === undefined || isValid(value);
}

/** Valid cost in dollars (decision 34). */
export function isCost(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= COST_USD_MAX;
}

/** Valid scores by name. */
export function isScores(value: unknown): value is Record<string, number | boolean> {
  return isObject(value) && Object.keys(value).length <= SCORES_MAX &&
    Object.entries(value).every(([name, score]) => isScoreName(name) && isScore(score));
}

/** Valid name of a score. */
export function isScoreName(value: unknown): value is string {
  return value !== "" && isText(value, SCORE_NAME_CHARS_MAX);
}

/** Valid value of a score. */
export function isScore(value: unknown): value is number | boolean {
  return typeof value === "boolean" || Number.isFinite(value);
}

/** Checks the number of UTF-16 units first, which is never below the number of characters. */
export function isLonger(value: string, charsMax: number): boolean {
  return value.length > charsMax && charCount(value) > charsMax;
}
