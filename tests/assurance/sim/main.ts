/** `deno task assure sim`: compares the service with its model in random sequences of calls. */
import { createProgress, type Io, UsageError } from "../../../tools/command.ts";
import { type AssuranceOptions, commandOf } from "../assurance.ts";
import { Cells } from "./cells.ts";
import { playSeed } from "./play.ts";
import { saveSeed } from "./seeds.ts";

/** Sequences of a complete run, and its minimum count for each cell of the state table. */
const SEQUENCES = 20_000, CELL_MIN = 100;

/** A harness, and its instances of the service. */
export interface Simulation {
  readonly name: string;
  readonly instances: number;
}

export const ALONE: Simulation = { name: "sim", instances: 1 };

/** Runs until Ctrl-C, which takes effect after the current sequence. */
export function run(options: AssuranceOptions, io: Io, simulation = ALONE): Promise<boolean> {
  let isStopped = false;
  Deno.addSignalListener("SIGINT", () => isStopped = true);
  return simulate(options, io, () => isStopped, simulation);
}

/**
 * Plays sequences of calls against the model of the contract with consecutive seeds, starting at
 * the given one. Saves a seed that fails.
 */
export async function simulate(
  { count, seed }: AssuranceOptions,
  io: Io,
  stopped: () => boolean,
  { name, instances } = ALONE,
): Promise<boolean> {
  if (!/^\d{1,10}$/.test(seed)) throw new UsageError(`--seed takes an integer: got ${seed}`);
  const first = Number(seed);
  io.out(`${count} sequences from seed ${first}`);
  const cells = new Cells();
  const { played, failure } = await play(first, count, instances, cells, io, stopped);
  cells.lines().forEach((line) => io.out(line));
  if (failure !== null) io.fail(failure);
  const remaining = count - played;
  if (remaining > 0) {
    io.out(`To continue: ${commandOf(name, { seed: String(first + played), count: remaining })}`);
  }
  const isReached = remaining > 0 || report(cells, count, io);
  return failure === null && isReached;
}

async function play(
  first: number,
  sequences: number,
  instances: number,
  cells: Cells,
  io: Io,
  stopped: () => boolean,
): Promise<{ played: number; failure: string | null }> {
  using progress = createProgress(io.screen, "sequences", sequences);
  for (let played = 0; played < sequences; played++) {
    if (stopped()) return { played, failure: null };
    const seed = first + played;
    const failure = await playSeed(seed, cells, instances);
    progress.step();
    if (failure === null) continue;
    saveSeed(seed, failure, instances);
    return { played: played + 1, failure };
  }
  return { played: sequences, failure: null };
}

/** Names the rarely reached cells; returns true if a complete run reached all often enough. */
function report(cells: Cells, sequences: number, io: Io): boolean {
  const wanted = Math.max(1, Math.floor(CELL_MIN * sequences / SEQUENCES));
  const rare = cells.below(wanted);
  io.out(`Cells reached fewer than ${wanted} times: ${rare.join("; ") || "none"}`);
  return rare.length === 0 || sequences < SEQUENCES;
}
