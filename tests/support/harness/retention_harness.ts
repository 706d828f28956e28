/** A ledger that gets old: a clock that the test moves, and all that works on its runs, step by step. */
import { createHash } from "node:crypto";
import type { Team } from "../../../domain/teams/team.ts";
import type { Tier } from "../../../domain/teams/plans.ts";
import type { DeletionStore } from "../../../domain/retention/deletion.ts";
import { RETENTION_CLASSES } from "../../../domain/retention/retention.ts";
import {
  addSwept,
  EMPTY_SWEEP,
  type SweepCounts,
  type SweepStore,
} from "../../../domain/retention/sweep.ts";
import type { RunEvent } from "../../../domain/runs/event.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import type { ProcessingStore } from "../../../domain/runs/processing.ts";
import type { RateCard } from "../../../domain/pricing/rates.ts";
import type { RunStore } from "../../../domain/runs/store.ts";
import { SweepJob } from "../../../jobs/sweep.ts";
import { processingOf } from "./stores.ts";
import { RunUpdater } from "../../../kv/summaries/run_updater.ts";
import { createDeletionStore } from "../../../kv/retention/deletions.ts";
import { createRepriceStore } from "../../../kv/repricing/jobs.ts";
import { createSweepStore } from "../../../kv/retention/sweep_store.ts";
import type { Store } from "../../../kv/store.ts";
import { insertTeam } from "../../../kv/teams/credentials.ts";
import { NOON } from "./harness.ts";
import { aCall, projectAll, runsOf } from "../builders/pipeline.ts";
import { noise } from "./temp_store.ts";

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** What works on a store, as one process has it. Two of them on one store are as two processes. */
export class RetentionHarness {
  /** The clock. */
  nowMs = NOON;
  /** The clock that nobody sets. */
  processMs = 0;
  readonly log: string[] = [];
  readonly runs: RunStore;
  readonly pipeline: ProcessingStore;
  readonly sweeps: SweepStore;
  readonly deletions: DeletionStore;

  constructor(readonly store: Store) {
    const commits = new RunUpdater(store);
    this.runs = runsOf(store);
    this.pipeline = processingOf(store, this.now, [], commits);
    this.sweeps = createSweepStore(store, commits);
    this.deletions = createDeletionStore(store, commits, this.now);
  }

  readonly now = (): number => this.nowMs;

  addTeam(tier: Tier): Promise<Team> {
    return insertTeam(this.store, tier);
  }

  /** Sums up what changed. */
  settle(): Promise<void> {
    return projectAll(this.store, this.pipeline);
  }

  /** Sweeps all teams, or only says what that would remove. */
  async sweep(dryRun = false): Promise<SweepCounts> {
    let counts = EMPTY_SWEEP;
    if (!dryRun) await this.sweeps.resume();
    for await (const team of this.sweeps.teams()) {
      for (const horizon of RETENTION_CLASSES) {
        let from: object | null = null;
        do {
          const step = await this.sweeps.step(team, horizon, this.nowMs, from, dryRun);
          counts = addSwept(counts, step.counts);
          from = step.next;
        } while (from !== null);
      }
    }
    return counts;
  }

  /** The nightly job, not started. */
  job(
    calls: () => number = () => 0,
    sweeps: SweepStore = this.sweeps,
    quiet = false,
  ): SweepJob {
    return new SweepJob({
      store: sweeps,
      now: this.now,
      processMs: () => this.processMs,
      calls,
      log: (line) => this.log.push(line),
      quiet,
    });
  }

  /** Brings the deletions that are under way to their end. */
  async deleteAll(): Promise<void> {
    while (await this.deletions.work());
  }

  /** Prices the calls of the model "known" of a team anew, and sums them up. */
  async reprice(team: Team, card: RateCard): Promise<void> {
    const reprices = createRepriceStore(this.store, { card: () => card }, { now: this.now });
    await reprices.create(
      team,
      { model: "known", provider: null, from: null, to: null },
      false,
      "",
    );
    while (await reprices.work());
    await this.settle();
  }
}

/** A call whose text takes so many pieces of 60,000 bytes beside the first. */
export function aLargeCall(n: number, pieces = 1): RunEvent {
  const text = noise(70_000 + 75_000 * (pieces - 1), n + 1);
  const data = rawOf({ model: "known", provider: null, input_tokens: n, output_tokens: 1, text });
  return { ...aCall(n), data };
}

/** How values are told apart: in one line, and in full. */
const INSPECT = {
  breakLength: Infinity,
  depth: 9,
  iterableLimit: Infinity,
  strAbbreviateSize: Infinity,
} as const;

/** All rows of some key families but their versions; values as what no two different ones share. */
export async function contentsOf(
  store: Store,
  families: readonly string[] | null = null,
): Promise<string[]> {
  const lines: string[] = [];
  for await (const { key, value } of store.reader.list({ prefix: [] })) {
    const family = String(key[0]);
    // Sweeps tell how they went and when, and that is never the same.
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

/** Key families of what people see of runs long after they are gone. */
export const FIGURES = ["rollup", "usage", "agent", "agent_activity", "agent_count"];
