/** Roll-ups in the store, and queries over them: limited, in turns, and ended by deadlines. */
import { EMPTY_MEASURES } from "../../../domain/runs/summary.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import {
  groupName,
  type RollupGroup,
  type RollupKind,
  type RollupRow,
} from "../../../domain/spend/rollup.ts";
import {
  createSpendStore,
  decodeRollup,
  encodeRollup,
  rollupKey,
} from "../../../kv/spend/rollups.ts";
import type { Store } from "../../../kv/store.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { insertTeam } from "../../support/builders/teams.ts";
import fc from "fast-check";
import { anyText } from "../../support/builders/any_text.ts";
import { Deadlines, TIMERS } from "../../../runtime/deadlines.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { ReadScope } from "../../../domain/core/read_scope.ts";
import { type Spend, spendOf } from "../../../domain/spend/spend.ts";
import { createQueries } from "../../../kv/spend/queries.ts";
import { readScopes } from "../../../kv/base/reads.ts";
import { problemOfAsync } from "../../support/oracles/problems.ts";

const DAY = "2026-11-21";

function agent(value: string, day = DAY, runs = 1): RollupRow {
  return { day, group: { kind: "agent", value }, measures: { ...EMPTY_MEASURES, runs } };
}

async function put(store: Store, team: Team, rows: readonly RollupRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += 100) {
    const sets = rows.slice(at, at + 100).map((row) => ({
      key: rollupKey(team.id, row),
      value: encodeRollup(row),
    }));
    await store.writer.commit({ team: team.id, sets });
  }
}

async function rowsOf(
  store: Store,
  team: Team,
  kind: RollupKind,
  from: string = DAY,
  to: string = DAY,
): Promise<RollupRow[]> {
  return (await Array.fromAsync(createSpendStore(store).rows(team, kind, from, to))).flat();
}

/** Plain objects, as returned by reads. */
const PLAIN = { noNullPrototype: true };

const label = fc.option(anyText(), { nil: null });
const labels = fc.record({
  agent: label,
  customer: label,
  feature: label,
  status: fc.constantFrom("running" as const, "success" as const),
}, PLAIN);
const model = fc.record({ provider: label, model: anyText() }, PLAIN);
const group: fc.Arbitrary<RollupGroup> = fc.oneof(
  fc.record({ kind: fc.constant("total" as const) }, PLAIN),
  fc.record({ kind: fc.constantFrom("agent" as const, "customer" as const), value: label }, PLAIN),
  fc.record({ kind: fc.constant("model" as const), value: model }, PLAIN),
  fc.record({ kind: fc.constant("cell" as const), labels }, PLAIN),
  fc.record({ kind: fc.constant("model_cell" as const), labels, value: model }, PLAIN),
);
const count = fc.maxSafeInteger().map((number) => number + 0);
const amount = fc.bigInt({ min: -(2n ** 100n), max: 2n ** 100n });
const measures = fc.record({
  runs: count,
  succeeded: count,
  failed: count,
  timedOut: count,
  running: count,
  events: count,
  calls: count,
  inputTokens: amount,
  outputTokens: amount,
  cachedInputTokens: amount,
  cost: amount,
  unpricedCalls: count,
  unpricedInputTokens: amount,
  unpricedOutputTokens: amount,
  unpricedCachedInputTokens: amount,
  uncountedCalls: count,
}, PLAIN);

Deno.test("roll-ups: any row is read back as written", () => {
  fc.assert(fc.property(group, measures, (group, measures) => {
    const row = { day: DAY, group, measures };
    assertEquals(decodeRollup(DAY, encodeRollup(row)), row);
  }));
});

TempStore.test("roll-ups: a name of every length up to the hashed ones has a key the store accepts", async ({ store }) => {
  const team = await insertTeam(store, "team");
  const rows = Array.from({ length: 256 }, (_, length) => agent("字".repeat(length)));
  await put(store, team, rows);
  const read = await rowsOf(store, team, "agent");
  const lengths = read.map(({ group }) => group.kind === "agent" && group.value?.length);
  assertEquals(lengths.sort((a, b) => Number(a) - Number(b)), rows.map((_, length) => length));
});

TempStore.test("roll-ups: more rows than one read holds are returned once each, in order of their days", async ({ store }) => {
  const team = await insertTeam(store, "team");
  for (const count of [499, 500, 501, 1_000, 1_203]) {
    const kind = `${count}`;
    const rows = Array.from(
      { length: count },
      (_, i) => agent(`${kind}-${i}`, `2${kind.padStart(4, "0").slice(1)}-01-${10 + i % 20}`),
    );
    await put(store, team, rows);
    const year = rows[0]?.day.slice(0, 4) ?? "";
    const range = [`${year}-01-01`, `${year}-12-31`] as const;
    const read = await rowsOf(store, team, "agent", ...range);
    assertEquals(read.length, count);
    assertEquals(new Set(read.map(({ group }) => groupName(group))).size, count);
    const days = read.map(({ day }) => day);
    assertEquals(days, days.toSorted());
  }
});

