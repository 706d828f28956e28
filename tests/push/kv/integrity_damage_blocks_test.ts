/** Verify finds every kind of damage to entries that share rows. */
import { assert } from "@std/assert";
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunSummary } from "../../../domain/runs/summary.ts";
import { decodeSums, encodeSums } from "../../../kv/base/codec_sums.ts";
import { type Entry, packBlock, type StoredEntry, unpackBlock } from "../../../kv/index/entries.ts";
import { keys } from "../../../kv/base/keys.ts";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import {
  assertAllFound,
  type Damage,
  type Damages,
  valueOf,
} from "../../support/oracles/damage.ts";
import { Harness } from "../../support/harness/harness.ts";
import { fill } from "../../support/builders/ledger_of_everything.ts";
import { processAll } from "../../support/builders/stored_runs.ts";
import { processingOf } from "../../support/harness/stores.ts";

/** Runs that one commit projects; the middle one is damaged. */
const IDS = Array.from({ length: 7 }, (_, n) => runId(50 + n) as RunId);
const MIDDLE = IDS[3] as RunId;

/** A run that does not exist. */
const STRANGER = runId(99) as RunId;

/** Fills a ledger with every kind of data, and projects runs together. */
async function fillBlocks(h: Harness): Promise<void> {
  await fill(h);
  await h.worker.stop();
  for (const [n] of IDS.entries()) {
    const { status } = await h.post("/v1/heartbeats", aHeartbeat(50 + n, { cost_usd: 1 }));
    assert(status === 202);
  }
  const pipeline = processingOf(h.store, () => h.nowMs);
  await pipeline.project(h.team.id, IDS);
  await processAll(h.store, pipeline);
}

/** Orders that the runs have entries in, by the text that names them in a difference. */
const ORDERS: Readonly<Record<string, (h: Harness) => Deno.KvKey>> = {
  index: (h) => keys.runsBy(h.team.id, "kind", "heartbeat"),
  feed: (h) => keys.changes(h.team.id),
  expiry: (h) => keys.expiryOrder(h.team.id, "record"),
};

/** A block with an entry of the damaged run. */
interface Block {
  readonly key: Deno.KvKey;
  readonly value: Uint8Array;
  readonly entries: readonly StoredEntry[];
  readonly middle: StoredEntry;
}

async function blockOf(h: Harness, order: Deno.KvKey): Promise<Block> {
  for await (const row of h.store.reader.list<Uint8Array>({ prefix: keys.blocks(order) })) {
    const entries = unpackBlock(row);
    const middle = entries.find(({ run }) => run === MIDDLE);
    if (middle !== undefined) return { ...row, entries, middle };
  }
  throw new Error(`No block of ${order.join(" ")} has the run`);
}

/** Makes a damage to the block of one order. */
function damaged(order: string, damage: (block: Block, order: Deno.KvKey) => Damage) {
  return async (h: Harness): Promise<Damage> => {
    const key = ORDERS[order]?.(h) ?? [];
    return damage(await blockOf(h, key), key);
  };
}

/** Replaces the entries of a block. */
function withEntries(
  { key, entries }: Block,
  change: (entries: readonly StoredEntry[]) => readonly Entry[],
): Damage {
  return { sets: [{ key, value: packBlock(change(entries)) }] };
}

