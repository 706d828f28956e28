/** Pings without an id: the run that one belongs to (R23). Imports nothing from the service. */
import type { Fields, Request, State } from "./shape.ts";

const DAY_MS = 86_400_000;

const STATUSES: Readonly<Record<string, string>> = {
  ok: "success",
  fail: "failed",
  timeout: "timeout",
};

export function statusOfPing({ status, exit_code = "0" }: Fields): string {
  if (status !== undefined) return String(status);
  return Number(exit_code) === 0 ? "ok" : String(exit_code) === "124" ? "timeout" : "fail";
}

/** Returns the id of the stored run that a ping opens again or closes; null if it is a new run. */
export function runOfPing(state: State, { call, fields }: Request, now: number): string | null {
  const { id = null, agent, rid = null } = fields;
  if (call !== "ping" || id !== null) return null;
  const status = statusOfPing(fields);
  if (status === "start" && rid === null) return null;
  const pings = (state.pings[String(agent)] ?? []).filter(({ at }) => at >= now - DAY_MS);
  const meant = pings.filter((ping) => rid === null ? ping.isOpen : ping.rid === rid);
  for (const ping of meant.toReversed()) {
    const { closing } = state.runs[ping.id]!;
    // Only with a `rid` can a ping be repeated.
    const isAgain = rid !== null && closing?.status === STATUSES[status];
    if (closing === undefined || isAgain) return ping.id;
  }
  return null;
}

/** Notes the run that a ping without an id writes. */
export function withPing(state: State, { call, fields }: Request, run: string, at: number): State {
  const { id = null, agent, rid = null } = fields;
  if (call !== "ping" || id !== null) return state;
  const pings = state.pings[String(agent)] ?? [];
  const known = pings.find((ping) => ping.id === run);
  const others = pings.filter((ping) => ping !== known && (rid === null || ping.rid !== rid));
  const noted = { id: run, at, rid: known?.rid ?? rid, isOpen: statusOfPing(fields) === "start" };
  return { ...state, pings: { ...state.pings, [String(agent)]: [...others, noted] } };
}
