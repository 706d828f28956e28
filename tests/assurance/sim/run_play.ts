/**
 * Plays sequences of calls against the model of the contract: `deno task assure sim`, and over three
 * instances `deno task assure sim-shared`.
 */
import fc from "fast-check";
import type { Io } from "../../../tools/command.ts";
import { checkGuard, putBudgets } from "./budgets.ts";
import type { Cells } from "./cells.ts";
import { checkAll } from "./check.ts";
import { call, sequences } from "./commands.ts";
import { anyFaults } from "./faults.ts";
import { createPlayer, createRun, SHARED, type Side } from "./play.ts";
import type { Play } from "./running.ts";
import { instant, type State, TIERS } from "./shape.ts";
import type { World } from "./world.ts";

/** Commands of the longest sequence, half of which an average one has; commits that may meet faults. */
const COMMANDS_MAX = 120, FAULTS_MAX = 90;

/** Agents of a free team before its sequence begins: space remains for two of three. */
const AGENTS_BEFORE = TIERS.free.agents - 2;

/** Sequences of a complete run, and its minimum count for each cell of the state table. */
const SEQUENCES = 20_000, CELL_MIN = 100;

/** Slugs of the rules that each team has. */
export const DEFAULT_RULES = "budgets failures missed quota service stuck unpriced".split(" ");

const tiers = fc.constantFrom<State["tier"][]>(
  "free",
  "free",
  "starter",
  "team",
  "business",
  "enterprise",
);
const plays = fc.tuple(tiers, anyFaults(FAULTS_MAX), sequences(COMMANDS_MAX));

export const RUNS_SIDE: Side<Play> = {
  begin: (play) => ({ ...play, hasBudgets: true }),
  sequences: plays,
  observed: plays,
  async prepare(world, play) {
    // Incidents have a simulation of their own. Their rows would make the clock notice absences.
    for (const rule of DEFAULT_RULES) await world.send("DELETE", `/v1/rules/${rule}`);
    await putBudgets(world);
    if (play.state.tier === "free") await fill(play, world);
    play.meetsFaults = true;
  },
  async compare(play, world) {
    play.state = await checkAll(world, play.state, play.revisions);
    await checkGuard(play, world);
  },
};

async function fill(play: Play, world: World): Promise<void> {
  for (let n = 0; n < AGENTS_BEFORE; n++) {
    const id = `run_eu_${`f${n}`.padStart(32, "0")}`;
    const fields = { id, agent: `agent ${n}`, started_at: instant(world.nowMs) };
    await call(play, world, { call: "heartbeat", fields });
  }
  play.history.length = 0;
}

export const playSeed = createPlayer(RUNS_SIDE);

export const run = createRun("sim", playSeed, 1, report);
export const shared = { run: createRun("sim-shared", playSeed, SHARED, report) };

/** Names the rarely reached cells; returns true if a complete run reached all often enough. */
function report(cells: Cells, sequences: number, io: Io): boolean {
  io.out(cells.table());
  const wanted = Math.max(1, Math.floor(CELL_MIN * sequences / SEQUENCES));
  const rare = cells.below(wanted);
  io.out(`Cells reached fewer than ${wanted} times: ${rare.join("; ") || "none"}`);
  return rare.length === 0 || sequences < SEQUENCES;
}
