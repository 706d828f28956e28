/**
 * Heads in memory of runs that jobs change too: new prices, removed payload, deletions, failures.
 */
import { ONE_STEP, workOnce } from "../../support/harness/jobs.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { RawJson } from "../../../domain/core/raw_json.ts";
import { keys, newRowName } from "../../../kv/base/keys.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { createRepriceWork } from "../../../kv/repricing/reprice_work.ts";
import type { RunFailure } from "../../../domain/runs/stages.ts";
import { readHeads } from "../../../kv/runs/heads.ts";
import { cardOf, rateRow } from "../../support/builders/cards.ts";
import { finish, open, run, runsOf, TEAM } from "../../support/builders/stored_runs.ts";
import { NOON } from "../../support/harness/harness.ts";
import { DAY_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import {
  append,
  beat,
  costOf,
  HookedProcess,
  waitAt,
} from "../../support/harness/hooked_process.ts";
import { Gate } from "../../support/harness/worker_harness.ts";
import { pendingName } from "../../../kv/writer/group.ts";

const NEW_CARD = cardOf(rateRow("known", 30, 50));
const SPEC = { model: "known", provider: null, from: null, to: null };

for (const at of ["before", "after"] as const) {
  HookedProcess.test(`recent heads: the worker runs ${at} new prices are stored`, async (process) => {
    const cards = { current: () => Promise.resolve(NEW_CARD) };
    const { store, now } = process;
    const { reprices, handler } = createRepriceWork({ ...ONE_STEP, store, cards, now });
    await open(process.runs, 1);
    await append(process, 1, 1);
    await beat(process, 2, "start", { reported: { model: "known", inputTokens: 4 } });
    await process.work();
    await reprices.create(TEAM, SPEC, false, "key");
    const gate = new Gate();
    process.once(waitAt(gate, at));
    const repricing = (async () => {
      while (await workOnce(store, handler, NOON));
    })();
    await gate.reached();
    // Without new events, the worker would have nothing to do.
    if (at === "after") await beat(process, 2, "start");
    else await append(process, 3, 7);
    await process.work();
    gate.open();
    await repricing;
    await process.work();
    await append(process, 1, 2);
    await process.assertExact({
      1: ["running", 0, 2, 10 * costOf(1) + costOf(2)],
      2: ["running", 0, 0, 4 * 30],
    });
    await finish(process.runs, 1);
    await process.assertExact({ 1: ["success", 1, 2, 10 * costOf(1) + costOf(2)] });
  });
}

HookedProcess.test("recent heads: a run is deleted while it waits and while events arrive", async (process) => {
  const jobs = new RetentionHarness(process.store);
  const team = await jobs.addTeam("free");
  const runs = runsOf(process.store);
  for (const n of [1, 2]) {
    await open(runs, n, {}, team);
    if (n === 1) await jobs.work();
    await process.runs.append(team, run(n), [], NOON);
    const [deletion] = await Promise.all([
      jobs.deletions.deleteRun(team, run(n), "key"),
      finish(runs, n, team),
      jobs.work(),
    ]);
    assertEquals(deletion?.kind, "stored");
    assertEquals((await finish(runs, n, team)).kind, "conflict");
  }
  await jobs.work();
  assertEquals((await verifyStore(process.store, { pauseMs: 0 })).differences, []);
});

HookedProcess.test("recent heads: a sweep removes payload of an open run, which then ends", async (process) => {
  const jobs = new RetentionHarness(process.store);
  const team = await jobs.addTeam("free");
  await open(jobs.runs, 1, { goal: "g" }, team);
  await jobs.runs.append(team, run(1), [], NOON);
  await jobs.work();
  jobs.nowMs += 8 * DAY_MS;
  await jobs.sweep();
  await finish(jobs.runs, 1, team);
  await jobs.work();
  assertEquals((await verifyStore(process.store, { pauseMs: 0 })).differences, []);
  const [head] = await readHeads({ store: process.store, team: team.id }, [run(1)]);
  assertEquals(head?.summary?.revision, 1);
});

HookedProcess.test("recent heads: a damaged run whose cost failed is read again", async (process) => {
  const { store, pipeline } = process;
  await append(process, 1, 1);
  const key = keys.ledger(TEAM.id, run(1));
  const { value } = await store.reader.get(key);
  await store.writer.commit({ sets: [{ key, value: new Uint8Array([255, 255]) }] });
  const fail = async (work: () => Promise<void>) => {
    const error = await assertRejects(work);
    await pipeline.projectFailed({ team: TEAM.id, run: run(1) }, error);
  };
  const batch = await pipeline.takePending("open", 10);
  await fail(() => pipeline.project(TEAM.id, [run(1)]));
  await batch.ack();
  // Without further work, the consumed mark is deleted.
  await (await pipeline.takePending("open", 10)).ack();
  await open(process.runs, 1);
  await process.work();
  // The cost that failed is due again, and reads.
  const workOnce = async () => {
    const [row, ...others] = await process.dueRuns(NOON + DAY_MS);
    assert(row !== undefined && others.length === 0);
    await process.workOn(row);
  };
  await workOnce();
  const failure = await store.reader.get<RunFailure>(keys.runFailure(TEAM.id, run(1)));
  assertEquals(failure.value?.tries, 2);
  await store.writer.commit({ sets: [{ key, value }] });
  await workOnce();
  await process.assertExact({ 1: ["running", 0, 1, costOf(1)] });
});

HookedProcess.test("recent heads: a head holds no part's texts and scores if they are long, and no ids of events", async (process) => {
  const large = {
    output: `"${"o".repeat(1_000)}"` as RawJson,
    metadata: [["k", "v"]],
    lost: ["field"],
  } as const;
  await open(process.runs, 1, { ...large, goal: "goal" });
  await append(process, 1, 1);
  const scores = [["quality", 1]] as const;
  const end = { status: "success", finishedAt: NOON + 1, ...large, scores } as const;
  await process.runs.finish(TEAM, run(1), end, NOON);
  const head = process.store.heads.recall(pendingName(TEAM.id, run(1)), newRowName());
  const stored = JSON.stringify([head?.opening, head?.closing]);
  for (const text of ["goal", "field", "quality", '"k"']) assert(!stored.includes(text), text);
  assertEquals(head?.ledger.tail.ids.length, 0);
  assertEquals(head?.ledger.batches, 1);
  await process.assertExact({ 1: ["success", 1, 1, costOf(1)] });
});
