/** Filter details in index rows. */
import { assert, assertEquals } from "@std/assert";
import { createRunListStore } from "../../../kv/run_list/run_list.ts";
import { keys } from "../../../kv/base/keys.ts";
import { NOON } from "../../support/harness/harness.ts";
import { processAll, run, runsOf, TEAM } from "../../support/builders/stored_runs.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { indexValue, isSameValue, maybeListed } from "../../../kv/run_list/run_index.ts";

import fc from "fast-check";

const ALL = { from: null, to: null };

const label = fc.option(fc.string({ maxLength: 4 }));
const aRun = fc.record({
  kind: fc.constantFrom("run" as const, "heartbeat" as const),
  agent: label,
  customer: label,
  feature: label,
  minCost: fc.bigInt({ min: 1n, max: 10n ** 16n }),
});

Deno.test("index: a row never excludes its own run, whatever the filter", () => {
  fc.assert(fc.property(aRun, fc.array(fc.nat(4), { maxLength: 5 }), (run, left) => {
    const { kind, minCost, ...labels } = run;
    const filters = Object.entries(run).filter((_, i) => !left.includes(i));
    const maybe = maybeListed({ ...ALL, ...Object.fromEntries(filters) });
    assert(maybe(indexValue(kind, { ...labels, status: "running" })));
    assert(maybe(indexValue(kind, { ...labels, status: "running" }, minCost)));
  }));
});

Deno.test("index: a row excludes runs of another kind, with no label or nearly any other label, and of lower cost", () => {
  const reported = indexValue(
    "run",
    { agent: "a", customer: null, feature: "f", status: "running" },
    5n,
  );
  const is = (query: Parameters<typeof maybeListed>[0]) => maybeListed(query)(reported);
  assertEquals([is({ ...ALL, kind: "run" }), is({ ...ALL, kind: "heartbeat" })], [true, false]);
  assertEquals([is({ ...ALL, customer: null }), is({ ...ALL, customer: "c" })], [true, false]);
  assertEquals([is({ ...ALL, agent: null }), is({ ...ALL, feature: null })], [false, false]);
  assertEquals([is({ ...ALL, minCost: 5n }), is({ ...ALL, minCost: 6n })], [true, false]);
  const others = Array.from({ length: 1_000 }, (_, n) => is({ ...ALL, agent: `agent-${n}` }));
  assert(others.filter(Boolean).length < 12);
  // Rows of the old format, without details.
  assert(maybeListed({ ...ALL, agent: "b" })(true));
});

TempStore.test("index: all rows of a run have the label set by its close", async ({ store }) => {
  const runs = runsOf(store);
  const { page } = createRunListStore(store);
  const beat = { id: run(1), agent: "a", startedAt: NOON, reported: {}, feature: "f" } as const;
  const result = async (customer: string | null) =>
    (await page(TEAM, { ...ALL, agent: "a", feature: "f", customer }, null, 9)).rows.length;
  await runs.heartbeat(TEAM, { ...beat, status: "start", customerId: "c" }, NOON);
  await processAll(store);
  assertEquals([await result("c"), await result("d")], [1, 0]);
  await runs.heartbeat(TEAM, { ...beat, status: "ok", customerId: "d" }, NOON + 1);
  await processAll(store);
  assertEquals([await result("c"), await result("d")], [0, 1]);
  const prefix = keys.teamRunsBy(TEAM.id);
  const rows = await Array.fromAsync(store.reader.list<Uint8Array>({ prefix }));
  const [first] = rows;
  assert(first !== undefined && rows.length > 4);
  assert(rows.every(({ value }) => isSameValue(value, first.value)));
});
