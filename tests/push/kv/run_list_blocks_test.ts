/** Run lists over entries of both forms: blocks and rows of single entries. */
import { assert, assertEquals } from "@std/assert";
import type { RunsQuery } from "../../../domain/runs/list.ts";
import { addEntries, modelPart } from "../../../kv/index/entries.ts";
import { keys } from "../../../kv/base/keys.ts";
import {
  createRunListStore,
  nextModelPart,
  readRunListPage,
} from "../../../kv/run_list/run_list.ts";
import { SEED } from "../../support/harness/seed.ts";
import { NOON } from "../../support/harness/harness.ts";
import {
  aCall,
  finish,
  open,
  processAll,
  run,
  runsOf,
  TEAM,
} from "../../support/builders/stored_runs.ts";
import { readList } from "../../support/builders/run_lists.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { Budget } from "../../../kv/run_list/cursors.ts";

import fc from "fast-check";

const COUNT = 300;

/** Labels of run number `n`. Most starts are within the time in which runs share rows. */
function fieldsOf(n: number) {
  return {
    startedAt: NOON + (n % 9 === 0 ? -90_000 : n * 37 % 1_500),
    agent: n % 3 === 0 ? "b" : "a",
    ...n % 4 === 0 ? { customerId: "c" } : {},
    ...n % 50 === 7 ? { feature: "rare" } : n % 2 === 0 ? { feature: "often" } : {},
  };
}

const MODELS = ["known", "new"];
const isFinished = (n: number) => n % 5 > 1;
const modelOf = (n: number) => n % 5 === 4 ? MODELS[n % 2] : undefined;

const anyQuery: fc.Arbitrary<RunsQuery> = fc.record({
  agent: fc.constantFrom("a", "b"),
  customer: fc.constant("c"),
  feature: fc.constantFrom("rare", "often"),
  status: fc.constantFrom("success", "running"),
  model: fc.constantFrom(...MODELS),
  from: fc.integer({ min: NOON - 100, max: NOON + 1_600 }),
  to: fc.integer({ min: NOON - 100, max: NOON + 1_600 }),
}, { requiredKeys: [] }).map(({ from = null, to = null, ...query }) => ({ ...query, from, to }));

function listOf(query: RunsQuery): string[] {
  const is = <T>(wanted: T | undefined, value: T) => wanted === undefined || wanted === value;
  return Array.from({ length: COUNT }, (_, n) => ({ n, ...fieldsOf(n) }))
    .filter(({ n, startedAt, agent, customerId, feature }) =>
      is(query.agent, agent) && is(query.customer, customerId) && is(query.feature, feature) &&
      is(query.status, isFinished(n) ? "success" : "running") && is(query.model, modelOf(n)) &&
      startedAt >= (query.from ?? 0) && startedAt < (query.to ?? Infinity)
    )
    .sort((a, b) => b.startedAt - a.startedAt || b.n - a.n)
    .map(({ n }) => run(n));
}

TempStore.test("run list: pages over blocks and single entries contain exactly the matching runs", async (temp) => {
  const { store } = temp;
  const runs = runsOf(store);
  await Promise.all([0, 1].map((n) => open(runs, n, fieldsOf(n))));
  // Groups of one run to 40 are processed in one commit each.
  for (let n = 2, size = 1; n < COUNT; n += size, size = size * 7 % 41) {
    const group = Array.from({ length: Math.min(size, COUNT - n) }, (_, i) => n + i);
    await Promise.all(group.map((n) => open(runs, n, fieldsOf(n))));
    if (size % 2 === 0) await processAll(store);
  }
  await processAll(store);
  for (const part of [0, 1, 2]) {
    const some = Array.from({ length: COUNT }, (_, n) => n).filter((n) => n % 3 === part);
    await Promise.all(some.map(async (n) => {
      const model = modelOf(n);
      if (model !== undefined) await runs.append(TEAM, run(n), [aCall(n, model)], NOON);
      if (isFinished(n)) await finish(runs, n);
    }));
    await processAll(store);
  }
  const order = keys.runsBy(TEAM.id, "kind", "run");
  const [blocks, single] = [
    await temp.keysBelow(keys.blocks(order)),
    await temp.keysBelow(order),
  ];
  assert(blocks.length > 9 && single.length > 30, `${blocks.length} ${single.length}`);
  const { page } = createRunListStore(store);
  await fc.assert(
    fc.asyncProperty(
      anyQuery,
      fc.integer({ min: 1, max: 120 }),
      fc.integer({ min: 1, max: 400 }),
      async (query, limit, rowsMax) => {
        const expected = listOf(query);
        assertEquals(await readList(page, TEAM, query, limit), expected);
        const poor: typeof page = (team, query, after, limit) =>
          readRunListPage(store, team.id, query, after, limit, new Budget(rowsMax));
        assertEquals(await readList(poor, TEAM, query, limit), expected);
      },
    ),
    { seed: SEED, numRuns: 60 },
  );
});

TempStore.test("run list: every name of a model is found, in blocks and in rows of single entries", async ({ store }) => {
  // The store sorts by UTF-8, a language runtime by UTF-16: the last two differ.
  const providers = [null, "a", "b", "c", "\uFFFD", "\u{1F600}"];
  for (const [n, provider] of providers.entries()) {
    for (const size of n % 3 === 0 ? [2, 1] : [1 + n % 2]) {
      const order = keys.runsBy(TEAM.id, "model", modelPart({ model: "known", provider }));
      const added = Array.from({ length: size }, (_, i) => {
        const at = NOON + size * 2 + i;
        return { order, at, run: run(n * 9 + size * 2 + i), value: true, mayShare: true };
      });
      const { sets } = addEntries(added, n + 1, new Set(added.map(({ run }) => run)));
      assertEquals(sets.length, 1);
      await store.writer.commit({ sets });
    }
  }
  const names: string[] = [];
  const next = () => nextModelPart({ store, team: TEAM.id }, "known", names.at(-1) ?? null);
  for (let name = await next(); name !== null; name = await next()) names.push(name);
  const expected = providers.map((provider) => modelPart({ model: "known", provider }));
  assertEquals(names.toSorted(), expected.toSorted());
});
