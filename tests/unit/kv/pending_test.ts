/** Marks of pending runs: none is lost, and none is removed before its run is processed. */
import { assert, assertEquals } from "@std/assert";
import { ulid } from "@std/ulid";
import type { TeamId } from "../../../domain/core/ids.ts";
import { PENDING_LANES, type PendingLane } from "../../../domain/runs/stages.ts";
import { keys } from "../../../kv/base/keys.ts";
import { PendingQueue, PendingWaits } from "../../../kv/runs/pending_queue.ts";
import { Backoff } from "../../../runtime/loop.ts";
import { pendingName } from "../../../kv/writer/group.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aCall, finish, open, run, runsOf, TEAM } from "../../support/builders/stored_runs.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

/** A lane's untouched queue. */
function queueOf(temp: TempStore, lane: PendingLane = "closed"): PendingQueue {
  return new PendingQueue(temp.store, lane, new Backoff(() => NOON), () => false);
}

/** Lists the runs of a lane, each once. */
async function marked(temp: TempStore, lane: PendingLane): Promise<string[]> {
  return (await queueOf(temp, lane).take(100)).runs.map(({ run }) => run);
}

TempStore.test("pending: a mark set while others are processed stays when those are acknowledged", async (temp) => {
  const runs = runsOf(temp.store);
  await finish(runs, 1);
  await finish(runs, 2);
  const queue = queueOf(temp);
  const batch = await queue.take(2);
  assertEquals(batch.runs.map(({ run }) => run), [run(1), run(2)]);
  await runs.append(TEAM, run(1), [aCall(1)], NOON);
  await open(runs, 2);
  await finish(runs, 3);
  await batch.ack();
  await (await queue.take(0)).ack();
  const remaining = await Promise.all(PENDING_LANES.map((lane) => marked(temp, lane)));
  assertEquals(remaining, [[run(3)], [run(1), run(2)]]);
});

TempStore.test("pending: a close joins the closed lane, every other change the open lane", async (temp) => {
  const runs = runsOf(temp.store);
  const beat = { agent: "a", startedAt: NOON, reported: {} } as const;
  await open(runs, 1);
  await runs.append(TEAM, run(2), [aCall(1)], NOON);
  await runs.heartbeat(TEAM, { ...beat, id: run(3), status: "start" }, NOON);
  await finish(runs, 4);
  await runs.heartbeat(TEAM, { ...beat, id: run(5), status: "ok" }, NOON);
  await runs.heartbeat(TEAM, { ...beat, id: run(3), status: "fail" }, NOON);
  assertEquals(await marked(temp, "open"), [run(1), run(2), run(3)]);
  assertEquals(await marked(temp, "closed"), [run(4), run(5), run(3)]);
});

TempStore.test("pending: a write that changes nothing leaves no mark", async (temp) => {
  const runs = runsOf(temp.store);
  await open(runs, 1);
  await runs.append(TEAM, run(1), [aCall(1)], NOON);
  await finish(runs, 1);
  const before = await temp.keysBelow(["dirty"]);
  await open(runs, 1);
  await runs.append(TEAM, run(1), [aCall(1)], NOON);
  await finish(runs, 1);
  assertEquals(await temp.keysBelow(["dirty"]), before);
});

TempStore.test("pending: writes that share a commit share a row, which names each of their runs once", async (temp) => {
  const runs = runsOf(temp.store);
  const count = 90;
  await Promise.all(Array.from({ length: count }, (_, n) => finish(runs, n)));
  const rows = await temp.keysBelow(["dirty"]);
  assertEquals(rows.length < 10, true, `${rows.length} rows`);
  assertEquals((await marked(temp, "closed")).length, count);
});

TempStore.test("pending: the oldest rows come first, up to the limit", async (temp) => {
  const runs = runsOf(temp.store);
  for (let n = 0; n < 5; n++) await finish(runs, n);
  const queue = queueOf(temp);
  const seen: string[] = [];
  for (;;) {
    const batch = await queue.take(2);
    if (batch.isEmpty) break;
    if (batch.runs.length > 0) seen.push(batch.runs.map(({ run }) => run).join());
    await batch.ack();
  }
  assertEquals(seen, [`${run(0)},${run(1)}`, `${run(2)},${run(3)}`, run(4)]);
});

TempStore.test("pending: a damaged row names no run, and is removed with the others", async (temp) => {
  const name = pendingName(TEAM.id, run(1));
  const rubbish = ["", "x", ` ${run(1)}`, `${TEAM.id} ${"r".repeat(3_000)}`, 7, null, [name]];
  const sets = rubbish.map((value, n) => ({ key: keys.pending("closed", `${n}`), value }));
  await temp.store.writer.commit({ sets, pending: [{ lane: "closed", name }] });
  const queue = queueOf(temp);
  const batch = await queue.take(100);
  assertEquals(batch.runs, [{ team: TEAM.id, run: run(1) }]);
  await batch.ack();
  await (await queue.take(100)).ack();
  assertEquals(await temp.keysBelow(["dirty"]), []);
});

TempStore.test("pending: earlier marks are recognized by their version, whatever the clock", async (temp) => {
  const { store } = temp;
  const marks = new PendingWaits(store);
  await open(runsOf(store), 1);
  for (const key of await temp.keysBelow(["dirty"])) await store.writer.commit({ deletes: [key] });
  const mark = async (nowMs: number) => {
    const key = keys.pending("open", ulid(nowMs));
    const version = await store.writer.commit({
      sets: [{ key, value: pendingName(TEAM.id, run(1)) }],
    });
    assert(version !== null);
    return { key, version };
  };
  // The clock was an hour ahead, and was set back before the next commit.
  const early = await mark(NOON + 3_600_000);
  const moment = await store.writer.commit({ sets: [{ key: keys.team(TEAM.id), value: TEAM }] });
  assert(moment !== null);
  await mark(NOON);
  assertEquals(await marks.areOver("job", TEAM.id, moment), false);
  // No team waits for another team's runs.
  assertEquals(await marks.areOver("other", "other" as TeamId, moment), true);
  await store.writer.commit({ deletes: [early.key] });
  assertEquals(await marks.areOver("job", TEAM.id, moment), true);
});

TempStore.test("pending: a row is removed when the last of its runs is done, and not before", async (temp) => {
  const names = ["a", "b"].map((team) => pendingName(team as TeamId, run(1)));
  await temp.store.writer.commit({
    pending: names.map((name) => ({ lane: "closed" as const, name })),
  });
  let nowMs = NOON;
  const queue = new PendingQueue(temp.store, "closed", new Backoff(() => nowMs), () => false);
  await (await queue.take(1)).ack();
  assertEquals((await temp.keysBelow(["dirty"])).length, 1);
  const remainder = await queue.take(10);
  assertEquals(remainder.runs.map(({ team }) => team), ["b"]);
  // A run that failed three times waits for its backoff, and keeps the row.
  await remainder.ack(remainder.runs);
  for (let tries = 1; tries < 3; tries++) {
    const more = await queue.take(10);
    await more.ack(more.runs.filter(({ team }) => team === "b"));
  }
  const none = await queue.take(10);
  assertEquals(none.runs.filter(({ team }) => team === "b"), []);
  await none.ack();
  assertEquals((await temp.keysBelow(["dirty"])).length, 1);
  nowMs += 1_000;
  const again = await queue.take(10);
  assert(again.runs.some(({ team }) => team === "b"));
  await again.ack();
  await (await queue.take(10)).ack();
  assertEquals(await temp.keysBelow(["dirty"]), []);
});
