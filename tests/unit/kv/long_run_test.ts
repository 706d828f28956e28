/**
 * Runs with very many events: appending, reading, removing and verifying cost as much as for a
 * small run.
 */
import { assert, assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import { Memory } from "../../../runtime/memory.ts";
import {
  comparePositions,
  type EventPosition,
  type RunPage,
} from "../../../domain/runs/event_page.ts";
import type { RunStore } from "../../../domain/runs/run_store.ts";
import { ReadScope } from "../../../domain/core/read_scope.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import {
  ID_PAGES_MAX,
  type LedgerPage,
  packEventIds,
  PAGE_BATCHES_MAX,
  PAGE_IDS_MAX,
} from "../../../domain/runs/ledger.ts";
import { Findings } from "../../../kv/integrity/findings.ts";
import { verifyPages } from "../../../kv/integrity/verify_run.ts";
import { keys } from "../../../kv/base/keys.ts";
import { readScopes } from "../../../kv/base/reads.ts";
import { ledgerOf } from "../../../kv/runs/heads.ts";
import type { Store } from "../../../kv/store.ts";
import { SEED } from "../../support/harness/seed.ts";
import { DAY_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { runId } from "../../support/builders/requests.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aLine, type Batches, fillRun, linesOf } from "../../support/builders/long_run.ts";
import { readRun, runsOf } from "../../support/builders/stored_runs.ts";
import { assertClean, assertExact, strayRows } from "../../support/oracles/stray_rows.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

import fc from "fast-check";

const id = (n: number) => runId(n) as RunId;

/** Events whose ids fill the pages that hold any. */
const ON_PAGES = ID_PAGES_MAX * PAGE_IDS_MAX;

/** Batches whose ids are rows, and how many of them arrived in the same week as those on pages. */
const IN_ROWS = 2 * PAGE_BATCHES_MAX + 5, OLD_IN_ROWS = 100;

/** Arrival of the other batches. */
const LATER = NOON + 15 * DAY_MS;

/** Total number of events. */
const EVENTS = ON_PAGES + 2 * IN_ROWS;

/** Event numbers of a long run: on the first and the last page, in rows, and the last one. */
const STORED = [0, ON_PAGES - 1, ON_PAGES, ON_PAGES + 900, EVENTS - 1];

/** Batches that fill the pages with ids, one batch per page, and more. */
function longRun(): Batches {
  return [
    ...linesOf(0, ID_PAGES_MAX, PAGE_IDS_MAX, NOON),
    ...linesOf(ON_PAGES, OLD_IN_ROWS, 2, NOON),
    ...linesOf(ON_PAGES + 2 * OLD_IN_ROWS, IN_ROWS - OLD_IN_ROWS, 2, LATER),
  ];
}

let filled: Promise<{ readonly file: Uint8Array; readonly team: Team }> | undefined;

/** Opens a store with a long run, and a run that is one id page short of being long. */
async function openFilled(): Promise<{ readonly temp: TempStore; readonly team: Team }> {
  filled ??= fill();
  const { file, team } = await filled;
  return { temp: await TempStore.open(file), team };
}

async function fill() {
  const temp = await TempStore.open();
  const archive = new RetentionHarness(temp.store);
  const team = await archive.addTeam("free");
  for (const [n, batches] of [[1, longRun()], [2, longRun().slice(0, ID_PAGES_MAX - 1)]] as const) {
    await archive.runs.open(team, { id: id(n), agent: "a", startedAt: NOON }, NOON);
    await fillRun(temp.store, team, id(n), batches);
  }
  await archive.work();
  const file = await temp.close();
  await Deno.remove(temp.folder, { recursive: true });
  return { file, team };
}

/** Counts the reads of some work. */
async function counted<T>(work: () => Promise<T>): Promise<{ rows: number; bytes: number; of: T }> {
  const scope = new ReadScope(new AbortController().signal);
  const of = await readScopes.run(scope, work);
  return { rows: scope.rows, bytes: scope.bytes, of };
}

/**
 * Cost of a batch of 50 new events for a process with the run in its cache, and for one without.
 */
async function appendCosts(store: Store, team: Team, run: RunId, from: number) {
  const runs = runsOf(store);
  const append = (n: number) =>
    counted(() => runs.append(team, run, linesOf(n, 1, 50, NOON)[0]?.events ?? [], NOON));
  const [cold, warm] = [await append(from), await append(from + 50)];
  for (const { of } of [cold, warm]) {
    assertEquals(of, { kind: "stored", accepted: 50, duplicates: 0, cost: 0n });
  }
  return { cold: cold.rows, warm: warm.rows };
}

async function readAll(runs: RunStore, team: Team, run: RunId, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let after: EventPosition | null = null;;) {
    const page: RunPage | null = await readRun(runs, team, run, after, limit);
    ids.push(...page?.events.map((event) => event.id) ?? []);
    after = page?.next ?? null;
    if (after === null) return ids;
  }
}

