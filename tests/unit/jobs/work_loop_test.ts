/** The loop of the work queue over real stores, with times from the test. */
import { assert, assertEquals } from "@std/assert";
import {
  type Absence,
  judgedAt,
  type Work,
  type WorkHandler,
  type WorkTime,
} from "../../../domain/work/work.ts";
import { stub } from "@std/testing/mock";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { Memory } from "../../../runtime/memory.ts";
import { WorkLoop } from "../../../jobs/work_loop.ts";
import { keys, newRowName } from "../../../kv/base/keys.ts";
import { createWorkStore, workKey, workSet } from "../../../kv/work/store.ts";
import { type OpenStore, openStore } from "../../../kv/open.ts";
import { getEntry } from "../../../kv/store.ts";
import { NOON } from "../../support/harness/harness.ts";
import { asKvClient } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

const MINUTE = 60_000;
const TURN = { waits: true, isFirst: false };
const TEAM = "team" as TeamId;
const OTHER = "other" as TeamId;

/** A loop of one process, whose turns remove their rows. */
class LoopHarness implements AsyncDisposable {
  readonly turns: { readonly names: readonly string[]; readonly turn: WorkTime }[] = [];
  readonly log: string[] = [];
  readonly loop: WorkLoop;
  /** Rows whose turn throws. */
  readonly faulty = new Set<string>();
  /** Number of rows that this process removed. */
  removed = 0;

  constructor(readonly store: OpenStore, readonly world: { nowMs: number }) {
    const handler: WorkHandler = { kind: "idle", handle: (rows, turn) => this.#handle(rows, turn) };
    this.loop = new WorkLoop({
      store: createWorkStore(store, MINUTE),
      handlers: [handler],
      now: () => world.nowMs,
      log: (line) => this.log.push(line),
    });
    this.loop.start();
  }

  async #handle(rows: readonly Work[], turn: WorkTime): Promise<readonly Work[]> {
    const bad = rows.find(({ name }) => this.faulty.has(name));
    if (bad !== undefined) throw new Error(`bad ${bad.name}`);
    this.turns.push({ names: rows.map(({ name }) => name), turn });
    await Promise.all(rows.map(async (row) => {
      const entry = await getEntry(this.store, workKey(row));
      if (entry.versionstamp === null) return;
      const write = { checks: [entry], deletes: [entry.key] };
      if (await this.store.writer.commit(write) !== null) this.removed++;
    }));
    return [];
  }

  /** Names that had their turn, in order. */
  names(): readonly string[] {
    return this.turns.flatMap(({ names }) => names);
  }

  async at(nowMs: number): Promise<void> {
    this.world.nowMs = nowMs;
    await this.loop.idle();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.loop.stop();
  }
}

async function file(store: OpenStore, rows: readonly Partial<Work>[]): Promise<void> {
  const sets = rows.map((row) =>
    workSet({ at: NOON, kind: "idle", team: TEAM, name: "a", ...row })
  );
  for (let at = 0; at < sets.length; at += 500) {
    await store.writer.commit({ sets: sets.slice(at, at + 500) });
  }
}

function rowsOf(temp: TempStore): Promise<Deno.KvKey[]> {
  return temp.keysBelow(keys.work());
}

TempStore.test("work: a row has its turn once it is due and all calls before it are summarized", async (temp) => {
  await using shop = new LoopHarness(temp.store, { nowMs: NOON });
  await file(temp.store, [{ name: "b", at: NOON + 1 }, { name: "a", at: NOON }]);
  await shop.at(NOON + 1_999);
  assertEquals(shop.names(), []);
  await shop.at(NOON + 2_000);
  assertEquals(shop.names(), ["a"]);
  // A mark of a call that arrived long ago.
  const mark = keys.pending("open", newRowName());
  await temp.store.writer.commit({ sets: [{ key: mark, value: "" }] });
  const markMs = Date.now();
  await using busy = new LoopHarness(temp.store, { nowMs: markMs });
  await file(temp.store, [{ name: "c", at: markMs }]);
  await shop.loop.stop();
  await busy.at(markMs + 299_000);
  assertEquals(busy.names(), ["b"]);
  await busy.at(markMs + 300_000);
  assertEquals(busy.names(), ["b", "c"]);
});

TempStore.test("work: a turn that fails is postponed alone, longer each time, and logged once", async (temp) => {
  await using shop = new LoopHarness(temp.store, { nowMs: NOON });
  shop.faulty.add("bad");
  await file(temp.store, ["a", "bad", "c", "d"].map((name) => ({ name })));
  const first = NOON + 2_000;
  await shop.at(first);
  assertEquals(shop.names().toSorted(), ["a", "c", "d"]);
  assertEquals(await rowsOf(temp), [keys.workRow(first + MINUTE, "idle", TEAM, "bad")]);
  let at = first + MINUTE;
  for (const minutes of [2, 4, 8, 16, 32, 60, 60]) {
    await shop.at(at + 2_000);
    assertEquals(await rowsOf(temp), [
      keys.workRow(at + 2_000 + minutes * MINUTE, "idle", TEAM, "bad"),
    ]);
    at += 2_000 + minutes * MINUTE;
  }
  assertEquals(shop.log.length, 1);
  assert(shop.log[0]?.includes("bad bad"), shop.log[0]);
  shop.faulty.clear();
  await shop.at(at + 2_000);
  assertEquals(await rowsOf(temp), []);
});

