/** A process that judges runs, also later than their cost. */
import type { AllFacts, FactName } from "../../../domain/checks/program.ts";
import type { EventId } from "../../../domain/core/ids.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import type { DueRun } from "../../../domain/runs/processing.ts";
import { type EventFacts, factsOf, type RunEvent } from "../../../domain/runs/event.ts";
import { readFacts, type RunToJudge } from "../../../kv/checks/facts.ts";
import { createJudgeLater, type JudgeLater, type RunChanges } from "../../../kv/checks/later.ts";
import { readHead } from "../../../kv/runs/heads.ts";
import type { Store } from "../../../kv/store.ts";
import { eventId } from "../builders/requests.ts";
import { finish, open, run, stagesOf, TEAM } from "../builders/stored_runs.ts";
import { AlertProcess } from "./alert_process.ts";
import { NOON } from "./harness.ts";

/** Returns event number `n` of a type. */
export function anEventOf(
  n: number,
  type: string,
  data: Readonly<Record<string, unknown>>,
  ts = NOON + n,
): RunEvent {
  const facts: EventFacts = factsOf(type, data, null);
  return { id: eventId(n) as EventId, type, ts, data: rawOf(data), facts };
}

/** Returns tool call number `n`. */
export function aTool(n: number, name: string, fields: Record<string, unknown> = {}, ts?: number) {
  return anEventOf(n, "tool_call", { name, ...fields }, ts);
}

/** Returns score event number `n`. */
export function aScore(n: number, name: string, value: number, ts?: number): RunEvent {
  return { ...anEventOf(n, "score", { name, value }, ts), score: [name, value] };
}

/** One process on a store that judges. */
export class CheckProcess extends AlertProcess {
  readonly judge: JudgeLater;

  /** @param wrap replaces how judging changes runs, for races and faults */
  constructor(store: Store, wrap: (changes: RunChanges) => RunChanges = (changes) => changes) {
    super(store);
    this.judge = createJudgeLater({ changes: wrap(this.updater), now: () => this.nowMs });
  }

  /** Opens and finishes run number `n`, with events between. */
  async closeWith(n: number, events: readonly RunEvent[]): Promise<void> {
    await open(this.runs, n);
    if (events.length > 0) await this.runs.append(TEAM, run(n), events, NOON);
    await finish(this.runs, n);
  }

  /** Summarizes pending runs, then does the work that is due. */
  async judgeAll(): Promise<void> {
    await this.work();
    for (const row of await this.due()) await this.complete(row);
  }

  /** Returns the runs that are due. */
  due(): Promise<readonly DueRun[]> {
    return this.pipeline.takeDue(this.nowMs, 100);
  }

  /** Does the work on a run as the worker does. */
  async complete(row: DueRun): Promise<void> {
    const task = await this.pipeline.begin(row);
    if (task === null) return;
    if (task.work === "cost") await this.pipeline.project(task.team, [task.run]);
    else await this.judge(task);
    await this.pipeline.complete(task);
  }

  /** Returns the states of the stages of run number `n`. */
  async statesOf(n: number): Promise<string[]> {
    return (await stagesOf(this.store, n)).map(({ state }) => state);
  }

  /** Reads facts of run number `n`. */
  async factsOf(n: number, ...names: readonly FactName[]) {
    const head = await readHead({ store: this.store, team: TEAM.id, id: run(n) });
    const { facts, missing } = await readFacts(head as RunToJudge, new Set(names));
    return { facts: facts as AllFacts, missing: Object.fromEntries(missing) };
  }
}
