/**
 * From a body to checked events.
 *
 * @module
 */
import { check, missing } from "./check.ts";
import { type Parsed, refuse } from "../errors.ts";
import type { EventFacts, EventFlag, LlmCall, RunEvent } from "../run/event.ts";
import { type ReadCall, readLlmCall } from "../money/llm_call.ts";
import {
  afterSpace,
  endOfValue,
  exceedsBytes,
  isKey,
  isObject,
  type RawJson,
  rawOf,
  walkArray,
  walkMembers,
} from "./json.ts";
import { EVENT_BYTES_MAX, EVENTS_PER_BATCH_MAX } from "../limits.ts";
import type { Body } from "./parse.ts";
import { quickEvent, type Sent } from "./quick.ts";
import type { EventBody } from "./bodies.ts";
import { eventBody } from "./schemas.ts";

/** Checks a `POST /v1/runs/{id}/events`: one bad event refuses the batch (decision 20). */
export function parseEvents(body: Body): Parsed<RunEvent[]> {
  const { events } = body.value;
  if (events === undefined || events === null) {
    return { ok: false, problem: missing("events", "events", "an array of events") };
  }
  if (!Array.isArray(events)) {
    return refuse("invalid_field", 'Field "events" must be an array of events', "events");
  }
  if (events.length > EVENTS_PER_BATCH_MAX) {
    const message = `The batch has ${events.length} events and the maximum is ` +
      `${EVENTS_PER_BATCH_MAX}: send several batches`;
    return refuse("batch_too_large", message, "events");
  }
  const payloads: (RawJson | null)[] = [];
  const oversized = slicePayloads(body.text, payloads);
  if (oversized >= 0) {
    const message = `events[${oversized}] is larger than ${EVENT_BYTES_MAX} bytes: send less data`;
    return refuse("payload_too_large", message, "events");
  }
  const checked: RunEvent[] = [];
  for (let index = 0; index < events.length; index++) {
    const event = parseEvent(events[index], payloads[index] ?? null, index);
    if (!event.ok) return event;
    checked.push(event.value);
  }
  return { ok: true, value: checked };
}

/**
 * Finds the payloads of a valid body's events in one pass. Of a repeated key the last value counts.
 *
 * @param payloads takes the payload of each event as sent, `null` where there is none
 * @returns the index of the first event that is too large, or -1
 */
function slicePayloads(text: string, payloads: (RawJson | null)[]): number {
  let oversized = -1;
  let payload: RawJson | null = null;
  const visitMember = (keyStart: number, keyEnd: number, start: number): number => {
    const end = endOfValue(text, start);
    if (isKey(text, keyStart, keyEnd, "data")) payload = text.slice(start, end) as RawJson;
    return end;
  };
  const visitEvent = (start: number): number => {
    payload = null;
    const end = text[start] === "{"
      ? walkMembers(text, start, visitMember)
      : endOfValue(text, start);
    if (oversized < 0 && isOversized(text, start, end)) oversized = payloads.length;
    payloads.push(payload);
    return end;
  };
  walkMembers(text, afterSpace(text, 0), (keyStart, keyEnd, start) => {
    if (text[start] !== "[" || !isKey(text, keyStart, keyEnd, "events")) {
      return endOfValue(text, start);
    }
    oversized = -1;
    payloads.length = 0;
    return walkArray(text, start, visitEvent);
  });
  return oversized;
}

/** Slices only what may be too large: no UTF-16 unit takes more than 3 bytes. */
function isOversized(text: string, start: number, end: number): boolean {
  return (end - start) * 3 > EVENT_BYTES_MAX &&
    exceedsBytes(text.slice(start, end), EVENT_BYTES_MAX);
}

function parseEvent(sent: unknown, payload: RawJson | null, index: number): Parsed<RunEvent> {
  if (!isObject(sent)) {
    return refuse("invalid_field", `events[${index}] must be an object`, "events");
  }
  // SDKs send external_id in the place of id (decision 19).
  const named = (sent.id ?? null) === null ? { ...sent, id: sent.external_id } : sent;
  const plain = quickEvent(named);
  // Where it stands is put into words only for a refusal.
  const parsed: Parsed<EventBody> = plain !== null
    ? { ok: true, value: plain }
    : check(null, eventBody, named, `events[${index}].`);
  if (!parsed.ok) return parsed;
  const { id, type, ts, turn, data } = parsed.value;
  return { ok: true, value: withFacts({ id, type, ts, turn, data: payload ?? rawOf(data) }, data) };
}

/** Adds what totals count of an event, and what of its payload could not be read. */
function withFacts(event: Omit<RunEvent, "facts">, data: Sent): RunEvent {
  const read = event.type === "llm_call" ? readLlmCall(data) : null;
  const facts = factsOf(event.type, data, read);
  if (read === null || isAllRead(read)) return { ...event, facts };
  const { unreadable } = read;
  return {
    ...event,
    ...unreadable.length === 0 ? {} : { unreadable },
    flags: flagsOf(read),
    facts,
  };
}

function isAllRead({ call, unreadable, isCut }: ReadCall): boolean {
  return call.counted && unreadable.length === 0 && !isCut;
}

function flagsOf({ call, unreadable, isCut }: ReadCall): readonly EventFlag[] {
  const flags: EventFlag[] = [];
  if (!call.counted) flags.push("no_tokens");
  if (isCut) flags.push("truncated");
  if (unreadable.length > 0) flags.push("unreadable_figures");
  return flags;
}

/** Reads again what the totals counted of a stored event's payload. */
export function storedFacts(type: string, data: RawJson): EventFacts {
  const parsed: unknown = JSON.parse(data);
  const sent = isObject(parsed) ? parsed : {};
  return factsOf(type, sent, type === "llm_call" ? readLlmCall(sent) : null);
}

/** Reads the call out of a stored event's payload. */
export function storedCall(type: string, data: RawJson): LlmCall | undefined {
  return type === "llm_call" ? storedFacts(type, data).call : undefined;
}

function factsOf(type: string, data: Sent, read: ReadCall | null): EventFacts {
  const failed = (data.error ?? false) !== false && data.error !== "";
  const error = type === "error" || data.status === "error" || failed;
  return read === null ? { error } : { error, call: read.call };
}
