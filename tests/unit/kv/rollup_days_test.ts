/** Cache of roll-up days: always equal to the store, and read no more than once. */
import { EMPTY_MEASURES } from "../../../domain/runs/summary.ts";
import { assert, assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import { groupName, type RollupRow } from "../../../domain/spend/rollup.ts";
import { openUnlocked } from "../../../kv/open.ts";
import {
  changeRollups,
  createSpendStore,
  encodeRollup,
  rollupKey,
} from "../../../kv/spend/rollups.ts";
import { storedRows, TeamRowCache } from "../../../kv/team/team_rows.ts";
import type { Store } from "../../../kv/store.ts";
import { SEED } from "../../support/harness/seed.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { insertTeam } from "../../support/builders/teams.ts";

import fc from "fast-check";
import { replaced } from "../../support/fakes/replaced.ts";

const DAYS = ["2026-11-18", "2026-11-19", "2026-11-20", "2026-11-21"] as const;
const [FIRST, , , LAST] = DAYS;

/** A delta: a number of runs of an agent on a day. */
function ran(agent: string, day: string, runs = 1): RollupRow {
  const group = { kind: "agent" as const, value: agent };
  return { day, group, measures: { ...EMPTY_MEASURES, runs } };
}

/** Adds deltas as a worker does. */
async function change(store: Store, { id: team }: Team, rows: readonly RollupRow[]): Promise<void> {
  const current = await new TeamRowCache(store).of(team);
  const changed = await changeRollups(current, team, rows);
  const { sets, deletes } = storedRows(changed.rows);
  assert(await store.writer.commit({ team, sets: [...sets, ...changed.sets], deletes }) !== null);
}

/** The same store, recording every range of roll-ups read, by first and last day. */
function watched(store: Store, onRead: () => Promise<void> = () => Promise.resolve()) {
  const read: string[] = [];
  const list = (range: { start: Deno.KvKey; end: Deno.KvKey }, options: object) => {
    const rows = store.reader.list(range, options);
    if (range.start[0] !== "rollup") return rows;
    read.push([range.start, range.end].map((key) => String(key[3])).join(" "));
    return {
      async *[Symbol.asyncIterator]() {
        await onRead();
        yield* rows;
      },
      get cursor() {
        return rows.cursor;
      },
    };
  };
  const reader = replaced(store.reader, { list });
  return { spend: createSpendStore({ ...store, reader }), read };
}

async function textsOf(
  spend: ReturnType<typeof createSpendStore>,
  team: Team,
  [from, to]: readonly [string, string] = [FIRST, LAST],
): Promise<string[]> {
  const rows = await Array.fromAsync(spend.rows(team, "agent", from, to));
  return rows.flat().map(({ day, group, measures }) =>
    `${day} ${groupName(group)} ${measures.runs}`
  );
}

const text = (agent: string, day: string, runs: number) => `${day} ["agent","${agent}"] ${runs}`;

TempStore.test("days of roll-ups: unchanged days are read once, and only changed days are read again", async ({ store }) => {
  const team = await insertTeam(store, "team");
  await change(store, team, DAYS.map((day) => ran("a", day)));
  const { spend, read } = watched(store);
  const all = DAYS.map((day) => text("a", day, 1));
  for (let time = 0; time < 3; time++) assertEquals(await textsOf(spend, team), all);
  assertEquals(read.splice(0), [`${FIRST} ${LAST}`]);
  assertEquals(await textsOf(spend, team, [DAYS[1], DAYS[2]]), all.slice(1, 3));
  assertEquals(read, []);
  await change(store, team, [ran("b", DAYS[1]), ran("a", DAYS[2], -1)]);
  assertEquals(await textsOf(spend, team), [
    text("a", DAYS[0], 1),
    text("a", DAYS[1], 1),
    text("b", DAYS[1], 1),
    text("a", DAYS[3], 1),
  ]);
  assertEquals(read.splice(0), [`${DAYS[1]} ${DAYS[2]}`]);
  // The day that is now empty is cached as empty.
  await textsOf(spend, team);
  assertEquals(read, []);
});

TempStore.test("days of roll-ups: another process's change is seen immediately", async (temp) => {
  const team = await insertTeam(temp.store, "team");
  const elsewhere = await openUnlocked(temp.path);
  const spend = createSpendStore(temp.store);
  for (let runs = 1; runs <= 5; runs++) {
    await change(runs % 2 === 0 ? temp.store : elsewhere, team, [ran("a", FIRST)]);
    assertEquals(await textsOf(spend, team), [text("a", FIRST, runs)]);
  }
  await elsewhere.close();
});

TempStore.test("days of roll-ups: a change between reading the version and the rows is not cached under the old version", async ({ store }) => {
  const team = await insertTeam(store, "team");
  await change(store, team, [ran("a", FIRST)]);
  let meanwhile = true;
  const { spend, read } = watched(store, async () => {
    if (meanwhile) await change(store, team, [ran("a", FIRST)]);
    meanwhile = false;
  });
  assertEquals(await textsOf(spend, team), [text("a", FIRST, 2)]);
  assertEquals(await textsOf(spend, team), [text("a", FIRST, 2)]);
  assertEquals(read.length, 2);
  await change(store, team, [ran("a", FIRST)]);
  assertEquals(await textsOf(spend, team), [text("a", FIRST, 3)]);
});

TempStore.test("days of roll-ups: an aborted read leaves no partial day in the cache", async ({ store }) => {
  const team = await insertTeam(store, "team");
  const rows = Array.from({ length: 700 }, (_, n) => ran(`agent-${n}`, FIRST));
  for (const at of [0, 350]) await change(store, team, rows.slice(at, at + 350));
  const { spend } = watched(store);
  for await (const subset of spend.rows(team, "agent", FIRST, FIRST)) {
    assertEquals(subset.length, 500);
    break;
  }
  assertEquals((await textsOf(spend, team)).length, 700);
});

TempStore.test("days of roll-ups: a day without a stored version is read each time", async ({ store }) => {
  const team = await insertTeam(store, "team");
  const put = (row: RollupRow) =>
    store.writer.commit({
      team: team.id,
      sets: [{ key: rollupKey(team.id, row), value: encodeRollup(row) }],
    });
  await put(ran("a", DAYS[1], 7));
  await change(store, team, [ran("a", DAYS[0]), ran("a", DAYS[2])]);
  const { spend, read } = watched(store);
  const expected = (runs: number) => [
    text("a", DAYS[0], 1),
    text("a", DAYS[1], runs),
    text("a", DAYS[2], 1),
  ];
  for (let time = 0; time < 2; time++) assertEquals(await textsOf(spend, team), expected(7));
  assertEquals(read, [`${FIRST} ${LAST}`, `${DAYS[1]} ${DAYS[1]}`, `${LAST} ${LAST}`]);
  await put(ran("a", DAYS[1], 8));
  assertEquals(await textsOf(spend, team), expected(8));
  // From its next change on it is cached like the others.
  await change(store, team, [ran("a", DAYS[1])]);
  assertEquals(await textsOf(spend, team), expected(9));
  read.splice(0);
  assertEquals(await textsOf(spend, team), expected(9));
  assertEquals(read, [`${LAST} ${LAST}`]);
});

TempStore.test("days of roll-ups: days with more rows than the cache holds are read completely each time", async ({ store }) => {
  const team = await insertTeam(store, "team");
  const rows = Array.from({ length: 5_001 }, (_, n) => ran(`agent-${n}`, FIRST));
  for (let at = 0; at < rows.length; at += 400) {
    await change(store, team, rows.slice(at, at + 400));
  }
  const { spend, read } = watched(store);
  for (let time = 1; time <= 2; time++) {
    const first = [FIRST, FIRST] as const;
    assertEquals((await textsOf(spend, team, first)).length, rows.length);
    // In batches of 500, of which the last is partial.
    assertEquals(read.length, time * 11);
  }
});

Deno.test("days of roll-ups: whatever changes in whatever order, the cache agrees with the store", async () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant("change" as const),
      rows: fc.uniqueArray(
        fc.record({
          agent: fc.constantFrom("a", "b"),
          day: fc.constantFrom(...DAYS),
          runs: fc.integer({ min: -2, max: 2 }).filter((runs) => runs !== 0),
        }),
        { selector: ({ agent, day }) => agent + day, minLength: 1, maxLength: 3 },
      ),
    }),
    fc.record({
      kind: fc.constant("read" as const),
      range: fc.tuple(fc.nat(3), fc.nat(3)).map(([a, b]) =>
        [DAYS[Math.min(a, b)] ?? FIRST, DAYS[Math.max(a, b)] ?? LAST] as const
      ),
    }),
  );
  await using temp = await TempStore.open();
  const { store } = temp;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
      const team = await insertTeam(store, "team");
      const remembering = createSpendStore(store);
      for (const one of steps) {
        if (one.kind === "change") {
          await change(store, team, one.rows.map(({ agent, day, runs }) => ran(agent, day, runs)));
        } else {
          const fresh = await textsOf(createSpendStore(store), team, one.range);
          assertEquals(await textsOf(remembering, team, one.range), fresh);
        }
      }
    }),
    { seed: SEED, numRuns: 60 },
  );
});
