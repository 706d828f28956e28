/** An aging ledger: a clock that the test moves, and every job on its runs, step by step. */
import { addCounts } from "../../../domain/core/sums.ts";
import { createHash } from "node:crypto";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { Tier } from "../../../domain/teams/plans.ts";
import {
  EMPTY_SWEEP,
  RETENTION_CLASSES,
  type SweepCounts,
} from "../../../domain/retention/retention.ts";
import type { RunEvent } from "../../../domain/runs/event.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import type { RateCard } from "../../../domain/pricing/rates.ts";
import type { WorkHandler } from "../../../domain/work/work.ts";
import { NightlySweep } from "./nightly_sweep.ts";
import { createDeletionWork, type DeletionStore } from "../../../kv/retention/deletion_work.ts";
import { createRepriceWork } from "../../../kv/repricing/reprice_work.ts";
import { createPurgeWork } from "../../../kv/retention/removal.ts";
import { createSweepStore, type SweepStore } from "../../../kv/retention/sweep_store.ts";
import type { Store } from "../../../kv/store.ts";
import { aCall } from "../builders/stored_runs.ts";
import { ONE_STEP, workOnce } from "./jobs.ts";
import { StoreProcess } from "./store_process.ts";
import { noise, overStore } from "./temp_store.ts";
import { insertTeam } from "../builders/teams.ts";

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** One process with jobs on old runs. */
export class RetentionHarness extends StoreProcess {
  static readonly test = overStore<RetentionHarness>((store) => new RetentionHarness(store));

  /** The monotonic clock. */
  processMs = 0;
  readonly sweeps: SweepStore;
  readonly deletions: DeletionStore;
  readonly #deleting: WorkHandler;

  constructor(store: Store) {
    super(store);
    this.sweeps = createSweepStore(store, this.updater);
    const { updater, now } = this;
    const deleting = createDeletionWork({ ...ONE_STEP, store, updater, now });
    this.deletions = deleting.deletions;
    this.#deleting = deleting.handler;
  }

  addTeam(tier: Tier): Promise<Team> {
    return insertTeam(this.store, tier);
  }

  /**
   * Sweeps all teams, or only reports what that would remove.
   *
   * @param attemptsMax attempts of a step while the store is unavailable; the job has no maximum
   */
  async sweep(dryRun = false, attemptsMax = 1): Promise<SweepCounts> {
    let counts = EMPTY_SWEEP;
    if (!dryRun) await this.sweeps.resume(this.nowMs);
    for await (const team of this.sweeps.teams(null)) {
      for (const retentionClass of RETENTION_CLASSES) {
        let from: object | null = null;
        do {
          const step = await retried(
            () => this.sweeps.step(team, retentionClass, this.nowMs, from, dryRun),
            attemptsMax,
          );
          counts = addCounts(counts, step.counts);
          from = step.next;
        } while (from !== null);
      }
    }
    if (!dryRun) await this.purgeAll();
    return counts;
  }

  /** Purges all removed runs whose events are left. */
  async purgeAll(): Promise<void> {
    const handler = createPurgeWork(this.store, this.now);
    while (await workOnce(this.store, handler, this.nowMs));
  }

  /** Creates the nightly sweep of a process. */
  job(sweeps: SweepStore = this.sweeps, quiet = false): NightlySweep {
    return new NightlySweep(sweeps, {
      now: this.now,
      processMs: () => this.processMs,
      log: (line) => this.log.push(line),
      quiet,
    });
  }

  /** Completes all pending deletions. */
  async deleteAll(): Promise<void> {
    while (await this.stepOfDeletion());
    await this.purgeAll();
  }

  /** Takes one step of a pending deletion; returns false if none can progress. */
  async stepOfDeletion(): Promise<boolean> {
    return await workOnce(this.store, this.#deleting, this.nowMs) !== null;
  }

  /** Reprices a team's calls of the model "known", and aggregates them. */
  async reprice(team: Team, card: RateCard): Promise<void> {
    const { store, now } = this;
    const cards = { current: () => Promise.resolve(card) };
    const { reprices, handler } = createRepriceWork({ ...ONE_STEP, store, cards, now });
    await reprices.create(
      team,
      { model: "known", provider: null, from: null, to: null },
      false,
      "",
    );
    while (await workOnce(store, handler, this.nowMs));
    await this.work();
  }
}

async function retried<T>(work: () => Promise<T>, attemptsMax: number): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StorageUnavailable) || attempt >= attemptsMax) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20 * attempt));
    }
  }
}

/** Creates a call whose text has `pieces` further chunks of 60,000 bytes. */
export function aLargeCall(n: number, pieces = 1): RunEvent {
  const text = noise(70_000 + 75_000 * (pieces - 1), n + 1);
  const data = rawOf({ model: "known", provider: null, input_tokens: n, output_tokens: 1, text });
  return { ...aCall(n), data };
}

/** Formats values completely and in one line, so that different values differ. */
const INSPECT = {
  breakLength: Infinity,
  depth: 9,
  iterableLimit: Infinity,
  strAbbreviateSize: Infinity,
} as const;

/** Returns all rows of some key families without their versions, with values as distinct texts. */
export async function contentsOf(
  store: Store,
  families: readonly string[] | null = null,
): Promise<string[]> {
  const lines: string[] = [];
  for await (const { key, value } of store.reader.list({ prefix: [] })) {
    const family = String(key[0]);
    // The time and duration of a sweep always differ.
    if (
      family === "sweep" || family === "sweep_clock" ||
      (families !== null && !families.includes(family))
    ) continue;
    const text = value instanceof Uint8Array
      ? createHash("sha256").update(value).digest("base64")
      : Deno.inspect(value, INSPECT);
    lines.push(`${Deno.inspect(key, INSPECT)} ${text}`);
  }
  return lines;
}

/** Key families with numbers that users see long after a run's removal. */
export const SUM_ROWS = ["rollup", "usage", "agent", "agent_activity", "agent_count"];
