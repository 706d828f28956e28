/** Contents of one read of a run: its parts with their calls, and the values derived from them. */
import type { Call } from "./calls.ts";
import { noTotals, type Totals } from "../../support/oracles/totals.ts";

/** An object that is stored once: the opening, the close, or an event by its id. */
export type Part = "opening" | "closing" | `evt_${string}`;

/** A run as a read shows it. */
export interface View {
  /** Existing parts, each with the number of the call that stored it. */
  readonly parts: ReadonlyMap<Part, number>;
  /** Values of the record other than its parts. */
  readonly facts: Facts;
}

/** Values derived from the parts. */
interface Facts {
  readonly kind: string;
  readonly agent: string | null;
  readonly startedAt: string | null;
  readonly status: string;
  readonly events: number;
  readonly calls: number;
  readonly inputTokens: number;
  /** Picodollars. */
  readonly cost: number;
  /** Tokens of each listed event, in the order of ids. */
  readonly listed: readonly string[];
}

/** Run statuses by the statuses with which heartbeats end a run. */
export const STATUSES = { ok: "success", fail: "failed", timeout: "timeout" } as const;

const PICODOLLARS = 1e12;

/** Cost of a token of an event in picodollars: an input token of `gpt-4o`. */
const TOKEN_COST = 2_500_000;

const NO_FACTS: Facts = {
  kind: "run",
  agent: null,
  startedAt: null,
  status: "running",
  events: 0,
  calls: 0,
  inputTokens: 0,
  cost: 0,
  listed: [],
};

/** Reads a record; null if there is none. */
// deno-lint-ignore no-explicit-any -- a response body
export function viewOf(record: any): View {
  const parts = new Map<Part, number>();
  if (record === null) return { parts, facts: NO_FACTS };
  const { metadata, note, output, usage } = record;
  if (record.agent !== null) {
    parts.set("opening", Number(metadata?.opened_by ?? metadata?.beat_by ?? note));
  }
  if (record.status !== "running") parts.set("closing", Number(output?.by ?? note));
  const listed: string[] = [];
  for (const { id, data } of record.events) {
    parts.set(id, data.by);
    listed.push(`${id} item ${data.item} of call ${data.by}, ${data.input_tokens} tokens`);
  }
  return {
    parts,
    facts: {
      kind: record.kind,
      agent: record.agent,
      startedAt: record.started_at,
      status: record.status,
      events: usage.events,
      calls: usage.llm_calls,
      inputTokens: usage.input_tokens,
      cost: Math.round(record.cost_usd * PICODOLLARS),
      listed: listed.sort(),
    },
  };
}

/**
 * Returns the values that a read with these parts must show.
 *
 * @param receivedAt start of a run whose opening does not set one
 */
export function claimsOf(
  parts: View["parts"],
  calls: ReadonlyMap<number, Call>,
  receivedAt: string | null,
): Facts {
  const opener = calls.get(parts.get("opening") ?? -1);
  const closer = calls.get(parts.get("closing") ?? -1);
  const opening = opener !== undefined && "agent" in opener ? opener : null;
  const listed = [...parts.keys()].filter((part) => part.startsWith("evt_")).sort();
  const items = listed.map((id) => itemOf(id, calls.get(parts.get(id as Part) ?? -1)));
  const inputTokens = items.reduce((sum, { tokens }) => sum + tokens, 0);
  const stated = opening === null || opening.kind === "open"
    ? null
    : statedBy(closer) ?? statedBy(opener);
  return {
    kind: opening === null || opening.kind === "open" ? "run" : "heartbeat",
    agent: opening?.agent ?? null,
    startedAt: opening === null ? null : opening.startedAt ?? receivedAt,
    status: closer === undefined ? "running" : statusOf(closer),
    events: items.length,
    calls: items.length,
    inputTokens,
    cost: stated === null ? inputTokens * TOKEN_COST : Math.round(stated * PICODOLLARS),
    listed: items.map(({ text }) => text),
  };
}

/** Returns the status with which a call closes a run. */
export function statusOf(call: Call): string {
  if (call.kind === "finish") return call.status;
  return "ending" in call ? STATUSES[call.ending] : "running";
}

function statedBy(call: Call | undefined): number | null {
  return call !== undefined && "costUsd" in call ? call.costUsd : null;
}

/** Returns the item of a batch that an event must come from: the first with its id. */
function itemOf(id: string, call: Call | undefined): { tokens: number; text: string } {
  const items = call?.kind === "events" ? call.items : [];
  const item = items.findIndex(({ event }) => Number(`0x${id.slice("evt_eu_".length)}`) === event);
  const tokens = items[item]?.tokens ?? NaN;
  return { tokens, text: `${id} item ${item} of call ${call?.by}, ${tokens} tokens` };
}

/** Returns a run's contribution to usage and spend; spend excludes runs without an opening. */
export function totalsOf({ parts, facts }: View): Totals {
  const opening = parts.get("opening");
  const closing = parts.get("closing");
  // A call that stored both parts counts as one event.
  const counted = facts.events + (opening === undefined ? 0 : 1) +
    (closing === undefined || closing === opening ? 0 : 1);
  if (opening === undefined) return { ...noTotals(), counted };
  const { events, calls, inputTokens, cost } = facts;
  return { counted, runs: 1, events, llmCalls: calls, inputTokens, cost, unpriced: 0 };
}
