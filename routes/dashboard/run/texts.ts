/** Texts of runs and of their events: titles, previews, and reasons of failures. */
import { isObject, type RawJson, rawMembers } from "../../../domain/core/raw_json.ts";
import type { JsonFields } from "../../../domain/core/body.ts";
import { chatOf } from "../../../domain/runs/chat.ts";
import { storedFacts } from "../../../domain/runs/event.ts";
import { excerpt, excerptOfString } from "../../../domain/core/pretty_json.ts";
import { printable } from "../../../domain/core/text.ts";
import type { PositionedEvent } from "../../../domain/runs/event_page.ts";
import { durationText } from "../components/format.ts";
import { plainText } from "../components/markdown.tsx";
import { nameIn } from "../../../domain/runs/list_filter.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { errorIn, type RunStatus } from "../../../domain/runs/run.ts";

/** Summary of an event. */
export type EventPreview = ReturnType<typeof previewOf>;

/** Maximum characters of a name or of the first text: one line. */
const LINE_CHARS = 140;

/** Maximum characters of the reason of an event: a few lines. */
const EVENT_REASON_CHARS = 400;

/** Event types by name. Of the members that may name or describe an event, the first one does. */
const SORTS = {
  llm_call: {
    kind: "model",
    label: "model call",
    names: ["model"],
    texts: ["text", "output", "content", "completion", "message"],
  },
  tool_call: {
    kind: "tool",
    label: "tool",
    names: ["name", "tool", "tool_name", "function"],
    texts: ["action", "command", "arguments", "args", "input", "parameters"],
  },
  log: { kind: "log", label: "log", names: [], texts: ["message"] },
} as const;

/** Kinds of steps that are shown as agents, as JSON. */
const AGENT_KINDS: ReadonlySet<string> = new Set(['"agent"', '"workflow"']);

/** Members of all other events, which have the name of their type. */
const OTHER_TEXTS = ["title", "message", "label", "summary", "text", "output", "status"];

/** Reads the preview of an event from its data. */
export function previewOf(event: PositionedEvent) {
  const { type, data } = event;
  const members = rawMembers(data);
  const isSpan = members.get("span")?.startsWith("{") === true;
  const { error, call, latencyMs } = storedFacts(type, data);
  const { kind, label, names, texts } = Object.hasOwn(SORTS, type)
    ? SORTS[type as keyof typeof SORTS]
    : {
      kind: isSpan && AGENT_KINDS.has(members.get("kind") ?? "")
        ? "agent" as const
        : "span" as const,
      label: type,
      names: ["name"],
      texts: OTHER_TEXTS,
    };
  return {
    event,
    members,
    kind,
    label,
    name: firstLine(names.map((name) => members.get(name))),
    text: (kind === "model" || isSpan && kind !== "tool" ? answerIn(data) : null) ??
      firstLine(texts.map((name) => members.get(name))) ??
      (kind === "span" && !isSpan && !EMPTY.has(data) ? lineOf(data) : null),
    latencyMs: latencyMs ?? null,
    /** True if an instrumentation sent it as a span. */
    isSpan,
    /** Tokens of a model call; null for other events, and if they were not counted. */
    tokens: call?.counted === true ? call : null,
    /** Reason of the failure; null if the event did not fail. */
    failure: error ? reasonIn(members) ?? "it gives no reason" : null,
  };
}

/** Parses the data of an event or a call; empty if it is not an object. */
export function fieldsOf(data: RawJson): JsonFields {
  const parsed: unknown = JSON.parse(data);
  return isObject(parsed) ? parsed : {};
}

/** Maximum characters of a model call whose messages are read for its row. */
const CHAT_CHARS_MAX = 20_000;

/** Returns the first words of a model's answer, else the tool that it calls; null for neither. */
function answerIn(data: RawJson): string | null {
  if (data.length > CHAT_CHARS_MAX) return null;
  const parts = chatOf(fieldsOf(data)).output.flatMap(({ parts }) => parts);
  const text = parts.find((part) => part.kind === "text" && part.text.trim() !== "");
  if (text?.kind === "text") return proseLine(text.text, LINE_CHARS);
  const call = parts.find((part) => part.kind === "call");
  return call?.kind === "call" ? lineOf(call.name) : null;
}

/** Converts a text to one line of at most `charsMax` characters, by default as many as a name has. */
export function lineOf(text: string, charsMax = LINE_CHARS): string {
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
function firstLine(values: readonly (RawJson | undefined)[], charsMax = LINE_CHARS): string | null {
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
function reasonIn(members: ReadonlyMap<string, RawJson>): string | null {
  const error = members.get("error");
  const reason = error?.startsWith("{") ? rawMembers(error).get("message") ?? error : error;
  return firstLine([reason, members.get("message"), members.get("status")], EVENT_REASON_CHARS);
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

/** Maximum characters of a title, and of a reason. */
const TITLE_CHARS = 120, REASON_CHARS = 600;

/** Returns the title of a run, as lists name it. */
export function titleOf({ run }: { readonly run: RunRecord }): string {
  const { opening, output, closedBy, note } = run;
  const error = closedBy === null ? null : note ?? errorIn(output);
  const name = nameIn({ goal: opening?.goal ?? null, error, output });
  return nameOr(run, name && proseLine(name, TITLE_CHARS));
}

/** Returns the name of a run; without one its agent and its id. */
export function nameOr({ id, agent }: Pick<RunRecord, "id" | "agent">, name?: string | null) {
  return name || (agent === null ? "A run without its opening" : `${agent} ${shortId(id)}`);
}

/** Returns the last characters of an id, which differ between runs. */
export function shortId(id: string): string {
  return `…${id.slice(-8)}`;
}

/** Returns why a run failed, in its own words: its note, or the error in its output. */
export function reasonOf({ note, output }: RunRecord): string | null {
  const reason = note ?? (output === null ? null : reasonIn(membersOf(output, "message")));
  return reason === null ? null : lineOf(reason, REASON_CHARS);
}

/** Why a run failed. */
export interface Failure {
  /** The reason; null if it gives none. */
  readonly message: string | null;
  /** Agents of the runs that caused it, then the tool that failed; empty for none. */
  readonly path: string;
}

/** Returns the path to the failure of a run: agents of the runs that caused it, and the tool. */
export function failedPathOf(
  run: Pick<RunRecord, "closedBy" | "failedTool">,
  causes: readonly Pick<RunRecord, "agent" | "closedBy" | "failedTool">[] = [],
): string {
  const { closedBy, failedTool } = causes.at(-1) ?? run;
  // No tool is the reason of a silence.
  const tool = closedBy === "idle" || failedTool === null ? [] : [lineOf(failedTool)];
  return [...causes.flatMap(({ agent }) => agent ?? []), ...tool].join(" › ");
}

/** Says after which silence a run was closed; null if a call closed it, or none has. */
export function silenceOf({ closedBy, opening }: RunRecord): string | null {
  if (closedBy !== "idle") return null;
  const { idleTimeoutSeconds } = opening ?? {};
  return idleTimeoutSeconds === undefined
    ? "closed without an event"
    : `closed after ${durationText(idleTimeoutSeconds * 1_000)} without an event`;
}

/** Returns whether a run ended without success. */
export function isFailure(status: RunStatus | null): boolean {
  return status === "failed" || status === "timeout";
}
