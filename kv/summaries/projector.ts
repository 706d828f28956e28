/**
 * Updates summaries and roll-ups from the parts of runs.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { RunnableStage } from "../../domain/runs/processing.ts";
import { nextStage, stageDueAt, stagesAfterCost } from "../../domain/runs/stages.ts";
import { isCurrent, summarize } from "../../domain/runs/summary.ts";
import { expiryEntryOf } from "../../domain/retention/retention.ts";
import { isStored, type SummarizedHead } from "../runs/heads.ts";
import { pendingName } from "../writer/pending_mark.ts";
import { type ByteCache, BYTES_PER_CHAR, createByteCache } from "../base/byte_cache.ts";
import { keys } from "../base/keys.ts";
import type { RunUpdate } from "../runs/run_update.ts";
import type { RunUpdater } from "./run_updater.ts";
import type { Store } from "../store.ts";

/** Part of the roll-ups' memory share for the versions of runs. */
const SEEN_PART = 0.25;

/** Dependencies of the worker's store. */
export interface ProcessingDeps {
  readonly store: Store;
  /** Shared by all code that changes runs in this process. */
  readonly updater: RunUpdater;
  /** The stages after finish that have work to do. */
  readonly stages: readonly RunnableStage[];
  /** Returns unix milliseconds. */
  readonly now: () => number;
}

/**
 * Projects runs: each commit holds summaries, their differences to roll-ups, and the stages to run.
 */
export class Projector {
  readonly #updater: RunUpdater;
  readonly #stages: readonly RunnableStage[];
  readonly #now: () => number;
  /** The version up to which each run is projected: most marks of a run are read together. */
  readonly #seen: ByteCache<string, string>;

  /** Returns whether a run, by its pending name, is projected up to this version. */
  readonly isKnown = (name: string, version: string): boolean =>
    version <= (this.#seen.get(name) ?? "");

  constructor({ store: { memory }, updater, stages, now }: ProcessingDeps) {
    this.#seen = createByteCache({
      memory,
      share: "rollup_teams",
      part: SEEN_PART,
      bytesOf: (version, name) => BYTES_PER_CHAR * (version.length + name.length),
    });
    this.#updater = updater;
    this.#stages = stages;
    this.#now = now;
  }

  project(team: TeamId, ids: readonly RunId[]): Promise<void> {
    return this.#updater.change(team, ids, (run) => this.#plan(team, run), (runs) => {
      for (const { id, version } of runs) this.#seen.set(pendingName(team, id), version);
    });
  }

  /** Plans the update of a run; null when it is current or not stored. */
  #plan(team: TeamId, run: SummarizedHead): RunUpdate | null {
    const { id, head, ledger, summary: before } = run;
    if (!isStored(head) || isCurrent(before, head)) return null;
    const after = summarize(head, before);
    const sets: { key: Deno.KvKey; value: unknown }[] = [
      { key: keys.expiry(team, expiryEntryOf(head.parts, ledger), id), value: true },
    ];
    const revisionBefore = before?.revision ?? 0;
    if (after.revision > revisionBefore) {
      const applying = this.#stages.filter((stage) => stage.applies(after));
      const processing = stagesAfterCost(
        after.revision,
        new Set(applying.map(({ name }) => name)),
        this.#now(),
      );
      sets.push({ key: keys.processing(team, id), value: processing });
      const next = nextStage(processing);
      if (next !== null) {
        sets.push({ key: keys.dueStage(stageDueAt(next), team, id), value: true });
      }
    }
    // The stages of a run restart, so none of them is dead any longer.
    const revived = revisionBefore > 0 && after.revision > revisionBefore
      ? [keys.deadStage(team, id)]
      : [];
    return { run, before, after, rows: { sets, deletes: revived } };
  }
}
