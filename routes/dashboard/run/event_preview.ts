/** Previews of events: the text and metrics that a timeline row shows. */
import { isObject, type RawJson, rawMembers } from "../../../domain/core/raw_json.ts";
import { chatOf } from "../../../domain/runs/chat.ts";
import { storedFacts } from "../../../domain/runs/event.ts";
import { excerpt, excerptOfString } from "../../../domain/core/pretty_json.ts";
import { printable } from "../../../domain/core/text.ts";
import type { PositionedEvent } from "../../../domain/runs/event_page.ts";
import { durationText } from "../components/format.ts";
import { plainText } from "../components/markdown.tsx";

/** Summary of an event. */
export type EventPreview = ReturnType<typeof previewOf>;

/** Maximum characters of a name or of the first text: one line. */
const LINE_CHARS = 140;

/** Maximum characters of a reason: a few lines. */
const REASON_CHARS = 400;

/**
 * Presentation of event types: a distinct symbol, the class of its colour, a label, the members
 * that may name an event, and the members that may describe it. The first member present is shown.
 */
const SORTS = new Map([
  ["llm_call", {
    sign: "◆",
    colour: "c1",
    label: "model call",
    names: ["model"],
    texts: ["text", "output", "content", "completion", "message"],
  }],
  ["tool_call", {
    sign: "⚙",
    colour: "c2",
    label: "tool",
    names: ["name", "tool", "tool_name", "function"],
    texts: ["action", "command", "arguments", "args", "input", "parameters"],
  }],
  ["log", { sign: "≡", colour: "c8", label: "log", names: [], texts: ["message"] }],
]);

/** All other events, named by their type. */
const OTHER_SORT = {
  sign: "•",
  colour: "c5",
  names: ["name"],
  texts: ["title", "message", "label", "summary", "text", "output", "status"],
};

/** Reads the preview of an event from its data. */
export function previewOf(event: PositionedEvent) {
  const { type, data } = event;
  const members = rawMembers(data);
  const { error, call, latencyMs } = storedFacts(type, data);
  const sort = SORTS.get(type);
  const { sign, colour, label, names, texts } = sort ?? { ...OTHER_SORT, label: type };
  return {
    event,
    members,
    sign,
    colour: error ? "bad" : colour,
    label,
    name: firstLine(names.map((name) => members.get(name)), LINE_CHARS),
    text: (type === "llm_call" ? answerIn(data) : null) ??
      firstLine(texts.map((name) => members.get(name)), LINE_CHARS) ??
      (sort !== undefined || EMPTY.has(data) ? null : lineOf(data, LINE_CHARS)),
    latencyMs: latencyMs ?? null,
    /** Tokens of a model call; null for other events, and if they were not counted. */
    tokens: call?.counted === true ? call : null,
    /** Reason of the failure; null if the event did not fail. */
    failure: error ? reasonIn(members) ?? "it gives no reason" : null,
  };
}

/** Maximum characters of a model call whose messages are read for its row. */
const CHAT_CHARS_MAX = 20_000;

/** Returns the first words of a model's answer, else the tool that it calls; null for neither. */
function answerIn(data: RawJson): string | null {
  if (data.length > CHAT_CHARS_MAX) return null;
  const parsed: unknown = JSON.parse(data);
  if (!isObject(parsed)) return null;
  const parts = chatOf(parsed).output.flatMap(({ parts }) => parts);
  const text = parts.find((part) => part.kind === "text" && part.text.trim() !== "");
  if (text?.kind === "text") return proseLine(text.text, LINE_CHARS);
  const call = parts.find((part) => part.kind === "call");
  return call?.kind === "call" ? lineOf(call.name, LINE_CHARS) : null;
}

/** Converts a text to one line of at most `charsMax` characters. */
export function lineOf(text: string, charsMax: number): string {
  const { text: line, isCut } = excerpt(text, charsMax);
  return `${printable(line).replace(/\s+/g, " ").trim()}${isCut ? "…" : ""}`;
}

/** Converts Markdown to one line without its marks; a text of nothing but marks stays. */
export function proseLine(text: string, charsMax: number): string {
  const start = excerpt(text, 2 * charsMax).text;
  return lineOf(plainText(start) || start, charsMax);
}

/**
 * Returns the first value that is not empty on one line: a JSON string as its text, other JSON as
 * received. Null if there is none.
 */
function firstLine(values: readonly (RawJson | undefined)[], charsMax: number): string | null {
  const first = values.find((value) => value !== undefined && !EMPTY.has(value));
  if (first === undefined) return null;
  if (!first.startsWith('"')) return lineOf(first, charsMax);
  const { text, isCut } = excerptOfString(first, charsMax);
  return lineOf(text, charsMax) + (isCut ? "…" : "");
}

/**
 * Finds the reason of a failure in the members of its data: `error`, else `message` or `status`;
 * null if there is none.
 */
export function reasonIn(members: ReadonlyMap<string, RawJson>): string | null {
  const error = members.get("error");
  const reason = error?.startsWith("{") ? rawMembers(error).get("message") ?? error : error;
  return firstLine([reason, members.get("message"), members.get("status")], REASON_CHARS);
}

/**
 * Returns the members of a value; a value that is not an object becomes one member called `name`.
 */
export function membersOf(value: RawJson, name: string): ReadonlyMap<string, RawJson> {
  return value.startsWith("{") ? rawMembers(value) : new Map([[name, value]]);
}

/** Formats the time since the start of a run, such as `+2.4 s`; earlier times have a minus. */
export function offsetText(ts: number, startMs: number): string {
  return ts < startMs ? `−${durationText(startMs - ts)}` : `+${durationText(ts - startMs)}`;
}

/** Values that explain nothing. */
const EMPTY: ReadonlySet<string> = new Set(["null", "true", "false", '""', "{}", "[]"]);
