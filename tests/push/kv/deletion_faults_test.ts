/** Deletions interrupted at any point end the same as undisturbed ones, with exact receipts. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { Store } from "../../../kv/store.ts";
import { contentsOf, DAY_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import type { Fault } from "../../support/fakes/fault_kv.ts";
import { aRunNow, MANY, OldLedger, openOldLedger } from "../../support/builders/old_ledger.ts";
import { open, run } from "../../support/builders/stored_runs.ts";
import { assertClean, assertExact } from "../../support/oracles/stray_rows.ts";

const FAULTS = ["throw", "commit then throw", "lost"] as const;

/** Works on a ledger where one commit meets a fault; returns the number of commits. */
async function workWith(
  ledger: OldLedger,
  fault: Fault,
  at: number,
  work: (archive: RetentionHarness) => Promise<unknown>,
): Promise<number> {
  let commits = 0;
  const next = (): Fault => ++commits === at ? fault : "none";
  await using other = await openOldLedger(ledger.temp.path, next);
  try {
    await work(other.archive);
  } catch (error) {
    assert(error instanceof StorageUnavailable, String(error));
  }
  return commits;
}

/** Dumps the store without the random names of audit log entries. */
async function rowsOf(store: Store): Promise<string[]> {
  const lines = await contentsOf(store);
  return lines.map((line) => line.replace(/^(\[ "audit_log", "\w+", \d+, )"\w+"/, "$1")).sort();
}

/** Does work undisturbed, then with each fault at each commit, and compares the final stores. */
async function assertSameEnd(
  open: () => Promise<OldLedger>,
  work: (archive: RetentionHarness, ledger: OldLedger) => Promise<unknown>,
): Promise<number> {
  await using undisturbed = await open();
  const commits = await workWith(undisturbed, "none", 0, (archive) => work(archive, undisturbed));
  await assertClean(undisturbed.temp.store);
  const expected = await rowsOf(undisturbed.temp.store);
  for (const fault of FAULTS) {
    for (let at = 1; at <= commits; at++) {
      const what = `commit ${at} of ${commits}: ${fault}`;
      await using ledger = await open();
      const { retention, temp: { store } } = ledger;
      await workWith(ledger, fault, at, (archive) => work(archive, ledger));
      await assertExact(store, what);
      await work(retention, ledger);
      assertEquals(await rowsOf(store), expected, what);
    }
  }
  return commits;
}

Deno.test("delete a run: whichever commit fails in whichever way, a retry ends with the same receipt", async () => {
  const receipts = new Set<string>();
  const commits = await assertSameEnd(OldLedger.open, async ({ deletions }, { team }) => {
    const deleted = await deletions.deleteRun(team, run(14), "key");
    receipts.add(JSON.stringify(deleted?.receipt));
  });
  assert(commits > 3, `only ${commits} commits`);
  const [receipt, ...others] = receipts;
  assertEquals([JSON.parse(receipt ?? "{}").events, others], [MANY, []]);
});

Deno.test("delete a customer: whichever commit fails in whichever way, the job ends with an exact receipt", async () => {
  let id = "";
  const open = await OldLedger.changed(async ({ retention, team }) => {
    // Some of the customer's runs have expired, the others have all of their events.
    retention.nowMs -= 5 * DAY_MS;
    await retention.sweep();
    retention.nowMs += 5 * DAY_MS;
    id = (await retention.deletions.deleteCustomer(team, "acme", "key")).job.id;
  });
  const commits = await assertSameEnd(open, (archive) => archive.deleteAll());
  assert(commits > 7, `only ${commits} commits`);
  await using ledger = await open();
  await ledger.retention.deleteAll();
  const job = await ledger.retention.deletions.get(ledger.team, id);
  const { state, runs, events, days, failed } = job ?? {};
  assertEquals([state, runs, events, days, failed], ["done", 10, 9 + MANY, 1, 0]);
});

/** Makes the commits of a store succeed without an answer, until the returned function is called. */
function loseAnswers({ writer }: Store): () => void {
  const commit = writer.commit;
  writer.commit = async (write) => {
    await commit.call(writer, write);
    throw new StorageUnavailable("The answer is lost");
  };
  return () => void (writer.commit = commit);
}

RetentionHarness.test("delete a run: the commit that counted it succeeded without an answer", async (archive) => {
  const team = await archive.addTeam("free");
  await aRunNow(archive, team, 1);
  const answerAgain = loseAnswers(archive.store);
  await assertRejects(() => archive.work(), StorageUnavailable);
  answerAgain();
  const deleted = await archive.deletions.deleteRun(team, run(1), "key");
  assertEquals(deleted?.kind, "stored");
  await archive.work();
  await assertClean(archive.store);
});

RetentionHarness.test("delete a run: it stays deleted when its commit succeeds without an answer, before the worker sees the run", async (archive) => {
  const team = await archive.addTeam("free");
  await aRunNow(archive, team, 1);
  await archive.work();
  await open(archive.runs, 2, { customerId: "acme" }, team);
  const answerAgain = loseAnswers(archive.store);
  await assertRejects(() => archive.deletions.deleteRun(team, run(2), "key"), StorageUnavailable);
  answerAgain();
  // A change of another run comes first: it reads the version of the roll-ups again.
  await aRunNow(archive, team, 3);
  await archive.work();
  await assertClean(archive.store);
});
