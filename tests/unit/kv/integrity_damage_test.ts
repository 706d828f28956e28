/** Verify finds every kind of damage to a ledger. */
import { assert } from "@std/assert";
import type { RunId } from "../../../domain/core/ids.ts";
import { type EventLedger, PACKED_ID_BYTES } from "../../../domain/runs/ledger.ts";
import type { RunSummary } from "../../../domain/runs/summary.ts";
import { decodeBatch, encodeBatch, encodePart } from "../../../kv/base/codec.ts";
import { decodeSums, encodeLedger, encodeSums } from "../../../kv/base/codec_sums.ts";
import { keys } from "../../../kv/base/keys.ts";
import { ledgerOf, readParts } from "../../../kv/runs/heads.ts";
import { blobWrite, readBlob } from "../../../kv/store.ts";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import {
  aRollup,
  assertAllFound,
  type Damage,
  type Damages,
  RUN,
  valueOf,
} from "../../support/oracles/damage.ts";
import { Harness, NOON } from "../../support/harness/harness.ts";
import { fill } from "../../support/builders/ledger_of_everything.ts";

/** The first batch of the first run, changed. */
async function changedBatch(
  h: Harness,
  change: (batch: ReturnType<typeof decodeBatch>) => ReturnType<typeof decodeBatch>,
): Promise<Damage> {
  const key = keys.batch(h.team.id, RUN, 0);
  const text = await readBlob(h.store, h.team.id, RUN, await valueOf(h, key));
  const { events, prices } = change(decodeBatch(text ?? ""));
  const stored = events.map((event) => ({ ...event, facts: { error: false } }));
  const encoded = encodeBatch(stored, h.nowMs, prices);
  return { sets: [...blobWrite(h.team.id, RUN, key, encoded).sets] };
}

/** The ledger of the first run, changed. */
async function changedLedger(
  h: Harness,
  change: (ledger: EventLedger) => Partial<EventLedger>,
): Promise<Damage> {
  const key = keys.ledger(h.team.id, RUN);
  const ledger = ledgerOf(await valueOf(h, key));
  return { sets: [{ key, value: encodeLedger({ ...ledger, ...change(ledger) }) }] };
}

