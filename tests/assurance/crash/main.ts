/**
 * `deno task assure crash`: so many times kill -9 under load, each time everything held against what clients
 * were told. After every tenth, the service is also stopped as an operator does, the file is looked at
 * as the kill left it, and all sums are added up again from the parts of all runs.
 */
import { DRAIN_MS_MAX } from "../../../domain/core/limits.ts";
import { number } from "../../../tools/table.ts";
import { createProgress, type Io } from "../../../tools/command.ts";
import { type AssuranceOptions, commandOf } from "../assurance.ts";
import { Random } from "../../../tools/random.ts";
import { Rounds } from "./rounds.ts";

const DEEP_EVERY = 10;

/** Acknowledged calls of a round: from the first to about a second's worth. */
const ACKNOWLEDGED_MAX = 1_500;

/** Part of the rounds in which a model gets its price, and its calls are priced anew. */
const REPRICED = 0.2;

/** What a start may take until the service is ready, unless the machine has other work. */
const READY_MS_MAX = 1_000;

const MEGABYTE = 1_048_576;

/** What the rounds found that is no failure. */
interface Found {
  marks: number;
  readonly stopMs: number[];
}

async function killRound(rounds: Rounds, random: Random, deep: boolean, found: Found) {
  await rounds.start();
  if (deep) await rounds.audit();
  rounds.load();
  const acknowledged = random.int(1, ACKNOWLEDGED_MAX);
  let repricing: Promise<void> | undefined;
  if (random.chance(REPRICED)) {
    await rounds.reached(random.int(0, acknowledged));
    repricing = rounds.price.ask(rounds.access);
  }
  await rounds.end("SIGKILL", acknowledged);
  await repricing;
  if (deep) found.marks += await rounds.lookAt();
}

async function stopRound(rounds: Rounds, random: Random, found: Found) {
  await rounds.start();
  rounds.load();
  const { code, ms } = await rounds.end("SIGTERM", random.int(1, ACKNOWLEDGED_MAX));
  if (code !== 0 || ms > DRAIN_MS_MAX) throw new Error(`SIGTERM: code ${code} after ${ms} ms`);
  found.stopMs.push(ms);
}

async function crash(folder: string, count: number, seed: string, io: Io): Promise<void> {
  const random = new Random(seed);
  await using rounds = new Rounds(folder);
  const found: Found = { marks: 0, stopMs: [] };
  {
    using progress = createProgress(io.screen, "rounds", count);
    for (let round = 1; round <= count; round++) {
      const deep = round % DEEP_EVERY === 0;
      await killRound(rounds, random, deep, found);
      if (deep) await stopRound(rounds, random, found);
      progress.step();
    }
  }
  await rounds.start();
  await rounds.audit();
  await rounds.verifyAll();
  const { size } = await Deno.stat(rounds.path);
  io.out(
    `${count} x kill -9, ${found.stopMs.length} x SIGTERM, ${
      number(size / MEGABYTE)
    } MB in the end`,
  );
  tell(rounds, found, io);
}

/** Whatever is not told here and differs has thrown before. */
function tell({ figures, totals }: Rounds, { marks, stopMs }: Found, io: Io): void {
  const { acknowledged, inDoubt, storedInDoubt, resent, readyMs } = figures;
  io.out(`${number(acknowledged)} acknowledged calls: 0 lost, 0 doubled, 0 partial`);
  io.out(`${number(inDoubt)} things in doubt at an end, of which ${storedInDoubt} were stored`);
  io.out(`${number(resent)} calls sent again`);
  io.out(`${number(marks)} rows of marks were left in the files that were looked at`);
  io.out(`usage, spend and audit are exact: ${JSON.stringify(totals)}`);
  io.out(`ended by SIGTERM with 0: ${distribution(stopMs)}`);
  io.out(`ready again: ${distribution(readyMs)}`);
  io.out(`the last tenth: ${distribution(readyMs.slice(-Math.ceil(readyMs.length / 10)))}`);
  const late = readyMs.filter((ms) => ms > READY_MS_MAX).length;
  if (late > 0) io.out(`${late} starts took more than ${READY_MS_MAX} ms: was the machine busy?`);
}

/** The middle, the slow and the slowest of some times. */
function distribution(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => number(sorted[Math.ceil(sorted.length * part) - 1] ?? NaN);
  return `p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, at most ${at(1)} ms`;
}

/** Kills the service so often; the ledger of a run that broke a promise is kept. */
export async function run(options: AssuranceOptions, io: Io): Promise<boolean> {
  const { count, seed } = options;
  io.out(commandOf("crash", options));
  const folder = await Deno.makeTempDir({ prefix: "runledger-" });
  try {
    await crash(folder, count, seed, io);
    await Deno.remove(folder, { recursive: true });
    return true;
  } catch (error) {
    io.fail(error instanceof Error ? error.stack ?? error.message : String(error));
    io.fail(`The ledger is in ${folder}; seed ${seed}`);
    return false;
  }
}
