/**
 * Bringing summaries and roll-ups up to date with the parts of runs.
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
import { ByteCache, BYTES_PER_CHAR } from "../base/byte_cache.ts";
import { keys } from "../base/keys.ts";
import type { RunUpdate } from "../runs/run_update.ts";
import type { RunUpdater } from "./run_updater.ts";
import type { Store } from "../store.ts";

/** Part of the share of teams' roll-ups that the versions of runs may take. */
const SEEN_PART = 0.25;

/** What the worker's store is built from. */
export interface ProcessingDeps {
  readonly store: Store;
  /** Shared with whoever else changes runs in this process. */
  readonly updater: RunUpdater;
  /** The stages after finish that have work to do. */
  readonly stages: readonly RunnableStage[];
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Projects runs: each commit holds summaries, what they change, and what the stages behind need. */
export class Projector {
  readonly #updater: RunUpdater;
  readonly #stages: readonly RunnableStage[];
  readonly #now: () => number;
  /** Up to which version runs were last looked at: most marks of a run are seen together. */
  readonly #seen: ByteCache<string, string>;

  /** Whether a run, by its pending name, was looked at since something of it had this version. */
  readonly isKnown = (name: string, version: string): boolean =>
    version <= (this.#seen.get(name) ?? "");

  /** Has read no run yet. */
  constructor({ store: { memory }, updater, stages, now }: ProcessingDeps) {
    this.#seen = new ByteCache({
      memory,
      share: "rollup_teams",
      part: SEEN_PART,
      bytesOf: (version, name) => BYTES_PER_CHAR * (version.length + name.length),
    });
    this.#updater = updater;
    this.#stages = stages;
    this.#now = now;
  }

  /** Projects runs of one team. */
  project(team: TeamId, ids: readonly RunId[]): Promise<void> {
    return this.#updater.change(team, ids, (run) => this.#plan(team, run), (runs) => {
      for (const { id, version } of runs) this.#seen.set(pendingName(team, id), version);
    });
  }

  /** What brings a run up to date; null when it is, or when there is none. */
  #plan(team: TeamId, run: SummarizedHead): RunUpdate | null {
    const { id, head, ledger, summary: before } = run;
    if (!isStored(head) || isCurrent(before, head)) return null;
    const after = summarize(head, before);
    const sets: { key: Deno.KvKey; value: unknown }[] = [
      { key: keys.expiry(team, expiryEntryOf(head.parts, ledger), id), value: true },
    ];
    const was = before?.revision ?? 0;
    if (after.revision > was) {
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
    // The stages of a run begin anew, and none of them is dead any more.
    const revived = was > 0 && after.revision > was ? [keys.deadStage(team, id)] : [];
    return { run, before, after, rows: { sets, deletes: revived } };
  }
}
