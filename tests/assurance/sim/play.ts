/** Plays sequences of commands generated from seeds, and saves the seeds that fail. */
import fc from "fast-check";
import { Cells } from "./cells.ts";
import { checkAll, Revisions } from "./check.ts";
import { call, sequences } from "./commands.ts";
import type { Play } from "./running.ts";
import { instant, type State, TIERS } from "./shape.ts";
import { anyFaults, hurriedTimers, openFaulty } from "./faults.ts";
import { NO_MONITORS } from "./monitor_state.ts";
import type { World } from "./world.ts";

/** Commands of the longest sequence; the average sequence has half as many. */
const COMMANDS_MAX = 120;

/** Commits of a sequence that may meet faults. */
const FAULTS_MAX = 90;

/** Milliseconds for shrinking a failing sequence. */
const SHRINK_MS = 30_000;

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
  const failure = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  return `sequence ${seed}: ${failure}`;
}

async function playOne(
  [tier, faults, commands]: Played,
  cells: Cells,
  instances: number,
  atEnd: (world: World) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const play = begin(tier, cells, faults.length > 0);
  using _ = hurriedTimers();
  try {
    let commits = -Infinity;
    const plan = {
      next: () => faults[commits++] ?? "none",
      mayRepeat: instances > 1 || faults.includes("repeat"),
    };
    await using world = await openFaulty(plan, { tier, instances });
    await world.putRates();
    // Incidents have a simulation of their own. Their rows would make the clock notice absences.
    for (const rule of DEFAULT_RULES) await world.send("DELETE", `/v1/rules/${rule}`);
    if (tier === "free") await fill(play, world);
    commits = 0;
    await fc.asyncModelRun(() => ({ model: play, real: world }), commands);
    play.state = await checkAll(world, play.state, play.revisions);
    await atEnd(world);
  } catch (error) {
    const why = error instanceof Error ? error.stack : String(error);
    const what = [`${tier} team`, `faults: ${faults.join(", ") || "none"}`, ...play.log, why];
    throw new Error(what.join("\n"), { cause: error });
  }
}

/** Slugs of the rules that each team has. */
export const DEFAULT_RULES = [
  "failures",
  "missed",
  "quota",
  "service",
  "stuck",
  "unpriced",
] as const;

/** Plays the sequence of a seed; returns all responses and the final store as text. */
export async function replay(seed: number): Promise<string[]> {
  const [played] = fc.sample(plays, { seed, numRuns: 1 });
  if (played === undefined) throw new TypeError("A seed makes one sequence");
  const lines: string[] = [];
  await playOne(played, new Cells(), 1, async (world) => {
    lines.push(...world.answers, ...await dump(world));
  });
  return withoutNames(lines);
}

/** Dumps the store key by key, each with its index in the order of writes. */
async function dump({ store }: World): Promise<string[]> {
  const latin1 = new TextDecoder("latin1");
  const text = (value: unknown) =>
    value instanceof Uint8Array ? latin1.decode(value) : Deno.inspect(value, { depth: 9 });
  const all = await Array.fromAsync(store.reader.list({ prefix: [] }));
  // Marks are deleted when there is time, which leaves its trace in receipts alone.
  const rows = all.filter(({ key: [family] }) => family !== "receipt");
  const versions = [...new Set(rows.map(({ versionstamp }) => versionstamp))].sort();
  return rows.map(({ key, value, versionstamp }) =>
    `${versions.indexOf(versionstamp)} ${Deno.inspect(key)} ${text(value)}`
  );
}

/** Replaces names from the clock and from chance by numbers, in their order. */
function withoutNames(lines: readonly string[]): string[] {
  const numbers = new Map<string, number>();
  return lines.map((line) =>
    line.replace(/[0-9A-HJKMNP-TV-Z]{26}/g, (name) => {
      if (!numbers.has(name)) numbers.set(name, numbers.size);
      return `#${numbers.get(name)}`;
    })
  );
}

/** Creates the initial state of a play. */
export function begin(tier: State["tier"], cells = new Cells(), isFaulty = false): Play {
  const state: State = { tier, runs: {}, agents: {}, usage: {}, monitors: NO_MONITORS, pings: {} };
  return { state, history: [], revisions: new Revisions(), cells, isFaulty, log: [] };
}

async function fill(play: Play, world: World): Promise<void> {
  for (let n = 0; n < AGENTS_BEFORE; n++) {
    const id = `run_eu_${`f${n}`.padStart(32, "0")}`;
    const fields = { id, agent: `agent ${n}`, started_at: instant(world.nowMs) };
    await call(play, world, { call: "heartbeat", fields });
  }
  play.history.length = 0;
}
