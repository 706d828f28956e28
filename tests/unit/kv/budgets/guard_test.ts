/** The guard below the HTTP stack: what it reads and when, and spends that change while they are read. */
import { assertEquals } from "@std/assert";
import {
  BUDGETS,
  type BudgetSettings,
  PAUSES,
  type PauseSettings,
  REASON_CHARS_MAX,
} from "../../../../domain/budgets/budget.ts";
import { LABEL_CHARS_MAX } from "../../../../domain/core/limits.ts";
import type { RunId } from "../../../../domain/core/ids.ts";
import { EMPTY_MEASURES } from "../../../../domain/runs/summary.ts";
import type { RunParts } from "../../../../domain/runs/run.ts";
import type { RollupRow } from "../../../../domain/spend/rollup.ts";
import type { Principal } from "../../../../domain/teams/credentials.ts";
import { GroupSpends } from "../../../../kv/budgets/group_spend.ts";
import { RunGuard } from "../../../../kv/budgets/guard.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { READS, Reads } from "../../../../kv/base/reads.ts";
import { changeRollups } from "../../../../kv/spend/rollups.ts";
import type { Store } from "../../../../kv/store.ts";
import { storedRows, TeamRowCache } from "../../../../kv/team/team_rows.ts";
import { Deadlines } from "../../../../runtime/deadlines.ts";
import { Memory, MEMORY_MB } from "../../../../runtime/memory.ts";
import { runId } from "../../../support/builders/requests.ts";
import { insertTeam } from "../../../support/builders/teams.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";
import { replaced } from "../../../support/fakes/replaced.ts";

const DOLLAR = 10n ** 12n;
const DAY = "2026-11-21";

/** Deadlines that never pass: reads of a busy machine may take longer than the service waits. */
const NO_DEADLINES = new Deadlines(Infinity, { now: () => 0, after: () => () => {} });

/**
 * A guard over a file whose reads are counted, and may wait or fail.
 *
 * @param pausesOf returns the pauses of the first team and of the other one
 */
