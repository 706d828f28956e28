/** Verify finds every kind of damage to a ledger. */
import { assert } from "@std/assert";
import type { RunId } from "../../../domain/core/ids.ts";
import { type EventLedger, PACKED_ID_BYTES } from "../../../domain/runs/ledger.ts";
import type { RunSummary } from "../../../domain/runs/summary.ts";
import { decodeBatch, encodeBatch, encodePart } from "../../../kv/base/codec.ts";
import { encodeLedger } from "../../../kv/base/codec_sums.ts";
import { keys } from "../../../kv/base/keys.ts";
import { ledgerOf, readParts } from "../../../kv/runs/heads.ts";
import { blobWrite, readBlob } from "../../../kv/store.ts";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import {
  aRollup,
  assertAllFound,
  changed,
  changedSums,
  type Damages,
  gone,
  put,
  RUN,
  valueOf,
} from "../../support/oracles/damage.ts";
import { Harness, NOON } from "../../support/harness/harness.ts";
import { fill } from "../../support/builders/ledger_of_everything.ts";

const NOBODY = runId(99) as RunId;

const batch = (n: number) => ({ team }: Harness) => keys.batch(team.id, RUN, n);
const ledger = ({ team }: Harness) => keys.ledger(team.id, RUN);
const opening = ({ team }: Harness) => keys.opening(team.id, RUN);
const summary = ({ team }: Harness) => keys.summary(team.id, RUN);
const usage = (month: string) => ({ team }: Harness) => keys.usage(team.id, month);
const rollup = (kind: string) => async (h: Harness) => (await aRollup(h, kind)).key;
const rowOf = async (h: Harness, prefix: Deno.KvKey, is: (key: Deno.KvKey) => boolean) => {
  const rows = await Array.fromAsync(h.store.reader.list({ prefix }), ({ key }) => key);
  return rows.findLast(is) ?? [];
};
const indexed = (h: Harness) => rowOf(h, ["run_by", h.team.id], (key) => key.at(-1) === RUN);

type Batch = ReturnType<typeof decodeBatch>;

/** The first batch of the first run, changed. */
function changedBatch(change: (batch: Batch) => Batch): Damages[string] {
  return {
    says: `event totals of ${RUN}`,
    async make(h) {
      const key = batch(0)(h);
      const text = await readBlob(h.store, h.team.id, RUN, await valueOf(h, key));
      const { events, prices } = change(decodeBatch(text ?? ""));
      const stored = events.map((event) => ({ ...event, facts: { error: false } }));
      const encoded = encodeBatch(stored, h.nowMs, prices);
      return { sets: [...blobWrite(h.team.id, RUN, key, encoded).sets] };
    },
  };
}

/** The ledger of the first run, changed. */
function changedLedger(
  change: (ledger: EventLedger) => Partial<EventLedger>,
  says = `ledger of ${RUN}`,
): Damages[string] {
  return changed(says, ledger, (value) => {
    const stored = ledgerOf(value);
    return encodeLedger({ ...stored, ...change(stored) });
  });
}

/** The summary of the first run, changed. */
const changedSummary = (change: (summary: RunSummary) => RunSummary) =>
  changedSums(`summary of ${RUN}`, summary, change);

