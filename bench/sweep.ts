/**
 * The nightly sweep beside calls: opens a second and their p99 with it at work and without, in turn.
 *
 * Each measurement has a server of its own on a copy of a filled file, so that both find the same and
 * the sweep starts from the beginning.
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
import type { BenchOptions } from "./options.ts";
import { atLeast, type Bar, print, say } from "./report.ts";
import { firstTeamOf } from "./service.ts";
import { type SideKind, startSide } from "./sides.ts";
import { median } from "./stats.ts";

const RATIO_MIN = 0.9;

/** Measurements of one server. */
interface Found extends Measured {
  /** Runs swept a second meanwhile. */
  readonly sweptPerSecond: number;
  /** Runs that were still due afterwards. */
  readonly left: number;
}

/** Measures opens beside the sweep of payloads and that of records. */
export async function bench(options: BenchOptions): Promise<Bar[]> {
  const parts = [await compare(options, "payload"), await compare(options, "record")];
  const rows = parts.flatMap((part) => part.rows);
  print(table([...LOAD_HEAD, "runs swept a second", "still due"], rows));
  return parts.map(({ bar }) => bar);
}

async function compare(
  { folder, runs = 20_000, rounds = 3, seconds = 5 }: BenchOptions,
  horizon: RetentionClass,
) {
  const filled = `${folder}/${horizon}.kv`;
  say(`${horizon}: storing ${number(runs)} runs …`);
  await fillOld(filled, runs, horizon);
  const load: Load = { call: "open", connections: 64, seconds };
  const { sweeping, ours } = await inTurn(horizon, rounds, {
    sweeping: () => measureCopy(filled, "sweeping", horizon, load),
    ours: () => measureCopy(filled, "ours", horizon, load),
  });
  const row = (name: string, all: readonly Found[]) => [
    ...loadRow(name, load.connections, all),
    number(median(all.map(({ sweptPerSecond }) => sweptPerSecond))),
    number(median(all.map(({ left }) => left))),
  ];
  const bar = atLeast(
    `opens beside the ${horizon} sweep ÷ without`,
    RATIO_MIN,
    rateRatios(sweeping, ours),
  );
  // A sweep that is done before the load proves nothing: it must be at work to the end of each round.
  const isAtWork = sweeping.every(({ left }) => left > 0);
  if (!isAtWork) say(`${horizon}: the sweep was done before the load; try with more --runs`);
  const isClean = [...sweeping, ...ours].every(({ failures }) => failures === 0);
  return {
    rows: [row("open", ours), row(`open, sweep of each ${horizon}`, sweeping)],
    bar: { ...bar, met: bar.met && isClean && isAtWork },
  };
}

async function measureCopy(
  filled: string,
  kind: SideKind,
  horizon: RetentionClass,
  load: Load,
): Promise<Found> {
  const file = `${filled}.${kind}`;
  await Deno.copyFile(filled, file);
  try {
    await using side = await startSide(kind, file);
    // The sweep is never idle, so the copy is loaded without the wait after a warm-up.
    side.warm.add(`${load.call} 1`);
    const store = await openBeside(file);
    const [before, startMs] = [await countDue(store, horizon), performance.now()];
    const found = await measure(side, load);
    const elapsedMs = performance.now() - startMs;
    const left = await countDue(store, horizon);
    await store.close();
    return { ...found, sweptPerSecond: 1000 * (before - left) / elapsedMs, left };
  } finally {
    for (const end of ["", "-wal", "-shm", ".lock"]) {
      await Deno.remove(file + end).catch(() => {});
    }
  }
}

/** Runs that are due, by the rows they are filed under. */
async function countDue(store: Store, horizon: RetentionClass): Promise<number> {
  const id = await firstTeamOf(store);
  const [entry] = await getMany(store, [keys.team(id)]);
  const before = cutoffOf(planOfTeam(entry?.value as Team), horizon, Date.now());
  return (await listRows(store, keys.expiries(id, horizon, before, null))).length;
}
