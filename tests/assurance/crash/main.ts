/**
 * `deno task assure crash`: kills the service with kill -9 under load, repeatedly, and compares the
 * ledger with the clients' responses each time. After every tenth round it also stops the service
 * gracefully, inspects the file that the kill left, and recomputes all totals from the runs.
 */
import { DRAIN_MS_MAX } from "../../../domain/core/limits.ts";
import { number } from "../../../tools/table.ts";
import { createProgress, type Io } from "../../../tools/command.ts";
import { type AssuranceOptions, commandOf, distribution, inKeptFolder } from "../assurance.ts";
import { Random } from "../../../tools/random.ts";
import { Rounds } from "./rounds.ts";

const DEEP_EVERY = 10;

/** Maximum acknowledged calls of a round: about a second's worth. */
const ACKNOWLEDGED_MAX = 1_500;

/** Fraction of the rounds in which a model gets a price and its calls are repriced. */
const REPRICED = 0.2;

/** Maximum milliseconds of a start on an otherwise idle machine. */
const READY_MS_MAX = 1_000;

const MEGABYTE = 1_048_576;

/** Measurements of the rounds that are not failures. */
interface Measurements {
  marks: number;
  readonly stopMs: number[];
}

async function killRound(
  rounds: Rounds,
  random: Random,
  deep: boolean,
  measurements: Measurements,
) {
  await rounds.start();
  if (deep) await rounds.audit();
  rounds.load();
  const acknowledged = random.int(1, ACKNOWLEDGED_MAX);
  let repricing: Promise<void> | undefined;
  if (random.chance(REPRICED)) {
    await rounds.reached(random.int(0, acknowledged));
    repricing = rounds.book.price.ask(rounds.access);
  }
  await rounds.end("SIGKILL", acknowledged);
  await repricing;
  if (deep) measurements.marks += await rounds.compareAll();
}

async function stopRound(rounds: Rounds, random: Random, measurements: Measurements) {
  await rounds.start();
  rounds.load();
  const { code, ms } = await rounds.end("SIGTERM", random.int(1, ACKNOWLEDGED_MAX));
  if (code !== 0 || ms > DRAIN_MS_MAX) throw new Error(`SIGTERM: code ${code} after ${ms} ms`);
  measurements.stopMs.push(ms);
}

async function crash(folder: string, count: number, seed: string, io: Io): Promise<void> {
  const random = new Random(seed);
  await using rounds = new Rounds(folder);
  const measurements: Measurements = { marks: 0, stopMs: [] };
  {
    using progress = createProgress(io.screen, "rounds", count);
    for (let round = 1; round <= count; round++) {
      const deep = round % DEEP_EVERY === 0;
      await killRound(rounds, random, deep, measurements);
      if (deep) await stopRound(rounds, random, measurements);
      progress.step();
    }
  }
  await rounds.start();
  await rounds.audit();
  await rounds.verifyAll();
  const { size } = await Deno.stat(rounds.path);
  io.out(
    `${count} x kill -9, ${measurements.stopMs.length} x SIGTERM, ${
      number(size / MEGABYTE)
    } MB in the end`,
  );
  report(rounds, measurements, io);
}

/** Prints the results; any other difference has already thrown. */
function report(
  { metrics, book: { totals } }: Rounds,
  { marks, stopMs }: Measurements,
  io: Io,
): void {
  const { acknowledged, inDoubt, storedInDoubt, resent, readyMs } = metrics;
  io.out(`${number(acknowledged)} acknowledged calls: 0 lost, 0 doubled, 0 partial`);
  io.out(`${number(inDoubt)} events in doubt after a kill, of which ${storedInDoubt} were stored`);
  io.out(`${number(resent)} calls resent`);
  io.out(`${number(marks)} pending work rows in the inspected files`);
  io.out(`usage, spend and verification are exact: ${JSON.stringify(totals)}`);
  io.out(`stopped by SIGTERM with 0: ${distribution(stopMs)}`);
  io.out(`ready again: ${distribution(readyMs)}`);
  io.out(`the last tenth: ${distribution(readyMs.slice(-Math.ceil(readyMs.length / 10)))}`);
  const slow = readyMs.filter((ms) => ms > READY_MS_MAX).length;
  if (slow > 0) io.out(`${slow} starts took more than ${READY_MS_MAX} ms: was the machine busy?`);
}

/** Runs `count` rounds; keeps the ledger if a promise was broken. */
export function run(options: AssuranceOptions, io: Io): Promise<boolean> {
  const { count, seed } = options;
  io.out(commandOf("crash", options));
  return inKeptFolder(seed, io, (folder) => crash(folder, count, seed, io));
}