async function openGuard(
  budgets: readonly Partial<BudgetSettings>[],
  pausesOf: (team: number) => readonly PauseSettings[] = () => [],
) {
  const temp = await TempStore.open();
  const [team, other] = [
    await insertTeam(temp.store, "business"),
    await insertTeam(temp.store, "business"),
  ];
  const world = {
    nowMs: NOON,
    reads: 0,
    beforeRead: (): Promise<void> => Promise.resolve(),
  };
  const getMany = async (read: readonly Deno.KvKey[]) => {
    world.reads++;
    await world.beforeRead();
    return await temp.store.reader.getMany(read as never[]);
  };
  const reader = replaced(temp.store.reader, { getMany });
  const reads = new Reads(NO_DEADLINES, READS.file);
  // The smallest memory is full the soonest.
  const memory = new Memory(MEMORY_MB.min);
  const store: Store = { ...temp.store, memory, reader, deadlines: NO_DEADLINES, reads };
  const spends = new GroupSpends(store.memory);
  const guard = new RunGuard({ store, spends, now: () => world.nowMs });
  const defaults = { scope: {}, period: "day", limit_usd: "10", mode: "hard", warn_at: [0.8] };
  const rowOf = (settings: unknown, id: string) => ({
    slug: id,
    id,
    version: 1,
    settings,
    createdAt: NOON,
    updatedAt: NOON,
    updatedBy: "key",
  });
  for (const [n, { id }] of [team, other].entries()) {
    const rows = [
      ...budgets.map((settings, i) =>
        [BUDGETS.kind, rowOf({ ...defaults, enabled: true, ...settings }, `grl_${i}`)] as const
      ),
      ...pausesOf(n).map((settings, i) => [PAUSES.kind, rowOf(settings, `gps_${i}`)] as const),
    ];
    const sets = rows.map(([kind, value]) => ({
      key: keys.configObject(id, kind, value.slug),
      value,
    }));
    sets.push({ key: keys.config(id), value: 1 as never });
    await temp.store.writer.commit({ team: id, sets });
    await guard.reload(id);
  }
  const principal = {
    team,
    credentialId: "key",
    grant: { kind: "api_key", scopes: ["ingest"] },
  } as Principal;
  const rowCache = new TeamRowCache(store);
  return Object.assign(world, {
    guard,
    team,
    principal,
    /** A key of another team with the same budgets. */
    ofOther: { ...principal, team: other },
    /** Adds dollars to the spend of a customer and of the team, and publishes them. */
    async spend(customer: string, dollars: bigint, published = true) {
      const measures = { ...EMPTY_MEASURES, runs: 1, cost: dollars * DOLLAR };
      const differences: RollupRow[] = [
        { day: DAY, group: { kind: "total" }, measures },
        { day: DAY, group: { kind: "customer", value: customer }, measures },
      ];
      const current = await rowCache.of(team.id);
      const changed = await changeRollups(current, team.id, differences);
      await temp.store.writer.commit({ team: team.id, ...storedRows(changed.rows) });
      current.written("00000000000000010000", 0, changed.rows);
      if (published) spends.publish(team.id, differences, changed.rows);
    },
    /** Acknowledges a call of a run of a customer. */
    acknowledge: (n: number, customer = "acme", spent: bigint | null = 0n, of = principal) =>
      guard.headerOf(of, runId(n) as RunId, () => ({ parts: partsOf(customer), spent })),
    /** Returns the bytes that the guard counts, and their maximum. */
    memoryUse() {
      const use = store.memory.uses().find(({ share }) => share === "guard");
      return { bytes: use?.bytes ?? NaN, bytesMax: use?.bytesMax ?? NaN };
    },
    /** Acknowledges a call of a run that the process does not know. */
    ofUnknown: (n: number, of = principal) =>
      guard.headerOf(of, runId(n) as RunId, () => ({ parts: null, spent: null })),
    async [Symbol.asyncDispose]() {
      await guard.idle();
      await temp[Symbol.asyncDispose]();
    },
  });
}

function partsOf(customerId: string): RunParts {
  const times = { startedAt: NOON, receivedAt: NOON };
  return { opening: { kind: "run", agent: "nightly", customerId, ...times }, closing: null };
}

Deno.test("guard: acknowledgements read in the background alone, at most 20 times a second and team", async () => {
  await using g = await openGuard([{ scope: { each: "customer" } }]);
  let waiting = 0;
  g.beforeRead = () => {
    waiting++;
    return Promise.resolve();
  };
  for (let n = 0; n < 100; n++) assertEquals(g.acknowledge(n, `c${n}`), null);
  await g.guard.idle();
  const known = Array.from({ length: 100 }, (_, n) => g.acknowledge(n, `c${n}`));
  assertEquals(known.filter((header) => header === "allow").length, 20);
  await g.guard.idle();
  const before = waiting;
  for (let n = 0; n < 1_000; n++) g.acknowledge(n % 20, `c${n % 20}`);
  await g.guard.idle();
  assertEquals(waiting, before, "fresh spend is not read again");
  g.nowMs += 1_001;
  assertEquals(g.acknowledge(1, "c1"), "allow", "an old one is used while it is read");
  await g.guard.idle();
  assertEquals(waiting > before, true);
});

Deno.test("guard: a team without budgets and pauses costs a look at memory, and no read of its file", async () => {
  await using g = await openGuard([]);
  const { reads } = g;
  const call = () => {
    throw new Error("the call is asked for");
  };
  for (let n = 0; n < 1_000; n++) {
    assertEquals(g.guard.headerOf(g.principal, runId(n) as RunId, call), null);
    g.nowMs += 1_000;
  }
  await g.guard.idle();
  assertEquals(g.reads, reads);
});

