/**
 * The nightly sweep beside calls: opens a second and their p99 with it at work and without, in turn.
 *
 * Each measurement has a server of its own on a copy of a filled file, so that both find the same and the
 * sweep begins anew. Usage: deno task bench-sweep [RUNS] [ROUNDS] [SECONDS]
 */
import { cutoffOf, type RetentionClass } from "../domain/retention/retention.ts";
import type { Team } from "../domain/teams/team.ts";
import type { TeamId } from "../domain/core/ids.ts";
import { planOfTeam } from "../domain/teams/plans.ts";
import { keys } from "../kv/base/keys.ts";
import { openBeside } from "../kv/open.ts";
import { getMany, listRows, type Store } from "../kv/store.ts";
import { runScript } from "./children.ts";
import { describeMachine } from "./machine.ts";
import { type Load, wrk, type WrkResult } from "./measure.ts";
import { print, say } from "./say.ts";
import { type SideKind, startSide } from "./sides.ts";
import { median, ratios, rotate } from "./stats.ts";
import { number, table } from "./table.ts";
import { endWithVerdict } from "./verdict.ts";

const [runs = 20_000, rounds = 3, seconds = 5] = Deno.args.map(Number);
const LOAD: Load = { call: "open", connections: 64, seconds };
const WARM_UP: Load = { ...LOAD, seconds: 1 };
const RATIO_MIN = 0.9;

/** What one server came to. */
interface Found extends WrkResult {
  /** Runs swept a second meanwhile. */
  readonly sweptPerSecond: number;
  /** Runs that were still due afterwards. */
  readonly left: number;
}

/** All rounds of what is swept, with the sweep and without. */
interface Compared {
  readonly horizon: RetentionClass;
  readonly swept: readonly Found[];
  readonly plain: readonly Found[];
}

async function compare(folder: string, horizon: RetentionClass): Promise<Compared> {
  const filled = `${folder}/${horizon}.kv`;
  say(`${horizon}: storing ${number(runs)} runs …`);
  const took = await runScript<number>("./fill_old.ts", filled, String(runs), horizon);
  say(`${horizon}: stored and summed up in ${number(took)} s`);
  const found: Record<"sweeping" | "ours", Found[]> = { sweeping: [], ours: [] };
  for (let round = 0; round < rounds; round++) {
    for (const kind of rotate(["sweeping", "ours"] as const, round)) {
      say(`${horizon}: round ${round + 1}/${rounds}, ${kind} …`);
      found[kind].push(await measureCopy(filled, kind, horizon));
    }
  }
  return { horizon, swept: found.sweeping, plain: found.ours };
}

async function measureCopy(
  filled: string,
  kind: SideKind,
  horizon: RetentionClass,
): Promise<Found> {
  const file = `${filled}.${kind}`;
  await Deno.copyFile(filled, file);
  try {
    await using side = await startSide(kind, file);
    const store = await openBeside(file);
    await wrk(side.url, WARM_UP);
    const [before, startMs] = [await countDue(store, horizon), performance.now()];
    const found = await wrk(side.url, LOAD);
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
  const [first] = await getMany(store, [keys.firstTeam()]);
  const id = first?.value as TeamId;
  const [entry] = await getMany(store, [keys.team(id)]);
  const before = cutoffOf(planOfTeam(entry?.value as Team), horizon, Date.now());
  return (await listRows(store, keys.expiries(id, horizon, before, null))).length;
}

function rowOf({ horizon, swept, plain }: Compared): string[] {
  const of = (all: readonly Found[], name: keyof Found) => median(all.map((one) => one[name]));
  return [
    horizon,
    number(of(plain, "requestsPerSecond")),
    number(of(swept, "requestsPerSecond")),
    number(overPlain({ horizon, swept, plain }), 2),
    number(of(plain, "p99Ms"), 1),
    number(of(swept, "p99Ms"), 1),
    number(of(swept, "sweptPerSecond")),
    number(of(swept, "left")),
    number([...swept, ...plain].reduce((sum, { failures }) => sum + failures, 0)),
  ];
}

const HEAD = [
  "swept",
  "opens a second without",
  "with",
  "with ÷ without",
  "p99 ms without",
  "with",
  "runs swept a second",
  "still due",
  "failures",
];

/** The median over the rounds of opens with the sweep over those without. */
function overPlain({ swept, plain }: Compared): number {
  const rates = (all: readonly Found[]) => all.map(({ requestsPerSecond }) => requestsPerSecond);
  return median(ratios(rates(swept), rates(plain)));
}

/** Whether the sweep took less than it may, and was at work to the end of each round. */
function isMet(compared: Compared): boolean {
  const { swept, plain } = compared;
  const isClean = [...swept, ...plain].every(({ failures }) => failures === 0);
  return isClean && overPlain(compared) >= RATIO_MIN && swept.every(({ left }) => left > 0);
}

async function main(folder: string): Promise<boolean> {
  print(`${await describeMachine(folder)}; rounds: ${rounds}, ${seconds} s each\n`);
  const compared = [await compare(folder, "payload"), await compare(folder, "record")];
  print(table(HEAD, compared.map(rowOf)));
  for (const one of compared) {
    if (one.swept.some(({ left }) => left === 0)) {
      say(`${one.horizon}: the sweep was done before the load; try with more runs`);
    }
    print(
      `${isMet(one) ? "met   " : "MISSED"} opens beside the ${one.horizon} sweep ÷ without: ` +
        `${number(overPlain(one), 2)} (bar ≥ ${RATIO_MIN})`,
    );
  }
  return compared.every(isMet);
}

await endWithVerdict(main);