/** Each kind of damage, and text of the difference that reports it. */
const DAMAGES: Damages = {
  "the cost of a roll-up is changed": put("roll-up customer", rollup("customer"), async (h) => {
    const { row, write } = await aRollup(h, "customer");
    return write({ ...row, measures: { ...row.measures, cost: row.measures.cost + 1n } });
  }),
  "a roll-up is of another group": put("roll-up agent", rollup("agent"), async (h) => {
    const { row, write } = await aRollup(h, "agent");
    return write({ ...row, group: { kind: "agent", value: "x" } });
  }),
  "a roll-up is missing": gone("roll-up model_cell", rollup("model_cell")),
  "a roll-up is not a roll-up": put("roll-up total", rollup("total"), () => 1),
  "there is an extra roll-up": put(
    "roll-up total 2020-01-01",
    ({ team }) => keys.rollup(team.id, "total", "2020-01-01", '["total"]'),
    async (h) => {
      const { row, write } = await aRollup(h, "total");
      return write(row);
    },
  ),
  "a summary is missing": gone(`summary of ${RUN}`, summary),
  "a summary has another customer": changedSummary(({ contribution, ...summary }) => {
    assert(contribution !== null);
    const labels = { ...contribution.labels, customer: "other" };
    return { ...summary, contribution: { ...contribution, labels } };
  }),
  "a run is missing from the feed": gone("entries of the feed", async (h) => {
    // A run that is projected alone has a row of its own in the feed.
    await h.post("/v1/heartbeats", aHeartbeat(77));
    await h.worker.idle();
    return rowOf(h, keys.changes(h.team.id), () => true);
  }),
  "a run is in the feed twice": put(
    "entries of the feed",
    ({ team }) => keys.change(team.id, 99, RUN),
    () => true,
  ),
  "a summary without any part": put(
    `summary of ${NOBODY}`,
    ({ team }) => keys.summary(team.id, NOBODY),
    (h) => valueOf(h, summary(h)),
  ),
  "usage is one more": changed<Deno.KvU64>(
    "usage of 2026-11",
    usage("2026-11"),
    ({ value }) => new Deno.KvU64(value + 1n),
  ),
  "usage of a month is missing": gone("usage of 2026-12", usage("2026-12")),
  "usage of a month without any call": put(
    "usage of 2020-01",
    usage("2020-01"),
    () => new Deno.KvU64(1n),
  ),
  "a batch is missing": gone(`batch 1 of ${RUN}`, batch(1)),
  "a batch that the ledger does not count": put(
    `batch 3 of ${RUN}`,
    batch(3),
    (h) => valueOf(h, batch(0)(h)),
  ),
  "a stored price is changed": changedBatch(({ events, prices }) => {
    const costs = prices.costs.map((cost) => cost === 0 ? 0 : BigInt(cost) + 1n);
    return { events, prices: { ...prices, costs } };
  }),
  "an event lost its price": changedBatch(({ events, prices }) => ({
    events,
    prices: { ...prices, by: prices.by.map(() => -1) },
  })),
  "an event is missing": changedBatch(({ events, prices }) => ({
    events: events.slice(0, 2),
    prices,
  })),
  "tokens of an event are changed": changedBatch(({ events, prices }) => ({
    prices,
    events: events.map((event) => ({
      ...event,
      data: event.data.replace('"output_tokens":1', '"output_tokens":2') as typeof event.data,
    })),
  })),
  "a ledger lacks the id of an event": changedLedger(({ tail }) => ({
    tail: { ...tail, ids: tail.ids.slice(PACKED_ID_BYTES) },
  })),
  "a ledger counts an event for an extra month": changedLedger(() => ({
    months: { "2020-01": 1 },
  })),
  "a ledger has a later first arrival": changedLedger(({ firstAt }) => ({
    firstAt: (firstAt ?? 0) + 1,
  })),
  "a ledger is missing": gone(`batch 0 of ${RUN}`, ledger),
  "a close is missing": gone(`summary of ${RUN}`, ({ team }) => keys.closing(team.id, RUN)),
  "an opening is missing": gone(`summary of ${RUN}`, opening),
  "an opening is of another agent": {
    says: "roll-up agent",
    async make(h) {
      const at = { store: h.store, team: h.team.id, id: RUN };
      const parts = await readParts(at, await valueOf(h, opening(h)), null);
      assert(parts.opening !== null);
      const text = encodePart({ ...parts.opening, agent: "another" });
      return { sets: [...blobWrite(h.team.id, RUN, opening(h), text).sets] };
    },
  },
  "a piece of a large value is missing": gone(
    `parts of ${RUN}`,
    (h) => rowOf(h, keys.chunks(h.team.id, RUN), () => true),
  ),
  "the count of agents is wrong": put(
    "count of agents",
    ({ team }) => keys.agentCount(team.id),
    () => new Deno.KvU64(4n),
  ),
  "a run has no expiry entry": gone(
    `index payload ${NOON} for ${RUN}`,
    ({ team }) => keys.entry(keys.expiryOrder(team.id, "payload"), NOON, RUN),
  ),
  "the index of models lacks a run": gone(`for ${RUN}`, indexed),
  "an index row describes another run": changed<Uint8Array>(
    `for ${RUN}`,
    indexed,
    (value) => value.map((byte) => byte ^ 1),
  ),
  "the index has a row of an outdated status": put(
    "entries of the index",
    ({ team }) => keys.entry(keys.runsBy(team.id, "status", "running"), NOON, RUN),
    () => true,
  ),
  "a summary says that a run is late": changedSummary((summary) => ({
    ...summary,
    listed: { ...summary.listed, has: ["late"] },
  })),
  "a summary names another tool": changedSummary((summary) => {
    assert(summary.shown.failedTool === "open_file");
    return { ...summary, shown: { ...summary.shown, failedTool: "close_file" } };
  }),
  "a ledger lacks the tool that failed": changedLedger(
    ({ totals: { failedTool: _, ...totals } }) => ({ totals }),
    `event totals of ${RUN}`,
  ),
  "a summary lacks the time at which its cost became final": changedSummary(
    ({ finalAt, ...summary }) => {
      assert(finalAt !== undefined);
      return summary;
    },
  ),
  "lists show a wrong end of a run": changedSummary((summary) => ({
    ...summary,
    shown: { ...summary.shown, finishedAt: NOON - 1 },
  })),
};

Harness.test("verify: every kind of damage is found, in the affected team", async (h, t) => {
  await fill(h);
  await assertAllFound(h, t, DAMAGES);
});
