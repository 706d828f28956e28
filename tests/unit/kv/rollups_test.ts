import { EMPTY_MEASURES } from "../../../domain/runs/summary.ts";
import { assert, assertEquals } from "@std/assert";
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
