/**
 * The list of runs: what it can be asked for, and what it shows of each run.
 *
 * @module
 */
import type { Team } from "../credentials.ts";
import type { Picodollars } from "../money/money.ts";
import type { RunId } from "./ids.ts";
import type { RunCost, RunFlag } from "./record.ts";
import type { RunStatus } from "./run.ts";
import type { RunUsage } from "./run_cost.ts";

/** What a run can be looked for by, besides its labels. */
export const RUN_TRAITS = ["unpriced", "failed_check", "late", "orphan"] as const;

/**
 * One of {@link RUN_TRAITS}: `unpriced` called a model without a price, `failed_check` failed a check,
 * `late` got events after its close, `orphan` has no opening yet.
 */
export type RunTrait = typeof RUN_TRAITS[number];

/** Which call a run was opened by. */
export const RUN_KINDS = ["run", "heartbeat"] as const;

/** One of {@link RUN_KINDS}. */
export type RunKind = typeof RUN_KINDS[number];

/** Which runs to list. What is absent is not asked; null is what has no such label. */
export interface RunsQuery {
  /** Agent's slug. */
  readonly agent?: string;
  /** How it stands. */
  readonly status?: RunStatus;
  /** Customer. */
  readonly customer?: string | null;
  /** Feature. */
  readonly feature?: string | null;
  /** Which call opened it. */
  readonly kind?: RunKind;
  /** Model it called. */
  readonly model?: string;
  /** Provider of that model; only with one. */
  readonly provider?: string | null;
  /** What else must be true of it. */
  readonly has?: RunTrait;
  /** Least cost. */
  readonly minCost?: Picodollars;
  /** Text in its id. */
  readonly q?: string;
  /** Earliest start, unix milliseconds; null for any. Of orphans it is the first arrival that counts. */
  readonly from: number | null;
  /** First instant behind the latest start, unix milliseconds; null for any. */
  readonly to: number | null;
}

/** A place in the list: newest first, by start and then id; orphans by the arrival of their first part. */
export interface RunPosition {
  /** Unix milliseconds. */
  readonly at: number;
  /** The run. */
  readonly run: RunId;
}

/** A run as the list shows it: the words of the full record, without what may be large. */
export interface RunListRow {
  /** The run. */
  readonly id: RunId;
  /** Which call opened it; `run` until the opening arrives. */
  readonly kind: RunKind;
  /** Slug of the agent; null until the opening arrives. */
  readonly agent: string | null;
  /** How it stands. */
  readonly status: RunStatus;
  /** Start by the client's clock, unix milliseconds; null until the opening arrives. */
  readonly startedAt: number | null;
  /** End by the client's clock, unix milliseconds. */
  readonly finishedAt: number | null;
  /** Arrival of the opening, or of the first part while there is none; unix milliseconds. */
  readonly receivedAt: number;
  /** Milliseconds it took. */
  readonly durationMs: number | null;
  /** Whom the cost is attributed to. */
  readonly customerId: string | null;
  /** Label to filter by. */
  readonly feature: string | null;
  /** What it cost. */
  readonly cost: RunCost;
  /** What it used. */
  readonly usage: RunUsage;
  /** What is odd about it. */
  readonly flags: readonly RunFlag[];
  /** What it can be looked for by. */
  readonly has: readonly RunTrait[];
}

/** A page of the list. */
export interface RunListPage {
  /** Runs, newest first. */
  readonly rows: readonly RunListRow[];
  /** Where the next page starts after, or null at the end. A page with a next one may be short. */
  readonly next: RunPosition | null;
  /**
   * How far back was looked, unix milliseconds, when the page is short because too many runs had to be
   * passed by; null when it is full or the last one.
   */
  readonly searchedTo: number | null;
}

/** The runs of all teams as lists. */
export interface RunListStore {
  /**
   * Reads a page. A run is found within moments of the call that changed it.
   *
   * @param after the place to go on behind, or null for the first page
   * @param limit runs of the page at most
   * @throws {StorageUnavailable} when the store fails or takes too long
   */
  page(
    team: Pick<Team, "id">,
    query: RunsQuery,
    after: RunPosition | null,
    limit: number,
  ): Promise<RunListPage>;
}
