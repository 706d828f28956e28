/**
 * Bringing summaries and roll-ups up to date with the parts of runs.
 *
 * A team's runs are projected together: one commit holds their summaries, the difference they make to
 * the team's roll-ups and agents, and what the stages behind a close need. Its one check is the version
 * of the team's roll-ups, which every such commit changes, so two workers can never add one difference
 * twice.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import type { TeamId } from "../../domain/credentials.ts";
import { StorageUnavailable } from "../../domain/errors.ts";
import type { RunId } from "../../domain/run/ids.ts";
import { type ModelUsage } from "../../domain/run/model_usage.ts";
import {
  addMeasures,
  differencesOf,
  groupName,
  type RollupRow,
} from "../../domain/spend/rollup.ts";
import {
  nextStage,
  type Stage,
  stageDueAt,
  stagesAfterCost,
} from "../../domain/pipeline/stages.ts";
import { isCurrent, type RunSummary, summarize } from "../../domain/pipeline/summary.ts";
import { agentRunOf } from "../../domain/run/agents.ts";
import { encodeSummary } from "../runs/codec_summary.ts";
import { dirtyName } from "../writer/dirty_mark.ts";
import { costOf } from "../writer/group.ts";
import { readHeads, type SummarizedHead } from "../runs/heads.ts";
import { keys } from "../keys.ts";
import { BACK_ENDS, COMMIT_ATTEMPTS_MAX } from "../kv_limits.ts";
import { RollupCache, type RollupChange, type TeamRollups } from "./rollup_cache.ts";
import { keyPart } from "./rollups.ts";
import type { Store } from "../store.ts";
import { ActivityCache, type AgentChange } from "../teams/agents.ts";
import { Turns } from "../turns.ts";
import type { Write } from "../writer/writer.ts";

/** Rows of one commit: fewer than the store takes, so that calls behind it need not wait long. */
const ROWS_PER_COMMIT_MAX = 500;

/** Runs of which is remembered when they were last looked at; about 200 bytes each. */
const SEEN_MAX = 50_000;

/** Runs projected at once. */
const RUNS_PER_COMMIT_MAX = 40;

/** A run whose summary changes. */
interface Change {
  readonly run: SummarizedHead;
  readonly before: RunSummary | null;
  readonly after: RunSummary;
}

type Sets = { key: Deno.KvKey; value: unknown }[];

/** Projects runs. */
export class Projector {
  readonly #store: Store;
  readonly #handled: ReadonlySet<Stage>;
  readonly #now: () => number;
  readonly #rollups: RollupCache;
  readonly #agents: ActivityCache;
  readonly #turns = new Turns();
  /** Up to which version runs were last looked at: most marks of a run are seen together. */
  readonly #seen = new LRUCache<string, string>({ max: SEEN_MAX });