Deno.test("long run: from a certain length on, each batch reads the same amount", async () => {
  const { temp, team } = await openFilled();
  await using _ = temp;
  const runs = runsOf(temp.store);
  await runs.append(team, id(2), linesOf(900_000, 1, PAGE_IDS_MAX, NOON)[0]?.events ?? [], NOON);
  const [long, short] = [
    await appendCosts(temp.store, team, id(1), 1_000_000),
    await appendCosts(temp.store, team, id(2), 1_000_000),
  ];
  // Its 50 ids, by key.
  assertEquals([long.warm, short.warm], [50, 50]);
  // Some page numbers have no open directory row.
  assert(Math.abs(long.cold - short.cold) <= 1, `${short.cold} rows, then ${long.cold}`);
  assert(long.cold <= ID_PAGES_MAX + 120, `${long.cold} rows`);
});

Deno.test("long run: runs that together do not fit memory read no more than their first pages", async () => {
  const { temp, team } = await openFilled();
  await using _ = temp;
  const small = { ...temp.store, memory: new Memory(1) };
  const runs = runsOf(small);
  for (let round = 0; round < 2; round++) {
    for (const n of [1, 2]) {
      const batch = [aLine(2_000_000 + round, NOON)];
      const { rows, of } = await counted(() => runs.append(team, id(n), batch, NOON));
      assertEquals(of, { kind: "stored", accepted: 1, duplicates: 0, cost: 0n });
      // Without id rows one of them would also read its later pages.
      assert(rows <= ID_PAGES_MAX + 10, `${rows} rows`);
    }
  }
  assert(small.memory.uses().every(({ bytes, bytesMax }) => bytes <= bytesMax));
});

Deno.test("long run: each event is stored once, also when another process resends it", async () => {
  const { temp, team } = await openFilled();
  await using _ = temp;
  const current = runsOf(temp.store);
  let next = 3_000_000;
  const send = async (runs: RunStore) => {
    const fresh = [next++, next++];
    const sentEvents = [...STORED, ...fresh, ...fresh].map((n) => aLine(n, NOON));
    const outcome = await runs.append(team, id(1), sentEvents, NOON);
    assertEquals(outcome, { kind: "stored", accepted: 2, duplicates: STORED.length + 2, cost: 0n });
    const again = await runs.append(team, id(1), sentEvents, NOON);
    assertEquals(again, { kind: "stored", accepted: 0, duplicates: sentEvents.length, cost: 0n });
  };
  await send(current);
  await send(current);
  // Two processes with different cache states, then one with an empty cache.
  const other = runsOf(temp.store);
  for (const runs of [other, current, other]) await send(runs);
  await send(runsOf(await temp.reopen()));
});

