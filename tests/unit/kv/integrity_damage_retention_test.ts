/** Verify finds every kind of damage to the remains of expired, partly expired and deleted runs. */
import { assert, assertEquals } from "@std/assert";
import type { AgentActivity } from "../../../domain/agents/agents.ts";
import type { EventTotals } from "../../../domain/runs/event_totals.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { Measures } from "../../../domain/runs/summary.ts";
import { keyParts, keys } from "../../../kv/base/keys.ts";
import { decodeSums, encodeLedger, encodeSums } from "../../../kv/base/codec_sums.ts";
import { decodeRollup, encodeRollup } from "../../../kv/spend/rollups.ts";
import { ledgerOf } from "../../../kv/runs/heads.ts";
import { DAY_MS } from "../../support/harness/retention_harness.ts";
import { aRun, runId } from "../../support/builders/requests.ts";
import {
  assertAllFound,
  type Damage,
  type Damages,
  RUN,
  valueOf,
} from "../../support/oracles/damage.ts";
import { freeTeam, Harness, NOON } from "../../support/harness/harness.ts";
import { aCall, fill } from "../../support/builders/ledger_of_everything.ts";

/** A run whose events all expired, a deleted run, and a completely expired run. */
const DELETED = runId(80) as RunId, GONE = runId(81) as RunId;

/** Time of the deletion. */
const DELETED_AT = NOON + 8 * DAY_MS;

/** Fills a ledger with every kind of data, expires payloads and a run, and deletes one. */
async function age(h: Harness): Promise<void> {
  h.nowMs = NOON - 40 * DAY_MS;
  for (const id of [GONE, DELETED]) {
    const fields = { id, started_at: new Date(h.nowMs).toISOString(), customer_id: "acme" };
    assertEquals((await h.post("/v1/runs", aRun(0, { agent: "old", ...fields }))).status, 202);
    const call = aCall(1, "gpt-4o", { provider: "openai" });
    await h.post(`/v1/runs/${id}/events`, { events: [call] });
  }
  h.nowMs = NOON;
  await fill(h);
  h.nowMs = DELETED_AT;
  assertEquals((await h.request("DELETE", `/v1/runs/${DELETED}`)).status, 200);
  const counts = (await h.sweep.sweepNow())?.counts;
  assert(counts !== undefined && counts.records === 1 && counts.payloads > 1 && counts.orphans > 1);
}

/** The first row below a prefix. */
async function firstOf(h: Harness, prefix: Deno.KvKey): Promise<Deno.KvEntry<Uint8Array>> {
  const [row] = await Array.fromAsync(h.store.reader.list<Uint8Array>({ prefix }, { limit: 1 }));
  assert(row !== undefined, prefix.join(" "));
  return row;
}

/** An expired run's share of a kind of roll-ups, changed. */
async function removedRollup(
  h: Harness,
  kind: "total" | "model",
  change: (measures: Measures) => Partial<Measures>,
): Promise<Damage> {
  const { key, value } = await firstOf(h, keys.removedRollups(h.team.id, kind));
  const row = decodeRollup(keyParts.day(key), value);
  const measures = { ...row.measures, ...change(row.measures) };
  return { sets: [{ key, value: encodeRollup({ ...row, measures }) }] };
}

async function changedTotals(
  h: Harness,
  change: (totals: EventTotals) => Partial<EventTotals>,
): Promise<Damage> {
  const key = keys.removedTotals(h.team.id, RUN);
  const totals = decodeSums<EventTotals>(await valueOf(h, key) as Uint8Array);
  return { sets: [{ key, value: encodeSums({ ...totals, ...change(totals) }) }] };
}