/** The damages to a block of one order. */
function damagesOf(order: string): Damages {
  // Entries of expiry orders that belong to no run are harmless.
  const strays: Damages = order === "expiry" ? {} : {
    [`the ${order}: an entry of a run that does not exist is in a block`]: {
      says: `entries of the ${order}`,
      make: damaged(
        order,
        (block) => withEntries(block, (all) => [...all, { ...block.middle, run: STRANGER }]),
      ),
    },
    [`the ${order}: an extra block`]: {
      says: `entries of the ${order}`,
      make: damaged(order, ({ key, value }) => ({ sets: [{ key: key.with(-1, 999), value }] })),
    },
  };
  const blockName = { index: "block run_by kind", feed: "block change", expiry: "block expiry" };
  const says = blockName[order as keyof typeof blockName];
  return {
    ...strays,
    [`the ${order}: a block lost an entry`]: {
      says: `for ${MIDDLE}`,
      make: damaged(
        order,
        (block) => withEntries(block, (all) => all.filter((entry) => entry !== block.middle)),
      ),
    },
    [`the ${order}: a block is missing`]: {
      says: `for ${MIDDLE}`,
      make: damaged(order, ({ key }) => ({ deletes: [key] })),
    },
    [`the ${order}: a block has another number`]: {
      says: `for ${MIDDLE}`,
      make: damaged(order, ({ key, value }) => ({
        sets: [{ key: key.with(-1, 999), value }],
        deletes: [key],
      })),
    },
    [`the ${order}: an entry is in a block and has a row of its own`]: {
      says: `for ${MIDDLE}`,
      make: damaged(order, ({ middle: { at, run, value } }, prefix) => ({
        sets: [{ key: keys.entry(prefix, at, run), value }],
      })),
    },
    [`the ${order}: an entry is in a block twice`]: {
      says: `for ${MIDDLE}`,
      make: damaged(order, (block) => withEntries(block, (all) => [...all, block.middle])),
    },
    [`the ${order}: an entry has another value`]: {
      says: `for ${MIDDLE}`,
      make: damaged(
        order,
        (block) =>
          withEntries(
            block,
            (all) =>
              all.map((entry) =>
                entry === block.middle ? { ...entry, value: Uint8Array.of(9) } : entry
              ),
          ),
      ),
    },
    [`the ${order}: a block is cut`]: {
      says,
      make: damaged(order, ({ key, value }) => ({ sets: [{ key, value: value.slice(0, -1) }] })),
    },
    [`the ${order}: a block has a byte too many`]: {
      says,
      make: damaged(order, ({ key, value }) => ({
        sets: [{ key, value: new Uint8Array([...value, 0]) }],
      })),
    },
    [`the ${order}: a block has an entry of an unknown region`]: {
      says,
      make: damaged(order, ({ key, value }) => ({ sets: [{ key, value: value.with(4, 7) }] })),
    },
    [`the ${order}: a block has an entry of another second`]: {
      says,
      make: damaged(order, ({ key, value }) => ({ sets: [{ key, value: value.with(2, 0x80) }] })),
    },
    [`the ${order}: a block has another number of entries`]: {
      says,
      make: damaged(order, ({ key, value }) => ({ sets: [{ key, value: value.with(1, 2) }] })),
    },
    [`the ${order}: a block has more entries than a commit adds`]: {
      says,
      make: damaged(order, ({ key, value }) => ({ sets: [{ key, value: value.with(0, 0xff) }] })),
    },
    [`the ${order}: a block is empty`]: {
      says,
      make: damaged(order, ({ key }) => ({ sets: [{ key, value: new Uint8Array() }] })),
    },
    [`the ${order}: an extra block is empty`]: {
      says,
      make: damaged(order, ({ key }) => ({
        sets: [{ key: key.with(-1, 999), value: new Uint8Array() }],
      })),
    },
    [`the ${order}: a block is not one`]: {
      says,
      make: damaged(order, ({ key }) => ({ sets: [{ key, value: true }] })),
    },
  };
}

const DAMAGES: Damages = {
  ...Object.keys(ORDERS).map(damagesOf).reduce((all, some) => ({ ...all, ...some })),
  "a summary does not know the blocks of its run": {
    says: `for ${MIDDLE}`,
    async make(h) {
      const key = keys.summary(h.team.id, MIDDLE);
      const { blocks, ...summary } = decodeSums<RunSummary>(await valueOf(h, key) as Uint8Array);
      assert(blocks !== undefined && blocks.length > 0);
      return { sets: [{ key, value: encodeSums(summary) }] };
    },
  },
};

Harness.test("verify: every kind of damage to entries that share rows is found", async (h, t) => {
  await fillBlocks(h);
  await assertAllFound(h, t, DAMAGES);
});
