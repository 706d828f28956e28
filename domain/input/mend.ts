/**
 * Mends payload fields that do not fit their call, so that no payload is a reason to lose one (R1 to R9).
 *
 * What is mended is what the schema then judges: the structure of a call stays strict. Each field whose
 * value is not kept as sent is reported.
 *
 * @module
 */
import { judgeId } from "../run/ids.ts";
import { FINISH_STATUSES } from "../run/run.ts";
import { GOAL_CHARS_MAX, IDLE_TIMEOUT_SECONDS, LABEL_CHARS_MAX, SCORES_MAX } from "../limits.ts";
import { charCount, isObject, rawMembers } from "./json.ts";
import type { Losses } from "./losses.ts";
import { isPathPart, isScore, isScoreName } from "./rules.ts";
import { ownText } from "./text.ts";

/** An object of a request, as its text and as its value. */
export interface SentObject {
  /** The text as sent; numbers are kept by it to the last digit. */
  readonly text: string;
  /** The object it parses to. */
  readonly value: Readonly<Record<string, unknown>>;
}

/** Mends an object of a request and reports what is lost by it. */
export type Mend = (sent: SentObject, losses: Losses) => Record<string, unknown>;

/** Mends a `POST /v1/runs`. */
export const mendOpen: Mend = (sent, losses) => {
  const mended = { ...sent.value };
  mendLabels(mended, sent, losses, ["feature"]);
  mendText(mended, sent, losses, "goal", GOAL_CHARS_MAX);
  mended.metadata = orEmptyObject(mended.metadata);
  keepIf(mended, losses, "parent_run_id", (value) => judgeId("run", value) === "valid");
  keepIf(mended, losses, "idle_timeout_seconds", isIdleTimeout);
  keepIf(mended, losses, "idle_timeout_status", isFinishStatus);
  return mended;
};

/** Mends a `POST /v1/runs/{id}/finish`. */
export const mendFinish: Mend = (sent, losses) => {
  const { scores, metadata } = sent.value;
  return {
    ...sent.value,
    scores: mendScores(sent, scores, losses),
    metadata: orEmptyObject(metadata),
  };
};

/** Mends a `POST /v1/heartbeats`. */
export const mendHeartbeat: Mend = (sent, losses) => {
  const mended = { ...sent.value };
  mendLabels(mended, sent, losses, ["feature", "model", "provider"]);
  mended.metadata = orEmptyObject(mended.metadata);
  return mended;
};

/** Mends an event. */
export function mendEvent(
  value: SentObject["value"],
  losses: Losses,
): Record<string, unknown> {
  const mended: Record<string, unknown> = { ...value, data: orEmptyObject(value.data) };
  // SDKs send external_id in the place of id (decision 19).
  if ((value.id ?? null) === null) mended.id = value.external_id;
  keepIf(mended, losses, "turn", (turn) => Number.isSafeInteger(turn) && Number(turn) >= 1);
  return mended;
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
  mended: Record<string, unknown>,
  sent: SentObject,
  losses: Losses,
  fields: readonly string[],
): void {
  for (const field of ["customer_id", ...fields]) {
    mendText(mended, sent, losses, field, LABEL_CHARS_MAX);
  }
  keepIf(mended, losses, "customer_id", (value) => isPathPart(String(value)));
}

/** Makes a field a well-formed text of so many characters; numbers and booleans are as written (R8). */
function mendText(
  mended: Record<string, unknown>,
  { text, value }: SentObject,
  losses: Losses,
  field: string,
  charsMax: number,
): void {
  const sent = value[field] ?? null;
  if (sent === null) return;
  if (typeof sent === "object") {
    losses.remove(field);
    mended[field] = undefined;
    return;
  }
  const written = typeof sent === "string" ? sent : rawMembers(text).get(field) ?? "";
  const formed = written.toWellFormed();
  const kept = cutText(formed, charsMax);
  if (kept !== formed) losses.cut(field);
  else if (formed !== written) losses.remove(field);
  // A slice of a body would keep all of it in memory.
  mended[field] = kept === sent ? kept : ownText(kept);
}

/** Removes a field that is there and not as it must be. */
function keepIf(
  mended: Record<string, unknown>,
  losses: Losses,
  field: string,
  fits: (value: unknown) => boolean,
): void {
  const value = mended[field] ?? null;
  if (value === null || fits(value)) return;
  losses.remove(field);
  mended[field] = undefined;
}

/** Keeps the first scores that fit, in the order they were sent (R6). */
function mendScores({ text }: SentObject, sent: unknown, losses: Losses): unknown {
  if (sent === undefined || sent === null || isEmptyArray(sent)) return orEmptyObject(sent);
  if (!isObject(sent)) {
    losses.remove("scores");
    return undefined;
  }
  const names = [...rawMembers(rawMembers(text).get("scores") ?? "{}").keys()];
  const kept = names.filter((name) => isScoreName(name) && isScore(sent[name])).slice(
    0,
    SCORES_MAX,
  );
  losses.remove("scores", names.length - kept.length);
  return Object.fromEntries(kept.map((name) => [name, sent[name]]));
}

function isIdleTimeout(value: unknown): boolean {
  const { min, max } = IDLE_TIMEOUT_SECONDS;
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

function isFinishStatus(value: unknown): boolean {
  return FINISH_STATUSES.some((status) => status === value);
}
