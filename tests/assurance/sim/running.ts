/** A running sequence: the model's side, and the work in between that both sides do. */
import type { Cells } from "./cells.ts";
import type { Revisions } from "./check.ts";
import type { Command } from "./command.ts";
import { passDeadlines } from "./model.ts";
import { countOutcomes } from "./monitor_state.ts";
import type { Request, State } from "./shape.ts";
import type { World } from "./world.ts";

/** The model's side of a running sequence. */
export interface Play {
  state: State;
  /** Every call so far, with any response. */
  readonly history: Request[];
  readonly revisions: Revisions;
  readonly cells: Cells;
  /** True if the sequence's commits meet faults. */
  readonly isFaulty: boolean;
  meetsFaults: boolean;
  /** True if the world has the budgets of the model. */
  readonly hasBudgets: boolean;
  /** Time at which the guard was compared last, unix milliseconds. */
  guardCheckedMs: number;
  readonly log: string[];
}

export function withWorkDone<Played extends Play>(
  commands: Iterable<Command<Played>>,
): Command<Played>[] {
  return Array.from(commands, (command) => ({
    check: (play) => command.check(play),
    async run(play, world) {
      await command.run(play, world);
      await doWork(play, world);
    },
    toString: () => `${command}`,
  }));
}

/** Lets the worker do all work, and counts it in the model. */
export async function doWork(play: Play, world: World): Promise<void> {
  await world.doWork();
  count(play);
}

/** Counts in the model what the worker has done. */
export function count(play: Play): void {
  play.revisions.see(play.state);
  play.state = countOutcomes(play.state);
}

export async function passAllDeadlines(play: Play, world: World): Promise<void> {
  await doWork(play, world);
  const absences = await world.runDeadlines();
  play.state = passDeadlines(play.state, world.nowMs, absences);
  await doWork(play, world);
}
