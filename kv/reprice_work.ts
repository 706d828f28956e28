/**
 * The work of jobs that price calls anew, step by step.
 *
 * @module
 */
import type { TeamId } from "../domain/credentials.ts";
import { StorageUnavailable } from "../domain/errors.ts";
import type { RunId } from "../domain/ids.ts";
import { OTHER_MODELS } from "../domain/model_usage.ts";
import { DIRTY_LANES } from "../domain/pipeline.ts";
import type { RateCard } from "../domain/rates.ts";
import type { RateCards } from "../domain/ports.ts";
import { addRepriced, isMeant } from "../domain/reprice.ts";
import { type ActiveJob, type RepriceCursor, type RepriceJob } from "../domain/reprice_job.ts";
import type { ModelName } from "../domain/rollup.ts";
import { dayOf } from "../domain/time.ts";
import { type DirtyMark, dirtyName } from "./dirty_mark.ts";
import { keys } from "./keys.ts";
import { repriceStep } from "./reprice_run.ts";
import { decodeRollup, keyPart } from "./rollups.ts";
import { getMany, type Store, unavailable } from "./store.ts";

/** Jobs that go on side by side, a step each in turn. */
const JOBS_PER_TURN = 10;

/** Runs of one step, and the rows and checks after which it is committed. */
const STEP = { runsMax: 20, rowsMax: 200, checksMax: 60 } as const;

/** A run that called one of a job's models. */
interface Visit {
  readonly startedAt: number;
  readonly run: RunId;
}

/** What a step of a job is about to commit. */
interface Draft {
  job: RepriceJob;
  readonly checks: Deno.AtomicCheck[];
  readonly sets: { readonly key: Deno.KvKey; readonly value: unknown }[];
  readonly dirty: DirtyMark[];
}

/** Works on jobs. */
export class RepriceWork {
  readonly #store: Store;
  readonly #cards: RateCards;
  readonly #now: () => number;
  /** Who waits for a job of this process. */
  readonly #waiting = new Map<string, PromiseWithResolvers<RepriceJob>>();

  /** Works on nothing yet. */
  constructor(store: Store, cards: RateCards, now: () => number) {
    this.#store = store;
    this.#cards = cards;
    this.#now = now;
  }

  /** Takes each job that is under way a step further; answers whether any came further. */
  async some(): Promise<boolean> {
    let moved = false;
    for (const active of await activeJobs(this.#store)) {
      if (await this.#step(active)) moved = true;
    }
    return moved;
  }

  /** The job once it is done, or as it is when the time is over. */
  async settled(team: TeamId, job: RepriceJob, ms: number): Promise<RepriceJob> {
    const waiter = this.#waiting.get(job.id) ?? Promise.withResolvers<RepriceJob>();
    this.#waiting.set(job.id, waiter);
    const over = Promise.withResolvers<null>();
    const timer = setTimeout(over.resolve, ms, null);
    try {
      // It may have been done before anybody waited.
      const now = await this.#read({ team, id: job.id });
      if (now.job === null || now.job.state === "done") return now.job ?? job;
      const done = await Promise.race([waiter.promise, over.promise]);
      return done ?? (await this.#read({ team, id: job.id })).job ?? job;
    } finally {
      clearTimeout(timer);
    }
  }

  async #step(active: ActiveJob): Promise<boolean> {
    const { job, version } = await this.#read(active);
    const key = keys.repriceJob(active.team, active.id);
    const activeKey = keys.activeReprice(active.team, active.id);
    if (job === null || job.state === "done") {
      await this.#store.writer.commit({ deletes: [activeKey] });
      return true;
    }
    if (job.state === "waiting" && !await this.#isSummedUp(job)) return false;
    const draft: Draft = { job, checks: [{ key, versionstamp: version }], sets: [], dirty: [] };
    if (job.state === "waiting") draft.job = await this.#begin(active.team, job);
    else await this.#goOn(active.team, draft);
    const { job: after, checks, sets, dirty } = draft;
    const committed = await this.#store.writer.commit({
      team: active.team,
      checks,
      sets: [...sets, { key, value: after }],
      deletes: after.state === "done" ? [activeKey] : [],
      dirty,
    });
    // A lost check means that a run changed, or another process took the step: the next one reads anew.
    if (committed !== null && after.state === "done") {
      this.#waiting.get(job.id)?.resolve(after);
      this.#waiting.delete(job.id);
    }
    return true;
  }

  /** Whether every mark set before the job is gone: before that, the index may lack some run. */
  async #isSummedUp({ id }: RepriceJob): Promise<boolean> {
    for (const lane of DIRTY_LANES) {
      const [oldest] = await list(this.#store, { prefix: keys.dirtyLane(lane) }, 1);
      if (oldest !== undefined && String(oldest.key.at(-1)) < id) return false;
    }
    return true;
  }

  /** Finds the names that the calls may stand under in the index. */
  async #begin(team: TeamId, job: RepriceJob): Promise<RepriceJob> {
    const { spec } = job;
    const { start, end } = keys.rollups(
      team,
      "model",
      dayOf(spec.from ?? FIRST_MS),
      dayOf((spec.to ?? LAST_MS) - 1),
    );
    const names = new Map<string, ModelName>();
    const days: string[] = [];
    for await (const { key, value } of this.#store.reader.list<Uint8Array>({ start, end })) {
      const { group } = decodeRollup(String(key[3]), value);
      if (group.kind !== "model") continue;
      const { provider, model } = group.value;
      // A run with too many models sums up some of them under a name for all.
      if (!isMeant(spec, provider, model) && model !== OTHER_MODELS) continue;
      names.set(keyPart(group), group.value);
      days.push(String(key[3]));
    }
    days.sort();
    const span = {
      from: dayMs(days[0], job.createdAt),
      to: dayMs(days.at(-1), job.createdAt) + DAY_MS,
    };
    return this.#checked({ ...job, state: "running", names: [...names.values()], span });
  }

