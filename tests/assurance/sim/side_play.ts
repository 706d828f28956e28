/**
 * Plays sequences of commands about one side of the service, such as its alerts, generated from
 * seeds. Only some of the commits of a sequence meet faults, as its commands choose.
 */
import fc from "fast-check";
import { createProgress, UsageError } from "../../../tools/command.ts";
import type { Fault } from "../../support/fakes/fault_kv.ts";
import { type Assurance, commandOf } from "../assurance.ts";
import { Cells } from "./cells.ts";
import { anyFaults, hurriedTimers, openFaulty } from "./faults.ts";
import { begin } from "./play.ts";
import { type Play, withWorkDone } from "./running.ts";
import type { Observer } from "./observer.ts";
import { World } from "./world.ts";

/** Commands of the longest sequence; the average sequence has half as many. */
const COMMANDS_MAX = 80;

/** Commits of a sequence that may meet faults. */
const FAULTS_MAX = 60;

/** Milliseconds for shrinking a failing sequence. */
const SHRINK_MS = 120_000;

/** Instances of the service; those of the part `shared`. */
const ALONE = 1, SHARED = 3;

/** The model's side of a sequence. */
export interface SidePlay extends Play {
  /** True while commits may meet faults. */
  meetsFaults: boolean;
}

/** One side of the service. */
export interface Side<Played extends SidePlay> {
  readonly begin: (play: Play) => Played;
  /** Generates commands. */
  readonly sequences: (
    commandsMax: number,
  ) => fc.Arbitrary<Iterable<fc.AsyncCommand<Played, World>>>;
  /** Changes the new world before the first command. */
  readonly prepare: (world: World) => Promise<void>;
  /** Compares everything after the last command. */
  readonly compare: (play: Played, world: World) => Promise<void>;
}

/**
 * Plays the sequence of a seed; returns the failure of the smallest sequence that still fails.
 *
 * @param instances instances of the service on one store, which then repeats commits
 */
export type PlaySeed = (seed: number, instances?: number) => Promise<string | null>;

/** Returns what plays the sequences of a side. */
export function createPlayer<Played extends SidePlay>(side: Side<Played>): PlaySeed {
  const plays = fc.tuple(anyFaults(FAULTS_MAX), side.sequences(COMMANDS_MAX));
  return async (seed, instances = 1) => {
    const property = fc.asyncProperty(
      plays,
      ([faults, commands]) => playOne(side, faults, commands, instances),
    );
    const options = { seed, numRuns: 1, interruptAfterTimeLimit: SHRINK_MS };
    const { failed, errorInstance } = await fc.check(property, options);
    if (!failed) return null;
    const failure = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
    return `sequence ${seed}: ${failure}`;
  };
}

/** Plays the sequence of a seed without faults, under an observer. */
export async function observeSide<Played extends SidePlay>(
  side: Side<Played>,
  seed: number,
  observer: Observer,
): Promise<void> {
  for (const commands of fc.sample(side.sequences(COMMANDS_MAX), { seed, numRuns: 1 })) {
    await playOne(side, [], withWorkDone(commands), 1, observer);
  }
}

async function playOne<Played extends SidePlay>(
  side: Side<Played>,
  faults: readonly Fault[],
  commands: Iterable<fc.AsyncCommand<Played, World>>,
  instances: number,
  observer: Observer | null = null,
): Promise<void> {
  const play = side.begin(begin("team", new Cells(), faults.length > 0));
  using _ = observer === null ? hurriedTimers() : null;
  try {
    let commits = 0;
    const plan = {
      next: () => play.meetsFaults ? faults[commits++] ?? "none" : "none",
      mayRepeat: instances > 1 || faults.includes("repeat"),
    };
    await using world = observer === null
      ? await openFaulty(plan, { tier: "team", instances })
      : await World.open({ tier: "team", ...observer.world });
    await world.putRates();
    await side.prepare(world);
    await fc.asyncModelRun(() => ({ model: play, real: world }), commands);
    await side.compare(play, world);
    await observer?.atEnd(world);
  } catch (error) {
    const why = error instanceof Error ? error.stack : String(error);
    const what = `faults: ${faults.join(", ") || "none"}`;
    throw new Error([what, ...play.log, why].join("\n"), { cause: error });
  }
}

/** Returns the harness that plays sequences with consecutive seeds, starting at the given one. */
export function createSideRun(name: string, playSeed: PlaySeed): Assurance {
  return async ({ count, seed, parts }, io) => {
    if (!/^\d{1,10}$/.test(seed)) throw new UsageError(`--seed takes an integer: got ${seed}`);
    const first = Number(seed);
    const instances = parts.includes("shared") ? SHARED : ALONE;
    io.out(`${count} sequences from seed ${first}, instances: ${instances}`);
    using progress = createProgress(io.screen, "sequences", count);
    for (let each = first; each < first + count; each++) {
      const failure = await playSeed(each, instances);
      progress.step();
      if (failure === null) continue;
      io.fail(failure);
      io.fail(`Again: ${commandOf(name, { seed: String(each), count: 1 })} ${parts.join(" ")}`);
      return false;
    }
    return true;
  };
}
