/**
 * Reads the statistics of checks.
 *
 * @module
 */
import {
  type CheckCounts,
  type CheckDay,
  type CheckDayPlace,
  type CheckFailure,
  type CheckStats,
  type CheckStatsQuery,
  FAILURES_MAX,
} from "../../domain/checks/check_store.ts";
import type { Check } from "../../domain/checks/check.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { DAY_MS, dayOf } from "../../domain/core/time.ts";
import { decodeResults } from "../base/codec_checks.ts";
import { keyParts, keys } from "../base/keys.ts";
import { getAll, listRows, type Store } from "../store.ts";
import type { CountsRow, DayRow } from "./day_counts.ts";

/** Maximum rows that one page of days reads: a row holds the counts of all checks. */
export const STATS_ROWS_MAX = 1_000;

const ROWS_PER_READ = 50;

/** Days per step of the search for the latest pass, and days that may have statistics. */
const PASS_DAYS = { step: 32, max: 416 } as const;

/** A check of a team. */
interface CheckAt {
  readonly store: Store;
  readonly team: TeamId;
  /** Identifier of the check. */
  readonly check: string;
}

/** Reads statistics of checks. */
export type CheckStatsStore = ReturnType<typeof createCheckStatsStore>;

/**
 * Creates the reader of statistics.
 *
 * @param now returns unix milliseconds
 */
export function createCheckStatsStore(store: Store, now: () => number) {
  return {
    /** Returns the statistics of a check. */
    read: ({ id: team }: Team, { id }: Pick<Check, "id">, query: CheckStatsQuery) =>
      store.reads.run(team, async (): Promise<CheckStats> => {
        const at = { store, team, check: id ?? "" };
        const { days, next } = await readDays(at, query);
        const failures = await readFailures(at);
        const failingSince = failures.length === 0 ? null : await readFailingSince(at, now());
        return { days, next, failures, failingSince };
      }),
    /** Returns the counts of all agents between two days, inclusive, by the identifier of the check. */
    totals: ({ id: team }: Team, fromDay: string, toDay: string) =>
      store.reads.run(team, async () => {
        const totals = new Map<string, CheckDay[]>();
        for (const [day, { counts }] of await readTotalRows({ store, team }, fromDay, toDay)) {
          for (const [check, row] of Object.entries(counts)) {
            const days = totals.get(check) ?? [];
            days.push({ day, agent: null, ...countsOf(row) });
            totals.set(check, days);
          }
        }
        return totals;
      }),
  };
}

/** Reads a page of the counts by day and agent. */
async function readDays(
  { store, team, check }: CheckAt,
  { fromDay, toDay, limit, after }: CheckStatsQuery,
): Promise<{ readonly days: CheckDay[]; readonly next: CheckDayPlace | null }> {
  const range = keys.checkDays(team, fromDay, toDay);
  const days: CheckDay[] = [];
  let start: Deno.KvKey = after === null
    ? range.start
    : [...keys.checkCounts(team, after.day, after.agent), true];
  for (let read = 0; read < STATS_ROWS_MAX; read += ROWS_PER_READ) {
    const rows = await listRows<DayRow>(store, { ...range, start }, { limit: ROWS_PER_READ });
    for (const { key, value } of rows) {
      const { day, agent } = keyParts.checkDay(key);
      const row = agent === "" ? undefined : value.counts[check];
      if (row !== undefined) days.push({ day, agent, ...countsOf(row) });
      if (days.length === limit) return { days, next: { day, agent } };
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_PER_READ) return { days, next: null };
    start = [...last.key, true];
  }
  return { days, next: keyParts.checkDay(start) };
}

/** Reads the latest failures, newest first, with the messages of their results. */
async function readFailures({ store, team, check }: CheckAt): Promise<CheckFailure[]> {
  const range = { prefix: keys.checkFailures(team, check) };
  const rows = await listRows(store, range, { limit: FAILURES_MAX, reverse: true });
  const runs = rows.map(({ key }) => ({ run: keyParts.run(key), at: keyParts.position(key) }));
  const results = await getAll(store, runs.map(({ run }) => keys.checkResults(team, run)));
  return runs.map(({ run, at }, i) => {
    const ofRun = decodeResults(results[i]?.value ?? null);
    const { got = null, message = null } = ofRun.find(({ id }) => id === check) ?? {};
    return { run, at, got, message };
  });
}

/** Returns the arrival of the first failure since the last pass. */
async function readFailingSince(at: CheckAt, nowMs: number): Promise<number | null> {
  const first = await readFirstFailure(at, 0);
  if (first === null) return null;
  const passed = await readLatestPass(at, first, nowMs);
  return passed === null ? first : await readFirstFailure(at, passed + 1);
}

/** Returns the arrival of the first failure from a time on; null for none. */
async function readFirstFailure({ store, team, check }: CheckAt, fromMs: number) {
  const range = {
    prefix: keys.checkFailures(team, check),
    start: keys.checkFailure(team, check, fromMs, "" as RunId),
  };
  const [first] = await listRows(store, range, { limit: 1 });
  return first === undefined ? null : keyParts.position(first.key);
}

/**
 * Returns the arrival of the latest run that passed; null for none, or one before `sinceMs`. Counts
 * are by the day on which a run started, and a run may end much later: one more step is read.
 */
async function readLatestPass({ store, team, check }: CheckAt, sinceMs: number, nowMs: number) {
  let latest: number | null = null;
  // A run may start a little in the future.
  let last = nowMs + 2 * DAY_MS;
  for (let days = 0; days < PASS_DAYS.max; days += PASS_DAYS.step) {
    const first = last - (PASS_DAYS.step - 1) * DAY_MS;
    const isLast = latest !== null || last < sinceMs;
    for (const [, { passes }] of await readTotalRows({ store, team }, dayOf(first), dayOf(last))) {
      for (const at of passes?.[check] ?? []) latest = Math.max(latest ?? at, at);
    }
    if (isLast) break;
    last = first - DAY_MS;
  }
  return latest;
}

/** Reads the rows of all agents between two UTC days, by day. */
async function readTotalRows(
  { store, team }: Pick<CheckAt, "store" | "team">,
  fromDay: string,
  toDay: string,
): Promise<ReadonlyMap<string, DayRow>> {
  const days: string[] = [];
  for (let ms = Date.parse(fromDay); ms <= Date.parse(toDay); ms += DAY_MS) days.push(dayOf(ms));
  const rows = await getAll(store, days.map((day) => keys.checkCounts(team, day, "")));
  return new Map(
    rows.flatMap(({ value }, i) => value === null ? [] : [[days[i] ?? "", value as DayRow]]),
  );
}

function countsOf([pass, fail, error, skipped]: CountsRow): CheckCounts {
  return { pass, fail, error, skipped };
}
