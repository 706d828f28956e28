/**
 * The dirty set: which runs changed since the pipeline last read them.
 *
 * Each commit names the runs it changed in one row of its own, for all of its writes together, so a
 * mark costs a write next to nothing. A row is never written again, so who has read all of its runs
 * deletes it without losing a mark set meanwhile: that is in a later row.
 *
 * Rows are in the order of time, and a row may name runs of several teams. So that teams take turns, the
 * queue of a lane reads further than the oldest rows and keeps some runs of each team in memory.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import type { PendingBatch, PendingLane, PendingRun } from "../../domain/runs/processing.ts";
import { decodePending, parsePendingName, pendingName } from "../writer/pending_mark.ts";
import { keys } from "../base/keys.ts";
import type { PutOff } from "../base/retry_later.ts";
import { listRows, type Store } from "../store.ts";
import { FairQueue } from "../writer/fair_queue.ts";

/** Rows read at once: each has one to some hundred names. */
const ROWS_PER_READ = 50;

/** Rows, and characters of them, that are read for a turn: the oldest, and further ahead. */
const READ_MAX = {
  oldest: { rows: 200, chars: 250_000 },
  ahead: { rows: 1_000, chars: 1_000_000 },
} as const;

/** Places of a team in the queue of a lane: each run takes one, and one for each row that names it. */
const TEAM_PLACES_MAX = 500;

/** Bytes of a place, and the part of the share for all else that the queue of a lane may take. */
const PLACE = { bytes: 300, part: 0.25 } as const;

/** Characters of a row for each of its names in the queue; of a longer row names are copied. */
const CHARS_PER_NAME_MAX = 128;

/** Turns after which rows that were read are read again: a slow clock may have put one between them. */
const TURNS_PER_PASS = 50;

/** Rows deleted in one commit. */
const DELETES_PER_COMMIT = 500;

/** A row whose runs are all in the queue. */
interface Row {
  readonly key: Deno.KvKey;
  /** Runs that are still to be read; Infinity once one of them is put off. */
  left: number;
}

/** A run in the queue. */
interface Waiting extends PendingRun {
  readonly name: string;
  /** The rows that are done with once it is. */
  readonly rows: Row[];
}

/** The runs of a lane, of which teams take turns. */
export class PendingQueue {
  readonly #store: Store;
  readonly #lane: PendingLane;
  readonly #isKnown: (name: string, version: string) => boolean;
  readonly #putOff: PutOff;
  readonly #placesMax: number;
  readonly #waiting = new FairQueue<Waiting>();
  /** The same by name, with those that were taken. */
  readonly #runs = new Map<string, Waiting>();
  /** Names of rows whose runs are all in the queue. */
  readonly #held = new Set<string>();
  readonly #places = new Map<string, number>();
  #allPlaces = 0;
  #taken: Waiting[] = [];
  /** Rows to delete: none of their runs needs to be read. */
  #finished: Row[] = [];
  /** The last row that was read ahead; null at the start of a pass. */
  #ahead: string | null = null;
  #turnsAtEnd = 0;
  /** Whether the pass under way met a run for the queue, also one that found no place. */
  #hasMet = false;

  /**
   * Creates an empty queue.
   *
   * @param isKnown whether a run was read since it had this version, and need not be again
   */
  constructor(
    store: Store,
    lane: PendingLane,
    putOff: PutOff,
    isKnown: (name: string, version: string) => boolean = () => false,
  ) {
    this.#store = store;
    this.#lane = lane;
    this.#putOff = putOff;
    this.#isKnown = isKnown;
    this.#placesMax = Math.floor(store.memory.bytesMax("other") * PLACE.part / PLACE.bytes);
    store.memory.register("other", () => this.#allPlaces * PLACE.bytes);
  }

  /** Takes runs of teams in turn. What was taken before and not settled is taken again. */
  async take(runsMax: number): Promise<PendingBatch> {
    for (const waiting of this.#taken.reverse()) {
      this.#waiting.push(waiting.team, waiting, "front");
    }
    this.#taken = [];
    const isRead = this.#finished.length < READ_MAX.ahead.rows && await this.#read(runsMax);
    const taken: Waiting[] = [];
    this.#waiting.take((waiting) => taken.length < runsMax && taken.push(waiting) > 0);
    this.#taken = taken;
    return {
      runs: taken.map(({ team, run }) => ({ team, run })),
      isEmpty: isRead && taken.length === 0 && this.#finished.length === 0,
      ack: (again = []) => this.#settle(again),
    };
  }

  async #settle(again: readonly PendingRun[]): Promise<void> {
    const failed = new Set(again.map(({ team, run }) => pendingName(team, run)));
    for (const waiting of this.#taken) this.#leave(waiting, failed.has(waiting.name));
    this.#taken = [];
    while (this.#finished.length > 0) {
      const rows = this.#finished.slice(0, DELETES_PER_COMMIT);
      await this.#store.writer.commit({ deletes: rows.map(({ key }) => key) });
      for (const { key } of rows) this.#held.delete(nameOf(key));
      this.#finished = this.#finished.slice(rows.length);
    }
  }

  /** Takes a run out of the queue. The rows of one that failed stay, and are read again. */
  #leave({ team, name, rows }: Waiting, hasFailed: boolean): void {
    this.#runs.delete(name);
    this.#count(team, -1 - rows.length);
    if (hasFailed) this.#putOff.add(name);
    else this.#putOff.done(name);
    for (const row of rows) {
      if (hasFailed) {
        row.left = Infinity;
        this.#held.delete(nameOf(row.key));
      } else if (--row.left === 0) this.#finished.push(row);
    }
  }

