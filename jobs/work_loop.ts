/**
 * The loop of the work queue: does what is due, such as the close of an idle run, at the monitor of an
 * agent, or at a channel with messages to send.
 *
 * Times are in the queue, so it reads work and never searches for it. Each lane has a loop of its
 * own. Teams take turns, and the batches of a kind share slots, so that no receiver and no team holds
 * up others. Deadlines are taken a little later than they are due: then every call that arrived
 * before is summarized (decision 51). Work that fails is postponed alone.
 */
import {
  type Absence,
  type Lane,
  LANES,
  type Work,
  WORK_KINDS,
  type WorkHandler,
  type WorkKind,
  type WorkTime,
} from "../domain/work/work.ts";
import { isOfStore, Overloaded, StorageUnavailable } from "../domain/core/errors.ts";
import type { TeamId } from "../domain/core/ids.ts";
import type { WorkStore } from "../kv/work/store.ts";
import { endsWithin } from "../runtime/deadlines.ts";
import { FairQueue } from "../runtime/fair_slots.ts";
import {
  type CallCount,
  FAILURE_PAUSE_MS,
  type JobDeps,
  jobLine,
  Loop,
  pause,
} from "../runtime/loop.ts";

export interface WorkLoopDeps extends JobDeps {
  readonly store: WorkStore;
  /** One handler for each kind. */
  readonly handlers: readonly WorkHandler[];
  /** Lanes that it works on; all when absent. */
  readonly lanes?: readonly Lane[];
  /** Counts the commits with work, which shows whether calls arrive. */
  readonly calls?: CallCount;
}

/**
 * Milliseconds between polls of a lane without due rows, for rows that another instance filed. Those
 * of this process wake all lanes but that of deadlines.
 */
const POLL_MS: Readonly<Record<Lane, number>> = {
  send: 500,
  run: 2_000,
  back: 2_000,
  settled: 1_000,
};

/**
 * Least rest of the lanes that rest while calls arrive, milliseconds. A caller may wait for a short
 * step of the lane `back`, such as the deletion of a customer with few runs.
 */
const REST_MS_MIN: Partial<Readonly<Record<Lane, number>>> = { run: 250, back: 0 };

/** A rest as a multiple of the time that a batch took, or a read: it takes a fifth of the time. */
const REST_TIMES = 4;

/** Least milliseconds between two reads of rows while others wait for slots. */
const READ_MS = 1_000;

/** Milliseconds between stored turns of the loop of deadlines. */
const NOTE_MS = 5_000;

/** Maximum milliseconds that the stop waits for work in progress before it is cancelled. */
const STOP_MS = 2_000;

/** Does the work of all lanes. Stop it before the store closes. */
export class WorkLoop {
  readonly #lanes: readonly LaneLoop[];

  /** Creates a loop; `start` runs it. */
  constructor(deps: WorkLoopDeps) {
    this.#lanes = (deps.lanes ?? LANES).map((lane) => new LaneLoop(lane, deps));
  }

