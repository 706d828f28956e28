/**
 * An item of a batch of events: schema, repair and fast path.
 *
 * @module
 */
import { z } from "zod";
import type { JsonFields } from "../core/body.ts";
import { instant, name, optional } from "../core/fields.ts";
import { type EventId, judgeId } from "../core/ids.ts";
import { EVENT_TYPE_CHARS_MAX } from "../core/limits.ts";
import type { Losses } from "../core/losses.ts";
import { isObject } from "../core/raw_json.ts";
import { isAbsentOr, isCount, isName } from "../core/rules.ts";
import { fieldsOf } from "../core/validate.ts";
import { count, fastInstant, id, label, object } from "./form.ts";
import { type MutableFields, orEmptyObject, removeInvalid } from "./mend.ts";

/**
 * An item of the `events` array. `external_id` is mapped to `id` before.
 *
 * @internal
 */
export const eventBody = z.object({
  id: id<EventId>("evt"),
  type: name(EVENT_TYPE_CHARS_MAX, "an event type"),
  ts: instant(),
  data: object,
  turn: optional(z.int("an integer from 1").min(1, "an integer from 1")),
});

/**
 * `data` of an `llm_call` according to the contract. All other fields are stored unread.
 *
 * @internal
 */
export const llmCallData = z.object({
  provider: label,
  model: label,
  input_tokens: count,
  output_tokens: count,
  latency_ms: count,
  cached_input_tokens: count,
  cache_creation_input_tokens: count,
  reasoning_tokens: count,
});

/** Names of an event's fields. */
export const EVENT_FIELDS: ReadonlySet<string> = new Set([...fieldsOf(eventBody), "external_id"]);

/** Repairs an event. */
export function mendEvent(item: Readonly<MutableFields>, losses: Losses): MutableFields {
  const { type, ts, turn, data } = item;
  const fields: MutableFields = { id: idOf(item), type, ts, data: orEmptyObject(data), turn };
  removeInvalid(fields, losses, eventBody, ["turn"]);
  return fields;
}

/**
 * Validates an event without the schema; null if the schema must decide. Events are the most
 * frequent call: the schema takes 60 µs for ten events, as long as all other parsing of the batch;
 * this takes 3 µs.
 *
 * @internal
 */
export function fastEvent(item: JsonFields): z.output<typeof eventBody> | null {
  const { type, data, turn } = item;
  const id = idOf(item);
  const ts = fastInstant(item.ts);
  const isPlain = judgeId("evt", id) === "valid" && isType(type) && ts !== null &&
    isObject(data) && turn !== 0 && isAbsentOr(isCount, turn);
  return isPlain ? { id: id as EventId, type, ts, data, turn } : null;
}

/** SDKs send `external_id` instead of `id` (decision 19). */
function idOf({ id, external_id }: JsonFields): unknown {
  return id ?? external_id;
}

/** The counted types are valid names; any other type is checked. */
function isType(value: unknown): value is string {
  return value === "llm_call" || value === "tool_call" || value === "log" ||
    isName(value, EVENT_TYPE_CHARS_MAX);
}