Deno.test("guard: a header is left out once its spend is over a minute old, but a block by a run's own budget", async () => {
  await using g = await openGuard([{}, { period: "run", limit_usd: "1" }]);
  await g.spend("acme", 11n);
  assertEquals(g.acknowledge(1), null);
  await g.guard.idle();
  assertEquals(g.acknowledge(1), 'block;rule="grl_0";spent=11;limit=10;age=0');
  g.beforeRead = () => Promise.reject(new Error("the store is gone"));
  g.nowMs += 60_000;
  assertEquals(g.acknowledge(1), 'block;rule="grl_0";spent=11;limit=10;age=60');
  await g.guard.idle();
  g.nowMs += 1;
  assertEquals(g.acknowledge(1), null);
  assertEquals(g.acknowledge(1, "acme", DOLLAR), 'block;rule="grl_1";spent=1;limit=1;age=0');
  await g.guard.idle();
  // A clock that is set back.
  g.nowMs -= 3_600_000;
  assertEquals(g.acknowledge(1, "acme", 0n), null);
});

Deno.test("guard: spend that a commit publishes while it is read stays", async () => {
  await using g = await openGuard([{}]);
  await g.spend("acme", 1n);
  g.acknowledge(1);
  await g.guard.idle();
  g.nowMs += 1_001;
  const started = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const { beforeRead } = g;
  g.beforeRead = () => {
    started.resolve();
    return go.promise;
  };
  g.acknowledge(1);
  await started.promise;
  g.beforeRead = beforeRead;
  await g.spend("acme", 9n);
  assertEquals(g.acknowledge(1), 'block;rule="grl_0";spent=10;limit=10;age=1');
  go.resolve();
  await g.guard.idle();
  assertEquals(g.acknowledge(1), 'block;rule="grl_0";spent=10;limit=10;age=0');
});

Deno.test("guard: spend of another process is seen after a second", async () => {
  await using g = await openGuard([{ scope: { customer_id: "acme" } }]);
  g.acknowledge(1);
  await g.guard.idle();
  await g.spend("acme", 10n, false);
  assertEquals(g.acknowledge(1), "allow");
  g.nowMs += 1_001;
  g.acknowledge(1);
  await g.guard.idle();
  assertEquals(g.acknowledge(1), 'block;rule="grl_0";spent=10;limit=10;age=0');
  const { budgets, asOfMs, atMs } = await g.guard.check(g.team.id, {
    agent: null,
    customer: "acme",
    feature: null,
  });
  assertEquals([budgets[0]?.state, asOfMs, atMs], ["block", g.nowMs, g.nowMs]);
});

Deno.test("guard: a run that is not stored yet has no header, and its reads leave room for those of spend", async () => {
  await using g = await openGuard([{ scope: { agent: "nightly" } }]);
  for (let n = 0; n < 50; n++) assertEquals(g.ofUnknown(1), null);
  await g.guard.idle();
  assertEquals(g.acknowledge(1), null);
  await g.guard.idle();
  // The opening was acknowledged here, so its labels are known.
  assertEquals(g.ofUnknown(1), "allow");
});

Deno.test("guard: verdicts count as memory, of which those of many subjects stay within the share", async () => {
  await using g = await openGuard(Array.from({ length: 20 }, () => ({})));
  g.acknowledge(0, "c0");
  await g.guard.idle();
  // One run, so that only the verdicts are more.
  assertEquals(g.acknowledge(0, "c0"), "allow");
  const one = g.memoryUse().bytes;
  assertEquals(g.acknowledge(0, "c1"), "allow");
  const ofVerdict = g.memoryUse().bytes - one;
  assertEquals(ofVerdict > 20 * 500, true, `${ofVerdict}`);
  for (let n = 0; n < 1_000; n++) assertEquals(g.acknowledge(0, `c${n}`), "allow");
  const { bytes, bytesMax } = g.memoryUse();
  assertEquals(bytes > one + 10 * ofVerdict && bytes <= bytesMax, true, `${bytes} ${bytesMax}`);
});

