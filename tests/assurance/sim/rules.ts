/**
 * Validation rules for a normalized call, written from the contract: the tables of contract 1 to 5,
 * decisions 5 to 8, 12, 13 and 34. Imports nothing from the service.
 */
import type { Fields, Request } from "./shape.ts";

/** Reason of a refusal: its code, and the field it concerns. */
interface Problem {
  readonly error: string;
  readonly field: string;
}

/** A field in the order of its table; `judge` returns a code, or null for a valid value. */
type Rule = readonly [field: string, judge: (value: unknown) => string | null, required?: true];

const EVENTS_MAX = 50;

/** Parses an instant to unix milliseconds (decision 12, R19); null if it is invalid. */
export function parseInstant(value: unknown): number | null {
  const form = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;
  const [, seconds, fraction = "", sign, hours = 0, minutes = 0] =
    form.exec(String(value).toUpperCase()) ?? [];
  if (typeof value !== "string" || seconds === undefined) return null;
  const local = Date.parse(`${seconds}.${fraction.slice(0, 3).padEnd(3, "0")}Z`);
  // The 30th of February parses as a day of March.
  const exists = !Number.isNaN(local) && new Date(local).toISOString().startsWith(seconds);
  if (!exists || Number(hours) > 23 || Number(minutes) > 59) return null;
  const ahead = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === "-" ? -1 : 1);
  const year = new Date(local - ahead).getUTCFullYear();
  return year >= 1970 && year <= 9999 ? local - ahead : null;
}

/** Length in characters: an emoji is one. */
export const charsOf = (text: string): number => [...text].length;

const when = (fits: (value: unknown) => boolean) => (value: unknown) =>
  fits(value) ? null : "invalid_field";
const text = (max: number) =>
  when((value) => typeof value === "string" && value.isWellFormed() && charsOf(value) <= max);
const name = (max: number) =>
  when((value) =>
    text(max)(value) === null && value !== "" && value === String(value).trim() &&
    !/\p{Cc}/u.test(String(value))
  );
const oneOf = (...values: readonly unknown[]) => when((value) => values.includes(value));
const integer = (min: number) =>
  when((value) => Number.isSafeInteger(value) && Number(value) >= min);
const object = when((value) => typeof value === "object" && !Array.isArray(value));
/** Metadata is a list of pairs here, because its order matters. */
const labels = when(Array.isArray);
const moment = when((value) => parseInstant(value) !== null);
const dollars = when((value) => typeof value === "number" && value >= 0 && value <= 1e6);

/** The pattern is checked before the region (decision 5). */
function id(prefix: string) {
  return (value: unknown) => {
    const [, region] = /^[a-z]+_([a-z]{2})_[0-9a-f]{32}$/.exec(String(value)) ?? [];
    if (region === undefined || !String(value).startsWith(`${prefix}_`)) return "invalid_id";
    return region === "eu" || region === "us" ? null : "unknown_region";
  };
}

/** Wraps a rule for an id in a path: URL rules remove dots from it. */
const inPath = (judge: (value: unknown) => string | null) =>
  when((value) => judge(value) === null && !["", ".", ".."].includes(String(value)));
const AGENT: Rule = ["agent", inPath(name(128)), true];
const METADATA: Rule = ["metadata", labels];
const TOKENS: readonly Rule[] = ["input_tokens", "output_tokens", "cached_input_tokens"]
  .map((field) => [field, integer(0)]);

const OPEN: readonly Rule[] = [
  ["id", id("run"), true],
  AGENT,
  ["started_at", moment, true],
  METADATA,
];
const EVENT: readonly Rule[] = [
  ["id", id("evt"), true],
  ["type", name(128), true],
  ["ts", moment, true],
  ["data", object, true],
];
const FINISH: readonly Rule[] = [
  ["status", oneOf("success", "failed", "timeout", "cancelled"), true],
  ["finished_at", moment, true],
  METADATA,
];
const HEARTBEAT: readonly Rule[] = [
  ["id", id("run")],
  AGENT,
  ["status", oneOf("ok", "fail", "start", "timeout")],
  ["started_at", moment],
  ["finished_at", moment],
  ["cost_usd", dollars],
  ...TOKENS,
  ["duration_ms", integer(0)],
];

export function problemOf({ call, id: path, fields }: Request): Problem | null {
  const misplaced = path === undefined ? null : check([["id", id("run")]], { id: path });
  if (misplaced !== null) return misplaced;
  switch (call) {
    case "open":
      return check(OPEN, fields);
    case "finish":
      return check(FINISH, fields);
    case "heartbeat":
      return check([...HEARTBEAT, METADATA], fields);
    case "ping": {
      const exit: Rule = ["exit_code", when((value) => /^-?\d+$/.test(String(value)))];
      return check([exit], fields) ?? contradiction(fields) ??
        check([["rid", text(64)], ...HEARTBEAT], fields);
    }
    case "events":
      return batchProblem(fields.events ?? null);
    default:
      return call satisfies never;
  }
}

/** The status of a ping and its exit code agree (R24). */
function contradiction({ status = null, exit_code = null }: Fields): Problem | null {
  if (exit_code === null || !["ok", "fail", "timeout", "start"].includes(String(status))) {
    return null;
  }
  const isSame = status !== "start" && (status === "ok") === (Number(exit_code) === 0);
  return isSame ? null : { error: "invalid_field", field: "status" };
}

/** One invalid event refuses the batch (decision 20). */
function batchProblem(events: unknown): Problem | null {
  if (events === null) return { error: "missing_field", field: "events" };
  if (!Array.isArray(events)) return { error: "invalid_field", field: "events" };
  if (events.length > EVENTS_MAX) return { error: "batch_too_large", field: "events" };
  for (const event of events as Fields[]) {
    const problem = check(EVENT, { ...event, id: event.id ?? event.external_id });
    if (problem !== null) return problem;
  }
  return null;
}

function check(rules: readonly Rule[], fields: Fields): Problem | null {
  for (const [field, judge, required] of rules) {
    const value = fields[field] ?? null;
    if (value === null && required) return { error: "missing_field", field };
    const error = value === null ? null : judge(value);
    if (error !== null) return { error, field };
  }
  return null;
}
