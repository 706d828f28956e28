/** What a row of the timeline shows of an event: the few words and figures that tell it from others. */
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

/** Sorts of events with words of their own, and where their name is. */
const SORTS: Readonly<Record<string, readonly [sign: string, colour: string, what: string]>> = {
  llm_call: ["◆", "c1", "model call"],
  tool_call: ["⚙", "c2", "tool"],
  log: ["≡", "c8", "log"],
};

/** Members that name an event, and those that say what it is about; the first that is there counts. */
const NAMES: Readonly<
  Record<string, readonly [names: readonly string[], words: readonly string[]]>
> = {
  llm_call: [["model"], ["text", "output", "content", "completion", "message"]],
  tool_call: [
    ["name", "tool", "tool_name", "function"],
    ["action", "command", "arguments", "args", "input", "parameters"],
  ],
  log: [[], ["message"]],
};
const OTHERS = [["name"], [
  "title",
  "message",
  "label",
  "summary",
  "text",
  "output",
  "status",
]] as const;

/** Reads an event's face out of its data. */
export function previewOf(event: PositionedEvent): EventPreview {
  const { type, data } = event;
  const members = rawMembers(data);
  const { error, call } = storedFacts(type, data);
  const [sign, colour, what] = Object.hasOwn(SORTS, type)
    ? SORTS[type] ?? ["•", "c5", type]
    : ["•", "c5", type] as const;
  const hasWords = Object.hasOwn(NAMES, type);
  const [names, words] = hasWords ? NAMES[type] ?? OTHERS : OTHERS;
  return {
    event,
    members,
    sign,
    colour: error ? "bad" : colour,
    what,
    name: wordsOf(members, names),
    words: wordsOf(members, words) ??
      (hasWords || EMPTY.has(data) ? null : lineOf(data, LINE_CHARS)),
    latencyMs: spanOf(members.get("latency_ms")) ?? spanOf(members.get("duration_ms")),
    tokens: call?.counted === true ? call : null,
    failure: error ? reasonIn(members) ?? "it says no more than that it failed" : null,
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
  const told = error?.startsWith("{") ? rawMembers(error).get("message") ?? error : error;
  const first = [told, members.get("message"), members.get("status")].find((each) =>
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