Deno.test("guard: a team with very many runs and customers leaves another one its verdicts, spends and runs", async () => {
  await using g = await openGuard([{ scope: { each: "customer" } }, {}]);
  g.acknowledge(1, "acme", 0n, g.ofOther);
  await g.guard.idle();
  assertEquals(g.acknowledge(1, "acme", 0n, g.ofOther), "allow");
  for (let second = 0; second < 20; second++) {
    for (let n = 0; n < 100; n++) g.acknowledge(second * 100 + n, `c${second} ${n}`);
    await g.guard.idle();
    // Another second begins, but the spends are fresh for those who ask now.
    g.nowMs += 1_000;
  }
  const { bytes, bytesMax } = g.memoryUse();
  assertEquals(bytes > bytesMax / 2 && bytes <= bytesMax, true, `${bytes} ${bytesMax}`);
  const { reads } = g;
  assertEquals(g.ofUnknown(1, g.ofOther), "allow", "its run, its verdict and its spend are known");
  await g.guard.idle();
  assertEquals(g.reads > reads, true, "old spend is read in the background");
});

Deno.test("guard: a spend that was being read when the configuration changed is judged once it is there", async () => {
  await using g = await openGuard([{}]);
  await g.spend("acme", 11n);
  const started = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  g.beforeRead = () => {
    started.resolve();
    return go.promise;
  };
  assertEquals(g.acknowledge(1), null);
  await started.promise;
  await g.guard.reload(g.team.id);
  assertEquals(g.acknowledge(1), null);
  go.resolve();
  await g.guard.idle();
  assertEquals(g.acknowledge(1), 'block;rule="grl_0";spent=11;limit=10;age=0');
});

/** As many budgets and pauses as a team may have, none of them about the customer `acme`. */
const MOST = {
  budgets: Array.from({ length: BUDGETS.cap }, (_, n): Partial<BudgetSettings> => ({
    scope: { customer_id: `${n}`.padEnd(LABEL_CHARS_MAX, "é") },
  })),
  pausesWith: (reason: string) =>
    Array.from({ length: PAUSES.cap }, (_, n): PauseSettings => ({
      customer_id: `${n}`.padEnd(LABEL_CHARS_MAX, "é"),
      reason,
      until: null,
    })),
};

Deno.test("guard: teams with the most and longest budgets and pauses have their verdicts in the least memory", async () => {
  const reason = "é".repeat(REASON_CHARS_MAX);
  await using g = await openGuard(MOST.budgets, () => MOST.pausesWith(reason));
  for (const key of [g.ofOther, g.principal]) {
    assertEquals(g.acknowledge(1, "acme", 0n, key), "allow");
  }
  const { bytes, bytesMax } = g.memoryUse();
  const chars = LABEL_CHARS_MAX * (BUDGETS.cap + PAUSES.cap) + REASON_CHARS_MAX * PAUSES.cap;
  assertEquals(bytes > 2 * 2 * chars && bytes <= bytesMax, true, `${bytes} ${bytesMax}`);
});

Deno.test("guard: teams whose pauses are too large for the memory are each judged by their own", async () => {
  const everyone = (n: number) => ({ reason: `team ${n}`, until: null });
  const others = MOST.pausesWith("𝄞".repeat(REASON_CHARS_MAX)).slice(1);
  await using g = await openGuard(MOST.budgets, (n) => [everyone(n), ...others]);
  const { bytes } = g.memoryUse();
  assertEquals(bytes, 0);
  const subject = { agent: null, customer: null, feature: null };
  const teams = [g.principal, g.ofOther];
  const checked = await Promise.all(teams.map(({ team }) => g.guard.check(team.id, subject)));
  const reasons = checked.map(({ pauses }) => pauses.map(({ settings }) => settings.reason));
  assertEquals(reasons, [["team 0"], ["team 1"]]);
});
