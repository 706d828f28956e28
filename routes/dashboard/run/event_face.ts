/** What a row of the timeline shows of an event: the few words and figures that tell it from others. */
import { isObject, type RawJson, rawMembers } from "../../../domain/input/json.ts";
import { storedFacts } from "../../../domain/input/parse_events.ts";
import { beginning } from "../../../domain/input/pretty_json.ts";
import { printable } from "../../../domain/input/text.ts";
import type { PlacedEvent } from "../../../domain/ports.ts";
import type { CallTokens } from "../../../domain/money/rates.ts";

/** An event at a glance. */
export interface EventFace {
  readonly event: PlacedEvent;
  /** A sign of its own for each sort of event, and the class of its colour. */
  readonly sign: string;
  readonly colour: string;
  /** What it is, in words. */
  readonly what: string;
  /** Its name or first words; null where its data has none. */
  readonly label: string | null;
  /** Milliseconds it took; null where it does not say. */
  readonly latencyMs: number | null;
  /** What a model call used; null for all else, and where it was not counted. */
  readonly tokens: CallTokens | null;
  /** Why it failed; null where it did not. */
  readonly failure: string | null;
}

/** Characters of a label: a line. */
const LABEL_CHARS = 140;

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

/** Members that name an event or say what it is about, the first that is there counts. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  llm_call: ["model"],
  tool_call: ["name", "tool", "tool_name", "function"],
  log: ["message"],
};
const OTHER_NAMES = ["name", "title", "message", "label", "summary", "text", "output", "status"];

/** Reads an event's face out of its data. */
export function faceOf(event: PlacedEvent): EventFace {
  const { type, data } = event;
  const sent: unknown = JSON.parse(data);
  const members = isObject(sent) ? sent : {};
  const { error, call } = storedFacts(type, data);
  const [sign, colour, what] = Object.hasOwn(SORTS, type)
    ? SORTS[type] ?? ["•", "c5", type]
    : ["•", "c5", type] as const;
  return {
    event,
    sign,
    colour: error ? "bad" : colour,
    what,
    label: labelOf(members, Object.hasOwn(NAMES, type) ? NAMES[type] ?? OTHER_NAMES : OTHER_NAMES),
    latencyMs: spanOf(members.latency_ms) ?? spanOf(members.duration_ms),
    tokens: call?.counted === true ? call : null,
    failure: error ? reasonIn(data) ?? "it says no more than that it failed" : null,
  };
}

/** A text on one line, no longer than it may be. */
export function lineOf(text: string, charsMax: number): string {
  const { text: shown, isCut } = beginning(text, charsMax);
  return `${printable(shown).replace(/\s+/g, " ").trim()}${isCut ? "…" : ""}`;
}

function labelOf(members: Record<string, unknown>, names: readonly string[]): string | null {
  const found = names.map((name) => members[name])
    .find((value) => typeof value === "string" && value.trim() !== "");
  return typeof found === "string" ? lineOf(found, LABEL_CHARS) : null;
}

function spanOf(value: unknown): number | null {
  return typeof value === "number" && value >= 0 && value <= LATENCY_MS_MAX ? value : null;
}

/** Why something went wrong, by what its data says: `error`, or what else there is; null for nothing. */
export function reasonIn(data: RawJson): string | null {
  const members = rawMembers(data);
  const error = members.get("error");
  const told = error?.startsWith("{") ? rawMembers(error).get("message") ?? error : error;
  const first = [told, members.get("message"), members.get("status")].find((each) =>
    each !== undefined && !EMPTY.has(each)
  );
  if (first === undefined) return null;
  return lineOf(first.startsWith('"') ? JSON.parse(first) as string : first, REASON_CHARS);
}

/** Values that say nothing of why. */
const EMPTY: ReadonlySet<string> = new Set(["null", "true", "false", '""', "{}"]);