TempStore.test("work: 2,500 rows of one team delay another team by one turn at most", async (temp) => {
  const many = Array.from({ length: 2_500 }, (_, n) => ({ name: `n${n}`, at: NOON + n }));
  await file(temp.store, [...many, { team: OTHER, name: "other", at: NOON + 20_000 }]);
  await using shop = new LoopHarness(temp.store, { nowMs: NOON + MINUTE });
  await shop.loop.idle();
  const at = shop.turns.findIndex(({ names }) => names.includes("other"));
  assert(at <= 1, `${at} turns before the other team's`);
  assertEquals(new Set(shop.names()).size, 2_501);
  const limit = Math.max(...shop.turns.map(({ names }) => names.length));
  assert(limit <= 500, `${limit} rows in one turn`);
});

TempStore.test("work: an absence is known after a restart, and nothing is written while no row waits", async (temp) => {
  const world = { nowMs: NOON };
  const noted = async () => (await getEntry(temp.store, keys.clock())).versionstamp;
  {
    await using shop = new LoopHarness(temp.store, world);
    await shop.at(NOON);
    const first = await noted();
    await shop.at(NOON + 20 * MINUTE);
    assertEquals(await noted(), first);
    world.nowMs = NOON;
    await file(temp.store, [{ name: "a", at: NOON + 5 * MINUTE }]);
    await shop.at(NOON + 1_000);
    const version = await noted();
    await shop.at(NOON + 5_999);
    assertEquals(await noted(), version);
    await shop.at(NOON + 6_000);
    assert(await noted() !== version, "the turn was not noted");
  }
  const absence: Absence = { fromMs: NOON + 6_000, untilMs: NOON + 10 * MINUTE };
  {
    world.nowMs = absence.untilMs;
    await using shop = new LoopHarness(temp.store, world);
    await shop.loop.idle();
    assertEquals(shop.turns.map(({ turn }) => turn.absences), [[absence]]);
    // Without rows the time is no absence.
    await shop.at(world.nowMs + 1_000);
    const version = await noted();
    await shop.at(world.nowMs + 20 * MINUTE);
    assertEquals(await noted(), version);
    await file(temp.store, [{ name: "b", at: world.nowMs - 2_000 }]);
    await shop.loop.idle();
    assertEquals(shop.turns.at(-1)?.turn.absences, [absence]);
  }
});

TempStore.test("work: the time since a row was filed is an absence, also if no turn saw the row before", async (temp) => {
  const world = { nowMs: NOON };
  {
    await using shop = new LoopHarness(temp.store, world);
    await shop.at(NOON);
  }
  await file(temp.store, [{ name: "first", at: NOON + MINUTE }]);
  world.nowMs = NOON + 10 * MINUTE;
  await using shop = new LoopHarness(temp.store, world);
  await shop.loop.idle();
  const absences = shop.turns.map(({ turn }) => turn.absences);
  assertEquals(absences, [[{ fromMs: NOON, untilMs: world.nowMs }]]);
});

TempStore.test("work: a clock that is set back lets rows wait", async (temp) => {
  await using shop = new LoopHarness(temp.store, { nowMs: NOON });
  await file(temp.store, [{ name: "a", at: NOON + MINUTE }]);
  await shop.at(NOON);
  await shop.at(NOON - 60 * MINUTE);
  assertEquals(shop.names(), []);
  for (let s = 0; s <= 62; s++) await shop.at(NOON + s * 1_000);
  assertEquals(shop.names(), ["a"]);
  assertEquals(shop.turns[0]?.turn.absences, [
    { fromMs: NOON - 60 * MINUTE, untilMs: NOON },
  ]);
});

TempStore.test("work: an absence ends at the time to which a clock that was ahead is set back", async (temp) => {
  const store = createWorkStore(temp.store, MINUTE);
  await store.noteTurn(NOON, TURN);
  const ahead = await store.noteTurn(NOON + 1_440 * MINUTE, TURN);
  assertEquals(ahead, [{ fromMs: NOON, untilMs: NOON + 1_440 * MINUTE }]);
  assertEquals(await store.noteTurn(NOON + 5_000, TURN), [{ fromMs: NOON, untilMs: NOON + 5_000 }]);
  assertEquals(await store.noteTurn(NOON - 1, TURN), []);
});

TempStore.test("work: several absences are kept, the latest 20", async (temp) => {
  const store = createWorkStore(temp.store, MINUTE);
  let absences: readonly Absence[] = [];
  for (let n = 0; n < 25; n++) absences = await store.noteTurn(NOON + n * 2 * MINUTE, TURN);
  assertEquals(absences.length, 20);
  assertEquals(absences.at(-1), { fromMs: NOON + 46 * MINUTE, untilMs: NOON + 48 * MINUTE });
});

