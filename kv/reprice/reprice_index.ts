/**
 * Finding the runs that a job has to visit: those that called a model, by their start.
 *
 * The index has a row for each run and name. A run that called two of a job's names is visited once,
 * because the rows of all names are read together.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import type { TeamId } from "../../domain/credentials.ts";
import type { RunId } from "../../domain/run/ids.ts";
import { isRest } from "../../domain/run/model_usage.ts";
import { isMeant, type RepriceSpec } from "../../domain/money/reprice.ts";
import type { RepriceJob, RunPlace } from "../../domain/money/reprice_job.ts";
import { dayOf } from "../../domain/time.ts";
import { keys } from "../keys.ts";
import { decodeRollup } from "../pipeline/rollups.ts";
import { modelPart } from "../pipeline/run_index.ts";
import { eachRow, listRows, type Store } from "../store.ts";

/** Jobs whose names are remembered. */
const JOBS_MAX = 1_000;

/** The first instant a run can start at, and the one behind the last, unix milliseconds. */
const FIRST_MS = 0, END_MS = Date.UTC(10_000, 0);

/** Where the day stands in the key of a roll-up. */
const DAY_AT = 3;

/** Sorts a range right behind the key it is appended to. */
const AFTER = 0;

/** The index of runs by the models they called. */
export class RepriceIndex {
  readonly #store: Store;
  /** Names by job. A job's own value might not hold them all. */
  readonly #names = new LRUCache<string, readonly string[]>({ max: JOBS_MAX });

  /** Remembers nothing yet. */
  constructor(store: Store) {
    this.#store = store;
  }

  /** Starts of the first and the last run that a job has to visit; null when there is none. */
  async span(team: TeamId, job: RepriceJob): Promise<RepriceJob["span"] | null> {
    const { from, to } = job.spec;
    const ends = await this.#perName(team, job, async (prefix) => {
      const range = { start: [...prefix, from ?? FIRST_MS], end: [...prefix, to ?? END_MS] };
      return [
        ...await this.#places(range, { limit: 1 }),
        ...await this.#places(range, { limit: 1, reverse: true }),
      ];
    });
    const starts = ends.map(({ startedAt }) => startedAt).sort((a, b) => a - b);
    const [first, last] = [starts[0], starts.at(-1)];
    return first === undefined || last === undefined ? null : { from: first, to: last };
  }

  /** The next runs to visit, by their start; fewer than asked for are the last ones. */
  async next(team: TeamId, job: RepriceJob, limit: number): Promise<RunPlace[]> {
    const { span, cursor: { after } } = job;
    const found = await this.#perName(team, job, (prefix) => {
      const start = after === null
        ? [...prefix, span.from]
        : [...prefix, after.startedAt, after.run, AFTER];
      return this.#places({ start, end: [...prefix, span.to, LAST] }, { limit });
    });
    const places = new Map(found.sort(byPlace).map((place) => [place.run, place]));
    return [...places.values()].slice(0, limit);
  }

  async #perName(
    team: TeamId,
    job: RepriceJob,
    read: (prefix: Deno.KvKey) => Promise<RunPlace[]>,
  ): Promise<RunPlace[]> {
    const names = this.#names.get(job.id) ?? await this.#findNames(team, job.spec);
    this.#names.set(job.id, names);
    return (await Promise.all(names.map((name) => read(keys.runsBy(team, "model", name))))).flat();
  }

  /** The names that the calls may stand under, as the roll-ups of the range's days know them. */
  async #findNames(team: TeamId, spec: RepriceSpec): Promise<string[]> {
    const [firstDay, lastDay] = [dayOf(spec.from ?? FIRST_MS), dayOf((spec.to ?? END_MS) - 1)];
    const names = new Set<string>();
    const range = keys.rollups(team, "model", firstDay, lastDay);
    for await (const { key, value } of eachRow<Uint8Array>(this.#store, range)) {
      const { group } = decodeRollup(String(key[DAY_AT]), value);
      if (group.kind !== "model") continue;
      const { provider, model } = group.value;
      // A run with too many models sums up some of them under a name for all.
      if (isMeant(spec, provider, model) || isRest(group.value)) names.add(modelPart(group.value));
    }
    return [...names];
  }

  async #places(
    range: { readonly start: Deno.KvKey; readonly end: Deno.KvKey },
    options: Pick<Deno.KvListOptions, "limit" | "reverse">,
  ): Promise<RunPlace[]> {
    const rows = await listRows(this.#store, range, options);
    return rows.map(({ key }) => ({ startedAt: Number(key.at(-2)), run: key.at(-1) as RunId }));
  }
}

/** Sorts behind every run of an instant. */
const LAST = true;

/** The order of the index. */
function byPlace(a: RunPlace, b: RunPlace): number {
  return a.startedAt - b.startedAt || (a.run < b.run ? -1 : 1);
}
