/** A ledger in which objects of every kind are due for removal, and others are not. */
import { storeOver } from "../harness/stores.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import type { SweepCounts } from "../../../domain/retention/retention.ts";
import { Deadlines, TIMERS } from "../../../runtime/deadlines.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { aLargeCall, DAY_MS, RetentionHarness } from "../harness/retention_harness.ts";
import { cardOf, rateRow } from "./cards.ts";
import { type Fault, faultKv } from "../fakes/fault_kv.ts";
import { NOON } from "../harness/harness.ts";
import { aCall, run } from "./stored_runs.ts";
import { TempStore } from "../harness/temp_store.ts";
import { fixture } from "../harness/fixture.ts";

/** Batches of one run whose rows exceed one commit, with repriced calls. */
export const MANY = 160;

/** Opens, fills and closes a run at an archive's current time. */
export async function aRunNow(
  { runs, nowMs }: RetentionHarness,
  team: Team,
  n: number,
  fields: { readonly customerId?: string; readonly agent?: string; readonly batches?: number } = {},
): Promise<void> {
  const { batches = 1, agent = "a", ...labels } = fields;
  await runs.open(team, { id: run(n), agent, startedAt: nowMs + n, goal: "g", ...labels }, nowMs);
  for (let i = 0; i < batches; i++) await runs.append(team, run(n), [aCall(n + i)], nowMs);
  const request = { status: "success", finishedAt: nowMs + n, output: rawOf("done") } as const;
  await runs.finish(team, run(n), request, nowMs);
}

/** Counts of a sweep of {@link fillOld}. */
export const OLD_SWEPT: SweepCounts = {
  payloads: 6,
  events: 5 + MANY + 4 + MANY + 3 + 2,
  records: 6,
  orphans: 2,
  released: 2,
  failed: 0,
};

export class OldLedger implements AsyncDisposable {
  /** Declares a test of a ledger with data that is due for removal. */
  static readonly test = fixture(() => OldLedger.open());

  static #made: Promise<{ readonly file: Uint8Array; readonly team: Team }> | null = null;
  readonly retention: RetentionHarness;

  private constructor(readonly temp: TempStore, readonly team: Team) {
    this.retention = new RetentionHarness(temp.store);
  }

  /** Opens a copy of a ledger that is filled once for all tests of a file. */
  static async open(): Promise<OldLedger> {
    OldLedger.#made ??= make();
    const { file, team } = await OldLedger.#made;
    return new OldLedger(await TempStore.open(file), team);
  }

  /** Changes a ledger; returns a function that opens copies of the changed ledger. */
  static async changed(
    change: (ledger: OldLedger) => Promise<void>,
  ): Promise<() => Promise<OldLedger>> {
    const ledger = await OldLedger.open();
    await change(ledger);
    const { temp, team } = ledger;
    const file = await temp.close();
    await Deno.remove(temp.folder, { recursive: true });
    return async () => new OldLedger(await TempStore.open(file), team);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.temp[Symbol.asyncDispose]();
  }
}

async function make() {
  const temp = await TempStore.open();
  const team = await fillOld(new RetentionHarness(temp.store));
  const file = await temp.close();
  await Deno.remove(temp.folder, { recursive: true });
  return { file, team };
}

/** Fills a free team's ledger so that objects of every kind are due at noon of the tests' day. */
async function fillOld(archive: RetentionHarness): Promise<Team> {
  const team = await archive.addTeam("free");
  const { runs } = archive;
  // The night before was swept.
  await archive.sweeps.startClock(NOON - DAY_MS);
  const at = (days: number) => archive.nowMs = NOON - days * DAY_MS;
  at(40);
  // Records, one of them with more rows than a commit allows.
  for (let n = 0; n < 5; n++) await aRunNow(archive, team, n, { customerId: "acme" });
  const many = [aRunNow(archive, team, 5, { batches: MANY, customerId: "globex" })];
  at(31);
  // Ids of deleted runs, and a customer's receipt.
  for (const n of [6, 7]) {
    await aRunNow(archive, team, n);
    await archive.deletions.deleteRun(team, run(n), "key");
  }
  await archive.work();
  await archive.deletions.deleteCustomer(team, "nobody", "key");
  await archive.deleteAll();
  at(10);
  // Payloads, one with many batches, one with further chunks.
  for (let n = 10; n < 14; n++) await aRunNow(archive, team, n, { customerId: "acme" });
  many.push(aRunNow(archive, team, 14, { batches: MANY, customerId: "acme" }));
  await runs.open(team, { id: run(15), agent: "b", startedAt: NOON }, archive.nowMs);
  for (let i = 0; i < 3; i++) await runs.append(team, run(15), [aLargeCall(i, 2)], archive.nowMs);
  // Parts without an opening.
  for (const n of [16, 17]) await runs.append(team, run(n), [aLargeCall(n)], archive.nowMs);
  at(1);
  for (let n = 20; n < 25; n++) await aRunNow(archive, team, n, { customerId: "acme" });
  await runs.append(team, run(15), [aCall(9)], archive.nowMs);
  at(0);
  await Promise.all(many);
  await archive.work();
  await archive.reprice(team, cardOf(rateRow("known", 7, 11)));
  return team;
}

/** Opens a file as a separate process does, without shared state. */
export async function openOldLedger(
  path: string,
  next: () => Fault = () => "none",
): Promise<AsyncDisposable & { readonly archive: RetentionHarness }> {
  const kv = await Deno.openKv(path);
  const deadlines = new Deadlines(60_000, TIMERS);
  const store = storeOver(faultKv(kv, next), kv, BACK_ENDS.embedded, deadlines);
  return {
    archive: new RetentionHarness(store),
    async [Symbol.asyncDispose]() {
      await store.writer.idle();
      deadlines[Symbol.dispose]();
      kv.close();
    },
  };
}