TempStore.test("work: a store that fails ends the turn, and postpones nothing", async (temp) => {
  await file(temp.store, [{ name: "a" }, { name: "b" }]);
  const real = createWorkStore(temp.store, MINUTE);
  const failed = Promise.withResolvers<void>();
  const loop = new WorkLoop({
    store: {
      ...real,
      isAlive: () => Promise.resolve(false),
      postpone: () => Promise.reject(new Error("postponed")),
    },
    handlers: [{
      kind: "idle",
      handle: () => {
        failed.resolve();
        return Promise.reject(new StorageUnavailable("down"));
      },
    }],
    now: () => NOON + MINUTE,
    log: (line) => assertEquals(line, "no line"),
  });
  loop.start();
  await failed.promise;
  await loop.stop();
  assertEquals((await rowsOf(temp)).length, 2);
});

KvServer.test("work: of two processes on one KV, one handles each row", async (kv) => {
  const open = () => asKvClient(() => openStore(kv.url(), new Memory()));
  const [first, second] = [await open(), await open()];
  try {
    await file(first, Array.from({ length: 300 }, (_, n) => ({ name: `n${n}` })));
    const world = { nowMs: NOON + MINUTE };
    await using one = new LoopHarness(first, world);
    await using two = new LoopHarness(second, world);
    await Promise.all([one.loop.idle(), two.loop.idle()]);
    assertEquals(one.removed + two.removed, 300);
    assertEquals([one.log, two.log], [[], []]);
  } finally {
    await first.close();
    await second.close();
  }
});

for (const rowsOfObject of [1, 2]) {
  TempStore.test(`work: a batch ends while rows are read: its own are not handled again, ${rowsOfObject - 1} others of its object at once`, async ({ store }) => {
    const rows = Array.from({ length: rowsOfObject }, (_, n) => {
      return { at: NOON + n, kind: "channel_report", team: TEAM, name: "ops" } as const;
    });
    const isRead = Promise.withResolvers<void>();
    const isRemoved = Promise.withResolvers<void>();
    const handled: number[] = [];
    let reads = 0;
    const work = createWorkStore(store, MINUTE);
    const loop = new WorkLoop({
      store: {
        ...work,
        take: async (lane, toMs) => {
          const taken = await work.take(lane, toMs);
          if (++reads !== 2) return taken;
          isRead.resolve();
          await isRemoved.promise;
          // The loop notes the end of the batch.
          await new Promise((resolve) => setTimeout(resolve));
          return taken;
        },
      },
      handlers: [{
        kind: "channel_report",
        handle: async ([row]) => {
          if (row === undefined) return [];
          handled.push(row.at);
          await isRead.promise;
          await store.writer.commit({ deletes: [workKey(row)] });
          isRemoved.resolve();
          return [];
        },
      }],
      lanes: ["send"],
      now: () => NOON + 1,
      log: () => {},
    });
    loop.start();
    await loop.idle();
    await store.writer.commit({ sets: rows.map((row) => workSet(row)) });
    await loop.idle();
    await loop.stop();
    assertEquals([handled, reads >= 2], [rows.map(({ at }) => at), true]);
  });
}

TempStore.test("work: a lane of long work rests four times as long as it takes while calls arrive", async (temp) => {
  const { now } = performance;
  let passedMs = 0;
  using _clock = stub(performance, "now", () => now.call(performance) + passedMs);
  await file(temp.store, [{ name: "a", kind: "run" }, { name: "b", kind: "run", at: NOON + 2 }]);
  const times: number[] = [];
  const both = Promise.withResolvers<void>();
  const loop = new WorkLoop({
    store: createWorkStore(temp.store, MINUTE),
    handlers: [{
      kind: "run",
      handle: async (rows) => {
        times.push(performance.now());
        passedMs += 100;
        await temp.store.writer.commit({ deletes: rows.map(workKey) });
        times.push(performance.now());
        if (times.length === 4) both.resolve();
        return [];
      },
    }],
    lanes: ["run"],
    // One arrives during each batch.
    calls: {
      get raised() {
        return times.length;
      },
    },
    // The second row is due after the first was done.
    now: () => NOON + times.length,
    log: (line) => assertEquals(line, "no line"),
  });
  loop.start();
  await both.promise;
  await loop.stop();
  const [, firstEnd = 0, secondStart = 0] = times;
  assert(secondStart - firstEnd >= 395, `${secondStart - firstEnd} ms`);
});

Deno.test("work: a deadline inside an absence is judged later, any other at its time", () => {
  const absences = [
    { fromMs: 100, untilMs: 200 },
    { fromMs: 280, untilMs: 2_000_000 },
  ];
  assertEquals(judgedAt(99, 10, absences), 99);
  assertEquals(judgedAt(200, 10, absences), 200);
  assertEquals(judgedAt(100, 10, absences.slice(0, 1)), 310);
  // It falls into the next absence, of which 15 minutes count.
  assertEquals(judgedAt(199, 10, absences), 2_000_000 + 900_000 + 10);
});
