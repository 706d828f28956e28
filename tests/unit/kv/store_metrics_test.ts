/** Store metrics match the store's contents, however long its backlog and whatever fails. */
import { storeOver } from "../../support/harness/stores.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { RunId, TeamId } from "../../../domain/core/ids.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { metricsText } from "../../../runtime/metrics.ts";
import { keys } from "../../../kv/base/keys.ts";
import { workSet } from "../../../kv/work/store.ts";
import { storeMetrics } from "../../../kv/metrics/store_metrics.ts";
import type { Store } from "../../../kv/store.ts";
import { pendingName } from "../../../kv/writer/group.ts";
import { runId } from "../../support/builders/requests.ts";
import { type Fault, faultKv } from "../../support/fakes/fault_kv.ts";
import { Scrape } from "../../support/oracles/prometheus.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { replaced } from "../../support/fakes/replaced.ts";

const TEAM = "team" as TeamId;

async function scrape(store: Store, nowMs = Date.now()): Promise<Scrape> {
  return new Scrape(metricsText(await storeMetrics(store, nowMs)));
}

function mark(n: number, lane: "closed" | "open" = "closed") {
  return { lane, name: pendingName(TEAM, runId(n) as RunId) };
}

TempStore.test("backlog: pending runs are counted by lane, with the age of the oldest", async ({ store }) => {
  const startMs = Date.now();
  await store.writer.commit({ team: TEAM, pending: [mark(1), mark(2), mark(3, "open")] });
  await store.writer.commit({ team: TEAM, pending: [mark(1)] });
  const scraped = await scrape(store, startMs + 60_000);
  const value = (name: string, lane: string) =>
    scraped.value(`runledger_dirty_${name}`, { lane }) ?? 0;
  assertEquals([value("runs", "closed"), value("runs", "open")], [3, 1]);
  for (const lane of ["closed", "open"]) {
    const age = value("oldest_age_seconds", lane);
    assert(age > 50 && age <= 60, String(age));
  }
  // A clock that was set back gives no negative age.
  const early = await scrape(store, 0);
  assertEquals(early.value("runledger_dirty_oldest_age_seconds", { lane: "open" }), 0);
});

TempStore.test("backlog: a long one is counted up to a bound, and its oldest age is still exact", async ({ store }) => {
  const startMs = Date.now();
  // In sequence, so that each has its own row.
  for (let n = 0; n < 1_100; n++) await store.writer.commit({ team: TEAM, pending: [mark(n)] });
  const scraped = await scrape(store, startMs + 3_600_000);
  assertEquals(scraped.value("runledger_dirty_runs", { lane: "closed" }), 1_000);
  const age = scraped.value("runledger_dirty_oldest_age_seconds", { lane: "closed" }) ?? 0;
  assert(age > 3_590 && age <= 3_600, String(age));
});

TempStore.test("stages and notices: pending, their age, given up and unsent are reported", async ({ store }) => {
  const run = runId(1) as RunId;
  const sets = [
    keys.workRow(10_000, "run", TEAM, run),
    keys.workRow(90_000, "run", TEAM, run),
    keys.workRow(90_000, "notice", TEAM, "2026-11 80"),
    keys.workRow(90_000, "notice", TEAM, "2026-11 100"),
  ].map((key) => ({ key, value: true }));
  const failed = [8, 7].map((tries, n) => ({
    key: keys.runFailure(TEAM, runId(n) as RunId),
    value: { work: "checks", tries, at: 0, error: "Error: odd" },
  }));
  await store.writer.commit({ team: TEAM, sets: [...sets, ...failed] });
  const actual = await scrape(store, 15_000);
  const names = ["stages_waiting", "stages_overdue_seconds", "stages_dead", "notices_open"];
  assertEquals(names.map((name) => actual.value(`runledger_${name}`)), [2, 5, 1, 2]);
});

TempStore.test("the clock: the lag is the time since the oldest deadline, and 0 before it", async ({ store }) => {
  const lagAt = async (nowMs: number) =>
    (await scrape(store, nowMs)).value("runledger_clock_lag_seconds");
  assertEquals(await lagAt(15_000), 0);
  const sets = [10_000, 12_000, 90_000].map((at) =>
    workSet({ at, kind: "monitor", team: TEAM, name: String(at) })
  );
  await store.writer.commit({ team: TEAM, sets });
  assertEquals([await lagAt(9_000), await lagAt(10_000), await lagAt(15_500)], [0, 0, 5.5]);
});

TempStore.test("commits: each is counted by its outcome, with all its writes", async (temp) => {
  const kv = temp.store.reader;
  const plan: Fault[] = ["none", "lost", "none", "throw"];
  const { limits, deadlines } = temp.store;
  const store = storeOver(faultKv(kv, () => plan.shift() ?? "none"), kv, limits, deadlines);
  const commit = (name: string) =>
    store.writer.commit({ team: TEAM, sets: [{ key: ["test", name], value: 1 }] });
  await commit("a");
  // Lost for an unknown reason: retried immediately.
  await commit("b");
  await assertRejects(() => commit("c"), StorageUnavailable);
  // Two start immediately, eight wait for one of them and share the next.
  await Promise.all(Array.from({ length: 10 }, (_, n) => commit(`d${n}`)));
  const scraped = await scrape(store);
  const ends = ["stored", "lost", "failed"].map((end) =>
    scraped.value("runledger_commits_total", { end })
  );
  assertEquals([ends[1], ends[2]], [1, 1]);
  assertEquals(scraped.value("runledger_writes_total"), 4 + 10);
  assertEquals(
    scraped.value("runledger_commit_writes_count"),
    scraped.sum("runledger_commits_total"),
  );
  assertEquals(scraped.value("runledger_writer_writes_waiting"), 0);
});

TempStore.test("a store that does not answer is reported as down, with the metrics that need no store", async ({ store }) => {
  await store.writer.commit({ team: TEAM, sets: [{ key: ["test"], value: 1 }] });
  const reader = replaced(store.reader, {
    list: () => {
      throw new TypeError("disk I/O error");
    },
  });
  const actual = await scrape({ ...store, reader });
  assertEquals(actual.value("runledger_store_up"), 0);
  assertEquals(actual.value("runledger_commits_total", { end: "stored" }), 1);
  assertEquals(actual.value("runledger_dirty_runs", { lane: "closed" }), null);
  assertEquals((await scrape(store)).value("runledger_store_up"), 1);
});
