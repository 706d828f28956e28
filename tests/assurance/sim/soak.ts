/** `deno task soak`: the service against its model for as many sequences as there is time for. */
import { parseOptions } from "../../../tools/client.ts";
import {
  createProgress,
  type Io,
  processIo,
  runTool,
  UsageError,
} from "../../../tools/progress.ts";
import { Cells } from "./cells.ts";
import { playSeed } from "./play.ts";
import { saveSeed, someSeed } from "./seeds.ts";

/** Sequences of a whole soak, and how often it reaches each cell at least. */
const SEQUENCES = 20_000, CELL_MIN = 100;

const HELP = [
  "deno task soak [--seed=N] [--sequences=N]",
  "Plays sequences of calls against the model of the contract, each from a seed of its own.",
  `  --sequences=N  how many (default ${SEQUENCES})`,
  "  --seed=N       the first seed (default a random one); the others follow it",
  "Exit codes: 0 all agree, 2 the command line is wrong, 1 one does not and its seed is saved, or",
  `  ${SEQUENCES} sequences reached some cell of the state table fewer than ${CELL_MIN} times.`,
];

/** Runs the command; answers its exit code. `stopped` ends it after the sequence under way. */
export function soak(args: readonly string[], io: Io, stopped = () => false): Promise<number> {
  return runTool(io, async () => {
    const options = {
      seed: { type: "string" },
      sequences: { type: "string" },
      help: { type: "boolean" },
    } as const;
    const { values } = parseOptions({ args: [...args], options });
    if (values.help) {
      HELP.forEach((line) => io.out(line));
      return 0;
    }
    const sequences = numberOf("sequences", values.sequences) ?? SEQUENCES;
    const first = numberOf("seed", values.seed) ?? someSeed(sequences);
    io.out(`${sequences} sequences from seed ${first}`);
    const cells = new Cells();
    const { played, failure } = await play(first, sequences, cells, io, stopped);
    cells.lines().forEach((line) => io.out(line));
    if (failure !== null) io.fail(failure);
    const left = sequences - played;
    if (left > 0) io.out(`To go on: deno task soak --seed=${first + played} --sequences=${left}`);
    const isReached = left > 0 || report(cells, sequences, io);
    return failure === null && isReached ? 0 : 1;
  });
}

async function play(
  first: number,
  sequences: number,
  cells: Cells,
  io: Io,
  stopped: () => boolean,
): Promise<{ played: number; failure: string | null }> {
  using progress = createProgress(io.screen, "sequences", sequences);
  for (let played = 0; played < sequences; played++) {
    if (stopped()) return { played, failure: null };
    const seed = first + played;
    const failure = await playSeed(seed, cells);
    progress.step();
    if (failure === null) continue;
    saveSeed(seed, failure);
    return { played: played + 1, failure };
  }
  return { played: sequences, failure: null };
}

/** Names the cells that were hardly reached; answers whether a whole soak reached all. */
function report(cells: Cells, sequences: number, io: Io): boolean {
  const wanted = Math.max(1, Math.floor(CELL_MIN * sequences / SEQUENCES));
  const rare = cells.below(wanted);
  io.out(`Cells reached fewer than ${wanted} times: ${rare.join("; ") || "none"}`);
  return rare.length === 0 || sequences < SEQUENCES;
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} takes a whole number: --help lists the options`);
}

if (import.meta.main) {
  let isStopped = false;
  Deno.addSignalListener("SIGINT", () => isStopped = true);
  Deno.exit(await soak(Deno.args, processIo(), () => isStopped));
}
