/** Plays sequences of commands about checks: `deno task assure sim-checks`. */
import { checkSequences } from "./check_commands.ts";
import { beginChecks, type CheckPlay, compareChecks } from "./check_running.ts";
import { createPlayer, createRun, type Side } from "./play.ts";
import { DEFAULT_RULES } from "./run_play.ts";

export const CHECKS_SIDE: Side<CheckPlay> = {
  begin: beginChecks,
  ...checkSequences,
  async prepare(world) {
    // Incidents have a simulation of their own.
    for (const rule of DEFAULT_RULES) await world.send("DELETE", `/v1/rules/${rule}`);
  },
  compare: compareChecks,
};

/** Plays the sequence of a seed. */
export const playCheckSeed = createPlayer(CHECKS_SIDE);

export const run = createRun("sim-checks", playCheckSeed);
