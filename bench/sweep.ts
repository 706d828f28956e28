/**
 * Measures the nightly sweep under load: opens a second and their p99, with and without a sweep.
 *
 * Each measurement has its own server on a copy of one filled file, so that all have the same data
 * and the sweep starts from the beginning.
 */
import { cutoffOf, type RetentionClass } from "../domain/retention/retention.ts";
import type { Team } from "../domain/teams/team.ts";
import { planOfTeam } from "../domain/teams/plans.ts";
import { keys } from "../kv/base/keys.ts";
import { openBeside } from "../kv/open.ts";
import { getMany, listRows, type Store } from "../kv/store.ts";
import { number, table } from "../tools/table.ts";
import { fillOld } from "./fill_old.ts";
import {
  inTurn,
  type Load,
  LOAD_HEAD,
  loadRow,
  measure,
  type Measured,
  rateRatios,
} from "./load.ts";
import type { BenchOptions, SideKind } from "./options.ts";
import { atLeast, type Bar, print, say } from "./report.ts";
import { firstTeamOf } from "./service.ts";
import { startSide } from "./sides.ts";
import { median } from "./stats.ts";

const RATIO_MIN = 0.9;

interface SweepMeasured extends Measured {
  /** Runs swept a second during the load. */
  readonly sweptPerSecond: number;
  /** Runs still due afterwards. */
  readonly stillDue: number;
}

/** Measures opens during the sweep of payloads and during the sweep of records. */
export async function bench(options: BenchOptions): Promise<Bar[]> {
  const parts = [await compare(options, "payload"), await compare(options, "record")];
  const rows = parts.flatMap((part) => part.rows);
  print(table([...LOAD_HEAD, "runs swept a second", "still due"], rows));
  return parts.map(({ bar }) => bar);
}

async function compare(
  { folder, runs = 20_000, rounds = 3, seconds = 5 }: BenchOptions,
  retentionClass: RetentionClass,
) {
  const filled = `${folder}/${retentionClass}.kv`;
  say(`${retentionClass}: storing ${number(runs)} runs …`);
  await fillOld(filled, runs, retentionClass);
  const load: Load = { call: "open", connections: 64, seconds };
  const { sweeping, ours } = await inTurn(retentionClass, rounds, {
    sweeping: () => measureCopy(filled, "sweeping", retentionClass, load),
    ours: () => measureCopy(filled, "ours", retentionClass, load),
  });
  const row = (name: string, all: readonly SweepMeasured[]) => [
    ...loadRow(name, load.connections, all),
    number(median(all.map(({ sweptPerSecond }) => sweptPerSecond))),
    number(median(all.map(({ stillDue }) => stillDue))),
  ];
  const bar = atLeast(
    `opens beside the ${retentionClass} sweep ÷ without`,
    RATIO_MIN,
    rateRatios(sweeping, ours),
  );
  // The sweep must run until the end of each round: otherwise the result proves nothing.
  const isAtWork = sweeping.every(({ stillDue }) => stillDue > 0);
  if (!isAtWork) say(`${retentionClass}: the sweep was done before the load; try with more --runs`);
  const isClean = [...sweeping, ...ours].every(({ failures }) => failures === 0);
  return {
    rows: [row("open", ours), row(`open, sweep of each ${retentionClass}`, sweeping)],
    bar: { ...bar, met: bar.met && isClean && isAtWork },
  };
}

async function measureCopy(
  filled: string,
  kind: SideKind,
  retentionClass: RetentionClass,
  load: Load,
): Promise<SweepMeasured> {
  const file = `${filled}.${kind}`;
  await Deno.copyFile(filled, file);
  try {
    await using side = await startSide(kind, file);
    // A sweeping server is never idle, so the warm-up and its wait are skipped.
    side.warm.add(`${load.call} 1`);
    const store = await openBeside(file);
    const [before, startMs] = [await countDue(store, retentionClass), performance.now()];
    const measured = await measure(side, load);
    const elapsedMs = performance.now() - startMs;
    const stillDue = await countDue(store, retentionClass);
    await store.close();
    return { ...measured, sweptPerSecond: 1000 * (before - stillDue) / elapsedMs, stillDue };
  } finally {
    for (const end of ["", "-wal", "-shm", ".lock"]) {
      await Deno.remove(file + end).catch(() => {});
    }
  }
}

/** Counts the runs that are due, by their expiry entries. */
async function countDue(store: Store, retentionClass: RetentionClass): Promise<number> {
  const id = await firstTeamOf(store);
  const [entry] = await getMany(store, [keys.team(id)]);
  const before = cutoffOf(planOfTeam(entry?.value as Team), retentionClass, Date.now());
  return (await listRows(store, keys.expiries(id, retentionClass, before, null))).length;
}
