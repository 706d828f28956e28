/** Verify finds every kind of damage to entries that share rows. */
import { assert } from "@std/assert";
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunSummary } from "../../../domain/runs/summary.ts";
import { type Entry, packBlock, type StoredEntry, unpackBlock } from "../../../kv/index/entries.ts";
import { keys } from "../../../kv/base/keys.ts";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import {
  assertAllFound,
  changedSums,
  type Damage,
  type Damages,
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

type BlockDamages = Record<string, (block: Block, order: Deno.KvKey) => Damage>;

/** Entries that belong to no run. */
const STRAYS: BlockDamages = {
  "an entry of a run that does not exist is in a block": (block) =>
    withEntries(block, [...block.entries, { ...block.middle, run: STRANGER }]),
  "an extra block": ({ key, value }) => ({ sets: [{ key: key.with(-1, 999), value }] }),
};

/** Entries of a run that are not stored as they should be. */
const WRONG_ENTRIES: BlockDamages = {
  "a block lost an entry": (block) =>
    withEntries(block, block.entries.filter((entry) => entry !== block.middle)),
  "a block is missing": ({ key }) => ({ deletes: [key] }),
  "a block has another number": ({ key, value }) => ({
    sets: [{ key: key.with(-1, 999), value }],
    deletes: [key],
  }),
  "an entry is in a block and has a row of its own": ({ middle: { at, run, value } }, order) => ({
    sets: [{ key: keys.entry(order, at, run), value }],
  }),
  "an entry is in a block twice": (block) => withEntries(block, [...block.entries, block.middle]),
  "an entry has another value": (block) => {
    const other = { ...block.middle, value: Uint8Array.of(9) };
    return withEntries(block, block.entries.map((each) => each === block.middle ? other : each));
  },
};

/** Blocks that cannot be read. */
const BROKEN: BlockDamages = {
  "a block is cut": (block) => withValue(block, block.value.slice(0, -1)),
  "a block has a byte too many": (block) => withValue(block, new Uint8Array([...block.value, 0])),
  "a block has an entry of an unknown region": (block) => withValue(block, block.value.with(4, 7)),
  "a block has an entry of another second": (block) => withValue(block, block.value.with(2, 0x80)),
  "a block has another number of entries": (block) => withValue(block, block.value.with(1, 2)),
  "a block has more entries than a commit adds": (block) =>
    withValue(block, block.value.with(0, 0xff)),
  "a block is empty": (block) => withValue(block, new Uint8Array()),
  "an extra block is empty": ({ key }) => ({
    sets: [{ key: key.with(-1, 999), value: new Uint8Array() }],
  }),
  "a block is not one": (block) => withValue(block, true),
};

const withValue = ({ key }: Block, value: unknown): Damage => ({ sets: [{ key, value }] });
const withEntries = (block: Block, entries: readonly Entry[]) =>
  withValue(block, packBlock(entries));

/** The damages to a block of one order. */
function damagesOf(order: string): Damages {
  const blockName = { index: "block run_by kind", feed: "block change", expiry: "block expiry" };
  const rows = (damages: BlockDamages, says: string) =>
    Object.entries(damages).map(([name, damage]) => {
      const make = async (h: Harness) => {
        const prefix = ORDERS[order]?.(h) ?? [];
        return damage(await blockOf(h, prefix), prefix);
      };
      return [`the ${order}: ${name}`, { says, make }] as const;
    });
  return Object.fromEntries([
    // Strays in expiry orders are harmless.
    ...order === "expiry" ? [] : rows(STRAYS, `entries of the ${order}`),
    ...rows(WRONG_ENTRIES, `for ${MIDDLE}`),
    ...rows(BROKEN, blockName[order as keyof typeof blockName]),
  ]);
}

const DAMAGES: Damages = {
  ...Object.keys(ORDERS).map(damagesOf).reduce((all, some) => ({ ...all, ...some })),
  "a summary does not know the blocks of its run": changedSums<RunSummary>(
    `for ${MIDDLE}`,
    ({ team }) => keys.summary(team.id, MIDDLE),
    ({ blocks, ...summary }) => {
      assert(blocks !== undefined && blocks.length > 0);
      return summary;
    },
  ),
};

Harness.test("verify: every kind of damage to entries that share rows is found", async (h, t) => {
  await fillBlocks(h);
  await assertAllFound(h, t, DAMAGES);
});