  /** Whether a run, by its dirty name, was looked at since something of it had this version. */
  readonly isKnown = (name: string, version: string): boolean =>
    version <= (this.#seen.get(name) ?? "");

  /**
   * Remembers nothing of any team yet.
   *
   * @param handled the stages behind the cost that have work to do
   */
  constructor(store: Store, handled: ReadonlySet<Stage>, now: () => number) {
    this.#store = store;
    this.#handled = handled;
    this.#now = now;
    this.#rollups = new RollupCache(store);
    this.#agents = new ActivityCache(store);
  }

  /** Projects runs of one team; its commits take turns, because they share a version. */
  project(team: TeamId, ids: readonly RunId[]): Promise<void> {
    return this.#turns.take(team, () => this.#projectAll(team, ids));
  }

  /** Reads the next runs while those before them are on their way to the disk. */
  async #projectAll(team: TeamId, ids: readonly RunId[]): Promise<void> {
    // The version first: what is read after it is at least as new, and as long as only our own commits
    // change the version, nobody else has changed a summary since.
    let known = await this.#rollups.of(team);
    let ahead: Promise<readonly SummarizedHead[]> | null = null;
    for (let at = 0; at < ids.length; at += RUNS_PER_COMMIT_MAX) {
      const some = ids.slice(at, at + RUNS_PER_COMMIT_MAX);
      const runs = await (ahead ?? readHeads(this.#store, team, some));
      const next = ids.slice(at + RUNS_PER_COMMIT_MAX, at + 2 * RUNS_PER_COMMIT_MAX);
      ahead = next.length === 0 ? null : readHeads(this.#store, team, next);
      // When this commit throws, nobody waits for what was read ahead.
      ahead?.catch(() => {});
      const after = await this.#commit(team, known, runs);
      known = after ?? await this.#projectAgain(team, some);
      if (after === null) ahead = null;
    }
  }

  /** Projects runs until nobody else is faster. */
  async #projectAgain(team: TeamId, ids: readonly RunId[]): Promise<TeamRollups> {
    for (let attempt = 1; attempt <= COMMIT_ATTEMPTS_MAX; attempt++) {
      this.#rollups.forget(team);
      const known = await this.#rollups.of(team);
      const after = await this.#commit(team, known, await readHeads(this.#store, team, ids));
      if (after !== null) return after;
    }
    throw new StorageUnavailable("Cannot project runs: other workers were always first");
  }

  /**
   * Commits what runs change as they were read under a version.
   *
   * @returns the roll-ups under the new version, or null when somebody else was faster
   */
  async #commit(
    team: TeamId,
    known: TeamRollups,
    runs: readonly SummarizedHead[],
  ): Promise<TeamRollups | null> {
    const changes = runs.flatMap(changeOf);
    let after = known;
    if (changes.length > 0) {
      const { write, remember } = await this.#writeOf(team, known, changes);
      if (changes.length > 1 && isTooMuch(write)) {
        const half = runs.length >> 1;
        const between = await this.#commit(team, known, runs.slice(0, half));
        return between && await this.#commit(team, between, runs.slice(half));
      }
      const version = await this.#store.writer.commit(write);
      if (version === null) return null;
      after = remember(version);
    }
    for (const { id, version } of runs) this.#seen.set(dirtyName(team, id), version);
    return after;
  }

  /** The one write of many changes. */
  async #writeOf(
    team: TeamId,
    known: TeamRollups,
    changes: readonly Change[],
  ): Promise<{ readonly write: Write; readonly remember: RollupChange["remember"] }> {
    const { write, remember } = await this.#rollups.change(team, known, sumUp(changes));
    const agentChanges = changes.flatMap(agentChangeOf);
    const agents = await this.#agents.change(team, known.version, agentChanges);
    const sets = changes.flatMap((change) => this.#setsOf(team, change));
    const revived = changes.filter(isRevised).map(({ run }) => keys.deadStage(team, run.id));
    return {
      write: {
        team,
        checks: write.checks,
        sets: [...write.sets, ...agents.sets, ...sets],
        deletes: [...write.deletes, ...revived],
      },
      remember(version) {
        agents.remember(version);
        return remember(version);
      },
    };
  }

  /** The rows of one run: its summary, the models it called, and the stages that are next. */
  #setsOf(team: TeamId, { run: { id, head }, before, after }: Change): Sets {
    const sets: Sets = [{ key: keys.summary(team, id), value: encodeSummary(after) }];
    const startedAt = head.parts.opening?.startedAt;
    if (startedAt !== undefined) {
      for (const { provider, model } of newModels(before, after)) {
        const name = keyPart({ kind: "model", value: { provider, model } });
        sets.push({ key: keys.modelRun(team, name, startedAt, id), value: true });
      }
    }
    if (after.revision > (before?.revision ?? 0)) {
      const processing = stagesAfterCost(after.revision, this.#handled, this.#now());
      sets.push({ key: keys.processing(team, id), value: processing });
      const next = nextStage(processing);
      if (next !== null) {
        sets.push({ key: keys.dueStage(stageDueAt(next), team, id), value: true });
      }
    }
    return sets;
  }
}

/** Whether a commit had better be two. One run with the longest names always fits. */
function isTooMuch(write: Write): boolean {
  const { mutations, bytes, keyBytes } = costOf(write);
  const { bytesMax, keyBytesMax } = BACK_ENDS.remote;
  return mutations > ROWS_PER_COMMIT_MAX || bytes > bytesMax || keyBytes > keyBytesMax;
}

/** Whether the stages of a run begin anew, and none of them is dead any more. */
function isRevised({ before, after }: Change): boolean {
  return before !== null && before.revision > 0 && after.revision > before.revision;
}

function changeOf(run: SummarizedHead): Change[] {
  const { head, summary } = run;
  const { opening, closing } = head.parts;
  const isStored = opening !== null || closing !== null || head.batchCount > 0;
  if (!isStored || isCurrent(summary, head)) return [];
  return [{ run, before: summary, after: summarize(head, summary) }];
}

/** What a change is to the run's agent; nothing until its opening says which that is. */
function agentChangeOf({ run: { id }, before, after }: Change): AgentChange[] {
  const now = agentRunOf(id, after);
  return now === null ? [] : [{ before: agentRunOf(id, before), after: now }];
}

/** The differences of all changes, one row for each group. */
function sumUp(changes: readonly Change[]): RollupRow[] {
  const sums = new Map<string, RollupRow>();
  for (const { before, after } of changes) {
    const rows = differencesOf(before?.contribution ?? null, after.contribution);
    for (const row of rows) {
      const name = `${row.group.kind} ${row.day} ${groupName(row.group)}`;
      const known = sums.get(name);
      const measures = known === undefined
        ? row.measures
        : addMeasures(known.measures, row.measures);
      sums.set(name, { ...row, measures });
    }
  }
  return [...sums.values()];
}

function newModels(before: RunSummary | null, after: RunSummary): readonly ModelUsage[] {
  const known = before?.contribution?.models ?? [];
  return (after.contribution?.models ?? []).filter(({ provider, model }) =>
    !known.some((line) => line.model === model && line.provider === provider)
  );
}
