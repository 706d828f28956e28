/** Previews of events: the text and metrics that a timeline row shows. */
import { type RawJson, rawMembers } from "../../../domain/core/raw_json.ts";
import { readMilliseconds } from "../../../domain/pricing/llm_call.ts";
import { storedFacts } from "../../../domain/runs/event.ts";
import { excerpt, excerptOfString } from "../../../domain/core/pretty_json.ts";
import { printable } from "../../../domain/core/text.ts";
import type { PositionedEvent } from "../../../domain/runs/event_page.ts";
import type { CallTokens } from "../../../domain/pricing/rates.ts";

/** Summary of an event. */
export interface EventPreview {
  readonly event: PositionedEvent;
  /** Members of its data. */
  readonly members: ReadonlyMap<string, RawJson>;
  /** A distinct symbol for each sort of event, and the class of its colour. */
  readonly sign: string;
  readonly colour: string;
  /** Label of the sort. */
  readonly what: string;
  /** Name; null if its data has none. */
  readonly name: string | null;
  /** First text of its content; null if its data has none. */
  readonly words: string | null;
  /** Duration in milliseconds; null if not reported. */
  readonly latencyMs: number | null;
  /** Tokens of a model call; null for other events, and if they were not counted. */
  readonly tokens: CallTokens | null;
  /** Reason of the failure; null if the event did not fail. */
  readonly failure: string | null;
}

/** Maximum characters of a name or of the first text: one line. */
const LINE_CHARS = 140;

/** Maximum characters of a reason: a few lines. */
const REASON_CHARS = 400;

/** Maximum latency of an event: 100 years. */
const LATENCY_MS_MAX = 3_155_760_000_000;

/** Presentation of a sort of events. */
interface EventSort {
  readonly sign: string;
  readonly colour: string;
  readonly what: string;
  /** Members that name an event, and those that describe it; the first one present is shown. */
  readonly names: readonly string[];
  readonly words: readonly string[];
}

const SORTS: ReadonlyMap<string, EventSort> = new Map([
  ["llm_call", {
    sign: "◆",
    colour: "c1",
    what: "model call",
    names: ["model"],
    words: ["text", "output", "content", "completion", "message"],
  }],
  ["tool_call", {
    sign: "⚙",
    colour: "c2",
    what: "tool",
    names: ["name", "tool", "tool_name", "function"],
    words: ["action", "command", "arguments", "args", "input", "parameters"],
  }],
  ["log", { sign: "≡", colour: "c8", what: "log", names: [], words: ["message"] }],
]);

/** All other events, named by their type. */
const OTHER_SORT = {
  sign: "•",
  colour: "c5",
  names: ["name"],
  words: ["title", "message", "label", "summary", "text", "output", "status"],
};

/** Reads the preview of an event from its data. */
export function previewOf(event: PositionedEvent): EventPreview {
  const { type, data } = event;
  const members = rawMembers(data);
  const { error, call } = storedFacts(type, data);
  const sort = SORTS.get(type);
  const { sign, colour, what, names, words } = sort ?? { ...OTHER_SORT, what: type };
  return {
    event,
    members,
    sign,
    colour: error ? "bad" : colour,
    what,
    name: wordsOf(members, names),
    words: wordsOf(members, words) ??
      (sort !== undefined || EMPTY.has(data) ? null : lineOf(data, LINE_CHARS)),
    latencyMs: spanOf(members.get("latency_ms")) ?? spanOf(members.get("duration_ms")),
    tokens: call?.counted === true ? call : null,
    failure: error ? reasonIn(members) ?? "it gives no reason" : null,
  };
}

/** Converts a text to one line of at most `charsMax` characters. */
export function lineOf(text: string, charsMax: number): string {
  const { text: line, isCut } = excerpt(text, charsMax);
  return `${printable(line).replace(/\s+/g, " ").trim()}${isCut ? "…" : ""}`;
}

/** Returns the text of the first member that is not empty. */
function wordsOf(members: ReadonlyMap<string, RawJson>, names: readonly string[]): string | null {
  const first = names.map((name) => members.get(name)).find((value) =>
    value !== undefined && !EMPTY.has(value)
  );
  return first === undefined ? null : wordsIn(first, LINE_CHARS);
}

/** Shows a JSON string as its text and other JSON as received, on one line. */
function wordsIn(value: RawJson, charsMax: number): string {
  if (!value.startsWith('"')) return lineOf(value, charsMax);
  const { text, isCut } = excerptOfString(value, charsMax);
  return lineOf(text, charsMax) + (isCut ? "…" : "");
}

function spanOf(value: string | undefined): number | null {
  const ms = value === undefined || value.length > 64 ? null : readMilliseconds(JSON.parse(value));
  return ms !== null && ms <= LATENCY_MS_MAX ? ms : null;
}

/**
 * Finds the reason of a failure in the members of its data: `error`, else `message` or `status`;
 * null if there is none.
 */
export function reasonIn(members: ReadonlyMap<string, RawJson>): string | null {
  const error = members.get("error");
  const reason = error?.startsWith("{") ? rawMembers(error).get("message") ?? error : error;
  const first = [reason, members.get("message"), members.get("status")].find((value) =>
    value !== undefined && !EMPTY.has(value)
  );
  if (first === undefined) return null;
  return wordsIn(first, REASON_CHARS);
}

/**
 * Returns the members of a value; a value that is not an object becomes one member called `name`.
 */
export function membersOf(value: RawJson, name: string): ReadonlyMap<string, RawJson> {
  return value.startsWith("{") ? rawMembers(value) : new Map([[name, value]]);
}

/** Values that explain nothing. */
const EMPTY: ReadonlySet<string> = new Set(["null", "true", "false", '""', "{}", "[]"]);