  async #goOn(team: TeamId, draft: Draft): Promise<void> {
    const name = draft.job.names[draft.job.cursor.name];
    if (name === undefined) throw new TypeError("A running job has a name to look under");
    const visits = await this.#visits(team, draft.job, name);
    const card = await this.#cards.card({ id: team });
    for (const visit of visits) {
      await this.#visit(team, draft, visit, card);
      const { checks, sets, job } = draft;
      const full = sets.length >= STEP.rowsMax || checks.length >= STEP.checksMax;
      if (full || job.cursor.batch > 0) return;
    }
    if (visits.length < STEP.runsMax) {
      const cursor = { name: draft.job.cursor.name + 1, startedAt: null, run: null, batch: 0 };
      draft.job = this.#checked({ ...draft.job, cursor });
    }
  }

  /** Prices some batches of a run anew; a run that cannot be read is counted and left as it is. */
  async #visit(
    team: TeamId,
    draft: Draft,
    { startedAt, run }: Visit,
    card: RateCard,
  ): Promise<void> {
    const { job } = draft;
    const { spec, cursor, dryRun } = job;
    const target = { store: this.#store, team, id: run, spec, card };
    const behind: RepriceCursor = { name: cursor.name, startedAt, run, batch: 0 };
    const progress = progressAt(job, startedAt);
    try {
      const step = await repriceStep(target, cursor.batch);
      const changes = step.sets.length > 0;
      if (changes && !dryRun) {
        draft.checks.push(...step.checks);
        draft.sets.push(...step.sets);
        draft.dirty.push({ lane: "closed", name: dirtyName(team, run) });
      }
      const first = cursor.batch === 0;
      draft.job = {
        ...job,
        cursor: step.nextBatch === null ? behind : { ...cursor, batch: step.nextBatch },
        runs: job.runs + (first ? 1 : 0),
        changed: job.changed + (changes && first ? 1 : 0),
        sum: addRepriced(job.sum, step.sum),
        progress,
      };
    } catch (error) {
      if (error instanceof StorageUnavailable) throw error;
      draft.job = { ...job, cursor: behind, failed: job.failed + 1, progress };
    }
  }

  /** The next runs under a name, from where the job is. */
  async #visits(team: TeamId, { spec, cursor }: RepriceJob, name: ModelName): Promise<Visit[]> {
    const part = keyPart({ kind: "model", value: name });
    const prefix = keys.modelRuns(team, part);
    const start = cursor.run === null
      ? [...prefix, spec.from ?? FIRST_MS]
      : [...keys.modelRun(team, part, cursor.startedAt ?? FIRST_MS, cursor.run), AFTER];
    const end = [...prefix, spec.to ?? LAST_MS];
    const rows = await list(this.#store, { start, end }, STEP.runsMax);
    return rows.map(({ key }) => ({ startedAt: Number(key[3]), run: key[4] as RunId }));
  }

  /** A job that has no name left to look under is done. */
  #checked(job: RepriceJob): RepriceJob {
    if (job.cursor.name < job.names.length) return job;
    return { ...job, state: "done", finishedAt: this.#now(), progress: 1 };
  }

  async #read({ team, id }: ActiveJob) {
    const [entry] = await getMany(this.#store, [keys.repriceJob(team, id)]);
    return {
      job: (entry?.value ?? null) as RepriceJob | null,
      version: entry?.versionstamp ?? null,
    };
  }
}

/** The first and the last instant a run can start at, unix milliseconds. */
const FIRST_MS = 0, LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999) + 1;

/** Sorts a range right behind the key it is appended to. */
const AFTER = 0;

const DAY_MS = 86_400_000;

/** When a day begins. */
function dayMs(day: string | undefined, otherwise: number): number {
  return day === undefined ? otherwise : Date.parse(day);
}

/** How much of the way is behind a job at a run, by the time it covers. */
function progressAt({ names, cursor, span: { from, to } }: RepriceJob, startedAt: number): number {
  const share = Math.min(1, Math.max(0, (startedAt - from) / (to - from)));
  return (cursor.name + share) / names.length;
}

async function activeJobs(store: Store): Promise<ActiveJob[]> {
  const rows = await list(store, { prefix: keys.activeReprices() }, JOBS_PER_TURN);
  return rows.map(({ key }) => ({ team: key[1] as TeamId, id: String(key[2]) }));
}

async function list(
  store: Store,
  selector: Deno.KvListSelector,
  limit: number,
): Promise<Deno.KvEntry<unknown>[]> {
  try {
    return await Array.fromAsync(store.reader.list(selector, { limit }));
  } catch (error) {
    throw unavailable("list", error);
  }
}
