/**
 * Labels and cost of the runs whose calls this process acknowledges, in memory.
 *
 * @module
 */
import type { GuardSubject } from "../../domain/budgets/budget.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { Picodollars } from "../../domain/pricing/money.ts";
import { costOfRun, coversCalls } from "../../domain/runs/cost.ts";
import { labelsOf, type Opening, reportedCost, type RunParts } from "../../domain/runs/run.ts";
import { BYTES_PER_CHAR } from "../../runtime/memory.ts";
import { TeamCache } from "../../runtime/team_cache.ts";
import { readHead } from "../runs/heads.ts";
import type { Store } from "../store.ts";
import type { GuardReads, ReadCount } from "./reads.ts";

/** A run, as far as its calls say. */
export interface GuardRun {
  /** Its labels; null while they are not known. */
  readonly subject: GuardSubject | null;
  /** Cost of its events, or what it was; null while it is not known. */
  readonly spent: Picodollars | null;
  /** Cost that heartbeats say instead; null if they say none. */
  readonly own: Picodollars | null;
  /** True if a heartbeat opened it: a later one may say its cost. */
  readonly isHeartbeat: boolean;
}

/** A call of a run, as its handler knows it. */
export interface GuardCall {
  /** Parts of the run; null if the call knows none. */
  readonly parts: RunParts | null;
  /** Cost of the run's events after the call; null if the call does not know it. */
  readonly spent: Picodollars | null;
  /** True if the call opened the run: then nothing is spent, unless events came before. */
  readonly isNew?: boolean;
}

/**
 * Maximum reads of a team within a second before those of runs wait: those of spend must go on. Reads
 * for new runs, of which nearly none has earlier events, leave room for runs without known labels.
 */
const READS_PER_SECOND = { known: 10, assumed: 5 };

/** Bytes of a run without its labels. */
const RUN_BYTES = 200;

/** A run after a call. */
export interface JudgedRun extends GuardRun {
  /** False if the run may have cost more since: another process may have stored events. */
  readonly isSure: boolean;
}

const UNKNOWN: GuardRun = { subject: null, spent: null, own: null, isHeartbeat: false };

/** Runs of all teams, within one share of the memory. */
export class GuardRuns {
  readonly #store: Store;
  readonly #reads: GuardReads;
  readonly #runs: TeamCache<GuardRun>;

  constructor(store: Store, reads: GuardReads) {
    [this.#store, this.#reads] = [store, reads];
    this.#runs = new TeamCache({
      memory: store.memory,
      share: "guard",
      part: 0.15,
      bytesOf: ({ subject }, name) =>
        RUN_BYTES +
        BYTES_PER_CHAR * `${subject?.agent}${subject?.customer}${subject?.feature}${name}`.length,
    });
  }

  /**
   * Returns a run after a call; what is not known of it is read in the background.
   *
   * @param needsSpent true if the cost of the run is judged
   */
  after(
    team: TeamId,
    run: RunId,
    { parts, spent, isNew = false }: GuardCall,
    needsSpent: boolean,
    count: ReadCount,
  ): JudgedRun {
    const known = this.#runs.get(team, run);
    const { subject, own } = known ?? UNKNOWN;
    const opening = parts?.opening ?? null;
    const isLabelled = subject !== null || opening !== null;
    const now: GuardRun = {
      subject: isLabelled ? mergedLabels(parts, subject) : null,
      spent: spent ?? known?.spent ?? null,
      own: parts !== null && opening !== null ? ownCost(parts) : own,
      isHeartbeat: opening === null ? known?.isHeartbeat ?? false : isBeat(opening),
    };
    // A run of one call is over.
    const isOneCall = known === undefined && opening !== null && parts?.closing !== null;
    const isKnown = now.subject !== null || now.spent !== null;
    if (isKnown && !isOneCall && !isSameRun(known, now)) this.#runs.set(team, run, now);
    // Events may have come before the opening, to another process.
    const isAssumed = isNew && known === undefined;
    const isAlone = !this.#store.limits.mayRepeat;
    // Another process may have taken the heartbeat that says the cost.
    const maySayMore = !isAlone && opening === null && now.isHeartbeat;
    const needsRead = needsSpent && (costIn(now) === null || maySayMore);
    const max = isAssumed ? READS_PER_SECOND.assumed : READS_PER_SECOND.known;
    if (now.subject === null || needsRead) this.#read(team, run, count, max);
    // Only the acknowledgement of the opening assumes that nothing is spent.
    if (isAssumed) return { ...now, spent: spent ?? 0n, isSure: true };
    const isSaid = !maySayMore && (spent !== null || now.own !== null);
    return { ...now, isSure: isAlone || isSaid };
  }

  /** Reads what is not known of a run, unless no call opened it yet. */
  #read(team: TeamId, run: RunId, count: ReadCount, max: number): void {
    const read = async () => {
      const { head } = await readHead({ store: this.#store, team, id: run });
      const { agent, customer, feature } = labelsOf(head.parts);
      if (agent === null) return;
      // What calls have said meanwhile is newer.
      const known = this.#runs.get(team, run) ?? UNKNOWN;
      const { opening } = head.parts;
      this.#runs.set(team, run, {
        subject: known.subject ?? { agent, customer, feature },
        spent: known.spent ?? head.totals.cost,
        own: known.own ?? (coversCalls(head.parts) ? costOfRun(head).amount : null),
        isHeartbeat: opening === null ? known.isHeartbeat : isBeat(opening),
      });
    };
    const names = [`run ${team} ${run}`];
    const start = () => this.#reads.once(names, team, read);
    this.#reads.inBackground(count, names, start, max);
  }
}

/** Returns the cost of a run; null while it is not known. */
export function costIn({ own, spent }: GuardRun): Picodollars | null {
  return own ?? spent;
}

/** Returns the cost that heartbeats say of their run, which its events add nothing to. */
function ownCost(parts: RunParts): Picodollars | null {
  const isSaid = parts.opening !== null && isBeat(parts.opening) && coversCalls(parts);
  return isSaid ? reportedCost(parts) : null;
}

function isBeat({ kind }: Opening): boolean {
  return kind === "heartbeat";
}

/** Returns the labels of a run; those of its close win. */
function mergedLabels(parts: RunParts | null, known: GuardSubject | null): GuardSubject {
  const { agent, customer, feature } = parts === null ? NOBODY : labelsOf(parts);
  return {
    agent: agent ?? known?.agent ?? null,
    customer: customer ?? known?.customer ?? null,
    feature: feature ?? known?.feature ?? null,
  };
}

/** Subject of calls whose run is not known: only budgets and pauses of the team have it. */
export const NOBODY: GuardSubject = { agent: null, customer: null, feature: null };

function isSameRun(a: GuardRun | undefined, b: GuardRun): boolean {
  return a !== undefined && a.spent === b.spent && a.own === b.own &&
    a.isHeartbeat === b.isHeartbeat &&
    a.subject?.agent === b.subject?.agent &&
    a.subject?.customer === b.subject?.customer && a.subject?.feature === b.subject?.feature;
}
