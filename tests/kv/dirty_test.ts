/** Marks of changed runs: none is lost, none is deleted before it was looked at. */
import { assert, assertEquals } from "@std/assert";
import { ulid } from "@std/ulid";
import type { TeamId } from "../../domain/credentials.ts";
import { DIRTY_LANES, type DirtyLane } from "../../domain/pipeline/pipeline.ts";
import { keys } from "../../kv/keys.ts";
import { isSummedUp, readDirty } from "../../kv/pipeline/dirty.ts";
import { decodeDirty, dirtyName, encodeDirty, parseDirtyName } from "../../kv/writer/dirty_mark.ts";
import { NOON } from "../support/harness.ts";
import { aCall, finish, open, run, runsOf, TEAM } from "../support/pipeline.ts";
import { TempStore } from "../support/temp_store.ts";

/** The runs that a lane names, each once. */
async function marked(temp: TempStore, lane: DirtyLane, rowsMax = 100): Promise<string[]> {
  return (await readDirty(temp.store, lane, rowsMax)).runs.map(({ run }) => run);
}

Deno.test("dirty: a mark set while others are being worked on stays when they are settled", async () => {
  await using temp = await TempStore.open();
  const runs = runsOf(temp.store);
  await finish(runs, 1);
  await finish(runs, 2);
  const taken = await readDirty(temp.store, "closed", 100);
  assertEquals(taken.runs.map(({ run }) => run), [run(1), run(2)]);
  await runs.append(TEAM, run(1), [aCall(1)], NOON);
  await open(runs, 2);
  await finish(runs, 3);
  await taken.settle();
  const left = await Promise.all(DIRTY_LANES.map((lane) => marked(temp, lane)));
  assertEquals(left, [[run(3)], [run(1), run(2)]]);
});

Deno.test("dirty: a close joins the closed lane, everything else the open one", async () => {
  await using temp = await TempStore.open();
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

Deno.test("dirty: what changes nothing leaves no mark", async () => {
  await using temp = await TempStore.open();
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

Deno.test("dirty: writes that share a commit share a row, and each of their runs is named once", async () => {
  await using temp = await TempStore.open();
  const runs = runsOf(temp.store);
  const count = 90;
  await Promise.all(Array.from({ length: count }, (_, n) => finish(runs, n)));
  const rows = await temp.keysBelow(["dirty"]);
  assertEquals(rows.length < 10, true, `${rows.length} rows`);
  assertEquals((await marked(temp, "closed")).length, count);
});

Deno.test("dirty: the oldest rows come first, no more than asked for", async () => {
  await using temp = await TempStore.open();
  const runs = runsOf(temp.store);
  for (let n = 0; n < 5; n++) await finish(runs, n);
  const seen: string[] = [];
  for (;;) {
    const taken = await readDirty(temp.store, "closed", 2);
    if (taken.rows === 0) break;
    seen.push(taken.runs.map(({ run }) => run).join());
    await taken.settle();
  }
  assertEquals(seen, [`${run(0)},${run(1)}`, `${run(2)},${run(3)}`, run(4)]);
});

Deno.test("dirty: a row names runs of any teams and is read back as written", () => {
  const runs = [{ team: "a" as TeamId, run: run(1) }, { team: "b" as TeamId, run: run(1) }];
  const text = encodeDirty(runs.map(({ team, run }) => dirtyName(team, run)));
  assertEquals(decodeDirty(text).map(parseDirtyName), runs);
});

Deno.test("dirty: a row that is damaged names nobody, and goes with the others", async () => {
  await using temp = await TempStore.open();
  const name = dirtyName(TEAM.id, run(1));
  const rubbish = ["", "x", ` ${run(1)}`, `${TEAM.id} ${"r".repeat(3_000)}`, 7, null, [name]];
  const sets = rubbish.map((value, n) => ({ key: keys.dirty("closed", `${n}`), value }));
  await temp.store.writer.commit({ sets, dirty: [{ lane: "closed", name }] });
  const taken = await readDirty(temp.store, "closed", 100);
  assertEquals([taken.rows, taken.runs], [rubbish.length + 1, [{ team: TEAM.id, run: run(1) }]]);
  await taken.settle();
  assertEquals(await temp.keysBelow(["dirty"]), []);
});

Deno.test("dirty: marks of before a moment are told by their version, whatever the clock said", async () => {
  await using temp = await TempStore.open();
  const { store } = temp;
  const mark = async (nowMs: number) => {
    const key = keys.dirty("open", ulid(nowMs));
    const version = await store.writer.commit({
      sets: [{ key, value: dirtyName(TEAM.id, run(1)) }],
    });
    assert(version !== null);
    return { key, version };
  };
  // The clock was an hour ahead, and was set back before the next commit.
  const early = await mark(NOON + 3_600_000);
  const moment = await store.writer.commit({ sets: [{ key: keys.team(TEAM.id), value: TEAM }] });
  assert(moment !== null);
  await mark(NOON);
  assertEquals(await isSummedUp(store, moment), false);
  await store.writer.commit({ deletes: [early.key] });
  assertEquals(await isSummedUp(store, moment), true);
});
