/** Caches use the bytes that they claim, and the shares add up to the budget. */
import { EMPTY_MEASURES } from "../../../domain/runs/summary.ts";
import { assert, assertEquals } from "@std/assert";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { RunId, TeamId } from "../../../domain/core/ids.ts";
import { Memory, MEMORY_SHARES, type MemoryShare } from "../../../runtime/memory.ts";
import { RequestMetrics } from "../../../runtime/metrics.ts";
import type { RollupGroup, RollupRow } from "../../../domain/spend/rollup.ts";
import { keys } from "../../../kv/base/keys.ts";
import { openStore } from "../../../kv/open.ts";
import {
  changeRollups,
  decodeRollup,
  encodeRollup,
  RollupDays,
} from "../../../kv/spend/rollups.ts";
import type { Store } from "../../../kv/store.ts";
import { changeActivity } from "../../../kv/agents/agents.ts";
import { KnownAgents } from "../../../kv/agents/known_agents.ts";
import { TeamRowCache } from "../../../kv/team/team_rows.ts";
import { CREDENTIAL_USES, LastUses } from "../../../kv/teams/last_uses.ts";
import { createRateCardStore } from "../../../kv/rate_cards/rate_cards.ts";
import { runId } from "../../support/builders/requests.ts";
import { rateRow } from "../../support/builders/cards.ts";
import { NOON } from "../../support/harness/harness.ts";

/** Tolerance between claimed and measured bytes. */
const FACTOR = 2;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function heapBytes(): number {
  collect();
  return Deno.memoryUsage().heapUsed;
}

const DAY = "2026-11-21";

/** A unique name of maximum length. */
const long = (n: number, chars = 256) => "\u{1F600}".repeat(chars - 6) + String(n).padStart(6, "0");

const teamOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}` as TeamId;

/** A row as read from the store. */
function stored(group: RollupGroup, n: number): RollupRow {
  const measures = {
    ...EMPTY_MEASURES,
    runs: n,
    inputTokens: BigInt(n) * 1_000n,
    outputTokens: BigInt(n),
    cost: BigInt(n) * 1_000_000_007n,
  };
  return decodeRollup(DAY, encodeRollup({ day: DAY, group, measures }));
}

const customer = (value: string): RollupGroup => ({ kind: "customer", value });

function cell(n: number): RollupGroup {
  const labels = { agent: long(n, 128), customer: long(n), feature: long(n), status: "success" };
  const value = { provider: long(n), model: long(n) };
  return { kind: "model_cell", labels: { ...labels, status: "success" }, value };
}

/** Fills days with rows of several groups. */
async function fillDays(memory: Memory, groupOf: (n: number) => RollupGroup): Promise<unknown> {
  const days = new RollupDays(memory);
  for (let team = 0; team < 30; team++) {
    const versions = new Map([[DAY, "00000000000000010000"]]);
    const read = async function* () {
      await Promise.resolve();
      yield Array.from({ length: 100 }, (_, n) => stored(groupOf(n), n));
    };
    const retained = days.keep(teamOf(team), "customer", [DAY], versions, read());
    for await (const _ of retained);
  }
  return days;
}

/** Fills a cache; its return value is kept until the heap is measured. */
type Fill = (store: Store) => Promise<unknown>;

const FILLS: readonly (readonly [name: string, share: MemoryShare, fill: Fill])[] = [
  [
    "days of short names",
    "rollup_days",
    ({ memory }) => fillDays(memory, (n) => customer(`customer-${n}`)),
  ],
  ["days of long names", "rollup_days", ({ memory }) => fillDays(memory, (n) => customer(long(n)))],
  ["days of many long names", "rollup_days", ({ memory }) => fillDays(memory, cell)],
  ["roll-ups of teams", "team_rows", async (store) => {
    const cache = new TeamRowCache(store);
    for (let team = 0; team < 20; team++) {
      const differences = Array.from({ length: 50 }, (_, n) => stored(cell(n), n));
      const rows = await cache.of(teamOf(team));
      const change = await changeRollups(rows, teamOf(team), differences);
      rows.written("00000000000000010000", 0, change.rows);
      cache.keep(teamOf(team), rows);
    }
    return cache;
  }],
  ["agents in use", "agents", ({ memory }) => {
    const knownAgents = new KnownAgents(memory, () => performance.now());
    for (let n = 0; n < 2_000; n++) {
      const team = teamOf(n % 10);
      knownAgents.add(team, long(n, 128), knownAgents.noteVersion(team, "00000000000000010000", 0));
    }
    return Promise.resolve(knownAgents);
  }],
  ["totals of agents' runs", "team_rows", async (store) => {
    const cache = new TeamRowCache(store);
    for (let team = 0; team < 10; team++) {
      const changes = Array.from({ length: 200 }, (_, n) => ({
        before: null,
        after: {
          id: runId(n) as RunId,
          agent: long(n, 128),
          status: "success" as const,
          startedAt: NOON + n,
          sortedAt: NOON + n,
          receivedAt: NOON + n,
        },
      }));
      const rows = await cache.of(teamOf(team));
      const change = await changeActivity(store, rows, teamOf(team), changes);
      rows.written("00000000000000020000", 0, change.rows);
      cache.keep(teamOf(team), rows);
    }
    return cache;
  }],
  ["rate cards", "rate_cards", async (store) => {
    const cards = createRateCardStore(store, { now: () => NOON });
    for (let team = 0; team < 10; team++) {
      const sets = Array.from({ length: 100 }, (_, n) => {
        const row = { ...rateRow("\u00e9\u4e00".repeat(120) + n, 1, 2), provider: long(n, 128) };
        const rate = { row, createdAt: NOON, createdBy: "key" };
        return { key: keys.rate(teamOf(team), new Uint8Array([n])), value: rate };
      });
      sets.push({ key: keys.rates(teamOf(team)), value: 100 as never });
      await store.writer.commit({ team: teamOf(team), sets });
      const owner = { id: teamOf(team), name: "team", tier: "free" as const };
      (await cards.models(owner)).nearest(null, "atlas");
      const card = await cards.card(owner);
      for (let n = 0; n < 200; n++) card.find(null, "\u4e00".repeat(200) + n, NOON);
    }
    return cards;
  }],
  ["cron lines", "memos", (store) => {
    for (let n = 0; n < 500; n++) {
      const slotAfter = store.cronSlots({ cron: `${n % 60} ${n % 23} * * *`, tz: "UTC" });
      for (let slot = NOON; slot < NOON + 6 * 86_400_000;) slot = slotAfter(slot);
    }
    return Promise.resolve(store);
  }],
  ["uses of credentials", "credentials", (store) => {
    const uses = new LastUses(store, CREDENTIAL_USES);
    for (let n = 0; n < 5_000; n++) {
      uses.note(teamOf(n), `key_${String(n).padStart(26, "0")}`, NOON + n);
    }
    return Promise.resolve(uses);
  }],
  ["metrics of requests", "metrics", ({ memory }) => {
    const requestMetrics = new RequestMetrics(memory.bytesMax("metrics"));
    memory.register("metrics", () => requestMetrics.bytes);
    const routes = Array.from({ length: 40 }, (_, n) => requestMetrics.route("GET", `/${n}`));
    for (let team = 0; team < 200; team++) {
      for (const route of routes) route(teamOf(team), 200 + team % 3, 0.1, "not_found");
    }
    return Promise.resolve(requestMetrics);
  }],
];

Deno.test.each(FILLS)("memory: %s take the bytes that they claim", async (_, share, fill) => {
  const memory = new Memory(256);
  const store = await openStore(":memory:", memory);
  // Memory of another test is released only after its function has returned.
  await new Promise((resolve) => setTimeout(resolve));
  const before = heapBytes();
  const blocked = await fill(store);
  const usedBytes = heapBytes() - before;
  const use = memory.uses().find((use) => use.share === share);
  await store.close();
  assert(blocked !== undefined && use !== undefined && use.bytes <= use.bytesMax);
  assert(use.bytes > 100_000, `${use.bytes} bytes are too few to tell`);
  const ratio = usedBytes / use.bytes;
  assert(
    ratio < FACTOR && ratio > 1 / FACTOR,
    `${usedBytes} bytes are taken, ${use.bytes} claimed`,
  );
});

Deno.test("memory: the cache shares total at most half of the target, and each has its bytes", () => {
  const sum = Object.values(MEMORY_SHARES).reduce<number>((total, share) => total + share, 0);
  assert(sum <= 500, `${sum} thousandths`);
  const memory = new Memory(256);
  for (const share of Object.keys(MEMORY_SHARES) as MemoryShare[]) {
    assertEquals(memory.bytesMax(share), 256_000 * MEMORY_SHARES[share]);
  }
});
