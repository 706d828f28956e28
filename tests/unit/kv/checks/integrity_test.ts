/** Verify finds every kind of damage to results of checks. */
import { assert, assertEquals } from "@std/assert";
import { decodeResults, encodeResults } from "../../../../kv/base/codec_checks.ts";
import { decodeSums, encodeSums } from "../../../../kv/base/codec_sums.ts";
import { keys } from "../../../../kv/base/keys.ts";
import type { DayRow } from "../../../../kv/checks/day_counts.ts";
import type { RunSummary } from "../../../../domain/runs/summary.ts";
import { verifyStore } from "../../../../kv/integrity/integrity.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";
import { open, run, TEAM } from "../../../support/builders/stored_runs.ts";
import { aCheck, assertVerified } from "../../../support/builders/checks.ts";

const { id: TEAM_ID } = TEAM;
const DAY = keys.checkCounts(TEAM_ID, "2026-11-21", "");
const OF_AGENT = keys.checkCounts(TEAM_ID, "2026-11-21", "a");
const RESULTS = keys.checkResults(TEAM_ID, run(1));
const FAILURE = keys.checkFailure(TEAM_ID, "id_good", NOON + 1, run(1));

/** Changes the value of a row; null removes it. */
type Change = (value: unknown) => unknown;

function ofRow(change: (row: DayRow) => DayRow): Change {
  return (value) => change(value as DayRow);
}

function ofSummary(change: (summary: RunSummary) => RunSummary): Change {
  return (value) => encodeSums(change(decodeSums(value as Uint8Array)));
}

const DAMAGES: Readonly<Record<string, readonly [key: Deno.KvKey, says: string, Change]>> = {
  "a count of all agents is too high": [
    DAY,
    "counts of checks 2026-11-21",
    ofRow(({ counts, ...row }) => ({ ...row, counts: { ...counts, id_good: [2, 1, 0, 0] } })),
  ],
  "the counts of an agent are gone": [OF_AGENT, "counts of checks 2026-11-21 a", () => null],
  "a day has counts without a run": [
    keys.checkCounts(TEAM_ID, "2026-11-20", ""),
    "counts of checks 2026-11-20",
    () => ({ counts: { id_good: [1, 0, 0, 0] } }),
  ],
  "a pass is later than all runs": [
    DAY,
    "passes of id_good",
    ofRow((row) => ({ ...row, passes: { id_good: [NOON + 99] } })),
  ],
  "a failure is gone": [FAILURE, "failure of id_good", () => null],
  "a failure is of no run": [
    keys.checkFailure(TEAM_ID, "id_good", NOON, run(9)),
    "failures of checks",
    () => true,
  ],
  "the results of a run are gone": [RESULTS, `summary of ${run(1)}`, () => null],
  "a result has another outcome": [
    RESULTS,
    "counts of checks",
    (value) => encodeResults(decodeResults(value).map((each) => ({ ...each, status: "skipped" }))),
  ],
  "results cannot be read": [RESULTS, `parts of ${run(1)}`, () => "not results"],
  "an open run has results": [
    keys.checkResults(TEAM_ID, run(3)),
    `results of checks of ${run(3)}`,
    () => encodeResults(decodeResults(null)).replace("[]", '[["good","id_good",1,8]]'),
  ],
  "a summary does not say that a check failed": [
    keys.summary(TEAM_ID, run(1)),
    `summary of ${run(1)}`,
    ofSummary((summary) => ({ ...summary, listed: { ...summary.listed, has: [] } })),
  ],
  "a summary says that more checks failed": [
    keys.summary(TEAM_ID, run(1)),
    `summary of ${run(1)}`,
    ofSummary((summary) => ({ ...summary, checks: { notPassed: 2 } })),
  ],
};

TempStore.test(
  "verify: every kind of damage to results of checks is found",
  async ({ store }, t) => {
    const process = new AlertProcess(store);
    await process.put("check", "good", aCheck('status == "success"'));
    await process.close(1, "failed");
    await process.close(2, "success");
    await open(process.runs, 3);
    await process.work();
    await assertVerified(store);
    for (const [name, [key, says, change]] of Object.entries(DAMAGES)) {
      await t.step(name, async () => {
        const { value } = await store.reader.get(key);
        const damaged = change(value);
        const write = (to: unknown) =>
          store.writer.commit(to === null ? { deletes: [key] } : { sets: [{ key, value: to }] });
        await write(damaged);
        const { differences } = await verifyStore(store, { pauseMs: 0 });
        const whats = differences.map(({ what }) => what);
        assert(whats.some((what) => what.includes(says)), `${says} is not in ${whats.join("; ")}`);
        await write(value);
      });
    }
    await assertVerified(store);
    assertEquals((await store.reader.get(FAILURE)).value, true);
  },
);
