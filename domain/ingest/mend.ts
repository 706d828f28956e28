/**
 * Mends payload fields that do not fit their call, so that no payload is a reason to lose one (R1 to R9).
 *
 * What is mended is what the schema then judges: the structure of a call stays strict. Each field whose
 * value is not kept as sent is reported.
 *
 * @module
 */
import { judgeId } from "../core/ids.ts";
import { FINISH_STATUSES } from "../runs/run.ts";
import {
  GOAL_CHARS_MAX,
  IDLE_TIMEOUT_SECONDS,
  LABEL_CHARS_MAX,
  SCORES_MAX,
} from "../core/limits.ts";
import {
  afterSpace,
  charCount,
  endOfValue,
  isKey,
  isObject,
  walkMembers,
  walkObject,
} from "../core/raw_json.ts";
import type { Losses } from "../core/losses.ts";
import { isPathPart, isScore, isScoreName } from "../core/rules.ts";
import { ownText } from "../core/text.ts";

/** The fields of a body that its call knows. */
export type MutableFields = Record<string, unknown>;

/**
 * Mends the fields of a body in place and reports what is lost by it.
 *
 * @param text the body as sent; numbers are kept by it to the last digit
 */
export type Mend = (fields: MutableFields, text: string, losses: Losses) => void;

/** Mends a `POST /v1/runs`. */
export function mendOpen(fields: MutableFields, text: string, losses: Losses): void {
  mendLabels(fields, text, losses, ["feature"]);
  mendText(fields, text, losses, "goal", GOAL_CHARS_MAX);
  fields.metadata = orEmptyObject(fields.metadata);
  keepIf(fields, losses, "parent_run_id", (value) => judgeId("run", value) === "valid");
  keepIf(fields, losses, "idle_timeout_seconds", isIdleTimeout);
  keepIf(fields, losses, "idle_timeout_status", isFinishStatus);
}

/** Mends a `POST /v1/runs/{id}/finish`. */
export function mendFinish(fields: MutableFields, text: string, losses: Losses): void {
  fields.scores = mendScores(fields.scores, text, losses);
  fields.metadata = orEmptyObject(fields.metadata);
}

/** Mends a `POST /v1/heartbeats`. */
export function mendHeartbeat(fields: MutableFields, text: string, losses: Losses): void {
  mendLabels(fields, text, losses, ["feature", "model", "provider"]);
  fields.metadata = orEmptyObject(fields.metadata);
}

/** Mends an event. */
export function mendEvent(sent: Readonly<MutableFields>, losses: Losses): MutableFields {
  const { type, ts, turn, data } = sent;
  // SDKs send external_id in the place of id (decision 19).
  const fields: MutableFields = {
    id: sent.id ?? sent.external_id,
    type,
    ts,
    data: orEmptyObject(data),
    turn,
  };
  keepIf(fields, losses, "turn", (turn) => Number.isSafeInteger(turn) && Number(turn) >= 1);
  return fields;
}

/** Whether a value is PHP's empty array, which stands for an empty object (R1). */
export function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function orEmptyObject(value: unknown): unknown {
  return isEmptyArray(value) ? {} : value;
}

/**
 * Returns the first characters of a text, at most `charsMax`.
 *
 * @param text well-formed
 */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  // No character takes more than two units.
  const start = text.slice(0, 2 * charsMax);
  if (start.length === text.length && charCount(text) <= charsMax) return text;
  let end = 0;
  for (let chars = 0; chars < charsMax; chars++) {
    end += (start.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
}

function mendLabels(
  fields: MutableFields,
  text: string,
  losses: Losses,
  names: readonly string[],
): void {
  for (const field of ["customer_id", ...names]) {
    mendText(fields, text, losses, field, LABEL_CHARS_MAX);
  }
  keepIf(fields, losses, "customer_id", (value) => isPathPart(String(value)));
}

/** Makes a field a well-formed text of so many characters; numbers and booleans are as written (R8). */
function mendText(
  fields: MutableFields,
  text: string,
  losses: Losses,
  field: string,
  charsMax: number,
): void {
  const sent = fields[field] ?? null;
  if (sent === null) return;
  if (typeof sent === "object") {
    losses.remove(field);
    fields[field] = undefined;
    return;
  }
  const written = typeof sent === "string" ? sent : rawMember(text, field);
  const formed = written.toWellFormed();
  const kept = cutText(formed, charsMax);
  if (kept !== formed) losses.cut(field);
  else if (formed !== written) losses.remove(field);
  // A slice of a body would keep all of it in memory.
  fields[field] = kept === sent ? kept : ownText(kept);
}

/** Returns a member of an object as it was sent, of a repeated one the last; `{}` for none. */
export function rawMember(text: string, name: string): string {
  let raw = "{}";
  walkMembers(text, afterSpace(text, 0), (keyStart, keyEnd, start) => {
    const end = endOfValue(text, start);
    if (isKey(text, keyStart, keyEnd, name)) raw = text.slice(start, end);
    return end;
  });
  return raw;
}

/** Removes a field that is there and not as it must be. */
function keepIf(
  fields: MutableFields,
  losses: Losses,
  field: string,
  fits: (value: unknown) => boolean,
): void {
  const value = fields[field] ?? null;
  if (value === null || fits(value)) return;
  losses.remove(field);
  fields[field] = undefined;
}

/** Keeps the first scores that fit, in the order they were sent (R6). */
function mendScores(sent: unknown, text: string, losses: Losses): unknown {
  if (sent === undefined || sent === null || isEmptyArray(sent)) return orEmptyObject(sent);
  if (!isObject(sent)) {
    losses.remove("scores");
    return undefined;
  }
  const kept = namesInOrder(text, (name) => isScoreName(name) && isScore(sent[name]));
  losses.remove("scores", Object.keys(sent).length - kept.length);
  return Object.fromEntries(kept.map((name) => [name, sent[name]]));
}

/**
 * Returns the first names of a body's scores that fit, in the order of the text: parsing moves names that
 * look like integers to the front.
 */
export function namesInOrder(text: string, fits: (name: string) => boolean): string[] {
  const scores = rawMember(text, "scores");
  const names = new Set<string>();
  walkObject(scores, 0, (name, start) => {
    if (names.size < SCORES_MAX && fits(name)) names.add(name);
    return endOfValue(scores, start);
  });
  return [...names];
}

function isIdleTimeout(value: unknown): boolean {
  const { min, max } = IDLE_TIMEOUT_SECONDS;
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

function isFinishStatus(value: unknown): boolean {
  return FINISH_STATUSES.some((status) => status === value);
}
