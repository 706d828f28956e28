/** Verify finds every kind of damage to the remains of expired, partly expired and deleted runs. */
import { assert, assertEquals } from "@std/assert";
import type { AgentActivity } from "../../../domain/agents/agents.ts";
import type { EventTotals } from "../../../domain/runs/event_totals.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { Measures } from "../../../domain/runs/summary.ts";
import { keyParts, keys } from "../../../kv/base/keys.ts";
import { encodeLedger } from "../../../kv/base/codec_sums.ts";
import { decodeRollup, encodeRollup } from "../../../kv/spend/rollups.ts";
import { ledgerOf } from "../../../kv/runs/heads.ts";
import { DAY_MS } from "../../support/harness/retention_harness.ts";
import { aRun, runId } from "../../support/builders/requests.ts";
import {
  assertAllFound,
  changed,
  changedSums,
  type Damages,
  gone,
  put,
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

const removed = (kind: "total" | "model" | "cell") => (h: Harness) =>
  firstOf(h, keys.removedRollups(h.team.id, kind));
const removedUsage = (month: string) => ({ team }: Harness) => keys.removedUsage(team.id, month);
const removedAgent = ({ team }: Harness) => keys.removedAgent(team.id, "old");
const ledger = ({ team }: Harness) => keys.ledger(team.id, RUN);
const totals = ({ team }: Harness) => keys.removedTotals(team.id, RUN);

/** An expired run's share of a kind of roll-ups, changed. */
function removedRollup(
  kind: "total" | "model",
  change: (measures: Measures) => Partial<Measures>,
): Damages[string] {
  return put(`roll-up ${kind} 2026-10-12`, async (h) => (await removed(kind)(h)).key, async (h) => {
    const { key, value } = await removed(kind)(h);
    const row = decodeRollup(keyParts.day(key), value);
    return encodeRollup({ ...row, measures: { ...row.measures, ...change(row.measures) } });
  });
}

const changedTotals = (change: (totals: EventTotals) => Partial<EventTotals>) =>
  changedSums<EventTotals>(`event totals of ${RUN}`, totals, (stored) => ({
    ...stored,
    ...change(stored),
  }));

const DAMAGES: Damages = {
  "the cost of expired runs is a picodollar more": removedRollup(
    "total",
    ({ cost }) => ({ cost: cost + 1n }),
  ),
  "expired runs are one more": removedRollup("model", ({ runs }) => ({ runs: runs + 1 })),
  "the totals of expired runs are missing": gone(
    "roll-up cell 2026-10-12",
    async (h) => (await removed("cell")(h)).key,
  ),
  "expired runs of a day without any": put(
    "roll-up total 2020-01-01",
    async (h) => (await removed("total")(h)).key.with(3, "2020-01-01"),
    async (h) => (await removed("total")(h)).value,
  ),
  "usage of expired runs is one less": changed<Deno.KvU64>(
    "usage of 2026-11",
    removedUsage("2026-11"),
    ({ value }) => new Deno.KvU64(value - 1n),
  ),
  "usage of expired runs is missing": gone("usage of 2026-10", removedUsage("2026-10")),
  "expired runs of an agent are one more": changed<AgentActivity>(
    "activity of agent old",
    removedAgent,
    (activity) => ({ ...activity, runs: activity.runs + 1 }),
  ),
  "expired runs of an agent are missing": gone("activity of agent old", removedAgent),
  "the cost of removed events is a picodollar more": changedTotals(({ cost, models }) => ({
    cost: cost + 1n,
    models: models.map((line, i) => i === 0 ? { ...line, cost: line.cost + 1n } : line),
  })),
  "removed events are one less": changedTotals(({ events }) => ({ events: events - 1 })),
  "the totals of removed events name another tool": changedTotals(({ failedTool }) => {
    assert(failedTool?.name === "open_file");
    return { failedTool: { ...failedTool, name: "close_file" } };
  }),
  "the totals of removed events are missing": gone(`event totals of ${RUN}`, totals),
  "a ledger counts a removed batch as stored": changed(`batch 2 of ${RUN}`, ledger, (value) => {
    const stored = ledgerOf(value);
    return encodeLedger({ ...stored, removed: stored.removed - 1 });
  }),
  "a stripped run has no expiry entry": gone(
    `index record ${NOON} for ${RUN}`,
    ({ team }) => keys.entry(keys.expiryOrder(team.id, "record"), NOON, RUN),
  ),
  "a deleted id would be refused forever": gone(
    `index of deleted ${DELETED}`,
    ({ team }) => keys.entry(keys.expiryOrder(team.id, "tombstone"), DELETED_AT, DELETED),
  ),
  "a deleted run would accept events again": gone(
    `tombstone of ${DELETED}`,
    ({ team }) => keys.ledger(team.id, DELETED),
  ),
  "a deleted run has a summary": put(
    `rows of deleted ${DELETED}`,
    ({ team }) => keys.summary(team.id, DELETED),
    (h) => valueOf(h, keys.summary(h.team.id, RUN)),
  ),
  "a deleted run has events": put(
    `rows of deleted ${DELETED}`,
    ({ team }) => keys.batch(team.id, DELETED, 0),
    () => new Uint8Array(9),
  ),
};

freeTeam.test(
  "verify: every kind of damage to the remains of expired runs is found",
  async (h, t) => {
    await age(h);
    await assertAllFound(h, t, DAMAGES);
  },
);
