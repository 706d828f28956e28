/**
 * Rows of the batches that one call adds to a run.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { AppendDecision, NewBatch } from "../../domain/runs/ledger.ts";
import { type Blob, packBlob } from "../base/blob.ts";
import { encodeBatch, encodePrices } from "../base/codec.ts";
import { keys } from "../base/keys.ts";
import { newRowName } from "../base/names.ts";
import { Staging } from "../staging.ts";
import { type BlobRows, blobRows } from "../store.ts";
import type { KvSet, Write } from "../writer/write.ts";
import type { RunAt } from "./heads.ts";

/**
 * Packs and stages batches once, although their commit may conflict with other batches of the run:
 * only their numbers change then.
 */
export class BatchRows {
  readonly #run: RunAt;
  readonly #receivedAt: number;
  readonly #staging: Staging;
  /** Batches that are packed. */
  #batches: readonly NewBatch[] = [];
  #rows: BlobRows = { heads: [], chunks: [], staged: [] };

  constructor(run: RunAt, receivedAt: number) {
    [this.#run, this.#receivedAt] = [run, receivedAt];
    this.#staging = new Staging(run.store, run.team, run.id);
  }

  /** Packs the batches of a decision and stages what its commit cannot hold. */
  async prepare({ batches }: AppendDecision): Promise<void> {
    const packed = this.#batches;
    if (packed.length > 0) {
      if (
        packed.length === batches.length && batches.every((batch, i) => isSame(batch, packed[i]))
      ) {
        return;
      }
      await this.remove();
    }
    const blobs: Blob[] = [];
    for (const { events, prices } of batches) {
      // Other calls have a turn between two large batches.
      if (blobs.length > 0) await sleep(0);
      blobs.push(packBlob(encodeBatch(events, this.#receivedAt, prices), newRowName));
    }
    this.#rows = blobRows(this.#run.team, this.#run.id, blobs);
    this.#batches = batches;
    await this.#staging.put(this.#rows.staged, this.#receivedAt);
  }

  /** Returns the sets of the batches, by the number of the first one. */
  setsFrom(first: number): KvSet[] {
    const { team, id } = this.#run;
    const { heads, chunks } = this.#rows;
    const sets = heads.map((value, i) => ({ key: keys.batch(team, id, first + i), value }));
    return [...chunks, ...sets];
  }

  /** Adds to a write what makes the staged chunks its own. */
  joinTo(write: Write): Write {
    return this.#staging.joinTo(write);
  }

  /** Notes that the write is committed. */
  keep(): void {
    this.#staging.keep();
  }

  /** Removes what is staged, unless it is committed. */
  async remove(): Promise<void> {
    this.#batches = [];
    await this.#staging.remove();
  }
}

/** Returns whether two batches have the same events, in one order, at the same prices. */
function isSame(a: NewBatch, b: NewBatch | undefined): boolean {
  return a.events.length === b?.events.length &&
    a.events.every((event, i) => event === b.events[i]) &&
    encodePrices(a.prices) === encodePrices(b.prices);
}
