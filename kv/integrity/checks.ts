/**
 * Verifies results of checks: what summaries say of them, the counts by day and agent, and the rows of
 * failures.
 *
 * Results are not made again: which version of a check judged a run, and when, is stored with them
 * alone.
 *
 * @module
 */
import type { RunId } from "../../domain/core/ids.ts";
import { CHECK_STATUSES, type CheckResult } from "../../domain/runs/check_result.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { keys } from "../base/keys.ts";
import { ALL_AGENTS, placeOf } from "../checks/day_counts.ts";
import { failureKeys } from "../checks/results.ts";
import { type DayRow, PASSES_MAX } from "../checks/rows.ts";
import { readConfig } from "../config/objects.ts";
import type { ReadHead } from "../runs/heads.ts";
import { eachRow, getAll } from "../store.ts";
import { type Findings, NONE, type TeamCheck } from "./findings.ts";

/** Expected counts of a row by check, and the latest arrival of a run that passed. */
type ExpectedRow = Map<string, { readonly counts: number[]; latestPass: number }>;

/** Finds rows of failures that a run with results lacks. */
export async function verifyFailures(
  { store, team, id, summary, checks: results }: ReadHead,
  findings: Findings,
): Promise<void> {
  if (results.length === 0) return;
  const place = placeOf(summary);
  if (place === null || summary?.seen.closing !== true) {
    return findings.presence(`results of checks of ${id}`, false, true);
  }
  const rows = await getAll(store, [...failureKeys(team, id, { place, results }).values()]);
  for (const { key, versionstamp } of rows) {
    findings.presence(`failure of ${String(key[2])} by ${id}`, true, versionstamp !== null);
  }
}

/** Totals of the results of a team's runs. It holds a row for each day and agent, and no run. */
export class CheckSums {
  /** Expected rows by UTC day and agent. */
  readonly #rows = new Map<string, ExpectedRow>();
  #failures = 0;

  constructor(readonly check: TeamCheck) {}

  /** Adds the results of a run. */
  add(id: RunId, summary: RunSummary | null, results: readonly CheckResult[]): void {
    const place = placeOf(summary);
    if (place === null || results.length === 0) return;
    const { day, agent, at } = place;
    this.#failures += failureKeys(this.check.team, id, { place, results }).size;
    for (const slug of agent === null ? [ALL_AGENTS] : [ALL_AGENTS, agent]) {
      const name = `${day} ${slug}`;
      const row: ExpectedRow = this.#rows.get(name) ?? new Map();
      this.#rows.set(name, row);
      for (const { id: check, status } of results) {
        const expected = row.get(check) ?? { counts: [0, 0, 0, 0], latestPass: 0 };
        row.set(check, expected);
        expected.counts[CHECK_STATUSES.indexOf(status)]! += 1;
        if (status === "pass") expected.latestPass = Math.max(expected.latestPass, at);
      }
    }
  }

  /** Compares the totals with the stored rows. Call it once, after the last run. */
  async compare(): Promise<void> {
    const { store, team, findings } = this.check;
    const { checks } = await readConfig(store, team);
    // Counts of checks that no longer exist may be left in a row, or not.
    const existing = new Set(checks.map(({ id }) => id ?? ""));
    const range = { prefix: keys.checkCountsOf(team) };
    for await (const { key, value } of eachRow<DayRow>(store, range)) {
      const name = key.slice(2).join(" ");
      compareRow(
        `counts of checks ${name}`,
        this.#rows.get(name) ?? new Map(),
        value,
        existing,
        findings,
      );
      this.#rows.delete(name);
    }
    for (const [name, row] of this.#rows) {
      const lost = [...row.keys()].filter((check) => existing.has(check));
      if (lost.length > 0) findings.note(`counts of checks ${name}`, lost.join(), NONE);
    }
    // The failures of runs are verified, so others are stray.
    let rows = 0;
    for await (const _ of eachRow(store, { prefix: keys.checkFailuresOf(team) })) rows++;
    findings.compare("failures of checks", { rows: this.#failures }, { rows });
  }
}

function compareRow(
  what: string,
  expected: ExpectedRow,
  { counts, passes = {} }: DayRow,
  existing: ReadonlySet<string>,
  findings: Findings,
): void {
  const ofExisting = (by: Iterable<readonly [string, unknown]>) =>
    Object.fromEntries([...by].filter(([check]) => existing.has(check)));
  const wanted = Array.from(expected, ([check, { counts }]) => [check, counts] as const);
  findings.compare(what, ofExisting(wanted), ofExisting(Object.entries(counts)));
  for (const [check, at] of Object.entries(passes)) {
    const latest = expected.get(check)?.latestPass ?? 0;
    const isKept = at.length <= PASSES_MAX && at.every((pass) => pass <= latest);
    if (existing.has(check) && !isKept) {
      findings.note(`passes of ${check} in ${what}`, `to ${latest}`, `${at}`);
    }
  }
}
