/** Plays sequences of commands generated from seeds, and saves the seeds that fail. */
import fc from "fast-check";
import { Cells } from "./cells.ts";
import { checkGuard, putBudgets } from "./budgets.ts";
import { checkAll, Revisions } from "./check.ts";
import { call, sequences } from "./commands.ts";
import { type Play, withWorkDone } from "./running.ts";
import { instant, type State, TIERS } from "./shape.ts";
import { anyFaults, hurriedTimers, openFaulty } from "./faults.ts";
import { NO_MONITORS } from "./monitor_state.ts";
import type { Observer } from "./observer.ts";
import { World } from "./world.ts";

/** Commands of the longest sequence; the average sequence has half as many. */
const COMMANDS_MAX = 120;

/** Commits of a sequence that may meet faults. */
const FAULTS_MAX = 90;

/** Milliseconds for a sequence, and for shrinking one that fails. */
const SHRINK_MS = 120_000;

/** Agents of a free team before its sequence begins: space remains for two of three. */
const AGENTS_BEFORE = TIERS.free.agents - 2;

const tiers = fc.constantFrom<State["tier"][]>(
  "free",
  "free",
  "starter",
  "team",
  "business",
  "enterprise",
);

const plays = fc.tuple(tiers, anyFaults(FAULTS_MAX), sequences(COMMANDS_MAX));
type Played = typeof plays extends fc.Arbitrary<infer T> ? T : never;

/**
 * Plays the sequence of a seed; returns the failure of the smallest sequence that still fails.
 *
 * @param instances instances of the service on one store, which then repeats commits
 */
export async function playSeed(
  seed: number,
  cells: Cells,
  instances = 1,
): Promise<string | null> {
  const property = fc.asyncProperty(plays, (played) => playOne(played, cells, instances));
  const options = { seed, numRuns: 1, interruptAfterTimeLimit: SHRINK_MS };
  const { failed, errorInstance } = await fc.check(property, options);
  if (!failed) return null;
  // Without an error the sequence itself took too long, as on a busy machine.
  const late = `took longer than ${SHRINK_MS / 1_000} s`;
  const failure = errorInstance instanceof Error ? errorInstance.message : errorInstance ?? late;
  return `sequence ${seed}: ${failure}`;
}

async function playOne(
  [tier, faults, commands]: Played,
  cells: Cells,
  instances: number,
  observer: Observer | null = null,
): Promise<void> {
  const play = { ...begin(tier, cells, faults.length > 0), hasBudgets: true };
  using _ = observer === null ? hurriedTimers() : null;
  try {
    let commits = -Infinity;
    const plan = {
      next: () => faults[commits++] ?? "none",
      mayRepeat: instances > 1 || faults.includes("repeat"),
    };
    await using world = observer === null
      ? await openFaulty(plan, { tier, instances })
      : await World.open({ tier, ...observer.world });
    await world.putRates();
    // Incidents have a simulation of their own. Their rows would make the clock notice absences.
    for (const rule of DEFAULT_RULES) await world.send("DELETE", `/v1/rules/${rule}`);
    await putBudgets(world);
    if (tier === "free") await fill(play, world);
    commits = 0;
    const played = observer === null ? commands : withWorkDone(commands);
    await fc.asyncModelRun(() => ({ model: play, real: world }), played);
    play.state = await checkAll(world, play.state, play.revisions);
    await checkGuard(play, world);
    await observer?.atEnd(world);
  } catch (error) {
    const why = error instanceof Error ? error.stack : String(error);
    const what = [`${tier} team`, `faults: ${faults.join(", ") || "none"}`, ...play.log, why];
    throw new Error(what.join("\n"), { cause: error });
  }
}

/** Slugs of the rules that each team has. */
export const DEFAULT_RULES = [
  "budgets",
  "failures",
  "missed",
  "quota",
  "service",
  "stuck",
  "unpriced",
] as const;

/** Plays the sequence of a seed without faults, under an observer. */
export async function observeSeed(seed: number, observer: Observer): Promise<void> {
  const [[tier, , commands]] = fc.sample(plays, { seed, numRuns: 1 }) as [Played];
  await playOne([tier, [], commands], new Cells(), 1, observer);
}

/** Creates the initial state of a play. */
export function begin(tier: State["tier"], cells = new Cells(), isFaulty = false): Play {
  const state: State = { tier, runs: {}, agents: {}, usage: {}, monitors: NO_MONITORS, pings: {} };
  return {
    state,
    history: [],
    revisions: new Revisions(),
    cells,
    isFaulty,
    hasBudgets: false,
    log: [],
  };
}

async function fill(play: Play, world: World): Promise<void> {
  for (let n = 0; n < AGENTS_BEFORE; n++) {
    const id = `run_eu_${`f${n}`.padStart(32, "0")}`;
    const fields = { id, agent: `agent ${n}`, started_at: instant(world.nowMs) };
    await call(play, world, { call: "heartbeat", fields });
  }
  play.history.length = 0;
}