Deno.test("long run: a growing run moves from pages to rows without losing or repeating an event", async () => {
  const { temp, team } = await openFilled();
  await using _ = temp;
  const runs = runsOf(temp.store);
  const from = (ID_PAGES_MAX - 1) * PAGE_IDS_MAX;
  const batches = [
    ...linesOf(from, 1, PAGE_IDS_MAX - 3, NOON),
    ...linesOf(from + PAGE_IDS_MAX - 3, 3 + PAGE_BATCHES_MAX + 10, 1, NOON),
  ];
  for (const { events } of batches) {
    const outcome = await runs.append(team, id(2), events, NOON);
    assertEquals(outcome, { kind: "stored", accepted: events.length, duplicates: 0, cost: 0n });
  }
  const rows = await temp.keysBelow(keys.eventIds(team.id, id(2)));
  assertEquals(rows.length, PAGE_BATCHES_MAX + 10);
  for (const { events } of batches.filter((_, i) => i % 50 === 0)) {
    const cold = await runsOf(temp.store).append(team, id(2), events, NOON);
    assertEquals(cold, { kind: "stored", accepted: 0, duplicates: events.length, cost: 0n });
  }
  await new RetentionHarness(temp.store).work();
  await assertExact(temp.store);
});

Deno.test("long run: a page and the run itself read few rows, wherever the page is", async () => {
  const { temp, team } = await openFilled();
  await using _ = temp;
  const runs = runsOf(temp.store);
  const last = LATER + EVENTS - 100;
  for (const after of [null, { ts: NOON + 20_000, batch: 0, index: 0 }, lastOf(last)]) {
    const { rows, of } = await counted(() => readRun(runs, team, id(1), after, 50));
    assertEquals(of?.events.length, 50);
    assert(rows < 60, `${rows} rows`);
  }
  const { rows, of: run } = await counted(() => runs.find(team, id(1)));
  assert(rows < 20, `${rows} rows`);
  const end = await run?.last(900);
  assertEquals(end?.events.at(-1)?.id, aLine(EVENTS - 1, 0).id);
  assert((end?.events.length ?? 0) < 900, "the end is not near");
});

function lastOf(ts: number): EventPosition {
  return { ts, batch: 999_999_999, index: 0 };
}

TempStore.test("long run: for large batches with one instant a page inflates only its own content", async (temp) => {
  const team = await new RetentionHarness(temp.store).addTeam("enterprise");
  const text = `"${"x".repeat(200_000)}"` as ReturnType<typeof aLine>["data"];
  const batches = linesOf(0, 60, 5, NOON, () => NOON)
    .map(({ events, at }) => ({ at, events: events.map((event) => ({ ...event, data: text })) }));
  await fillRun(temp.store, team, id(1), batches);
  const runs = runsOf(temp.store);
  for (const after of [null, { ts: NOON, batch: 30, index: 4 }]) {
    for (const limit of [1, 1_000]) {
      const { bytes, of } = await counted(() => readRun(runs, team, id(1), after, limit));
      assertEquals(of?.events.length, limit === 1 ? 1 : 5);
      assert(bytes < 4_000_000, `${bytes} bytes`);
    }
  }
});

Deno.test("long run: deleting it leaves no row, and is answered before all rows are removed", async () => {
  const { temp, team } = await openFilled();
  await using _ = temp;
  const archive = new RetentionHarness(temp.store);
  // At least as many rows as 20 commits remove.
  for (let from = 0; from < 6_000; from += 500) {
    const sets = Array.from({ length: 500 }, (_, i) => ({
      key: keys.eventId(team.id, id(1), packEventIds([aLine(9_000_000 + from + i, 0).id])),
      value: true,
    }));
    await temp.store.writer.commit({ sets });
  }
  const deleted = await archive.deletions.deleteRun(team, id(1), "key");
  assertEquals(deleted?.kind === "stored" && deleted.receipt.events, EVENTS);
  assert((await temp.keysBelow(keys.events(team.id, id(1)))).length > 0);
  await archive.purgeAll();
  assertEquals(await temp.keysBelow(keys.events(team.id, id(1))), []);
  await archive.work();
  assertEquals(await strayRows(temp.store), []);
});

