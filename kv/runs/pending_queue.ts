/**
 * The pending set: runs that changed since the worker last read them.
 *
 * Each commit lists the runs it changed in one row for all of its writes, so a mark adds almost no
 * cost to a write. A row is never written again: once all of its runs are read, deleting it loses
 * no mark, because a later change is in a later row.
 *
 * Rows are in time order, and one row may name runs of several teams. So that teams take turns, the
 * queue of a lane reads beyond the oldest rows and keeps some runs of each team in memory. Jobs wait
 * until the worker has brought a team's runs up to date, and metrics count the rows.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { PendingBatch, PendingLane, PendingRun } from "../../domain/runs/stages.ts";
import { decodePending, parsePendingName, pendingName } from "../writer/group.ts";
import { keyParts, keys } from "../base/keys.ts";
import type { Backoff } from "../../runtime/loop.ts";
import { eachRow, listRows, newRowName, type Store } from "../store.ts";
import { FairQueue } from "../../runtime/fair_slots.ts";
import { createEntryCache } from "../../runtime/memory.ts";
import { isCurrent } from "../../domain/runs/summary.ts";
import { groupsOf } from "../base/reads.ts";
import { isStored, readHeads } from "./heads.ts";
import { decodeTime } from "@std/ulid";

/** Maximum rows per read, and about how many names: a row has at most those of one commit. */
const READ = { rows: 500, names: 5_000 } as const;

/** Maximum rows and characters read per turn: of the oldest rows, and ahead of them. */
const READ_MAX = {
  oldest: { rows: 200, chars: 250_000 },
  ahead: { rows: 1_000, chars: 1_000_000 },
} as const;

/** Maximum slots of a team in a lane's queue: one per run, and one per row that names it. */
const TEAM_PLACES_MAX = 500;

/** Bytes of a slot, and the fraction of the memory share `other` for a lane's queue. */
const PLACE = { bytes: 300, part: 0.25 } as const;

/** Maximum characters of a row per queued name; names of a longer row are copied. */
const CHARS_PER_NAME_MAX = 128;

/** Turns after which rows are read again: a slow clock may have inserted one between them. */
const TURNS_PER_PASS = 50;

const DELETES_PER_COMMIT = 500;

interface Row {
  readonly key: Deno.KvKey;
  /** Number of unfinished runs; Infinity once one of them has failed. */
  left: number;
}

/** A queued run. */
interface QueuedRun extends PendingRun {
  readonly name: string;
  /** Version of the latest row that names it. */
  version: string;
  /** Rows that wait for it. */
  readonly rows: Row[];
}

/** Queue of a lane's runs in which teams take turns. */
export class PendingQueue {
  /** Name of the oldest row that may not be finished, as of the latest read. */
  oldest = "";
  readonly #store: Store;
  readonly #lane: PendingLane;
  readonly #isKnown: (name: string, version: string) => boolean;
  readonly #backoff: Backoff;
  readonly #placesMax: number;
  readonly #rowsPerRead: number;
  readonly #waiting = new FairQueue<QueuedRun>();
  /** Queued and taken runs, by name. */
  readonly #runs = new Map<string, QueuedRun>();
  /** Names of rows whose runs are all queued. */
  readonly #queuedRows = new Set<string>();
  readonly #places = new Map<string, number>();
  #allPlaces = 0;
  #taken: QueuedRun[] = [];
  /** Rows to delete: all of their runs are finished. */
  readonly #finished: Deno.KvKey[] = [];
  /** Last row read ahead; null at the start of a pass. */
  #ahead: string | null = null;
  #turnsAtEnd = 0;
  #isFirstRead = true;
  /** True if the current pass found a run for the queue, including one without a slot. */
  #hasMet = false;

