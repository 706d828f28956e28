/** Checks of all teams for notices, by instances that a platform starts and stops often. */
import { assert, assertEquals } from "@std/assert";
import type { TeamId } from "../../../domain/core/ids.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { NoticesHarness } from "../../support/harness/notices.ts";
import { HOUR_MS } from "../../support/harness/retention_harness.ts";
import type { NoticeStore } from "../../../kv/teams/usage.ts";

const IDS = Array.from({ length: 20 }, (_, n) => `team ${String(n).padStart(2, "0")}` as TeamId);

/** A store of many teams, with a hook at each check of one. */
function manyTeams({ store, team }: NoticesHarness, onCheck: (id: TeamId) => void): NoticeStore {
  return {
    ...store,
    async *teams(after) {
      yield* IDS.filter((id) => after === null || id > after);
    },
    team: (id) => Promise.resolve({ ...team, id }),
    used(id) {
      onCheck(id);
      return Promise.resolve(0);
    },
  };
}

Deno.test("notices: instances that start often check all teams once an hour, others at each start", async () => {
  for (const isShared of [true, false]) {
    await using b = await NoticesHarness.open();
    const checked: TeamId[] = [];
    const store = manyTeams(b, (id) => void checked.push(id));
    const counts: number[] = [];
    for (const ms of [0, 60_000, HOUR_MS - 60_001, 1]) {
      b.nowMs += ms;
      await b.job(null, store, isShared).round();
      counts.push(checked.splice(0).length);
    }
    assertEquals(counts, isShared ? [20, 0, 0, 20] : [20, 20, 20, 20]);
    // A process that runs for hours does as those that start.
    const job = b.job(null, store, isShared);
    await job.round();
    b.nowMs += HOUR_MS;
    checked.length = 0;
    await job.round();
    assertEquals(checked.length, isShared ? 20 : 0);
  }
});

Deno.test("notices: instances that live five seconds each check all teams, one after the other", async () => {
  await using b = await NoticesHarness.open();
  let checksLeft = 0;
  const checked: TeamId[] = [];
  const store = manyTeams(b, (id) => {
    if (checksLeft-- === 0) throw new StorageUnavailable("killed");
    b.nowMs += 1_000;
    checked.push(id);
  });
  for (let life = 0; life < IDS.length && new Set(checked).size < IDS.length; life++) {
    checksLeft = 5;
    await b.job(null, store, true).round().catch((error) => {
      assert(error instanceof StorageUnavailable, error);
    });
  }
  assertEquals([...new Set(checked)], IDS);
});
