/**
 * Normalization of a call that does not fit the contract, and its report in the response:
 * decisions, section 7 (R1, R2, R6 to R9, R11). Imports nothing from the service.
 */
import { pingSchedule } from "./schedules.ts";
import type { Fields, Request } from "./shape.ts";

/** A call as it is stored, and its lost contents. */
interface Normalized {
  readonly request: Request;
  /** Number of times that each field was changed or dropped. */
  readonly dropped: Readonly<Record<string, number>>;
  readonly ignored: readonly string[];
  /** Flags of the part that the call becomes. */
  readonly flags: readonly string[];
}

const FIELDS: Readonly<Record<Request["call"], readonly string[]>> = {
  open: [
    ..."id agent started_at parent_run_id customer_id feature metadata goal".split(" "),
    ..."idle_timeout_seconds idle_timeout_status".split(" "),
  ],
  events: ["events"],
  finish: ["status", "finished_at", "output", "scores", "metadata"],
  heartbeat: [
    ..."id agent status started_at finished_at cost_usd model provider input_tokens".split(" "),
    ..."output_tokens cached_input_tokens duration_ms metadata customer_id".split(" "),
    ..."feature output".split(" "),
  ],
  ping: [
    ..."id agent status started_at finished_at cost_usd model provider input_tokens".split(" "),
    ..."output_tokens cached_input_tokens duration_ms metadata exit_code".split(" "),
    ..."every cron tz grace rid".split(" "),
  ],
};
const EVENT_FIELDS = ["id", "external_id", "type", "ts", "data", "turn"];
const CHARS: Readonly<Record<string, number>> = {
  customer_id: 256,
  feature: 256,
  model: 256,
  provider: 256,
  goal: 16_384,
};

/** Values that the fields of an idle timeout may have. */
const IDLE: Readonly<Record<string, (value: unknown) => boolean>> = {
  idle_timeout_seconds: (value) =>
    Number.isSafeInteger(value) && Number(value) >= 60 && Number(value) <= 86_400,
  idle_timeout_status: (value) =>
    ["success", "failed", "timeout", "cancelled"].includes(String(value)),
};

const isNone = (value: unknown) => value === undefined || value === null;
const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0;
const isMap = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function normalized(request: Request): Normalized {
  const dropped: Record<string, number> = {};
  const flags = new Set<string>();
  const ignored = Object.entries(request.fields)
    .filter(([name, value]) => value !== undefined && !FIELDS[request.call].includes(name))
    .map(([name]) => name);
  const envelope = request.call === "events" ? [...ignored] : [];
  const lose = (field: string, flag: string, count = 1) => {
    dropped[field] = (dropped[field] ?? 0) + count;
    flags.add(flag);
  };
  const fields: Record<string, unknown> = { ...request.fields };
  for (const [name, max] of Object.entries(CHARS)) {
    if (!FIELDS[request.call].includes(name) || isNone(fields[name])) continue;
    fields[name] = textOf(fields[name], max, (flag) => lose(name, flag));
  }
  if (["", ".", ".."].includes(String(fields.customer_id))) {
    lose("customer_id", "dropped_fields");
    delete fields.customer_id;
  }
  if (request.call === "open") {
    for (const [name, isRight] of Object.entries(IDLE)) {
      if (isNone(fields[name]) || isRight(fields[name])) continue;
      lose(name, "dropped_fields");
      delete fields[name];
    }
  }
  if (request.call === "ping") {
    for (const name of pingSchedule(fields).dropped) dropped[name] = 1;
    for (const name of ["every", "cron", "tz", "grace"]) delete fields[name];
  }
  if (isEmptyList(fields.output)) fields.output = {};
  if (request.call === "finish") {
    const { scores } = fields;
    if (isEmptyList(scores)) fields.scores = {};
    else if (isMap(scores)) {
      const right = Object.entries(scores).filter(([, score]) =>
        typeof score === "number" || typeof score === "boolean"
      );
      const wrong = Object.keys(scores).length - right.length;
      if (wrong > 0) lose("scores", "dropped_fields", wrong);
      fields.scores = Object.fromEntries(right);
    } else if (!isNone(scores)) {
      lose("scores", "dropped_fields");
      delete fields.scores;
    }
  }
  if (request.call === "events" && Array.isArray(fields.events)) {
    fields.events = fields.events.map((event: Fields, n: number) => {
      const { turn = null, data } = event;
      const own = Object.keys(event).filter((name) => !EVENT_FIELDS.includes(name));
      ignored.push(...own);
      const names = [...own, ...n === 0 ? envelope : []];
      const isTurn = turn === null || (Number.isSafeInteger(turn) && Number(turn) >= 1);
      if (!isTurn) lose("turn", "dropped_fields");
      const unknown = names.length === 0 ? undefined : names;
      return {
        ...event,
        ignored: unknown,
        turn: isTurn ? turn : null,
        data: isEmptyList(data) ? {} : data,
      };
    });
  }
  if (request.call !== "events" && ignored.length > 0) flags.add("ignored_fields");
  const normalized = { ...request, fields };
  return {
    request: normalized,
    dropped,
    ignored: [...new Set(ignored)].sort(),
    flags: [...flags].sort(),
  };
}

/** Returns a text of at most `max` characters; undefined for an object. */
function textOf(value: unknown, max: number, lose: (flag: string) => void): string | undefined {
  if (typeof value === "object") {
    lose("dropped_fields");
    return undefined;
  }
  const chars = [...String(value)];
  if (chars.length > max) lose("truncated");
  return chars.slice(0, max).join("");
}
