/**
 * Parses a body into validated events.
 *
 * @module
 */
import { missing } from "../core/validate.ts";
import { refuse, Refused } from "../core/errors.ts";
import { type EventFlag, factsOf, type RunEvent } from "../runs/event.ts";
import { type ReadCall, readLlmCall } from "../pricing/llm_call.ts";
import type { Score } from "../runs/run.ts";
import {
  afterSpace,
  endOfValue,
  exceedsBytes,
  isKey,
  isObject,
  nestsDeeperThan,
  type RawJson,
  rawMembers,
  rawOf,
  walkArray,
  walkMembers,
} from "../core/raw_json.ts";
import { EVENT_BYTES_MAX, EVENTS_PER_BATCH_MAX, JSON_DEPTH_MAX } from "../core/limits.ts";
import { Losses } from "../core/losses.ts";
import { isEmptyArray } from "./mend.ts";
import { type Body, type CheckedRequest, checkedRequest, type JsonFields } from "../core/body.ts";
import { EVENT_FIELDS, readEvent } from "./event.ts";
import { isScore, isScoreName } from "../core/rules.ts";
import type { Pause } from "./large_body.ts";
import { type CutEvent, cutEvent } from "./truncate.ts";
import { ownText } from "../core/text.ts";

const BATCH_FIELDS: ReadonlySet<string> = new Set(["events"]);

/** Parses a `POST /v1/runs/{id}/events`: one invalid event refuses the batch (decision 20). */
export function parseEvents(body: Body): CheckedRequest<RunEvent[]> {
  const { events } = body.value;
  if (events === undefined || events === null) {
    throw new Refused(missing("events", "events", "an array of events"));
  }
  if (!Array.isArray(events)) {
    return refuse("invalid_field", 'Field "events" must be an array of events', "events");
  }
  if (events.length > EVENTS_PER_BATCH_MAX) return tooMany(events.length);
  const payloads: (RawJson | null)[] = [];
  const oversized = slicePayloads(body.text, payloads);
  const checked: RunEvent[] = [];
  const losses = new Losses();
  const ignored = losses.ignoreUnknown(body.value, BATCH_FIELDS);
  for (let index = 0; index < events.length; index++) {
    const large = oversized?.get(index);
    checked.push(
      large === undefined
        ? parseEvent(events[index], payloads[index] ?? null, index, losses)
        : parseCutEvent(cutEvent(large), index, losses),
    );
  }
  return checkedRequest(withIgnored(checked, ignored), losses);
}

/**
 * Parses a large batch, one event after the other.
 *
 * @param body the batch
 * @param events texts of its events
 * @param pause is called after each event
 */
export async function parseLargeEvents(
  body: Body,
  events: readonly string[],
  pause: Pause,
): Promise<CheckedRequest<RunEvent[]>> {
  if (events.length > EVENTS_PER_BATCH_MAX) return tooMany(events.length);
  const checked: RunEvent[] = [];
  const losses = new Losses();
  const ignored = losses.ignoreUnknown(body.value, BATCH_FIELDS);
  for (const [index, text] of events.entries()) {
    const fits = !exceedsBytes(text, EVENT_BYTES_MAX) && !nestsDeeperThan(text, JSON_DEPTH_MAX);
    // A copy, because a slice would retain the batch for as long as the event is in memory.
    const cut = fits ? { text: ownText(text) as RawJson, isTruncated: false } : cutEvent(text);
    checked.push(parseCutEvent(cut, index, losses));
    await pause();
  }
  return checkedRequest(withIgnored(checked, ignored), losses);
}

function tooMany(count: number): never {
  const message = `The batch has ${count} events and the maximum is ${EVENTS_PER_BATCH_MAX}: ` +
    "send several batches";
  return refuse("batch_too_large", message, "events");
}

/** Adds the unknown fields of a batch to its first event: a batch itself is not stored (R25). */
function withIgnored(events: RunEvent[], names: readonly string[] | undefined): RunEvent[] {
  const [first, ...others] = events;
  if (names === undefined || first === undefined) return events;
  return [ignoring(first, names), ...others];
}

