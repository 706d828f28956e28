/** The most expensive call of a run, while its events expire and while it is damaged. */
import { assertEquals } from "@std/assert";
import { EMPTY_SWEEP } from "../../../domain/retention/sweep.ts";
import { encodeLedger } from "../../../kv/base/codec_ledger.ts";
import { keys } from "../../../kv/base/keys.ts";
import { ledgerOf } from "../../../kv/runs/tombstone.ts";
import { cardOf, rateRow } from "../../support/builders/cards.ts";
import { fill } from "../../support/builders/ledger_of_everything.ts";
import { aCall, open, run } from "../../support/builders/stored_runs.ts";
import { Harness, NOON } from "../../support/harness/harness.ts";
import { DAY_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { assertAllFound, RUN, valueOf } from "../../support/oracles/damage.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";

Deno.test("an expired call is not named as the most expensive one, and no smaller one instead", async () => {
  await using temp = await TempStore.open();
  const archive = new RetentionHarness(temp.store);
  const team = await archive.addTeam("free");
  const costliest = async () => (await archive.runs.read(team, run(1), null, 1))?.costliest?.cost;
  await open(archive.runs, 1, {}, team);
  await archive.runs.append(team, run(1), [aCall(100)], NOON);
  archive.nowMs += 5 * DAY_MS;
  await archive.runs.append(team, run(1), [aCall(10)], archive.nowMs);
  await archive.settle();
  assertEquals(await costliest(), 305n);
  archive.nowMs += 3 * DAY_MS;
  assertEquals(await archive.sweep(), { ...EMPTY_SWEEP, payloads: 1, events: 1 });
  assertEquals(await costliest(), undefined);
  await assertClean(temp.store);
  // The remaining call now costs more than the expired one did.
  await archive.reprice(team, cardOf(rateRow("known", 70, 11)));
  assertEquals(await costliest(), 711n);
  await assertClean(temp.store);
});

Deno.test("verify: a ledger that forgets its most expensive call is found", async (t) => {
  await using h = await Harness.open();
  await fill(h);
  const key = keys.ledger(h.team.id, RUN);
  const make = async () => {
    const ledger = ledgerOf(await valueOf(h, key));
    return { sets: [{ key, value: encodeLedger({ ...ledger, costliest: undefined }) }] };
  };
  await assertAllFound(h, t, { "a forgotten call": { says: `standouts of ${RUN}`, make } });
});
