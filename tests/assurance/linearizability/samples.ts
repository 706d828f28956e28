/** Building blocks of sample histories: a few calls by index, and responses to them. */
import { eventId } from "../../support/builders/requests.ts";
import type { Call, Operation, Outcome, Written } from "./calls.ts";
import { claimsOf, type Part, type View } from "./view.ts";

const STARTED_AT = "2026-11-21T12:00:00.000Z", LATER = "2026-11-21T12:00:01.000Z";

/** Calls of all tests, by index. */
const CALLS = ([
  { kind: "open", agent: "atlas", startedAt: STARTED_AT },
  { kind: "finish", status: "failed" },
  { kind: "events", items: [{ event: 1, tokens: 10 }, { event: 2, tokens: 20 }] },
  { kind: "events", items: [{ event: 3, tokens: 30 }], flawed: true },
  { kind: "open", agent: "boreas", startedAt: LATER },
  { kind: "beat", agent: "atlas", startedAt: null, costUsd: 0.5, ending: "ok" },
  { kind: "events", items: [{ event: 2, tokens: 21 }] },
  { kind: "finish", status: "cancelled" },
  { kind: "read" },
] as Record<string, unknown>[]).map((fields, by) => ({ by, flawed: false, ...fields }) as Call);
export const OPEN = 0, FINISH = 1, BATCH = 2, FLAWED = 3, OTHER = 4, BEAT = 5, REPEAT = 6, END = 7;
export const READ = 8;

/** Creates an operation with one of {@link CALLS}. */
export function op(call: number, beginMs: number, endMs: number, outcome: Outcome): Operation {
  return { call: CALLS[call] as Call, beginMs, endMs, outcome };
}

export const FIRST: Written = {
  kind: "first",
  reported: { agent: "atlas", startedAt: STARTED_AT, status: "running" },
};
export const AGAIN: Written = { ...FIRST, kind: "again" };
export const BEATEN: Written = {
  kind: "first",
  reported: { agent: "atlas", startedAt: STARTED_AT, status: "success" },
};
export const FINISHED: Written = {
  kind: "first",
  reported: { status: "failed", closedBy: FINISH },
};
export const UNKNOWN: Outcome = { kind: "unknown" };

export function appended(accepted: number, duplicates = 0): Outcome {
  return { kind: "appended", accepted, duplicates };
}

/** Creates a read that shows parts, named `opening`, `closing` or by the number of an event. */
export function read(
  beginMs: number,
  endMs: number,
  stored: Record<string, number>,
  facts: Partial<View["facts"]> = {},
): Operation {
  const parts = new Map<Part, number>();
  for (const [name, by] of Object.entries(stored)) {
    parts.set((/\d/.test(name) ? eventId(Number(name)) : name) as Part, by);
  }
  const calls = new Map(CALLS.map((call) => [call.by, call]));
  const view = { parts, facts: { ...claimsOf(parts, calls, STARTED_AT), ...facts } };
  return op(READ, beginMs, endMs, { kind: "seen", view });
}

/** Creates the read that ends a history. */
export function last(
  stored: Record<string, number>,
  facts: Partial<View["facts"]> = {},
): Operation {
  return read(900, 910, stored, facts);
}
