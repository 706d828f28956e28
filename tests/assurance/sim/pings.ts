/** Pings without an id: the run that one belongs to (R23). Imports nothing from the service. */
import { parseInstant } from "./rules.ts";
import type { Fields, Request, State } from "./shape.ts";

const DAY_MS = 86_400_000;

/** Run statuses by the status of a ping. */
const STATUSES: Readonly<Record<string, string>> = {
  ok: "success",
  fail: "failed",
  timeout: "timeout",
};

/** Returns the status of a ping: as sent, else by its exit code. */
export function statusOfPing({ status, exit_code = "0" }: Fields): string {
  if (status !== undefined) return String(status);
  return Number(exit_code) === 0 ? "ok" : String(exit_code) === "124" ? "timeout" : "fail";
}

/** Returns the id of the stored run that a ping opens again or closes; null if it is a new run. */
export function runOfPing(state: State, { call, fields }: Request, now: number): string | null {
  const { id = null, agent, rid = null, started_at = null } = fields;
  if (call !== "ping" || id !== null) return null;
  const status = statusOfPing(fields);
  if (status === "start" && rid === null) return null;
  const named = (state.pings[String(agent)] ?? []).filter((ping) =>
    rid === null || ping.rid === rid
  );
  const newest = named.toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
  for (const ping of rid === null ? newest : named.slice(-1)) {
    const { opening, closing } = state.runs[ping.id]!;
    const isOther = started_at !== null && parseInstant(started_at) !== opening?.started_at;
    const isOpen = closing === undefined;
    // Only with a `rid` can a ping be repeated.
    const isAgain = rid !== null && closing?.status === STATUSES[status];
    if (ping.at >= now - DAY_MS && !isOther && (isOpen || isAgain)) return ping.id;
  }
  return null;
}

/** Notes the run that a `start` without an id opens. */
export function withPing(state: State, { call, fields }: Request, run: string, at: number): State {
  const { id = null, agent, rid } = fields;
  if (call !== "ping" || id !== null || statusOfPing(fields) !== "start") return state;
  const pings = [...state.pings[String(agent)] ?? [], { id: run, at, rid }];
  return { ...state, pings: { ...state.pings, [String(agent)]: pings } };
}
