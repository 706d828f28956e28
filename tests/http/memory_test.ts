/** The memory budget of the complete service: every cache stays within its share. */
import { assert, assertEquals } from "@std/assert";
import { Memory, MEMORY_SHARES, type MemoryShare, type MemoryUse } from "../../runtime/memory.ts";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { Harness, oneInstance } from "../support/harness/harness.ts";
import { ofFile } from "../support/harness/test_kv.ts";

/** A budget so small that a few hundred calls exceed every cache. */
const MEMORY_MB = 8;

const TEAMS = 6, RUNS = 12;

/** Names of maximum length, with code points of four bytes. */
const long = (n: number, chars: number) =>
  "\u{1F600}".repeat(chars - 6) + String(n).padStart(6, "0");

/** Fills a cache with names of maximum length, for each of the teams. */
type Drive = (h: Harness, key: string, team: number) => Promise<void>;

const GROUPINGS = ["day", "agent", "customer", "feature", "model", "status"];

/** Heartbeats of unique agents, customers, features and models. */
const sendHeartbeats: Drive = async (h, key, team) => {
  for (let run = 0; run < RUNS; run++) {
    const n = team * RUNS + run + 1;
    const labels = { agent: long(n, 128), customer_id: long(n, 256), feature: long(n, 256) };
    // A model's lookup limit is in UTF-16 units.
    const model = { model: `${"\u00e9".repeat(250)}${n}`, provider: `${"\u00e8".repeat(250)}${n}` };
    const body = aHeartbeat(n, { ...labels, ...model, input_tokens: 10 });
    assertEquals((await h.post("/v1/heartbeats", body, { key })).status, 202);
  }
  await h.worker.idle();
};

/** Calls that fill each cache, in order; caches without an entry are filled by other calls. */
const CACHES: Partial<Record<MemoryShare, Drive>> = {
  team_rows: sendHeartbeats,
  projected: async () => {},
  agents: async () => {},
  configs: async (h, key) => {
    const body = { kind: "quota", enabled: false };
    const { status, text } = await h.request("PUT", "/v1/rules/dear", { key, body });
    assertEquals(status, 202, text);
    await h.post("/v1/heartbeats", aHeartbeat(900_001), { key });
    await h.worker.idle();
  },
  guard: async (h, key) => {
    const body = { scope: { each: "customer" }, period: "month", limit_usd: 1 };
    const { status, text } = await h.request("PUT", "/v1/budgets/each", { key, body });
    assertEquals(status, 202, text);
    for (let n = 1; n <= RUNS; n++) {
      const customer_ref = long(n, 256);
      const { status, text } = await h.post("/v1/guard/check", { customer_ref }, { key });
      assertEquals(status, 200, text);
    }
  },
  credentials: async () => {},
  rate_buckets: async () => {},
  metrics: async () => {},
  rate_cards: async (h, key) => {
    for (let n = 0; n < 5; n++) {
      const usd = { input_usd_per_million: 1, output_usd_per_million: 2 };
      const row = { provider: long(n, 256), model: `${"\u00e9".repeat(250)}${n}`, ...usd };
      const { status, text } = await h.request("PUT", "/v1/rate-card", { key, body: row });
      assert(status < 300, text);
    }
    await h.post("/v1/heartbeats", aHeartbeat(900_000, { model: "m", input_tokens: 1 }), { key });
  },
  rollup_days: async (h, key) => {
    for (const grouping of GROUPINGS) {
      const { status } = await h.get(`/v1/spend?group_by=${grouping}`, { key });
      assertEquals(status, 200);
    }
  },
  other: async (h) => {
    assertEquals((await h.get("/v1/runs", { key: `apk_eu_${"0".repeat(31)}1` })).status, 401);
  },
  ledgers: async (h, key, team) => {
    const id = runId(800_000 + team);
    await h.post("/v1/runs", { ...aRun(1), id }, { key });
    await h.post(`/v1/runs/${id}/events`, { events: [anEvent(800_000 + team)] }, { key });
  },
  memos: async (h, key, team) => {
    const { status } = await h.get(`/v1/ping?agent=nightly&every=${team + 1}h`, { key });
    assertEquals(status, 200);
  },
  heads: async () => {},
  recent_ids: async () => {},
  refusals: async (h, key, team) => {
    for (let n = 0; n < 20; n++) {
      const { status } = await h.post("/v1/runs", { agent: long(team * 100 + n, 128) }, { key });
      assertEquals(status, 400);
    }
  },
};

/** Buffers of data in flight: empty once it has arrived. */
const QUEUES: readonly MemoryShare[] = ["bodies", "answers", "writes", "live", "log"];

/** Owned by the process, not the service: tested in `tests/unit/app/request_log_test.ts`. */
const OF_PROCESS: readonly MemoryShare[] = ["log"];

/** Caches that are filled beyond their share. */
const FILLED: readonly MemoryShare[] = ["rollup_days", "agents", "rate_cards", "refusals"];

// Only a service that has its store alone keeps heads of runs.
ofFile("every cache of the service stays within its memory share", async () => {
  await using h = await Harness.open({ memory: new Memory(MEMORY_MB), tier: "business" });
  const usesNow = () => {
    const uses = new Map(h.store.memory.uses().map((use) => [use.share, use]));
    for (const use of uses.values()) {
      assert(use.bytes <= use.bytesMax, `${use.share} has ${use.bytes} of ${use.bytesMax} bytes`);
    }
    return uses;
  };
  const teams = [h.key];
  for (let n = 1; n < TEAMS; n++) teams.push((await h.addTeam("business")).key);
  for (const drive of Object.values(CACHES)) {
    for (const [n, key] of teams.entries()) {
      await drive(h, key, n);
      usesNow();
    }
  }
  // Nothing is in flight then, including the service's own writes.
  await h.worker.idle();
  await h.store.writer.idle();
  const uses: ReadonlyMap<MemoryShare, MemoryUse> = usesNow();
  const shares = Object.keys(MEMORY_SHARES) as MemoryShare[];
  assertEquals(shares.toSorted(), [...Object.keys(CACHES), ...QUEUES].toSorted());
  assertEquals(shares.filter((share) => !uses.has(share)).sort(), [...OF_PROCESS].sort());
  for (const { share, bytes, bytesMax } of uses.values()) {
    if (QUEUES.includes(share)) assertEquals(bytes, 0, share);
    else assert(bytes > 0, `${share} is empty`);
    if (FILLED.includes(share)) assert(bytes > bytesMax / 4, `${share}: ${bytes} of ${bytesMax}`);
  }
});

oneInstance.test("a finished run leaves the cache of ledgers, and its late events are still stored once", async (h) => {
  const ledgerBytes = () =>
    h.store.memory.uses().find(({ share }) => share === "ledgers")?.bytes ?? NaN;
  const path = `/v1/runs/${runId(1)}`;
  await h.post("/v1/runs", aRun(1));
  await h.post(`${path}/events`, { events: [anEvent(1), anEvent(2)] });
  assert(ledgerBytes() > 0);
  await h.post(`${path}/finish`, aFinish());
  assertEquals(ledgerBytes(), 0);
  const late = await h.post(`${path}/events`, { events: [anEvent(2), anEvent(3)] });
  assertEquals([late.status, late.json], [202, { accepted: 1, duplicates: 1 }]);
  const { json } = await h.getFinal(path);
  assertEquals([json.events.length, json.cost.state], [3, "final"]);
});
