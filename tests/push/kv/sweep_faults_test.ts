/** A sweep interrupted at any point ends the same as an undisturbed one. */
import { assert, assertEquals } from "@std/assert";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import {
  nightOf,
  SWEEP_SILENCE_MS,
  type SweepCounts,
} from "../../../domain/retention/retention.ts";
import { contentsOf, type RetentionHarness } from "../../support/harness/retention_harness.ts";
import type { Fault } from "../../support/fakes/fault_kv.ts";
import { OLD_SWEPT, OldLedger, openOldLedger } from "../../support/builders/old_ledger.ts";
import { assertClean, assertExact } from "../../support/oracles/stray_rows.ts";

/** Result of tonight's sweep, if it is done. */
async function resultOf({ sweeps, nowMs }: RetentionHarness): Promise<SweepCounts | null> {
  const current = await sweeps.report(nightOf(nowMs));
  return current?.report.finishedAt ? current.report.counts : null;
}

/** Sweeps a ledger where one commit meets a fault; returns the number of commits. */
async function sweepWith(ledger: OldLedger, fault: Fault, at: number): Promise<number> {
  let commits = 0;
  const next = (): Fault => ++commits === at ? fault : "none";
  await using other = await openOldLedger(ledger.temp.path, next);
  try {
    await other.archive.job().sweepIfDue();
    await other.archive.purgeAll();
  } catch (error) {
    assert(error instanceof StorageUnavailable, String(error));
  }
  return commits;
}

OldLedger.test("sweep: whichever of its commits fails in whichever way, the next sweep completes it, and all is exact", async (undisturbed) => {
  const commits = await sweepWith(undisturbed, "none", 0);
  assertEquals(await resultOf(undisturbed.retention), OLD_SWEPT);
  await assertClean(undisturbed.temp.store);
  const expected = await contentsOf(undisturbed.temp.store);
  assert(commits > 8, `only ${commits} commits`);
  for (const fault of ["throw", "commit then throw", "lost"] as const) {
    for (let at = 1; at <= commits; at++) {
      const what = `commit ${at} of ${commits}: ${fault}`;
      await using ledger = await OldLedger.open();
      const { temp, retention } = ledger;
      await sweepWith(ledger, fault, at);
      await assertExact(temp.store, what);
      retention.nowMs += SWEEP_SILENCE_MS + 1;
      await retention.job().sweepIfDue();
      await retention.purgeAll();
      assertEquals(await contentsOf(temp.store), expected, what);
      const counts = await resultOf(retention);
      // Committed but unreported removals are missing, and none is reported twice.
      for (const name of Object.keys(OLD_SWEPT) as (keyof SweepCounts)[]) {
        assert(counts !== null && counts[name] <= OLD_SWEPT[name], `${what}: ${name}`);
      }
      if (fault === "lost") assertEquals(counts, OLD_SWEPT, what);
    }
  }
});
