/**
 * The clock: looks at objects whose time has come, such as an idle run or the monitor of an agent.
 *
 * Times are in the due index, so it reads work and never searches for it. It takes rows a little
 * later than they are due: then every call that arrived before is summarized (decision 51). A look
 * that fails is postponed alone.
 */
import type { Absence, ClockTurn, DueHandler, DueKind, DueRow } from "../domain/clock/due.ts";
import { isOfStore, Overloaded, StorageUnavailable } from "../domain/core/errors.ts";
import type { TeamId } from "../domain/core/ids.ts";
import type { ClockStore } from "../kv/clock/store.ts";
import { allDone, FAILURE_PAUSE_MS, type JobDeps, jobLine, Loop } from "../runtime/loop.ts";

export interface ClockDeps extends JobDeps {
  readonly store: ClockStore;
  /** One handler for each kind. */
  readonly handlers: readonly DueHandler[];
}

/** Rows per turn. */
const ROWS_PER_TURN = 500;

/** Milliseconds between looks at the due index. */
const LOOK_MS = 1_000;

/** Milliseconds between stored turns. */
const NOTE_MS = 5_000;

/** Looks at due objects. Stop it before the store closes. */
export class Clock {
  readonly #deps: ClockDeps;
  readonly #handlers: ReadonlyMap<DueKind, DueHandler>;
  readonly #loop: Loop;
  /** The last stored turn, undefined if another process may have stored it. */
  #noted: { readonly at: number; readonly waits: boolean } | undefined;
  #absences: readonly Absence[] = [];

  /** Creates a clock; `start` runs it. */
  constructor(deps: ClockDeps) {
    this.#deps = deps;
    this.#handlers = new Map(deps.handlers.map((handler) => [handler.kind, handler]));
    this.#loop = new Loop(() => this.#step(), (error) => {
      // The worker logs store failures.
      if (!(error instanceof StorageUnavailable)) this.#log("The clock failed", error);
      return FAILURE_PAUSE_MS;
    }, deps.turn);
    // Another instance may have noted turns meanwhile.
    deps.turn?.onBegin(() => this.#noted = undefined);
  }

  start(): void {
    void this.#loop.start();
  }

  /** Resolves once everything that is due has been looked at. */
  idle(): Promise<void> {
    return this.#loop.idle();
  }

  /** Finishes the looks in progress and stops. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Looks at everything that is due. */
  async round(): Promise<void> {
    while (await this.#turn());
  }

  async #step(): Promise<void> {
    if (!await this.#turn()) await this.#loop.wait(LOOK_MS);
  }

  /** Looks at some due objects; returns false if none was due, or none could be looked at. */
  async #turn(): Promise<boolean> {
    const { store, now } = this.#deps;
    const [nowMs, nextMs] = [now(), await store.nextDueMs()];
    await this.#note(nowMs, nextMs !== null);
    if (nextMs === null || nextMs > nowMs) return false;
    const summarizedToMs = await store.summarizedToMs(nowMs);
    const rows = await store.due(summarizedToMs, ROWS_PER_TURN);
    const turn = { nowMs, absences: this.#absences, summarizedToMs };
    let looked = 0;
    await allDone(
      groupsOf(rows).map(async (group) => {
        looked += await this.#look(group, turn);
      }),
    );
    return looked > 0;
  }

  /** Stores the time of a turn, so that an absence shows after a restart. */
  async #note(at: number, waits: boolean): Promise<void> {
    const noted = this.#noted;
    const isKnown = noted?.waits === waits && (!waits || Math.abs(at - noted.at) < NOTE_MS);
    if (isKnown) return;
    const turn = { waits, isFirst: noted === undefined };
    this.#absences = await this.#deps.store.noteTurn(at, turn);
    this.#noted = { at, waits };
  }

  /** Looks at rows of one team and kind; returns the number of rows that it handled. */
  async #look(rows: readonly DueRow[], turn: ClockTurn): Promise<number> {
    const [first] = rows;
    if (first === undefined) return 0;
    try {
      const handler = this.#handlers.get(first.kind);
      if (handler === undefined) throw new Error(`No handler of ${first.kind}`);
      const failed = await handler.look(distinct(rows), turn);
      await this.#postpone(failed, turn.nowMs);
      return rows.length;
    } catch (error) {
      if (isOfStore(error) && !await this.#deps.store.isAlive()) throw error;
      // The team's queue is full: no row is at fault.
      if (error instanceof Overloaded) return 0;
      if (rows.length > 1) {
        const middle = rows.length >> 1;
        return await this.#look(rows.slice(0, middle), turn) +
          await this.#look(rows.slice(middle), turn);
      }
      await this.#postpone([first], turn.nowMs, error);
      return 1;
    }
  }

  async #postpone(rows: readonly DueRow[], nowMs: number, error?: unknown): Promise<void> {
    for (const { kind, team, failures } of rows) {
      if (failures === 0) this.#log(`Cannot look at ${kind} of team ${team}: postponed`, error);
    }
    if (rows.length > 0) await this.#deps.store.postpone(rows, nowMs);
  }

  #log(what: string, error: unknown): void {
    this.#deps.log(jobLine(this.#deps.now(), { clock: what }, error));
  }
}

/** Groups rows by team and kind. */
function groupsOf(rows: readonly DueRow[]): readonly (readonly DueRow[])[] {
  const nameOf = ({ team, kind }: DueRow) => `${team} ${kind}` as `${TeamId} ${DueKind}`;
  return [...Map.groupBy(rows, nameOf).values()];
}

/** Keeps the first row of each object; another one is due in the next turn. */
function distinct(rows: readonly DueRow[]): readonly DueRow[] {
  return [...new Map(rows.toReversed().map((row) => [row.name, row])).values()].reverse();
}
