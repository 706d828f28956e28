/** Evidence in each response about the parts of a run at the instant its call took effect. */
import type { Call, Operation, Outcome, Reported, Written } from "./calls.ts";
import { eventId } from "../../support/builders/requests.ts";
import { claimsOf, type Part, type View } from "./view.ts";

/** Evidence of a response: parts that existed, and parts that did not. */
interface Evidence {
  readonly sees: readonly Part[];
  readonly misses: readonly Part[];
}

/** Final state of a run. */
export interface End {
  readonly calls: ReadonlyMap<number, Call>;
  /** The run as the final read shows it. */
  readonly view: View;
}

const NOTHING: Evidence = { sees: [], misses: [] };

/** Returns the evidence of an operation, or a text if it is impossible in any order. */
export function evidenceOf({ call, outcome }: Operation, end: End): Evidence | string {
  if (outcome.kind === "strange") return outcome.why;
  if (outcome.kind === "unknown") return NOTHING;
  if (outcome.kind === "refused") return evidenceOfRefusal(call);
  // A further finish may say anything (R35).
  if (call.flawed && !(call.kind === "finish" && outcome.kind === "again")) {
    return "was accepted despite its flaw";
  }
  if (outcome.kind === "seen") return evidenceOfRead(outcome.view, end);
  if (outcome.kind === "appended") {
    return call.kind === "events" ? evidenceOfBatch(call, outcome, end) : "got another's answer";
  }
  if (outcome.kind === "conflict") {
    const differs = differenceOf(call, end);
    if (differs === outcome.field) return { sees: ["opening"], misses: [] };
    return `got a conflict because ${outcome.field} differs, but ${differs ?? "nothing"} does`;
  }
  return call.kind === "finish"
    ? evidenceOfFinish(call, outcome, end)
    : evidenceOfOpening(call, outcome, end);
}

function evidenceOfRefusal({ kind, flawed }: Call): Evidence | string {
  if (!flawed) return "was refused without a flaw";
  return { sees: [], misses: kind === "finish" ? ["closing"] : [] };
}

function evidenceOfRead(view: View, end: End): Evidence | string {
  for (const [part, by] of view.parts) {
    const stored = end.view.parts.get(part);
    if (stored !== undefined && stored !== by) {
      return `read another ${part} than the final one`;
    }
  }
  const expected = JSON.stringify(claimsOf(view.parts, end.calls, end.view.facts.startedAt));
  const actual = JSON.stringify(view.facts);
  if (actual !== expected) return `shows ${actual}, but its parts say ${expected}`;
  const misses = [...end.view.parts.keys()].filter((part) => !view.parts.has(part));
  return { sees: [...view.parts.keys()], misses };
}

function evidenceOfBatch(
  { by, items }: Call & { kind: "events" },
  { accepted, duplicates }: Extract<Outcome, { kind: "appended" }>,
  { view }: End,
): Evidence | string {
  if (accepted + duplicates !== items.length) return "did not count all its events";
  const own = partsOf(by, view).length;
  if (accepted > 0 && accepted !== own) {
    return `got a response that ${accepted} events are stored, but ${own} of them exist at the end`;
  }
  return { sees: items.map(({ event }) => eventId(event) as Part), misses: [] };
}

function evidenceOfFinish(call: Call, { kind, reported }: Written, end: End): Evidence | string {
  const by = end.view.parts.get("closing");
  if (kind === "first" && by !== call.by) return lost("closing", by);
  const closedBy = end.calls.get(by ?? -1)?.kind === "ping" ? null : by ?? null;
  if (reported.closedBy !== closedBy || reported.status !== end.view.facts.status) {
    return "got a response with another close than the final one";
  }
  return { sees: ["closing"], misses: [] };
}

function evidenceOfOpening(call: Call, { kind, reported }: Written, end: End): Evidence | string {
  const closes = call.kind === "beat" || call.kind === "ping";
  const touches: readonly Part[] = closes ? ["opening", "closing"] : ["opening"];
  const { parts, facts } = end.view;
  if (kind === "first" && !touches.some((part) => parts.get(part) === call.by)) {
    const part = closes ? "closing" : "opening";
    return lost(part, parts.get(part));
  }
  const differs = differenceOf(call, end);
  if (differs !== null) return `was accepted although its ${differs} differs`;
  const { agent = facts.agent, startedAt = facts.startedAt } = reported;
  if (agent !== facts.agent || startedAt !== facts.startedAt) {
    return "got a response with another opening than the final one";
  }
  // Heartbeats have no word for a cancelled run (R37).
  const isUnnamed = call.kind !== "open" && facts.status === "cancelled";
  const final = isUnnamed ? "failed" : facts.status;
  return withStatus(touches, reported, kind === "again" || closes, final);
}

/** Adds the evidence of the status in a response; a first opening shows nothing about a close. */
function withStatus(
  sees: readonly Part[],
  { status }: Reported,
  showsClose: boolean,
  final: string,
): Evidence | string {
  if (status === undefined) return { sees, misses: [] };
  if (!showsClose) {
    return status === "running" ? { sees, misses: [] } : `got a response that the run is ${status}`;
  }
  if (status === "running") return { sees, misses: ["closing"] };
  if (status !== final) return `got a response that the run is ${status}, but it is ${final}`;
  return { sees: [...sees, "closing"], misses: [] };
}

export function partsOf(by: number, { parts }: View): Part[] {
  return [...parts].flatMap(([part, stored]) => stored === by ? [part] : []);
}

function lost(part: Part, by: number | undefined): string {
  const there = by === undefined ? "there is none" : `it belongs to call ${by}`;
  return `got a response that it stored the ${part}, but at the end ${there}`;
}

/**
 * Returns the first field in which a call differs from the opening, in the order of decision 14.
 */
function differenceOf(call: Call, { view: { facts } }: End): "agent" | "started_at" | null {
  if (!("agent" in call)) return null;
  if (call.agent !== facts.agent) return "agent";
  const differs = call.startedAt !== null && call.startedAt !== facts.startedAt;
  return differs ? "started_at" : null;
}
