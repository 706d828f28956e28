/**
 * The contract of the run store.
 *
 * @module
 */
import type { Conflict, FinishRequest, HeartbeatRequest, OpenRequest, Outcome } from "./decide.ts";
import type { Problem } from "../core/errors.ts";
import type { Team } from "../teams/team.ts";
import type { RunId } from "../core/ids.ts";
import type { RunEvent } from "./event.ts";
import type { Picodollars } from "../pricing/money.ts";
import type { TraceFacts } from "./trace_facts.ts";
import type { RunHandle } from "./event_page.ts";

/** The outcome of a call that may create an agent. */
export type CappedOutcome = Outcome | { readonly kind: "refused"; readonly problem: Problem };

/** The outcome of a ping without an id. */
export interface PingOutcome {
  /** The run that it opened or closed. */
  readonly id: RunId;
  /** The outcome of the write. */
  readonly outcome: CappedOutcome;
}

/** The outcome of a batch of events (decision 20). */
export type AppendOutcome =
  | {
    readonly kind: "stored";
    readonly accepted: number;
    readonly duplicates: number;
    /** Cost of all events of the run, in picodollars. */
    readonly cost: Picodollars;
    /** Number of score events dropped because the run was full (R17); absent for none. */
    readonly scoresDropped?: number;
  }
  | Conflict;

/**
 * The ledger of runs. Every method resolves only after the data is on disk, and rejects with
 * `StorageUnavailable` if that cannot be confirmed.
 */
export interface RunStore {
  /** Opens a run. */
  open(team: Team, request: OpenRequest, receivedAt: number): Promise<CappedOutcome>;
  /**
   * Stores a batch of events; the run need not be open yet.
   *
   * @param facts what the spans that the events come from say about the run
   * @param hasMore true if further events of the run follow at once, which need its ledger in memory
   */
  append(
    team: Team,
    id: RunId,
    events: readonly RunEvent[],
    receivedAt: number,
    facts?: TraceFacts,
    hasMore?: boolean,
  ): Promise<AppendOutcome>;
  /** Closes a run; it need not be open yet. */
  finish(team: Team, id: RunId, request: FinishRequest, receivedAt: number): Promise<Outcome>;
  /** Opens and closes a run in one call. */
  heartbeat(team: Team, request: HeartbeatRequest, receivedAt: number): Promise<CappedOutcome>;
  /**
   * Stores a ping without an id. If it closes a run that such a ping opened within 24 hours, it closes
   * the newest one, or with `rid` the one with the same `rid`. Else the run has the id of the request
   * (R23).
   */
  ping(
    team: Team,
    request: HeartbeatRequest,
    rid: string | undefined,
    receivedAt: number,
  ): Promise<PingOutcome>;
  /** Finds a run of the team, to read its events from; null if there is none. */
  find(team: Team, id: RunId): Promise<RunHandle | null>;
}
