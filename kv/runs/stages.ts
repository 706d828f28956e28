/**
 * Stores the stages after a close: their due times, progress and failures.
 *
 * A due row says only when to check a run; the run's own stages say what to do. So a superfluous
 * row is harmless.
 *
 * @module
 */
import { kindLook } from "../../domain/alerts/look.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import {
  DEAD_STAGES_LISTED_MAX,
  type DeadStage,
  type DeadStageStore,
  type PendingRun,
  type StageTask,
  type TeamDeadStages,
} from "../../domain/runs/processing.ts";
import {
  nextStage,
  type Processing,
  type Stage,
  stageDone,
  stageDueAt,
  stageFailed,
  type StageProgress,
  stageRevived,
  STAGES,
} from "../../domain/runs/stages.ts";
import type { Backoff } from "../base/backoff.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { decodeSums } from "../base/codec_sums.ts";
import { processingOf } from "./heads.ts";
import { pendingName } from "../writer/pending_mark.ts";
import { dueSet } from "../clock/due_rows.ts";
import { keyText } from "../writer/group.ts";
import { FairQueue } from "../writer/fair_queue.ts";
import type { KvSet } from "../writer/write.ts";
import { keyParts, keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import {
  eachRow,
  getEntry,
  getMany,
  getValue,
  isAlive,
  listRows,
  rowsAfter,
  type Store,
} from "../store.ts";

/** Due rows per read. */
const ROWS_PER_READ = 500;

/** Takes due stages. Teams take turns among the rows of one read. */
export class DueStages {
  readonly #store: Store;
  readonly #backoff: Backoff;
  /** Row after which the next read begins; null for the first read. */
  #after: Deno.KvKey | null = null;

  constructor(store: Store, backoff: Backoff) {
    this.#store = store;
    this.#backoff = backoff;
  }

  /** Takes up to `max` stages that are due at `nowMs`. */
  async take(nowMs: number, max: number): Promise<StageTask[]> {
    // Rows in backoff may fill complete reads: rows after them must not wait.
    for (let isFullPass = this.#after === null;;) {
      const rows = await dueRows(this.#store, ROWS_PER_READ, this.#after);
      const last = rows.at(-1);
      const isEnd = rows.length < ROWS_PER_READ || (last?.dueMs ?? 0) > nowMs;
      this.#after = isEnd || last === undefined ? null : keyOf(last);
      const due = rows.filter((row) => row.dueMs <= nowMs && !this.#backoff.has(nameOf(row)));
      if (due.length > 0) return await this.#tasksOf(inTurns(due, max), nowMs);
      if (isEnd && isFullPass) return [];
      isFullPass ||= isEnd;
    }
  }

  /** Returns when the next stage is due; null if none is. */
  async nextDueMs(): Promise<number | null> {
    let after: Deno.KvKey | null = null;
    while (true) {
      const rows = await dueRows(this.#store, after === null ? 1 : ROWS_PER_READ, after);
      const next = rows.find((row) => !this.#backoff.has(nameOf(row)));
      const last = rows.at(-1);
      if (next !== undefined || last === undefined) return next?.dueMs ?? null;
      after = keyOf(last);
    }
  }

  /** Reads the stages to run. A run that cannot be read is retried later. */
  async #tasksOf(rows: readonly DueRow[], nowMs: number): Promise<StageTask[]> {
    const tasks = await Promise.all(rows.map(async (row): Promise<StageTask[]> => {
      try {
        const entry = await getEntry(this.#store, keys.processing(row.team, row.run));
        const processing = entry.value as Processing | null;
        const next = processing === null ? null : nextStage(processing);
        // A stage that has failed since waits for its own row.
        const stage = next !== null && stageDueAt(next) <= nowMs ? next : null;
        const { versionstamp: version } = entry;
        return [{ ...row, revision: processing?.revision ?? 0, version, stage }];
      } catch (error) {
        if (!await isAlive(this.#store)) throw error;
        this.#backoff.add(nameOf(row));
        return [];
      }
    }));
    return tasks.flat();
  }
}

/** Takes rows of teams in turn. */
function inTurns(rows: readonly DueRow[], max: number): DueRow[] {
  const taken: DueRow[] = [];
  const lanes = new FairQueue<DueRow>();
  for (const row of rows) lanes.push(row.team, row);
  lanes.take((row) => taken.length < max && taken.push(row) > 0);
  return taken;
}

/** Stores the result of a task, and when the run is due next. */
export async function completeStage(
  store: Store,
  task: StageTask,
  error: unknown,
  nowMs: number,
): Promise<void> {
  const { team, run, dueMs, revision, version, stage } = task;
  const deletes = [keys.dueStage(dueMs, team, run)];
  if (stage === null) return void await store.writer.commit({ deletes });
  await change(store, task, nowMs, deletes, (processing, current) => {
    // The stages were begun again meanwhile, maybe at the same revision: this result does not apply
    // to them.
    if (current !== version) return processing;
    if (error !== null) return stageFailed(processing, stage.stage, error, nowMs);
    // A cost computed at revision 0 belongs to an open run: the other stages wait for its close.
    const isOpen = stage.stage === "cost" && revision === 0;
    return isOpen ? null : stageDone(processing, stage.stage, nowMs);
  });
}

/** Records that the cost of a run could not be computed. */
export async function costFailed(
  store: Store,
  run: PendingRun,
  error: unknown,
  nowMs: number,
): Promise<void> {
  await change(
    store,
    run,
    nowMs,
    [],
    (processing) => stageFailed(reopened(processing), "cost", error, nowMs),
  );
}

/** Resets the attempts of a dead stage; returns false if the run has none. */
export async function revive(store: Store, run: PendingRun, nowMs: number): Promise<boolean> {
  const processing = await readProcessing(store, run);
  if (processing === null || deadOf(processing) === null) return false;
  await change(store, run, nowMs, [keys.deadStage(run.team, run.run)], (current) => {
    const dead = deadOf(current);
    return dead === null ? current : stageRevived(current, dead.stage, nowMs);
  });
  return true;
}

/** Iterates over all dead stages. */
export async function* deadStages(store: Store): AsyncGenerator<DeadStage> {
  for await (const { key } of eachRow(store, { prefix: keys.deadStages() })) {
    const run = { team: keyParts.team(key), run: keyParts.run(key) };
    const processing = await readProcessing(store, run);
    const dead = processing === null ? null : deadOf(processing);
    if (dead !== null) yield { ...run, stage: dead };
  }
}

export function createDeadStageStore(store: Store): DeadStageStore {
  return { ofTeam: ({ id }) => store.reads.run(id, () => readDead(store, id)) };
}

async function readDead(store: Store, team: TeamId): Promise<TeamDeadStages> {
  // One more than listed, to detect further ones.
  const options = { limit: DEAD_STAGES_LISTED_MAX + 1 };
  const rows = await listRows(store, { prefix: keys.deadStagesOf(team) }, options);
  const runs = rows.slice(0, DEAD_STAGES_LISTED_MAX).map(({ key }) => keyParts.run(key));
  if (runs.length === 0) return { stages: [], hasMore: false };
  const entries = await getMany(store, runs.map((run) => keys.processing(team, run)));
  const stages = runs.flatMap((run, i) => {
    const processing = (entries[i]?.value ?? null) as Processing | null;
    const stage = processing && deadOf(processing);
    // The stage was revived after the rows were read.
    return stage === null ? [] : [{ team, run, stage }];
  });
  return { stages, hasMore: rows.length > DEAD_STAGES_LISTED_MAX };
}

/** Returns stages in which the cost is pending again. */
function reopened(processing: Processing): Processing {
  const [cost] = processing.stages;
  if (cost?.state !== "done") return processing;
  const stages = processing.stages.map((stage) =>
    stage.stage === "cost" ? { ...stage, state: "pending" as const, attempts: 0 } : stage
  );
  return { ...processing, stages };
}

/** Returns the dead stage of a run; null if there is none. */
function deadOf({ stages }: Processing): StageProgress | null {
  return stages.find(({ state }) => state === "dead") ?? null;
}

/** Due time of a run's next stage. */
type DueRow = PendingRun & { readonly dueMs: number };

function nameOf({ team, run }: PendingRun): string {
  return pendingName(team, run);
}

function keyOf({ dueMs, team, run }: DueRow): Deno.KvKey {
  return keys.dueStage(dueMs, team, run);
}

async function dueRows(store: Store, max: number, after: Deno.KvKey | null): Promise<DueRow[]> {
  const rows = await listRows(store, rowsAfter(keys.dueStages(), after), { limit: max });
  return rows.map(({ key }) => ({
    dueMs: keyParts.dueMs(key),
    team: keyParts.dueTeam(key),
    run: keyParts.run(key),
  }));
}

function readProcessing(store: Store, { team, run }: PendingRun): Promise<Processing | null> {
  return getValue<Processing>(store, keys.processing(team, run));
}

/**
 * Changes a run's stages, and writes its next due row or a dead-stage row, about which alert rules
 * report. If `to` returns null, the stages are deleted.
 */
async function change(
  store: Store,
  { team, run }: PendingRun,
  nowMs: number,
  deletes: readonly Deno.KvKey[],
  to: (processing: Processing, version: string | null) => Processing | null,
): Promise<void> {
  const key = keys.processing(team, run);
  await untilCommitted("write a stage", async () => {
    const [entry, summary] = await getMany(store, [key, keys.summary(team, run)]);
    const checks = entry === undefined ? [] : [entry];
    const before = entry?.value as Processing | null ?? stagesOf(summary?.value);
    const after = to(before ?? NOT_BEGUN, entry?.versionstamp ?? null);
    if (after === null) {
      return await store.writer.commit({ team, checks, deletes: [...deletes, key] }) ?? LOST;
    }
    const sets: KvSet[] = [{ key, value: after }];
    const next = nextStage(after);
    if (next !== null) sets.push({ key: keys.dueStage(stageDueAt(next), team, run), value: true });
    if (deadOf(after) !== null) {
      sets.push({ key: keys.deadStage(team, run), value: true });
      sets.push(dueSet({ at: nowMs, kind: "rule", team, name: kindLook("service") }));
    }
    // A row that is set must not be deleted as well.
    const written = new Set(sets.map((set) => keyText(set.key)));
    const obsolete = deletes.filter((old) => !written.has(keyText(old)));
    return await store.writer.commit({ team, checks, sets, deletes: obsolete }) ?? LOST;
  });
}

/** Returns the stages of a run that has no row of them, from the value of its summary. */
function stagesOf(summary: unknown): Processing | null {
  return summary instanceof Uint8Array ? processingOf(decodeSums<RunSummary>(summary)) : null;
}

const NOT_BEGUN: Processing = {
  revision: 0,
  stages: STAGES.map((stage: Stage) => ({ stage, state: "pending", attempts: 0, at: 0 })),
};
