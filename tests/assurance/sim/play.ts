/** Plays sequences of commands generated from seeds, and saves the seeds that fail. */
import fc from "fast-check";
import { createProgress, type Io, UsageError } from "../../../tools/command.ts";
import type { Fault } from "../../support/fakes/fault_kv.ts";
import { type Assurance, commandOf } from "../assurance.ts";
import { Cells } from "./cells.ts";
import { Revisions } from "./check.ts";
import type { Command } from "./command.ts";
import { hurriedTimers, openFaulty } from "./faults.ts";
import { NO_MONITORS } from "./monitor_state.ts";
import { type Play, withWorkDone } from "./running.ts";
import { saveSeed } from "./seeds.ts";
import type { State } from "./shape.ts";
import { World, type WorldOptions } from "./world.ts";

/** Milliseconds for a sequence, and for shrinking one that fails. */
const SHRINK_MS = 120_000;

/** Instances of the service where they share a store, which then repeats commits. */
export const SHARED = 3;

/** A plan, faults of the first commits that may meet any, and commands. */
type Sequence<Played extends Play> = readonly [
  tier: State["tier"],
  faults: readonly Fault[],
  commands: Iterable<Command<Played>>,
];

/** One side of the service, such as its alerts. */
export interface Side<Played extends Play> {
  readonly begin: (play: Play) => Played;
  readonly sequences: fc.Arbitrary<Sequence<Played>>;
  /** Sequences for an observer, which meet no faults. */
  readonly observed: fc.Arbitrary<Sequence<Played>>;
  readonly prepare: (world: World, play: Played) => Promise<void>;
  readonly compare: (play: Played, world: World) => Promise<void>;
}

/** Watches a sequence of commands that meets no faults, with all work done after each of them. */
export interface Observer {
  readonly world: Omit<WorldOptions, "tier">;
  readonly atEnd: (world: World) => Promise<unknown>;
}

/**
 * Plays the sequence of a seed; returns the failure of the smallest sequence that still fails.
 *
 * @param instances instances of the service on one store, which then repeats commits
 */
type PlaySeed = (seed: number, instances?: number, cells?: Cells) => Promise<string | null>;

export function createPlayer<Played extends Play>(side: Side<Played>): PlaySeed {
  return async (seed, instances = 1, cells = new Cells()) => {
    const property = fc.asyncProperty(
      side.sequences,
      (sequence) => playOne(side, sequence, cells, instances),
    );
    const options = { seed, numRuns: 1, interruptAfterTimeLimit: SHRINK_MS };
    const { failed, errorInstance } = await fc.check(property, options);
    if (!failed) return null;
    // Without an error the sequence itself took too long, as on a busy machine.
    const late = `took longer than ${SHRINK_MS / 1_000} s`;
    const failure = errorInstance instanceof Error ? errorInstance.message : errorInstance ?? late;
    return `sequence ${seed}: ${failure}`;
  };
}

/** Plays the sequence of a seed without faults, under an observer. */
export async function observe<Played extends Play>(
  side: Side<Played>,
  seed: number,
  observer: Observer,
): Promise<void> {
  for (const [tier, , commands] of fc.sample(side.observed, { seed, numRuns: 1 })) {
    await playOne(side, [tier, [], withWorkDone(commands)], new Cells(), 1, observer);
  }
}

async function playOne<Played extends Play>(
  side: Side<Played>,
  [tier, faults, commands]: Sequence<Played>,
  cells: Cells,
  instances: number,
  observer: Observer | null = null,
): Promise<void> {
  const play = side.begin(begin(tier, cells, faults.length > 0));
  using _ = observer === null ? hurriedTimers() : null;
  try {
    let commits = 0;
    const plan = {
      next: () => play.meetsFaults ? faults[commits++] ?? "none" : "none",
      mayRepeat: instances > 1 || faults.includes("repeat"),
    };
    await using world = observer === null
      ? await openFaulty(plan, { tier, instances })
      : await World.open({ tier, ...observer.world });
    await world.putRates();
    await side.prepare(world, play);
    await fc.asyncModelRun(() => ({ model: play, real: world }), commands);
    await side.compare(play, world);
    await observer?.atEnd(world);
  } catch (error) {
    const why = error instanceof Error ? error.stack : String(error);
    const what = [`${tier} team`, `faults: ${faults.join(", ") || "none"}`, ...play.log, why];
    throw new Error(what.join("\n"), { cause: error });
  }
}

export function begin(tier: State["tier"], cells = new Cells(), isFaulty = false): Play {
  return {
    state: { tier, runs: {}, agents: {}, usage: {}, monitors: NO_MONITORS, pings: {} },
    history: [],
    revisions: new Revisions(),
    cells,
    isFaulty,
    meetsFaults: false,
    hasBudgets: false,
    guardCheckedMs: 0,
    log: [],
  };
}

/**
 * Returns the harness that plays sequences with consecutive seeds, starting at the given one; the
 * part `shared` plays them over several instances.
 *
 * @param atEnd judges the cells of all sequences; a seed that fails is saved if they are judged
 */
export function createRun(
  name: string,
  playSeed: PlaySeed,
  usual = 1,
  atEnd?: (cells: Cells, sequences: number, io: Io) => boolean,
): Assurance {
  return async ({ count, seed, parts }, io) => {
    if (!/^\d{1,10}$/.test(seed)) throw new UsageError(`--seed takes an integer: got ${seed}`);
    const first = Number(seed);
    const instances = parts.includes("shared") ? SHARED : usual;
    io.out(`${count} sequences from seed ${first}, instances: ${instances}`);
    const cells = new Cells();
    using progress = createProgress(io.screen, "sequences", count);
    for (let each = first; each < first + count; each++) {
      const failure = await playSeed(each, instances, cells);
      progress.step();
      if (failure === null) continue;
      if (atEnd !== undefined) saveSeed(each, failure, instances);
      io.fail(failure);
      io.fail(`Again: ${commandOf(name, { seed: String(each), count: 1 })} ${parts.join(" ")}`);
      return false;
    }
    return atEnd?.(cells, count, io) ?? true;
  };
}
