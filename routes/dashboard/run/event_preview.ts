/** Previews of events: the few words and metrics that a row of the timeline shows. */
import { type RawJson, rawMembers } from "../../../domain/core/raw_json.ts";
import { readMilliseconds } from "../../../domain/pricing/llm_call.ts";
import { storedFacts } from "../../../domain/runs/event.ts";
import { excerpt, excerptOfString } from "../../../domain/core/pretty_json.ts";
import { printable } from "../../../domain/core/text.ts";
import type { PositionedEvent } from "../../../domain/runs/event_page.ts";
import type { CallTokens } from "../../../domain/pricing/rates.ts";

/** An event at a glance. */
export interface EventPreview {
  readonly event: PositionedEvent;
  /** Members of its data. */
  readonly members: ReadonlyMap<string, RawJson>;
  /** A sign of its own for each sort of event, and the class of its colour. */
  readonly sign: string;
  readonly colour: string;
  /** What it is, in words. */
  readonly what: string;
  /** Its name; null where its data has none. */
  readonly name: string | null;
  /** The first words of what it is about; null where its data has none. */
  readonly words: string | null;
  /** Milliseconds it took; null where it does not say. */
  readonly latencyMs: number | null;
  /** What a model call used; null for all else, and where it was not counted. */
  readonly tokens: CallTokens | null;
  /** Why it failed; null where it did not. */
  readonly failure: string | null;
}

/** Characters of a name or of the first words: a line. */
const LINE_CHARS = 140;

/** Characters of a reason: a few lines. */
const REASON_CHARS = 400;

/** How much time an event can have taken: 100 years; more is no latency. */
const LATENCY_MS_MAX = 3_155_760_000_000;

/** How a sort of events is shown. */
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

/** All other events, which are named by their type. */
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

/** A text on one line, no longer than it may be. */
export function lineOf(text: string, charsMax: number): string {
  const { text: shown, isCut } = excerpt(text, charsMax);
  return `${printable(shown).replace(/\s+/g, " ").trim()}${isCut ? "…" : ""}`;
}

/** What the first member that says something says. */
function wordsOf(members: ReadonlyMap<string, RawJson>, names: readonly string[]): string | null {
  const found = names.map((name) => members.get(name)).find((value) =>
    value !== undefined && !EMPTY.has(value)
  );
  return found === undefined ? null : wordsIn(found, LINE_CHARS);
}

/** A text as it reads, all else as it was sent, on one line. */
function wordsIn(value: RawJson, charsMax: number): string {
  if (!value.startsWith('"')) return lineOf(value, charsMax);
  const { text, isCut } = excerptOfString(value, charsMax);
  return lineOf(text, charsMax) + (isCut ? "…" : "");
}

function spanOf(value: string | undefined): number | null {
  const ms = value === undefined || value.length > 64 ? null : readMilliseconds(JSON.parse(value));
  return ms !== null && ms <= LATENCY_MS_MAX ? ms : null;
}

/** Why something went wrong, by what members of its data say: `error`, or what else there is; null for nothing. */
export function reasonIn(members: ReadonlyMap<string, RawJson>): string | null {
  const error = members.get("error");
  const reason = error?.startsWith("{") ? rawMembers(error).get("message") ?? error : error;
  const first = [reason, members.get("message"), members.get("status")].find((each) =>
    each !== undefined && !EMPTY.has(each)
  );
  if (first === undefined) return null;
  return wordsIn(first, REASON_CHARS);
}

/** The members of a value; one that is no object is a member itself, under `name`. */
export function membersOf(value: RawJson, name: string): ReadonlyMap<string, RawJson> {
  return value.startsWith("{") ? rawMembers(value) : new Map([[name, value]]);
}

/** Values that say nothing of why. */
const EMPTY: ReadonlySet<string> = new Set(["null", "true", "false", '""', "{}", "[]"]);