function ignoring(event: RunEvent, names: readonly string[]): RunEvent {
  const ignored = [...new Set([...event.ignored ?? [], ...names])];
  return {
    ...event,
    ignored,
    flags: [...new Set<EventFlag>([...event.flags ?? [], "ignored_fields"])],
  };
}

function parseCutEvent({ text, isTruncated }: CutEvent, index: number, losses: Losses): RunEvent {
  const item: unknown = JSON.parse(text);
  const payload = isObject(item) ? rawMembers(text).get("data") ?? null : null;
  const event = parseEvent(item, payload, index, losses);
  if (!isTruncated) return event;
  losses.drop("data");
  return { ...event, flags: [...event.flags ?? [], "truncated"] };
}

/**
 * Finds the payloads of a valid body's events in one pass. For a repeated key the last value
 * counts.
 *
 * @param payloads receives the payload of each event as sent, `null` for none
 * @returns the text of each event that is too large, by its index; null for none
 */
function slicePayloads(
  text: string,
  payloads: (RawJson | null)[],
): ReadonlyMap<number, string> | null {
  let oversized: Map<number, string> | null = null;
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
    if (isOversized(text, start, end)) {
      oversized ??= new Map();
      oversized.set(payloads.length, text.slice(start, end));
    }
    payloads.push(payload);
    return end;
  };
  walkMembers(text, afterSpace(text, 0), (keyStart, keyEnd, start) => {
    if (text[start] !== "[" || !isKey(text, keyStart, keyEnd, "events")) {
      return endOfValue(text, start);
    }
    oversized = null;
    payloads.length = 0;
    return walkArray(text, start, visitEvent);
  });
  return oversized;
}

/**
 * Returns whether an event is too large. It slices only candidates: a UTF-16 unit takes at most 3
 * bytes.
 */
function isOversized(text: string, start: number, end: number): boolean {
  return (end - start) * 3 > EVENT_BYTES_MAX &&
    exceedsBytes(text.slice(start, end), EVENT_BYTES_MAX);
}

function parseEvent(
  item: unknown,
  payload: RawJson | null,
  index: number,
  losses: Losses,
): RunEvent {
  if (!isObject(item)) {
    return refuse("invalid_field", `events[${index}] must be an object`, "events");
  }
  const ignored = losses.ignoreUnknown(item, EVENT_FIELDS);
  const { id, type, ts, turn, data } = readEvent(item, index, losses);
  const raw = payload === null || isEmptyArray(item.data) ? rawOf(data) : payload;
  const score = type === "score" ? scoreOf(data) : undefined;
  const event = withFacts({ id, type, ts, turn, data: raw, score }, data);
  return ignored === undefined ? event : ignoring(event, ignored);
}

/**
 * Adds the facts the totals need, and the flags of unreadable data. It copies the event: from one
 * literal, V8 would allocate all events in its old generation, at 40 % more major collections.
 */
export function withFacts(event: Omit<RunEvent, "facts">, data: JsonFields): RunEvent {
  const read = event.type === "llm_call" ? readLlmCall(data) : null;
  const facts = factsOf(event.type, data, read);
  const flags = read === null ? [] : flagsOf(read);
  if (read === null || flags.length === 0) return { ...event, facts };
  const unreadable = read.unreadable.length === 0 ? {} : { unreadable: read.unreadable };
  return { ...event, ...unreadable, flags, facts };
}

function flagsOf({ call, unreadable, isCut }: ReadCall): readonly EventFlag[] {
  const flags: EventFlag[] = [];
  if (!call.counted) flags.push("no_tokens");
  if (isCut) flags.push("truncated");
  if (unreadable.length > 0) flags.push("unreadable_figures");
  return flags;
}

/** Returns the score of an event of type `score` (R17); undefined if its data is not a score. */
function scoreOf({ name, value }: Record<string, unknown>): Score | undefined {
  return isScoreName(name) && isScore(value) ? [name, value] : undefined;
}
