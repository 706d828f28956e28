/**
 * Verifies results of checks: what summaries say of them, the counts by day and agent, and the rows of
 * failures.
 *
 * Results are not made again: which version of a check judged a run, and when, is stored with them
 * alone.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { CHECK_STATUSES, type CheckResult } from "../../domain/runs/check_result.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { keys } from "../base/keys.ts";
import { ALL_AGENTS, placeOf } from "../checks/day_counts.ts";
import { failureKeys } from "../checks/results.ts";
import { type DayRow, PASSES_MAX } from "../checks/rows.ts";
import { readConfig } from "../config/objects.ts";
import type { RunAt } from "../runs/heads.ts";
import { eachRow, getAll, type Store } from "../store.ts";
import { keyText } from "../writer/group.ts";
import { type Mismatch, mismatch, NONE } from "./mismatch.ts";

/** Expected counts of a check in one row, and the latest arrival of a run that passed. */
interface Counted {
  readonly counts: [pass: number, fail: number, error: number, skipped: number];
  latestPass: number;
}

/** Expected counts of a row, by check. */
type ExpectedRow = Map<string, Counted>;

/** Finds rows of failures that a run with results lacks. */
export async function verifyFailures(
  { store, team, id }: RunAt,
  summary: RunSummary | null,
  results: readonly CheckResult[],
): Promise<Mismatch[]> {
  if (results.length === 0) return [];
  const place = placeOf(summary);
  if (place === null || summary?.seen.closing !== true) {
    return [{ what: `results of checks of ${id}`, expected: NONE, found: "stored" }];
  }
  const expected = [...failureKeys(team, id, { place, results }).values()];
  const rows = await getAll(store, expected);
  return rows.filter(({ versionstamp }) => versionstamp === null).map(({ key }) => ({
    what: `failure of ${String(key[2])} by ${id}`,
    expected: "stored",
    found: NONE,
  }));
}

/** Totals of the results of a team's runs. It holds a row for each day and agent, and no run. */
export class CheckSums {
  readonly #team: TeamId;
  readonly #rows = new Map<string, ExpectedRow>();
  #failures = 0;

  constructor(team: TeamId) {
    this.#team = team;
  }

  /** Adds the results of a run. */
  add(id: RunId, summary: RunSummary | null, results: readonly CheckResult[]): void {
    const place = placeOf(summary);
    if (place === null || results.length === 0) return;
    const { day, agent, at } = place;
    this.#failures += failureKeys(this.#team, id, { place, results }).size;
    const agents = agent === null ? [ALL_AGENTS] : [ALL_AGENTS, agent];
    for (const name of agents.map((agent) => keyText(keys.checkCounts(this.#team, day, agent)))) {
      const row = this.#rows.get(name) ?? new Map<string, Counted>();
      this.#rows.set(name, row);
      for (const { id: check, status } of results) {
        const counted = row.get(check) ?? { counts: [0, 0, 0, 0], latestPass: 0 };
        row.set(check, counted);
        counted.counts[CHECK_STATUSES.indexOf(status) as 0 | 1 | 2 | 3]++;
        if (status === "pass") counted.latestPass = Math.max(counted.latestPass, at);
      }
    }
  }

  /** Compares the totals with the stored rows. Call it once, after the last run. */
  async compare(store: Store): Promise<Mismatch[]> {
    const { checks } = await readConfig(store, this.#team);
    const existing = new Set(checks.map(({ id }) => id ?? ""));
    const mismatches: Mismatch[] = [];
    const range = { prefix: keys.checkCountsOf(this.#team) };
    for await (const { key, value } of eachRow<DayRow>(store, range)) {
      const name = keyText(key);
      const what = `counts of checks ${key.slice(2).join(" ")}`;
      mismatches.push(...compareRow(what, this.#rows.get(name) ?? new Map(), value, existing));
      this.#rows.delete(name);
    }
    for (const [name, row] of this.#rows) {
      const lost = [...row.keys()].filter((check) => existing.has(check));
      const what = `counts of checks ${name.split("\0").slice(2).join(" ")}`;
      if (lost.length > 0) mismatches.push({ what, expected: lost.join(), found: NONE });
    }
    return [...mismatches, ...await this.#compareFailures(store)];
  }

  /** Compares the number of failures: those of runs are verified, so others are stray. */
  async #compareFailures(store: Store): Promise<Mismatch[]> {
    let found = 0;
    const range = { prefix: keys.checkFailuresOf(this.#team) };
    for await (const _ of eachRow(store, range)) found++;
    return mismatch("failures of checks", { rows: this.#failures }, { rows: found });
  }
}

/** Compares a row. Counts of checks that no longer exist may be left in it, or not. */
function compareRow(
  what: string,
  expected: ExpectedRow,
  row: DayRow,
  existing: ReadonlySet<string>,
): Mismatch[] {
  const counts = (by: Iterable<readonly [string, unknown]>) =>
    Object.fromEntries([...by].filter(([check]) => existing.has(check)));
  const wanted = counts(expected.entries().map(([check, { counts }]) => [check, counts] as const));
  return [
    ...mismatch(what, wanted, counts(Object.entries(row.counts))),
    ...Object.entries(row.passes ?? {}).flatMap(([check, passes]) => {
      const latest = expected.get(check)?.latestPass ?? 0;
      const isKept = passes.length <= PASSES_MAX && passes.every((at) => at <= latest);
      if (!existing.has(check) || isKept) return [];
      return [{
        what: `passes of ${check} in ${what}`,
        expected: `to ${latest}`,
        found: `${passes}`,
      }];
    }),
  ];
}