Deno.test("long run: expired events stay known, and every sum stays exact", async () => {
  const { temp, team } = await openFilled();
  await using _ = temp;
  const archive = new RetentionHarness(temp.store);
  archive.nowMs = NOON + 20 * DAY_MS;
  while ((await archive.sweep()).events > 0);
  const remaining = await readRun(archive.runs, team, id(1), null, 3);
  assertEquals([remaining?.payload, remaining?.events[0]?.id], [
    "partly_removed",
    aLine(ON_PAGES + 2 * OLD_IN_ROWS, 0).id,
  ]);
  for (const n of STORED) {
    const again = await archive.runs.append(team, id(1), [aLine(n, NOON)], archive.nowMs);
    assertEquals(again, { kind: "stored", accepted: 0, duplicates: 1, cost: 0n });
  }
  await assertClean(temp.store);
});

Deno.test("long run: verify finds a wrong page, a wrong directory entry and a wrong id", async () => {
  const { temp, team } = await openFilled();
  await using _ = temp;
  const { store } = temp;
  const run = { store, team: team.id, id: id(1) };
  const value = ledgerOf((await store.reader.get(keys.ledger(team.id, run.id))).value);
  const audit = async () => {
    const findings = new Findings();
    await verifyPages(
      { ...run, ledger: value },
      new Map(Object.entries(value.months)),
      findings,
    );
    return findings.mismatches.map(({ what }) => what);
  };
  assertEquals(await audit(), []);
  const row = keys.directoryRow(team.id, run.id, 0);
  const directory = (await store.reader.get<number[][]>(row)).value ?? [];
  const page = keys.page(team.id, run.id, 3);
  const sealed = (await store.reader.get<LedgerPage>(page)).value;
  const idKey = keys.eventId(team.id, run.id, packEventIds([aLine(ON_PAGES, 0).id]));
  const damages = [
    {
      says: `directory of page 1 of ${run.id}`,
      damage: { sets: [{ key: row, value: directory.with(1, [1, NOON, NOON]) }] },
      repair: { sets: [{ key: row, value: directory }] },
    },
    {
      says: `ledger of ${run.id}`,
      damage: { sets: [{ key: page, value: { ...sealed, ids: sealed?.ids.slice(17) } }] },
      repair: { sets: [{ key: page, value: sealed }] },
    },
    {
      says: `ledger of ${run.id}`,
      damage: { deletes: [idKey] },
      repair: { sets: [{ key: idKey, value: true }] },
    },
  ];
  for (const { says, damage, repair } of damages) {
    await store.writer.commit(damage);
    assertEquals(await audit(), [says]);
    await store.writer.commit(repair);
  }
  assertEquals(await audit(), []);
});

TempStore.test("section 6: the pages of a run with any batches contain all its events in order, each once", async (temp) => {
  const team = await new RetentionHarness(temp.store).addTeam("enterprise");
  const runs = runsOf(temp.store);
  let n = 0;
  // Instants from far apart to all equal; late batches; several ledger pages.
  const spread = fc.constantFrom(1, 3, 40, 5_000);
  const seeds = fc.array(fc.nat(), { minLength: 5, maxLength: 5 });
  const options = { seed: SEED, numRuns: 8 };
  await fc.assert(
    fc.asyncProperty(
      spread,
      seeds,
      fc.integer({ min: 150, max: 900 }),
      async (range, by, limit) => {
        const run = id(10 + n++);
        const tsOf = (i: number) => NOON + Math.imul(i + 1, (by[i % 5] ?? 0) | 1) % range;
        const batches = linesOf(0, 150, 7, NOON, tsOf);
        await fillRun(temp.store, team, run, batches);
        const expected = batches.flatMap(({ events }, batch) =>
          events.map((event, index) => ({ id: event.id, position: { ts: event.ts, batch, index } }))
        ).sort((a, b) => comparePositions(a.position, b.position));
        assertEquals(await readAll(runs, team, run, limit), expected.map((event) => event.id));
      },
    ),
    options,
  );
});