TempStore.test("roll-ups: reading some groups on some days returns only those, however many other rows there are", async ({ store }) => {
  const [ours, theirs] = [await insertTeam(store, "team"), await insertTeam(store, "team")];
  const days = Array.from({ length: 30 }, (_, i) => `2026-11-${String(i + 1).padStart(2, "0")}`);
  const long = "字".repeat(250);
  const stored = ["a", "b", "c", long].flatMap((name, n) =>
    days.filter((_, i) => i % (n + 1) === 0).map((day, i) => agent(name, day, 100 * n + i))
  );
  await put(store, ours, stored);
  await put(store, theirs, [agent("a", days[0], 9_999)]);
  const wanted = ["a", "c", long, "none"];
  const groups = wanted.map((value) => ({ kind: "agent" as const, value }));
  const read = await createSpendStore(store).some(ours, groups, days.slice(3, 25));
  const text = ({ day, group, measures }: RollupRow) =>
    `${day} ${groupName(group)} ${measures.runs}`;
  const expected = stored.filter(({ day, group }) =>
    days.slice(3, 25).includes(day) && group.kind === "agent" && wanted.includes(group.value ?? "")
  );
  assertEquals(read.map(text).sort(), expected.map(text).sort());
  assert(expected.length > 30);
});

const TEAM: Team = { id: "team" as TeamId, name: "team", tier: "business" };
const QUERY = { from: DAY, to: DAY, groupBy: "customer", filters: {} } as const;

/** Stores roll-ups of many customers on one day. */
async function fill(store: Store, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, n): RollupRow => {
    const group = { kind: "customer" as const, value: `customer-${n}` };
    return { day: DAY, group, measures: { ...EMPTY_MEASURES, runs: 1, cost: BigInt(n) } };
  });
  for (let at = 0; at < count; at += 500) {
    const sets = rows.slice(at, at + 500).map((row) => ({
      key: rollupKey(TEAM.id, row),
      value: encodeRollup(row),
    }));
    await store.writer.commit({ team: TEAM.id, sets });
  }
}

/** Queries spend by customer, recording each batch of rows. */
function querySpend(store: Store, onRows: (rows: number) => void): Promise<Spend> {
  const spend = createSpendStore(store);
  return spend.ask(TEAM, () =>
    spendOf(QUERY, async function* (kind) {
      for await (const rows of spend.rows(TEAM, kind, DAY, DAY)) {
        onRows(rows.length);
        yield rows;
      }
    }));
}

TempStore.test("a spend query is charged row by row, and ends when its client disconnects", async (temp) => {
  await fill(temp.store, 3_000);
  const complete = new ReadScope(new AbortController().signal);
  let read = 0;
  const answer = await readScopes.run(
    complete,
    () => querySpend(temp.store, (rows) => read += rows),
  );
  assertEquals([answer.totals.runs, read, complete.rows], [3_000, 3_000, 3_000]);
  assert(complete.bytes > 3_000 * 50);
  const client = new AbortController();
  const scope = new ReadScope(client.signal);
  read = 0;
  const deleted = new Error("the client is gone");
  const running = readScopes.run(scope, () =>
    querySpend(temp.store, (rows) => {
      read += rows;
      client.abort(deleted);
    }));
  assertEquals(await assertRejects(() => running), deleted);
  assertEquals([read, scope.rows], [500, 500]);
});

TempStore.test("a spend query that takes too long is refused with advice, and reads no more", async (temp) => {
  await fill(temp.store, 2_000);
  const ask = createQueries(temp.store.deadlines, 0);
  const spend = createSpendStore(temp.store);
  let read = 0;
  const readAll = async () => {
    for await (const rows of spend.rows(TEAM, "customer", DAY, DAY)) {
      read += rows.length;
      // The deadline has passed when the next batch is requested.
      await new Promise((resolve) => setTimeout(resolve));
    }
    return read;
  };
  let reading: Promise<unknown> | undefined;
  const problem = await problemOfAsync(ask(TEAM.id, () => {
    const result = readAll();
    reading = result;
    return result;
  }));
  // A batch may still be under way.
  await reading?.catch(() => {});
  assertEquals(problem?.code, "overloaded");
  assertMatch(problem?.message ?? "", /fewer days/);
  assert(read <= 500, `${read} rows`);
});

Deno.test("one query per team and two in total run concurrently; teams take turns", async () => {
  using deadlines = new Deadlines(30_000, TIMERS);
  const ask = createQueries(deadlines);
  const running: string[] = [];
  const order: string[] = [];
  const requests = ["a", "a", "a", "b", "c"].map((team, n) => {
    const name = `${team}${n}`;
    return ask(team as TeamId, async () => {
      running.push(name);
      order.push(name);
      const teams = running.map(([first]) => first);
      assert(running.length <= 2 && new Set(teams).size === teams.length, `${running}`);
      await new Promise((resolve) => setTimeout(resolve));
      running.splice(running.indexOf(name), 1);
      return name;
    });
  });
  await Promise.all(requests);
  assertEquals(order, ["a0", "b3", "a1", "c4", "a2"]);
});
