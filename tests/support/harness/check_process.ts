/** A process that judges runs, also in the stage after the cost. */
import type { AllFacts, FactName } from "../../../domain/checks/program.ts";
import type { EventId } from "../../../domain/core/ids.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import type { RunnableStage, StageTask } from "../../../domain/runs/processing.ts";
import { type EventFacts, factsOf, type RunEvent } from "../../../domain/runs/event.ts";
import { readFacts, type RunToJudge } from "../../../kv/checks/facts.ts";
import { createCheckStage, type RunChanges } from "../../../kv/checks/stage.ts";
import { readHead } from "../../../kv/runs/heads.ts";
import type { Store } from "../../../kv/store.ts";
import { eventId } from "../builders/requests.ts";
import { finish, open, run, TEAM } from "../builders/stored_runs.ts";
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
  readonly stage: RunnableStage;

  /** @param wrap replaces how the stage changes runs, for races and faults */
  constructor(store: Store, wrap: (changes: RunChanges) => RunChanges = (changes) => changes) {
    super(store);
    this.stage = createCheckStage({ changes: wrap(this.updater), now: () => this.nowMs });
  }

  /** Opens and finishes run number `n`, with events between. */
  async closeWith(n: number, events: readonly RunEvent[]): Promise<void> {
    await open(this.runs, n);
    if (events.length > 0) await this.runs.append(TEAM, run(n), events, NOON);
    await finish(this.runs, n);
  }

  /** Summarizes pending runs, then runs the stages that are due. */
  async judgeAll(): Promise<void> {
    await this.work();
    for (const task of await this.due()) await this.complete(task);
  }

  /** Returns the stages that are due. */
  due(): Promise<readonly StageTask[]> {
    return this.pipeline.dueStages(this.nowMs, 100);
  }

  /** Runs a stage as the worker does. */
  async complete(task: StageTask): Promise<void> {
    if (task.stage !== null) await this.stage.run(task);
    await this.pipeline.completeStage(task, null);
  }

  /** Returns the states of the stages of run number `n`. */
  async statesOf(n: number): Promise<string[]> {
    const { processing } = await readHead({ store: this.store, team: TEAM.id, id: run(n) });
    return processing?.stages.map(({ state }) => state) ?? [];
  }

  /** Reads facts of run number `n`. */
  async factsOf(n: number, ...names: readonly FactName[]) {
    const head = await readHead({ store: this.store, team: TEAM.id, id: run(n) });
    const { facts, missing } = await readFacts(head as RunToJudge, new Set(names));
    return { facts: facts as AllFacts, missing: Object.fromEntries(missing) };
  }
}