/** Each kind of damage, and text of the difference that reports it. */
const DAMAGES: Damages = {
  "the cost of a roll-up is changed": {
    says: "roll-up customer",
    async make(h) {
      const { key, row, write } = await aRollup(h, "customer");
      const cost = row.measures.cost + 1n;
      return { sets: [{ key, value: write({ ...row, measures: { ...row.measures, cost } }) }] };
    },
  },
  "a roll-up is of another group": {
    says: "roll-up agent",
    async make(h) {
      const { key, row, write } = await aRollup(h, "agent");
      return { sets: [{ key, value: write({ ...row, group: { kind: "agent", value: "x" } }) }] };
    },
  },
  "a roll-up is missing": {
    says: "roll-up model_cell",
    make: async (h) => ({ deletes: [(await aRollup(h, "model_cell")).key] }),
  },
  "a roll-up is not a roll-up": {
    says: "roll-up total",
    make: async (h) => ({ sets: [{ key: (await aRollup(h, "total")).key, value: 1 }] }),
  },
  "there is an extra roll-up": {
    says: "roll-up total 2020-01-01",
    async make(h) {
      const { row, write } = await aRollup(h, "total");
      const key = keys.rollup(h.team.id, "total", "2020-01-01", '["total"]');
      return { sets: [{ key, value: write(row) }] };
    },
  },
  "a summary is missing": {
    says: `summary of ${RUN}`,
    make: (h) => Promise.resolve({ deletes: [keys.summary(h.team.id, RUN)] }),
  },
  "a summary has another customer": {
    says: `summary of ${RUN}`,
    async make(h) {
      const key = keys.summary(h.team.id, RUN);
      const summary = decodeSums<RunSummary>(await valueOf(h, key) as Uint8Array);
      const { contribution } = summary;
      assert(contribution !== null);
      const labels = { ...contribution.labels, customer: "other" };
      const value = encodeSums({ ...summary, contribution: { ...contribution, labels } });
      return { sets: [{ key, value }] };
    },
  },
  "a run is missing from the feed": {
    says: "entries of the feed",
    async make(h) {
      // A run that is projected alone has a row of its own in the feed.
      await h.post("/v1/heartbeats", aHeartbeat(77));
      await h.worker.idle();
      const rows = await Array.fromAsync(h.store.reader.list({ prefix: keys.changes(h.team.id) }));
      const row = rows.at(-1);
      assert(row !== undefined);
      return { deletes: [row.key] };
    },
  },
  "a run is in the feed twice": {
    says: "entries of the feed",
    make: (h) => Promise.resolve({ sets: [{ key: keys.change(h.team.id, 99, RUN), value: true }] }),
  },
  "a summary without any part": {
    says: `summary of ${runId(99)}`,
    async make(h) {
      const value = await valueOf(h, keys.summary(h.team.id, RUN));
      return { sets: [{ key: keys.summary(h.team.id, runId(99) as RunId), value }] };
    },
  },
  "usage is one more": {
    says: "usage of 2026-11",
    async make(h) {
      const key = keys.usage(h.team.id, "2026-11");
      const { value } = await valueOf(h, key) as Deno.KvU64;
      return { sets: [{ key, value: new Deno.KvU64(value + 1n) }] };
    },
  },
  "usage of a month is missing": {
    says: "usage of 2026-12",
    make: (h) => Promise.resolve({ deletes: [keys.usage(h.team.id, "2026-12")] }),
  },
  "usage of a month without any call": {
    says: "usage of 2020-01",
    make(h) {
      const key = keys.usage(h.team.id, "2020-01");
      return Promise.resolve({ sets: [{ key, value: new Deno.KvU64(1n) }] });
    },
  },
  "a batch is missing": {
    says: `batch 1 of ${RUN}`,
    make: (h) => Promise.resolve({ deletes: [keys.batch(h.team.id, RUN, 1)] }),
  },
  "a batch that the ledger does not count": {
    says: `batch 3 of ${RUN}`,
    async make(h) {
      const value = await valueOf(h, keys.batch(h.team.id, RUN, 0));
      return { sets: [{ key: keys.batch(h.team.id, RUN, 3), value }] };
    },
  },
  "a stored price is changed": {
    says: `event totals of ${RUN}`,
    make: (h) =>
      changedBatch(h, ({ events, prices }) => ({
        events,
        prices: {
          ...prices,
          costs: prices.costs.map((cost) => cost === 0 ? 0 : BigInt(cost) + 1n),
        },
      })),
  },
  "an event lost its price": {
    says: `event totals of ${RUN}`,
    make: (h) =>
      changedBatch(h, ({ events, prices }) => ({
        events,
        prices: { ...prices, by: prices.by.map(() => -1) },
      })),
  },
  "an event is missing": {
    says: `event totals of ${RUN}`,
    make: (h) => changedBatch(h, ({ events, prices }) => ({ events: events.slice(0, 2), prices })),
  },
  "tokens of an event are changed": {
    says: `event totals of ${RUN}`,
    make: (h) =>
      changedBatch(h, ({ events, prices }) => ({
        prices,
        events: events.map((event) => ({
          ...event,
          data: event.data.replace('"output_tokens":1', '"output_tokens":2') as typeof event.data,
        })),
      })),
  },
  "a ledger lacks the id of an event": {
    says: `ledger of ${RUN}`,
    make: (h) =>
      changedLedger(h, ({ tail }) => ({ tail: { ...tail, ids: tail.ids.slice(PACKED_ID_BYTES) } })),
  },
  "a ledger counts an event for an extra month": {
    says: `ledger of ${RUN}`,
    make: (h) => changedLedger(h, () => ({ months: { "2020-01": 1 } })),
  },
  "a ledger has a later first arrival": {
    says: `ledger of ${RUN}`,
    make: (h) => changedLedger(h, ({ firstAt }) => ({ firstAt: (firstAt ?? 0) + 1 })),
  },
  "a ledger is missing": {
    says: `batch 0 of ${RUN}`,
    make: (h) => Promise.resolve({ deletes: [keys.ledger(h.team.id, RUN)] }),
  },
  "a close is missing": {
    says: `summary of ${RUN}`,
    make: (h) => Promise.resolve({ deletes: [keys.closing(h.team.id, RUN)] }),
  },
  "an opening is missing": {
    says: `summary of ${RUN}`,
    make: (h) => Promise.resolve({ deletes: [keys.opening(h.team.id, RUN)] }),
  },
  "an opening is of another agent": {
    says: "roll-up agent",
    async make(h) {
      const key = keys.opening(h.team.id, RUN);
      const at = { store: h.store, team: h.team.id, id: RUN };
      const { opening } = await readParts(at, await valueOf(h, key), null);
      assert(opening !== null);
      const text = encodePart({ ...opening, agent: "another" });
      return { sets: [...blobWrite(h.team.id, RUN, key, text).sets] };
    },
  },
  "a piece of a large value is missing": {
    says: `parts of ${RUN}`,
    async make(h) {
      const prefix = keys.chunks(h.team.id, RUN);
      const [chunk] = await Array.fromAsync(h.store.reader.list({ prefix }, { limit: 1 }));
      assert(chunk !== undefined);
      return { deletes: [chunk.key] };
    },
  },
  "the count of agents is wrong": {
    says: "count of agents",
    make: (h) => {
      const key = keys.agentCount(h.team.id);
      return Promise.resolve({ sets: [{ key, value: new Deno.KvU64(4n) }] });
    },
  },
  "a run has no expiry entry": {
    says: `index payload ${NOON} for ${RUN}`,
    make: (h) =>
      Promise.resolve({
        deletes: [keys.entry(keys.expiryOrder(h.team.id, "payload"), NOON, RUN)],
      }),
  },
  "the index of models lacks a run": {
    says: `for ${RUN}`,
    async make(h) {
      const prefix = ["run_by", h.team.id];
      const rows = await Array.fromAsync(h.store.reader.list({ prefix }), ({ key }) => key);
      const own = rows.find((key) => key.at(-1) === RUN);
      assert(own !== undefined);
      return { deletes: [own] };
    },
  },
  "an index row describes another run": {
    says: `for ${RUN}`,
    async make(h) {
      const prefix = ["run_by", h.team.id];
      const rows = await Array.fromAsync(h.store.reader.list<Uint8Array>({ prefix }));
      const own = rows.find(({ key }) => key.at(-1) === RUN);
      assert(own !== undefined);
      return { sets: [{ key: own.key, value: own.value.map((byte) => byte ^ 1) }] };
    },
  },
  "the index has a row of an outdated status": {
    says: "entries of the index",
    make: (h) => {
      const key = keys.entry(keys.runsBy(h.team.id, "status", "running"), NOON, RUN);
      return Promise.resolve({ sets: [{ key, value: true }] });
    },
  },
  "a summary says that a run is late": {
    says: `summary of ${RUN}`,
    async make(h) {
      const key = keys.summary(h.team.id, RUN);
      const summary = decodeSums<RunSummary>(await valueOf(h, key) as Uint8Array);
      const listed = { ...summary.listed, has: ["late"] } as const;
      return { sets: [{ key, value: encodeSums({ ...summary, listed }) }] };
    },
  },
  "a summary names another tool": {
    says: `summary of ${RUN}`,
    async make(h) {
      const key = keys.summary(h.team.id, RUN);
      const summary = decodeSums<RunSummary>(await valueOf(h, key) as Uint8Array);
      assert(summary.shown.failedTool === "open_file");
      const shown = { ...summary.shown, failedTool: "close_file" };
      return { sets: [{ key, value: encodeSums({ ...summary, shown }) }] };
    },
  },
  "a ledger lacks the tool that failed": {
    says: `event totals of ${RUN}`,
    make: (h) => changedLedger(h, ({ totals: { failedTool: _, ...totals } }) => ({ totals })),
  },
  "a summary lacks the time at which its cost became final": {
    says: `summary of ${RUN}`,
    async make(h) {
      const key = keys.summary(h.team.id, RUN);
      const { finalAt, ...summary } = decodeSums<RunSummary>(await valueOf(h, key) as Uint8Array);
      assert(finalAt !== undefined);
      return { sets: [{ key, value: encodeSums(summary) }] };
    },
  },
  "lists show a wrong end of a run": {
    says: `summary of ${RUN}`,
    async make(h) {
      const key = keys.summary(h.team.id, RUN);
      const summary = decodeSums<RunSummary>(await valueOf(h, key) as Uint8Array);
      assert(summary.shown !== undefined);
      const displayed = { ...summary.shown, finishedAt: NOON - 1 };
      return { sets: [{ key, value: encodeSums({ ...summary, shown: displayed }) }] };
    },
  },
};

Harness.test("verify: every kind of damage is found, in the affected team", async (h, t) => {
  await fill(h);
  await assertAllFound(h, t, DAMAGES);
});
