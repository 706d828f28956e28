/** What each answer proves about the parts of a run at the instant its call took effect. */
import type { Call, Operation, Outcome, Told, Written } from "./calls.ts";
import { eventId } from "../../support/builders/requests.ts";
import { factsOf, type Part, type View } from "./view.ts";

/** What an answer proves: parts that were there, and parts that were not. */
export interface Sight {
  readonly sees: readonly Part[];
  readonly misses: readonly Part[];
}

/** What all calls to a run came to. */
export interface End {
  /** The calls by their numbers. */
  readonly calls: ReadonlyMap<number, Call>;
  /** The run as it is in the end. */
  readonly view: View;
}

const NOTHING: Sight = { sees: [], misses: [] };

/** What an operation proves; a text says why it cannot be, whatever the order was. */
export function sightOf({ call, outcome }: Operation, end: End): Sight | string {
  if (outcome.kind === "strange") return outcome.why;
  if (outcome.kind === "unknown") return NOTHING;
  if (outcome.kind === "refused" || call.flawed) {
    if (outcome.kind === "refused" && call.flawed) return NOTHING;
    return call.flawed ? "was taken in spite of its flaw" : "was refused without a flaw";
  }
  if (outcome.kind === "seen") return sightOfRead(outcome.view, end);
  if (outcome.kind === "appended") {
    return call.kind === "events" ? sightOfBatch(call, outcome, end) : "got another's answer";
  }
  if (outcome.kind === "conflict") {
    const differs = differenceOf(call, end);
    if (differs === outcome.field) return { sees: ["opening"], misses: [] };
    return `was told that ${outcome.field} differs, but ${differs ?? "nothing"} does`;
  }
  return call.kind === "finish"
    ? sightOfFinish(call, outcome, end)
    : sightOfOpening(call, outcome, end);
}

function sightOfRead(view: View, end: End): Sight | string {
  for (const [part, by] of view.parts) {
    const stored = end.view.parts.get(part);
    if (stored !== undefined && stored !== by) {
      return `saw another ${part} than is there in the end`;
    }
  }
  const expected = JSON.stringify(factsOf(view.parts, end.calls, end.view.facts.startedAt));
  const shown = JSON.stringify(view.facts);
  if (shown !== expected) return `shows ${shown}, but its parts say ${expected}`;
  const misses = [...end.view.parts.keys()].filter((part) => !view.parts.has(part));
  return { sees: [...view.parts.keys()], misses };
}

function sightOfBatch(
  { by, items }: Call & { kind: "events" },
  { accepted, duplicates }: Extract<Outcome, { kind: "appended" }>,
  { view }: End,
): Sight | string {
  if (accepted + duplicates !== items.length) return "did not count all its events";
  const own = partsOf(by, view).length;
  if (accepted > 0 && accepted !== own) {
    return `was told that ${accepted} events are stored, but ${own} of its are there in the end`;
  }
  return { sees: items.map(({ event }) => eventId(event) as Part), misses: [] };
}

function sightOfFinish(call: Call, { kind, told }: Written, end: End): Sight | string {
  const by = end.view.parts.get("closing");
  if (kind === "first" && by !== call.by) return lost("closing", by);
  const closedBy = end.calls.get(by ?? -1)?.kind === "ping" ? null : by ?? null;
  if (told.closedBy !== closedBy || told.status !== end.view.facts.status) {
    return "was told of another close than is there in the end";
  }
  return { sees: ["closing"], misses: [] };
}

function sightOfOpening(call: Call, { kind, told }: Written, end: End): Sight | string {
  const closes = call.kind === "beat" || call.kind === "ping";
  const touches: readonly Part[] = closes ? ["opening", "closing"] : ["opening"];
  const { parts, facts } = end.view;
  if (kind === "first" && !touches.some((part) => parts.get(part) === call.by)) {
    const part = closes ? "closing" : "opening";
    return lost(part, parts.get(part));
  }
  const differs = differenceOf(call, end);
  if (differs !== null) return `was taken, although its ${differs} differs`;
  const { agent = facts.agent, startedAt = facts.startedAt } = told;
  if (agent !== facts.agent || startedAt !== facts.startedAt) {
    return "was told of another opening than is there in the end";
  }
  return withStatus(touches, told, kind === "again" || closes, facts.status);
}

/** Adds what the status in an answer proves; a first opening says nothing of a close. */
function withStatus(
  sees: readonly Part[],
  { status }: Told,
  telling: boolean,
  inTheEnd: string,
): Sight | string {
  if (status === undefined) return { sees, misses: [] };
  if (!telling) {
    return status === "running" ? { sees, misses: [] } : `was told that the run is ${status}`;
  }
  if (status === "running") return { sees, misses: ["closing"] };
  if (status !== inTheEnd) return `was told that the run is ${status}, but it is ${inTheEnd}`;
  return { sees: [...sees, "closing"], misses: [] };
}

/** The parts that a call stored. */
export function partsOf(by: number, { parts }: View): Part[] {
  return [...parts].flatMap(([part, stored]) => stored === by ? [part] : []);
}

function lost(part: Part, by: number | undefined): string {
  const there = by === undefined ? "there is none" : `that is of call ${by}`;
  return `was told that it stored the ${part}, but in the end ${there}`;
}

/** The first field in which a call differs from the opening, in the order of decision 14. */
function differenceOf(call: Call, { view: { facts } }: End): "agent" | "started_at" | null {
  if (!("agent" in call)) return null;
  if (call.agent !== facts.agent) return "agent";
  const differs = call.startedAt !== null && call.startedAt !== facts.startedAt;
  return differs ? "started_at" : null;
}