  /**
   * Creates an empty queue.
   *
   * @param isKnown returns whether the worker has already read a run at this version or later
   */
  constructor(
    store: Store,
    lane: PendingLane,
    backoff: Backoff,
    isKnown: (name: string, version: string) => boolean,
  ) {
    this.#store = store;
    this.#lane = lane;
    this.#backoff = backoff;
    this.#isKnown = isKnown;
    // Most writes have one check.
    this.#rowsPerRead = Math.min(READ.rows, Math.floor(READ.names / store.limits.checks));
    this.#placesMax = Math.floor(store.memory.bytesMax("other") * PLACE.part / PLACE.bytes);
    store.memory.register("other", () => this.#allPlaces * PLACE.bytes);
  }

  /** Takes runs of teams in turn. Taken runs that were not acknowledged are taken again. */
  async take(runsMax: number): Promise<PendingBatch> {
    for (const waiting of this.#taken.reverse()) {
      this.#waiting.push(waiting.team, waiting, "front");
    }
    this.#taken = [];
    const isRead = this.#finished.length < READ_MAX.ahead.rows && await this.#read(runsMax);
    const taken: QueuedRun[] = [];
    this.#waiting.take((waiting) => {
      // The other lane may have brought it up to date meanwhile.
      if (!this.#isKnown(waiting.name, waiting.version)) {
        return taken.length < runsMax && taken.push(waiting) > 0;
      }
      this.#leave(waiting, false);
      return true;
    });
    this.#taken = taken;
    return {
      runs: taken.map(({ team, run }) => ({ team, run })),
      isEmpty: isRead && taken.length === 0 && this.#finished.length === 0,
      ack: (again = []) => this.#ack(again),
    };
  }

  async #ack(again: readonly PendingRun[]): Promise<void> {
    const failed = new Set(again.map(({ team, run }) => pendingName(team, run)));
    // With work left, the next update of runs deletes the rows.
    const isLater = this.#taken.length > 0;
    for (const waiting of this.#taken) this.#leave(waiting, failed.has(waiting.name));
    this.#taken = [];
    if (isLater && this.#finished.length < DELETES_PER_COMMIT) return;
    while (this.#finished.length > 0) {
      await this.#store.writer.commit({ deletes: this.takeFinished(DELETES_PER_COMMIT) });
    }
  }

  /**
   * Returns the keys of rows to delete: all of their runs are finished. A row that is not deleted is
   * read again.
   */
  takeFinished(max: number): Deno.KvKey[] {
    const keys = this.#finished.splice(0, max);
    for (const key of keys) this.#queuedRows.delete(nameOf(key));
    return keys;
  }

  /** Removes a run from the queue. The rows of a failed run are kept and read again. */
  #leave({ team, name, rows }: QueuedRun, hasFailed: boolean): void {
    this.#runs.delete(name);
    this.#count(team, -1 - rows.length);
    if (hasFailed) this.#backoff.add(name);
    else this.#backoff.done(name);
    for (const row of rows) {
      if (hasFailed) {
        row.left = Infinity;
        this.#queuedRows.delete(nameOf(row.key));
      } else if (--row.left === 0) this.#finished.push(row.key);
    }
  }

  /** Fills the queue; returns true if no other runs are pending. */
  async #read(runsMax: number): Promise<boolean> {
    if (this.#ahead === null) this.#hasMet = false;
    let from: string | null = null;
    if (this.#isFirstRead) {
      // An earlier process wrote the last row, perhaps by a clock that was ahead.
      const range = { prefix: keys.pendingLane(this.#lane) };
      const [last] = await listRows(this.#store, range, { limit: 1, reverse: true });
      if (last !== undefined) this.#store.heads.noteForeign(nameOf(last.key));
      this.#isFirstRead = false;
    }
    if (this.#waiting.size < runsMax) {
      // Rows that are written during the read have later names.
      const nowName = newRowName();
      const oldest = await this.#readRows(null, READ_MAX.oldest, runsMax);
      this.oldest = oldest.first ?? nowName;
      if (oldest.isEnd) {
        this.#ahead = null;
        return true;
      }
      from = oldest.last;
    }
    if (this.#ahead !== null && (from === null || this.#ahead > from)) from = this.#ahead;
    const { last, isEnd } = await this.#readRows(from, READ_MAX.ahead);
    this.#ahead = last;
    if (!isEnd) return false;
    // At the end, start a new pass only when runs run short or after a number of turns.
    const isOver = this.#waiting.size < runsMax || ++this.#turnsAtEnd >= TURNS_PER_PASS;
    if (isOver) [this.#ahead, this.#turnsAtEnd] = [null, 0];
    return !this.#hasMet;
  }

  /**
   * Reads rows after a row until `runsMax` runs are queued.
   *
   * @returns names of the first and the last row that were read
   */
  async #readRows(
    after: string | null,
    max: { readonly rows: number; readonly chars: number },
    runsMax = Infinity,
  ) {
    const prefix = keys.pendingLane(this.#lane);
    let first: string | null = null;
    let last = after;
    for (let rows = 0, chars = 0; rows < max.rows && chars < max.chars;) {
      const range = last === null ? { prefix } : { prefix, start: [...prefix, `${last}\0`] };
      const limit = Math.min(this.#rowsPerRead, max.rows - rows);
      const read = await listRows(this.#store, range, { limit });
      for (const row of read) {
        first ??= nameOf(row.key);
        if (this.#waiting.size >= runsMax) return { first, last, isEnd: false };
        this.#add(row);
        last = nameOf(row.key);
        if (typeof row.value === "string") chars += row.value.length;
      }
      if (read.length < limit) return { first, last, isEnd: true };
      rows += read.length;
    }
    return { first, last, isEnd: false };
  }

  /** Queues the runs of a row, as far as slots are free. */
  #add({ key, value, versionstamp }: Deno.KvEntry<unknown>): void {
    if (this.#queuedRows.has(nameOf(key))) return;
    // The commit that changed the run wrote the row, so both have one version.
    const names = new Set(
      decodePending(value).filter((name) => !this.#isKnown(name, versionstamp)),
    );
    const queued: string[] = [];
    let isComplete = true;
    for (const name of names) {
      const isPaused = this.#backoff.has(name);
      if (!isPaused) this.#hasMet = true;
      if (isPaused || !this.#hasPlaces(parsePendingName(name).team)) isComplete = false;
      else queued.push(name);
    }
    // A row with a run that got no slot is read again later.
    const row: Row | null = isComplete ? { key, left: queued.length } : null;
    const isSparse = typeof value === "string" && value.length > CHARS_PER_NAME_MAX * queued.length;
    for (const name of queued) {
      // A slice of its row would keep the complete row in memory.
      this.#push(isSparse ? name.split("").join("") : name, versionstamp, row);
    }
    if (row === null) return;
    this.#queuedRows.add(nameOf(key));
    if (row.left === 0) this.#finished.push(row.key);
  }

  #push(name: string, version: string, row: Row | null): void {
    const { team, run } = parsePendingName(name);
    const rows = row === null ? [] : [row];
    const known = this.#runs.get(name);
    this.#count(team, rows.length + (known === undefined ? 1 : 0));
    if (known !== undefined) {
      if (version > known.version) known.version = version;
      known.rows.push(...rows);
      return;
    }
    const waiting = { team, run, name, version, rows };
    this.#runs.set(name, waiting);
    this.#waiting.push(team, waiting);
  }

  /** Lowers a team's maximum as slots fill up, which leaves slots for teams without any. */
  #hasPlaces(team: TeamId): boolean {
    const free = this.#placesMax - this.#allPlaces;
    return (this.#places.get(team) ?? 0) < Math.min(TEAM_PLACES_MAX, free >> 2);
  }

  #count(team: TeamId, places: number): void {
    this.#allPlaces += places;
    const teamPlaces = (this.#places.get(team) ?? 0) + places;
    if (teamPlaces > 0) this.#places.set(team, teamPlaces);
    else this.#places.delete(team);
  }
}

function nameOf(key: Deno.KvKey): string {
  return keyParts.id(key);
}

/** Maximum jobs with a remembered position. */
const JOBS_MAX = 1_000;

/** Run heads per read. */
const HEADS_PER_READ = 40;

/** Lets jobs wait until the runs stored before them are in their team's indexes. */
export class PendingWaits {
  readonly #store: Store;
  /** First mark by job that may still be awaited; earlier ones are done. */
  readonly #places = createEntryCache<string, Deno.KvKey>(JOBS_MAX);

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Returns whether no mark is awaited any more. Only the team's own runs that are not up to date
   * count: a mark may wait for a run of another team.
   *
   * @param version version of the job's creation; later marks do not count. Marks are not compared
   *   by name, because a clock that was set back sorts them elsewhere
   */
  async areOver(job: string, team: TeamId, version: string): Promise<boolean> {
    const prefix = keys.pendingMarks();
    const start = this.#places.get(job);
    const range = start === undefined ? { prefix } : { prefix, start };
    for await (const { key, value, versionstamp } of eachRow(this.#store, range)) {
      // Marks set from now on have a later version, so this position stays valid.
      this.#places.set(job, key);
      if (versionstamp < version && await this.#isAwaited(team, value)) return false;
    }
    this.#places.delete(job);
    return true;
  }

  async #isAwaited(team: TeamId, mark: unknown): Promise<boolean> {
    const runs = decodePending(mark).map(parsePendingName).filter((run) => run.team === team);
    const ids: RunId[] = [...new Set(runs.map(({ run }) => run))];
    for (const group of groupsOf(ids, HEADS_PER_READ)) {
      const heads = await readHeads({ store: this.#store, team }, group);
      if (heads.some(({ head, summary }) => isStored(head) && !isCurrent(summary, head))) {
        return true;
      }
    }
    return false;
  }
}

/** Pending work of one type. */
export interface PendingWork {
  readonly count: number;
  /** Start of the oldest run's wait, or due time of the first stage; unix milliseconds or null. */
  readonly oldestMs: number | null;
}

/** Pending work of the worker. */
export interface Backlog {
  /** Runs to aggregate, by lane; a run that changed several times counts each time. */
  readonly runs: Readonly<Record<PendingLane, PendingWork>>;
  /** Waiting stages; the oldest by due time. */
  readonly stages: PendingWork;
}

/**
 * Counts pending work. It reads every mark, so the time is proportional to their number.
 *
 * @param rowsMax maximum rows counted per type; the oldest is always included
 */
export async function readBacklog(store: Store, rowsMax = Infinity): Promise<Backlog> {
  const countLane = (lane: PendingLane) =>
    countWork(
      keys.pendingLane(lane),
      ({ value }) => decodePending(String(value)).length, // Names of marks begin with their creation time.
      ({ key }) => decodeTime(keyParts.id(key)),
    );
  const countWork = async (
    prefix: Deno.KvKey,
    countOf: (row: Deno.KvEntry<unknown>) => number,
    timeOf: (row: Deno.KvEntry<unknown>) => number,
  ): Promise<PendingWork> => {
    let [count, rows] = [0, 0];
    let oldestMs: number | null = null;
    for await (const row of eachRow(store, { prefix })) {
      count += countOf(row);
      oldestMs ??= timeOf(row);
      if (++rows >= rowsMax) break;
    }
    return { count, oldestMs };
  };
  return {
    runs: { closed: await countLane("closed"), open: await countLane("open") },
    stages: await countWork(keys.work("run"), () => 1, ({ key }) => keyParts.work(key).at),
  };
}