const DAMAGES: Damages = {
  "the cost of expired runs is a picodollar more": {
    says: "roll-up total 2026-10-12",
    make: (h) => removedRollup(h, "total", ({ cost }) => ({ cost: cost + 1n })),
  },
  "expired runs are one more": {
    says: "roll-up model 2026-10-12",
    make: (h) => removedRollup(h, "model", ({ runs }) => ({ runs: runs + 1 })),
  },
  "the totals of expired runs are missing": {
    says: "roll-up cell 2026-10-12",
    async make(h) {
      const { key } = await firstOf(h, keys.removedRollups(h.team.id, "cell"));
      return { deletes: [key] };
    },
  },
  "expired runs of a day without any": {
    says: "roll-up total 2020-01-01",
    async make(h) {
      const { key, value } = await firstOf(h, keys.removedRollups(h.team.id, "total"));
      return { sets: [{ key: key.with(3, "2020-01-01"), value }] };
    },
  },
  "usage of expired runs is one less": {
    says: "usage of 2026-11",
    async make(h) {
      const key = keys.removedUsage(h.team.id, "2026-11");
      const { value } = await valueOf(h, key) as Deno.KvU64;
      return { sets: [{ key, value: new Deno.KvU64(value - 1n) }] };
    },
  },
  "usage of expired runs is missing": {
    says: "usage of 2026-10",
    make: (h) => Promise.resolve({ deletes: [keys.removedUsage(h.team.id, "2026-10")] }),
  },
  "expired runs of an agent are one more": {
    says: "activity of agent old",
    async make(h) {
      const key = keys.removedAgent(h.team.id, "old");
      const activity = await valueOf(h, key) as AgentActivity;
      return { sets: [{ key, value: { ...activity, runs: activity.runs + 1 } }] };
    },
  },
  "expired runs of an agent are missing": {
    says: "activity of agent old",
    make: (h) => Promise.resolve({ deletes: [keys.removedAgent(h.team.id, "old")] }),
  },
  "the cost of removed events is a picodollar more": {
    says: `event totals of ${RUN}`,
    make: (h) =>
      changedTotals(h, ({ cost, models }) => ({
        cost: cost + 1n,
        models: models.map((line, i) => i === 0 ? { ...line, cost: line.cost + 1n } : line),
      })),
  },
  "removed events are one less": {
    says: `event totals of ${RUN}`,
    make: (h) => changedTotals(h, ({ events }) => ({ events: events - 1 })),
  },
  "the totals of removed events name another tool": {
    says: `event totals of ${RUN}`,
    make: (h) =>
      changedTotals(h, ({ failedTool }) => {
        assert(failedTool?.name === "open_file");
        return { failedTool: { ...failedTool, name: "close_file" } };
      }),
  },
  "the totals of removed events are missing": {
    says: `event totals of ${RUN}`,
    make: (h) => Promise.resolve({ deletes: [keys.removedTotals(h.team.id, RUN)] }),
  },
  "a ledger counts a removed batch as stored": {
    says: `batch 2 of ${RUN}`,
    async make(h) {
      const key = keys.ledger(h.team.id, RUN);
      const ledger = ledgerOf(await valueOf(h, key));
      const value = encodeLedger({ ...ledger, removed: ledger.removed - 1 });
      return { sets: [{ key, value }] };
    },
  },
  "a stripped run has no expiry entry": {
    says: `index record ${NOON} for ${RUN}`,
    make: (h) =>
      Promise.resolve({
        deletes: [keys.entry(keys.expiryOrder(h.team.id, "record"), NOON, RUN)],
      }),
  },
  "a deleted id would be refused forever": {
    says: `index of deleted ${DELETED}`,
    make: (h) => {
      const order = keys.expiryOrder(h.team.id, "tombstone");
      return Promise.resolve({ deletes: [keys.entry(order, DELETED_AT, DELETED)] });
    },
  },
  "a deleted run would accept events again": {
    says: `tombstone of ${DELETED}`,
    make: (h) => Promise.resolve({ deletes: [keys.ledger(h.team.id, DELETED)] }),
  },
  "a deleted run has a summary": {
    says: `rows of deleted ${DELETED}`,
    async make(h) {
      const value = await valueOf(h, keys.summary(h.team.id, RUN));
      return { sets: [{ key: keys.summary(h.team.id, DELETED), value }] };
    },
  },
  "a deleted run has events": {
    says: `rows of deleted ${DELETED}`,
    make: (h) =>
      Promise.resolve({
        sets: [{ key: keys.batch(h.team.id, DELETED, 0), value: new Uint8Array(9) }],
      }),
  },
};

freeTeam.test(
  "verify: every kind of damage to the remains of expired runs is found",
  async (h, t) => {
    await age(h);
    await assertAllFound(h, t, DAMAGES);
  },
);
