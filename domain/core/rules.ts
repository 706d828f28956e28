/**
 * The rules of single fields. The schemas give them their messages, the quick checks their speed.
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

/** A text that may become part of a storage key, where lone surrogates would collide. */
export function isText(value: unknown, charsMax: number): value is string {
  return typeof value === "string" && value.isWellFormed() && !isLonger(value, charsMax);
}

/** A text that people see and filter by: not empty, no control characters, no outer space. */
export function isName(value: unknown, charsMax: number): value is string {
  return isText(value, charsMax) && value !== "" && value.trim() === value &&
    !/\p{Cc}/u.test(value);
}

/**
 * A text that stands in a path: not empty, and none of the two that URL rules take out of paths, so that
 * no client could ever ask for it.
 */
export function isPathPart(value: string): boolean {
  return value !== "" && value !== "." && value !== "..";
}

/** The slug of an agent. */
export function isAgent(value: unknown): value is string {
  return isName(value, AGENT_CHARS_MAX) && isPathPart(value);
}

/** Whom a cost is attributed to. */
export function isCustomer(value: unknown): value is string {
  return isText(value, LABEL_CHARS_MAX) && isPathPart(value);
}

/** A number of tokens or milliseconds (decision 34). */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** A number of tokens or milliseconds, or nothing. */
export function isAbsentOrCount(value: unknown): value is number | undefined {
  return value === undefined || isCount(value);
}

/** An amount of dollars (decision 34). */
export function isCost(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= COST_USD_MAX;
}

/** Scores by name. */
export function isScores(value: unknown): value is Record<string, number | boolean> {
  return isObject(value) && Object.keys(value).length <= SCORES_MAX &&
    Object.entries(value).every(([name, score]) => isScoreName(name) && isScore(score));
}

/** What a score measures. */
export function isScoreName(value: unknown): value is string {
  return value !== "" && isText(value, SCORE_NAME_CHARS_MAX);
}

/** What a score says. */
export function isScore(value: unknown): value is number | boolean {
  return typeof value === "boolean" || Number.isFinite(value);
}

/** Units are counted first: there are never fewer of them than characters. */
function isLonger(value: string, charsMax: number): boolean {
  return value.length > charsMax && charCount(value) > charsMax;
}
