/** Coverage of the contract's cells: pairs of a run's state and the call that it receives. */
import { table } from "../../../tools/table.ts";
import type { Answer, Request, Run, State } from "./shape.ts";

/** States of a run by its stored parts. */
const STATES = [
  "nothing",
  "events only",
  "finish only",
  "running",
  "started",
  "idle run",
  "ended run",
  "ended heartbeat",
] as const;
type StateName = typeof STATES[number];

/** Triggers of a run; refusals by reason. */
const TRIGGERS = [
  "open",
  "events, some new",
  "events, none new",
  "finish",
  "heartbeat ends",
  "heartbeat starts",
  "ping ends",
  "ping starts",
  "malformed",
  "restart",
  "agent cap",
  "open, other agent",
  "open, other started_at",
  "heartbeat, other agent",
  "heartbeat, other started_at",
  "ping, other agent",
  "ping, other started_at",
] as const;
type Trigger = typeof TRIGGERS[number];

/** Only a stored opening can differ, and only a missing one can need a new agent. */
function isPossible(state: StateName, trigger: Trigger): boolean {
  const hasOpening = !["nothing", "events only", "finish only"].includes(state);
  if (trigger === "agent cap") return !hasOpening;
  return hasOpening || !/other/.test(trigger);
}

function stateOf({ opening, closing, idle, events }: Run): StateName {
  if (opening === undefined) {
    if (closing !== undefined) return "finish only";
    return events.length > 0 ? "events only" : "nothing";
  }
  const isRun = opening.kind === "run";
  if (closing !== undefined) return isRun ? "ended run" : "ended heartbeat";
  if (idle !== undefined) return "idle run";
  return isRun ? "running" : "started";
}

function triggerOf(run: Run, { call, fields }: Request, { status, body }: Answer): Trigger {
  if (status === 400) return "malformed";
  if (status === 403) return "agent cap";
  if (call === "events") return Number(body.accepted) > 0 ? "events, some new" : "events, none new";
  if (call === "finish") return "finish";
  if (status === 409) {
    return `${call}, other ${fields.agent === run.opening?.agent ? "started_at" : "agent"}`;
  }
  if (call === "open") return "open";
  return `${call} ${fields.status === "start" ? "starts" : "ends"}`;
}

function runOf({ runs }: State, id: string): Run {
  return runs[id] ?? { events: [] };
}

export class Cells {
  readonly #counts = new Map<string, number>();

  /** Counts a call to the run it names. */
  call(state: State, request: Request, answer: Answer): void {
    const run = runOf(state, request.id ?? String(request.fields.id));
    this.#count(run, triggerOf(run, request, answer));
  }

  /** Counts a restart for each run's current state. */
  restart(state: State, ids: readonly string[]): void {
    for (const id of ids) this.#count(runOf(state, id), "restart");
  }

  #count(run: Run, trigger: Trigger): void {
    const name = `${stateOf(run)}: ${trigger}`;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  below(times: number): string[] {
    return STATES.flatMap((state) =>
      TRIGGERS.filter((trigger) => isPossible(state, trigger))
        .map((trigger) => `${state}: ${trigger}`)
        .filter((name) => (this.#counts.get(name) ?? 0) < times)
    );
  }

  table(): string {
    const cell = (state: StateName, trigger: Trigger) =>
      isPossible(state, trigger) ? `${this.#counts.get(`${state}: ${trigger}`) ?? 0}` : "-";
    const rows = TRIGGERS.map((trigger) => [trigger, ...STATES.map((each) => cell(each, trigger))]);
    return table(["", ...STATES], rows);
  }
}