  start(): void {
    for (const lane of this.#lanes) lane.start();
  }

  /** Resolves once everything that is due in some lanes was done. */
  async idle(lanes: readonly Lane[] = LANES): Promise<void> {
    await Promise.all(
      this.#lanes.filter(({ lane }) => lanes.includes(lane)).map((lane) => lane.idle()),
    );
  }

  /** Ends the work in progress, within a short limit, and stops. */
  async stop(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.stop()));
  }

  /** Signals that a commit has filed rows that may be due. */
  wake(): void {
    for (const lane of this.#lanes) lane.wake();
  }

  /** Does everything that is due in some lanes. For a loop that is not started. */
  async round(lanes: readonly Lane[] = LANES): Promise<void> {
    for (const each of this.#lanes) if (lanes.includes(each.lane)) await each.round();
  }
}

/** Rows of one team and kind that are handled at once, each object once. */
interface Batch {
  readonly kind: WorkKind;
  readonly team: TeamId;
  readonly rows: readonly Work[];
}

/** Does the work of one lane. */
class LaneLoop {
  readonly lane: Lane;
  readonly #deps: WorkLoopDeps;
  readonly #handlers: ReadonlyMap<WorkKind, WorkHandler>;
  readonly #loop: Loop;
  readonly #stopping = new AbortController();
  /** Batches under way. */
  readonly #underWay = new Set<Batch>();
  /** Batches that wait for slots, in order. */
  #ready: readonly Batch[] = [];
  /** When rows are read again though others wait for slots, by the clock of the process. */
  #readsFrom = -Infinity;
  /** Time of the first row at the last evaluation, unix milliseconds; null for none. */
  #nextMs: number | null = null;
  /** End of the rest, by the clock of the process. */
  #restsTo = -Infinity;
  #summarizedToMs = 0;
  /** Resolves once a batch ends. */
  #freed = Promise.withResolvers<void>();
  /** Number of batches that have ended. */
  #ended = 0;
  /** The last stored turn, undefined if another process may have stored it. */
  #noted: { readonly at: number; readonly waits: boolean } | undefined;
  #absences: readonly Absence[] = [];

  constructor(lane: Lane, deps: WorkLoopDeps) {
    this.lane = lane;
    this.#deps = deps;
    this.#handlers = new Map(deps.handlers.map((handler) => [handler.kind, handler]));
    this.#loop = new Loop(() => this.#step(), (error) => {
      this.#logFailure(error);
      return FAILURE_PAUSE_MS;
    }, deps.leadership);
    // Another instance may have noted turns meanwhile.
    deps.leadership?.onBegin(() => this.#noted = undefined);
  }

  start(): void {
    void this.#loop.start();
  }

  idle(): Promise<void> {
    return this.#loop.idle();
  }

  wake(): void {
    if (this.lane !== "settled") this.#loop.waker.wake();
  }

  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#stopping.abort(), STOP_MS);
    await this.#loop.stop();
    await this.#allEnded();
    clearTimeout(timer);
  }

  async round(): Promise<void> {
    while (await this.#turn() || this.#underWay.size > 0) await this.#allEnded();
  }

  async #allEnded(): Promise<void> {
    while (this.#underWay.size > 0) await this.#freed.promise;
  }

  async #step(): Promise<void> {
    const restMs = this.#loop.isAwaited ? 0 : this.#restsTo - performance.now();
    if (restMs > 0) return await this.#loop.rest(restMs);
    if (await this.#turn()) return;
    const dueInMs = (this.#nextMs ?? Infinity) - this.#deps.now();
    const waitMs = dueInMs > 0 ? Math.min(POLL_MS[this.lane], dueInMs) : POLL_MS[this.lane];
    if (this.#underWay.size === 0) return await this.#loop.wait(waitMs);
    await endsWithin(waitMs, this.#freed.promise);
  }

  /**
   * Starts due work; returns false if there was none, or no slot for it. A batch that ends during the
   * read counts as work: further rows of its objects were left out.
   */
  async #turn(): Promise<boolean> {
    const { store, now } = this.#deps;
    if (this.#startReady()) return true;
    const nowMs = now();
    const beginMs = performance.now();
    if (this.#ready.length > 0 && beginMs < this.#readsFrom) return false;
    const nextMs = this.#nextMs = await store.nextMs(this.lane);
    if (this.lane === "settled") await this.#note(nowMs, nextMs !== null);
    this.#ready = [];
    const hasDueRows = nextMs !== null && nextMs <= nowMs;
    const byClock = [...this.#handlers.values()]
      .filter(({ kind }) => WORK_KINDS[kind].lane === this.lane)
      .flatMap((handler) => handler.due?.(nowMs) ?? []);
    if (!hasDueRows && byClock.length === 0) return false;
    const toMs = this.lane === "settled" ? await store.summarizedToMs(nowMs) : nowMs;
    const ended = this.#ended;
    // Listed before the read: a batch that ends meanwhile has rows in it that are already done.
    const names = new Set([...this.#underWay].flatMap((batch) => batch.rows.map(nameOf)));
    const rows = [...byClock, ...hasDueRows ? await store.take(this.lane, toMs) : []];
    this.#summarizedToMs = toMs;
    const endMs = performance.now();
    this.#readsFrom = endMs + Math.max(READ_MS, REST_TIMES * (endMs - beginMs));
    this.#ready = batchesOf(rows.filter((row) => !names.has(nameOf(row))));
    return this.#startReady() || this.#ended > ended;
  }

  /** Starts the batches that have a slot; returns false if none has. */
  #startReady(): boolean {
    const counts = new Map<string, number>();
    const add = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
    const take = (batch: Batch) => {
      add(batch.kind);
      add(`${batch.kind} ${batch.team}`);
    };
    this.#underWay.forEach(take);
    const hasSlot = ({ kind, team }: Batch) => {
      const { slots } = WORK_KINDS[kind];
      return (counts.get(kind) ?? 0) < slots.all &&
        (counts.get(`${kind} ${team}`) ?? 0) < slots.team;
    };
    const waiting: Batch[] = [];
    for (const batch of this.#ready) {
      if (!hasSlot(batch)) {
        waiting.push(batch);
        continue;
      }
      take(batch);
      void this.#run(batch);
    }
    const hasStarted = waiting.length < this.#ready.length;
    this.#ready = waiting;
    return hasStarted;
  }

  /** Does a batch in a slot. Never rejects. */
  async #run(batch: Batch): Promise<void> {
    this.#underWay.add(batch);
    const { calls = { raised: 0 } } = this.#deps;
    const [startMs, callsBefore] = [performance.now(), calls.raised];
    try {
      await this.#do(batch.rows);
    } catch (error) {
      this.#logFailure(error);
      // The rows are still due: without a pause they would be taken again at once.
      if (!this.#loop.isStopped) await pause(FAILURE_PAUSE_MS);
    } finally {
      this.#underWay.delete(batch);
      const msMin = REST_MS_MIN[this.lane];
      if (msMin !== undefined && calls.raised > callsBefore) {
        const endMs = performance.now();
        const restMs = Math.max(msMin, REST_TIMES * (endMs - startMs));
        this.#restsTo = Math.max(this.#restsTo, endMs + restMs);
      }
      this.#ended++;
      this.#freed.resolve();
      this.#freed = Promise.withResolvers();
    }
  }

  /** Does rows of one team and kind, and postpones those that fail. */
  async #do(rows: readonly Work[]): Promise<void> {
    const [first] = rows;
    if (first === undefined) return;
    const nowMs = this.#deps.now();
    try {
      const handler = this.#handlers.get(first.kind);
      if (handler === undefined) throw new Error(`No handler of ${first.kind}`);
      const time: WorkTime = {
        nowMs,
        absences: this.#absences,
        summarizedToMs: this.#summarizedToMs,
      };
      const failed = await handler.handle(rows, time, this.#stopping.signal);
      await this.#postpone(failed, nowMs);
    } catch (error) {
      // The team's queue is full: no row is at fault.
      if (error instanceof Overloaded) throw error;
      if (isOfStore(error) && !await this.#deps.store.isAlive()) throw error;
      if (rows.length === 1) return await this.#postpone(rows, nowMs, error);
      const middle = rows.length >> 1;
      await this.#do(rows.slice(0, middle));
      await this.#do(rows.slice(middle));
    }
  }

  async #postpone(rows: readonly Work[], nowMs: number, error?: unknown): Promise<void> {
    for (const { kind, team, failures } of rows) {
      const ofTeam = team === "" ? "" : ` of team ${team}`;
      if (failures === 0) this.#log(`Work of kind ${kind}${ofTeam} was postponed`, error);
    }
    if (rows.length > 0) {
      await this.#deps.store.postpone(rows, nowMs, error ?? "Failed without a reason");
    }
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

  #logFailure(error: unknown): void {
    // The worker logs store failures.
    if (error instanceof StorageUnavailable || error instanceof Overloaded) return;
    this.#log("The work failed", error);
  }

  #log(what: string, error: unknown): void {
    this.#deps.log(jobLine(this.#deps.now(), { work: what, lane: this.lane }, error));
  }
}

function nameOf({ team, kind, name }: Work): string {
  return `${team} ${kind} ${name}`;
}

/**
 * Groups rows by team and kind, by teams in turn. Of an object with several rows the first one is
 * kept; the others are due in a later turn.
 */
function batchesOf(rows: readonly Work[]): readonly Batch[] {
  const distinct = [...new Map(rows.toReversed().map((row) => [nameOf(row), row])).values()];
  const groups = Map.groupBy(distinct.reverse(), ({ team, kind }) => `${team} ${kind}`);
  const teams = new FairQueue<Batch>();
  for (const [first, ...others] of groups.values()) {
    if (first === undefined) continue;
    const { kind, team } = first;
    const { batch } = WORK_KINDS[kind];
    const group = [first, ...others];
    for (let at = 0; at < group.length; at += batch) {
      teams.push(team, { kind, team, rows: group.slice(at, at + batch) });
    }
  }
  const batches: Batch[] = [];
  teams.take((batch) => batches.push(batch) > 0);
  return batches;
}