  /** Fills the queue; answers whether there is nothing else to be read. */
  async #read(runsMax: number): Promise<boolean> {
    if (this.#ahead === null) this.#hasMet = false;
    let from: string | null = null;
    if (this.#waiting.size < runsMax) {
      const oldest = await this.#readRows(null, READ_MAX.oldest, runsMax);
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
    // Who is at the end stays there as long as there is enough to do.
    const isOver = this.#waiting.size < runsMax || ++this.#turnsAtEnd >= TURNS_PER_PASS;
    if (isOver) [this.#ahead, this.#turnsAtEnd] = [null, 0];
    return !this.#hasMet;
  }

  /** Reads rows behind one; ends once so many runs wait. */
  async #readRows(
    after: string | null,
    max: { readonly rows: number; readonly chars: number },
    runsMax = Infinity,
  ): Promise<{ readonly last: string | null; readonly isEnd: boolean }> {
    const prefix = keys.pendingLane(this.#lane);
    let last = after;
    for (let rows = 0, chars = 0; rows < max.rows && chars < max.chars;) {
      const range = last === null ? { prefix } : { prefix, start: [...prefix, `${last}\0`] };
      const read = await listRows(this.#store, range, { limit: ROWS_PER_READ });
      for (const row of read) {
        if (this.#waiting.size >= runsMax) return { last, isEnd: false };
        this.#add(row);
        last = nameOf(row.key);
        if (typeof row.value === "string") chars += row.value.length;
      }
      if (read.length < ROWS_PER_READ) return { last, isEnd: true };
      rows += read.length;
    }
    return { last, isEnd: false };
  }

  /** Queues the runs that a row names, as far as there are places for them. */
  #add({ key, value, versionstamp }: Deno.KvEntry<unknown>): void {
    if (this.#held.has(nameOf(key))) return;
    // The row is of the very commit that changed the run.
    const names = new Set(
      decodePending(value).filter((name) => !this.#isKnown(name, versionstamp)),
    );
    const queued: { readonly name: string; readonly run: PendingRun }[] = [];
    let isWhole = true;
    for (const name of names) {
      const run = parsePendingName(name);
      const isPaused = this.#putOff.has(name);
      if (!isPaused) this.#hasMet = true;
      if (isPaused || !this.#hasPlaces(run.team)) isWhole = false;
      else queued.push({ name, run });
    }
    // A row with a run that has no place is read again when there is one.
    const row: Row | null = isWhole ? { key, left: queued.length } : null;
    const isSparse = typeof value === "string" && value.length > CHARS_PER_NAME_MAX * queued.length;
    for (const { name, run } of queued) {
      if (isSparse) this.#push(...copyOf(name), row);
      else this.#push(name, run, row);
    }
    if (row === null) return;
    this.#held.add(nameOf(key));
    if (row.left === 0) this.#finished.push(row);
  }

  #push(name: string, { team, run }: PendingRun, row: Row | null): void {
    let waiting = this.#runs.get(name);
    if (waiting === undefined) {
      waiting = { team, run, name, rows: [] };
      this.#runs.set(name, waiting);
      this.#waiting.push(team, waiting);
      this.#count(team, 1);
    }
    if (row === null) return;
    waiting.rows.push(row);
    this.#count(team, 1);
  }

  /** The less is free, the less a team may take: so there is room for a team that has nothing yet. */
  #hasPlaces(team: TeamId): boolean {
    const free = this.#placesMax - this.#allPlaces;
    return (this.#places.get(team) ?? 0) < Math.min(TEAM_PLACES_MAX, free >> 2);
  }

  #count(team: TeamId, places: number): void {
    this.#allPlaces += places;
    const left = (this.#places.get(team) ?? 0) + places;
    if (left > 0) this.#places.set(team, left);
    else this.#places.delete(team);
  }
}

/** Copies a name: as a slice of its row it would keep all of that in memory. */
function copyOf(name: string): [string, PendingRun] {
  const copy = name.split("").join("");
  return [copy, parsePendingName(copy)];
}

/** The name of a row. */
function nameOf(key: Deno.KvKey): string {
  return String(key.at(-1));
}
