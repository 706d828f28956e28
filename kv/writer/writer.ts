/**
 * Group commit: the only path for writes.
 *
 * The embedded store gives every atomic operation its own transaction and its own sync to disk. The
 * writer merges the writes that queue up during a commit into the next one. They share the cost of
 * a sync, and each caller still gets its response only after its data is on disk. A write that
 * arrives while few commits are in flight is committed immediately: while none is, on a file. One
 * more commit begins when it is full, when its oldest write has waited for a part of a commit's usual
 * time, or when another one ends.
 *
 * A commit that leaves work wakes the loops of its own process at once, and rings the bell: a message
 * in the runtime's queue. Rows are the truth: a lost message costs time only, and without a bell the
 * loops search for work by themselves.
 *
 * @module
 */
import type { Deadlines, Wait } from "../../runtime/deadlines.ts";
import { Overloaded, StorageUnavailable } from "../../domain/core/errors.ts";
import type { Memory } from "../../runtime/memory.ts";
import {
  COMMIT_WAIT,
  GET_MANY_KEYS_MAX,
  QUEUE,
  QUEUE_TEAM_PART,
  type WriteSize,
} from "../base/limits.ts";
import { groupsOf } from "../base/reads.ts";
import { COMMIT_ATTEMPTS_MAX } from "../base/retry.ts";
import {
  type CommitDeps,
  Commits,
  Group,
  keyText,
  sizeOf,
  type Write,
  WriterMetrics,
} from "./group.ts";
import { FairQueue } from "../../runtime/fair_slots.ts";

/** A queued or in-flight write. */
interface Pending {
  readonly write: Write;
  readonly size: WriteSize;
  /** Checked keys as text. */
  readonly keys: readonly string[];
  /** Writes that check one of its keys and wait until it has settled. */
  readonly waiters: Pending[];
  readonly resolve: (version: string | null) => void;
  readonly reject: (error: Error) => void;
  readonly wait: Wait | undefined;
  /** Write that holds one of its keys; null once it holds all of them. */
  holder: Pending | null;
  /** True while a commit may store it. */
  isSent: boolean;
  /** Number of its commits that conflicted. */
  lost: number;
  /** End of the write for a caller that timed out after a commit was sent. */
  late?: PromiseWithResolvers<void>;
}

/** Dependencies of a writer. */
export interface WriterDeps extends CommitDeps {
  /** Handle for reads; on a separate handle, reads never wait for commits. */
  readonly reader: Deno.Kv;
  /** Deadlines of callers; null to wait without a limit. */
  readonly deadlines: Deadlines | null;
  /** Raised when a commit leaves work for the worker. */
  readonly workerSignal: WorkerSignal;
  /** Memory budget of caches and queues. */
  readonly memory: Memory;
}

/** Part of the latest commit in the usual time of one. */
const NEW_TIME_PART = 1 / 8;

/** Commits writes. */
export type Writer = Pick<GroupWriter, keyof GroupWriter>;

/** The writer of a store. */
export class GroupWriter {
  readonly #deps: WriterDeps;
  readonly #queue = new FairQueue<Pending>();
  /** Holder of each checked key: two writes of one key never share a commit or run concurrently. */
  readonly #holders = new Map<string, Pending>();
  readonly #bytesMax: number;
  #queuedBytes = 0;
  /** Bytes of each team's writes. */
  readonly #teamBytes = new Map<string, number>();
  #pendingWrites = 0;
  #inFlight = 0;
  #cutting = false;
  /** Time since which the oldest queued write waits, at least. */
  #oldestMs = 0;
  #commitMs = 0;
  #wait: ReturnType<typeof setTimeout> | undefined;
  #idle: PromiseWithResolvers<void> | null = null;
  readonly #commits: Commits;
  readonly metrics: WriterMetrics = new WriterMetrics();

  constructor(deps: WriterDeps) {
    this.#deps = deps;
    this.#commits = new Commits(deps);
    this.#bytesMax = deps.memory.bytesMax("writes");
    deps.memory.register("writes", () => this.#queuedBytes);
  }

  /**
   * Commits one write.
   *
   * @returns the new version of the keys, or `null` on a conflict; nothing is stored then
   * @throws {StorageUnavailable} when the store failed; whether the write happened is unknown. After
   * the deadline it may still happen until the error's `ended` resolves; without `ended` it never does
   * @throws {Overloaded} when the queue is full; nothing is stored
   */
  commit(write: Write): Promise<string | null> {
    const size = sizeOf(write);
    const team = write.team ?? "";
    const teamBytes = (this.#teamBytes.get(team) ?? 0) + size.bytes;
    const isFull = this.#pendingWrites >= QUEUE.writesMax ||
      this.#queue.sizeOf(team) >= QUEUE.teamWritesMax ||
      this.#queuedBytes + size.bytes > this.#bytesMax ||
      teamBytes > this.#bytesMax * QUEUE_TEAM_PART;
    if (isFull) return Promise.reject(new Overloaded("Too many writes are waiting for the disk"));
    const { promise, resolve, reject } = Promise.withResolvers<string | null>();
    const keys = (write.checks ?? []).map(({ key }) => keyText(key));
    const wait = this.#deps.deadlines?.watch(() => this.#expire(pending));
    const pending: Pending = {
      ...{ write, size, keys, waiters: [], resolve, reject, wait },
      ...{ holder: null, isSent: false, lost: 0 },
    };
    this.#pendingWrites++;
    this.#queuedBytes += size.bytes;
    this.#teamBytes.set(team, teamBytes);
    this.#enter(pending);
    return promise;
  }

  /** Number of queued and in-flight writes. */
  get pendingWrites(): number {
    return this.#pendingWrites;
  }

  /** Usual milliseconds of a commit. */
  get commitMs(): number {
    return this.#commitMs;
  }

  /** Resolves once no write is queued or in flight. */
  idle(): Promise<void> {
    if (this.#pendingWrites === 0) return Promise.resolve();
    this.#idle ??= Promise.withResolvers<void>();
    return this.#idle.promise;
  }

  /**
   * Ends a write at its caller's deadline. One that no commit was sent for is never stored: it would
   * only delay writes whose callers still wait.
   */
  #expire(pending: Pending): void {
    const message = "The store did not answer in time";
    if (pending.isSent) {
      this.metrics.isFailing = true;
      pending.late = Promise.withResolvers();
      return pending.reject(new StorageUnavailable(message, { ended: pending.late.promise }));
    }
    if (pending.holder === null) this.#queue.remove(pending.write.team ?? "", pending);
    else pending.holder.waiters.splice(pending.holder.waiters.indexOf(pending), 1);
    this.#fail(pending, new StorageUnavailable(message));
  }

  /** Locks a write's keys and queues it, or makes it wait for the holder of one of them. */
  #enter(pending: Pending): void {
    for (const key of pending.keys) {
      pending.holder = this.#holders.get(key) ?? null;
      if (pending.holder !== null) return void pending.holder.waiters.push(pending);
    }
    for (const key of pending.keys) this.#holders.set(key, pending);
    if (this.#queue.size === 0) this.#oldestMs = performance.now();
    this.#queue.push(pending.write.team ?? "", pending);
    this.#scheduleCut();
  }

  /** Schedules a commit after all writes of this turn of the event loop are queued. */
  #scheduleCut(): void {
    if (this.#cutting || this.#inFlight >= this.#deps.limits.inFlightMax) return;
    this.#cutting = true;
    queueMicrotask(() => {
      this.#cutting = false;
      this.#cut();
    });
  }

  /** @param isVerified true right after a commit that verified the ledger's files */
  #cut(isVerified = false): void {
    const { limits } = this.#deps;
    while (this.#queue.size > 0 && this.#inFlight < limits.inFlightMax && !this.#mustWait()) {
      const group = new Group<Pending>(limits);
      this.#queue.take((pending) => pending.isSent = group.add(pending));
      const startMs = this.#oldestMs = performance.now();
      this.#inFlight++;
      this.#commitGroup(group, isVerified).then((isVerified) => {
        this.#inFlight--;
        this.#commitMs += (performance.now() - startMs - this.#commitMs) * NEW_TIME_PART;
        this.#cut(isVerified);
      });
      isVerified = false;
    }
  }

  /** Returns whether the next commit is to wait for more writes; then it begins later. */
  #mustWait(): boolean {
    const { checks, atOnce, inFlightMax } = this.#deps.limits;
    // Most writes have one check.
    const isFull = this.#queue.size >= checks;
    if (this.#inFlight < atOnce || isFull) return false;
    const spreadMs = Math.max(COMMIT_WAIT.ms, this.#commitMs / inFlightMax);
    const waitMs = Math.min(this.#commitMs * COMMIT_WAIT.part, spreadMs);
    const leftMs = this.#oldestMs + waitMs - performance.now();
    if (leftMs <= 0) return false;
    this.#wait ??= setTimeout(() => {
      this.#wait = undefined;
      this.#cut();
    }, leftMs);
    return true;
  }

  /** Returns whether the ledger's files were in place at the end. */
  async #commitGroup(group: Group<Pending>, isVerified: boolean): Promise<boolean> {
    try {
      const version = await this.metrics.counted(
        group.members.length,
        () => this.#commits.commit(group, isVerified),
      );
      if (version === null) return await this.#sortOut(group.members);
      if (group.hasMarks) this.#deps.workerSignal.raise(group.hasCalls);
      if (group.hasWork) this.#deps.workerSignal.raiseWork();
      for (const pending of group.members) this.#resolve(pending, version);
      return true;
    } catch (error) {
      // The outcome is unknown for every write in the group.
      const message = error instanceof Error ? error.message : String(error);
      const failure = new StorageUnavailable(`Cannot commit: ${message}`, { cause: error });
      for (const pending of group.members) this.#fail(pending, failure);
      return false;
    }
  }

  /**
   * Finds the stale writes, because a commit does not report which check failed. Stale writes
   * return a conflict; the others are committed again at once, without further writes that may be
   * stale too, unless their callers timed out meanwhile.
   */
  async #sortOut(members: readonly Pending[]): Promise<boolean> {
    const versions = await this.#versionsOf(members);
    const group = new Group<Pending>(this.#deps.limits);
    for (const pending of members) {
      const stale = pending.write.checks?.some(({ versionstamp }, i) =>
        versions.get(pending.keys[i] ?? "") !== versionstamp
      );
      if (stale) this.#resolve(pending, null);
      else if (pending.late !== undefined || ++pending.lost >= COMMIT_ATTEMPTS_MAX) {
        this.#fail(
          pending,
          new StorageUnavailable("Cannot commit: every attempt conflicted with another write"),
        );
      } else group.add(pending);
    }
    return group.members.length > 0 && await this.#commitGroup(group, false);
  }

  async #versionsOf(members: readonly Pending[]): Promise<Map<string, string | null>> {
    const keys = members.flatMap(({ write }) => (write.checks ?? []).map(({ key }) => key));
    const reads = groupsOf(keys, GET_MANY_KEYS_MAX).map((group) =>
      this.#deps.reader.getMany(group)
    );
    const entries = (await Promise.all(reads)).flat();
    return new Map(entries.map(({ key, versionstamp }) => [keyText(key), versionstamp]));
  }

  #resolve(pending: Pending, version: string | null): void {
    this.#leave(pending);
    pending.resolve(version);
    for (const waiter of pending.waiters) {
      // The keys just changed and the waiter expects an older version: conflict without a commit.
      const stale = version !== null && waiter.keys.some((key) => pending.keys.includes(key));
      if (stale) this.#resolve(waiter, null);
      else this.#enter(waiter);
    }
  }

  #fail(pending: Pending, error: Error): void {
    this.#leave(pending);
    pending.reject(error);
    for (const waiter of pending.waiters) this.#enter(waiter);
  }

  #leave(pending: Pending): void {
    for (const key of pending.keys) {
      if (this.#holders.get(key) === pending) this.#holders.delete(key);
    }
    if (pending.wait !== undefined) this.#deps.deadlines?.done(pending.wait);
    pending.late?.resolve();
    this.#pendingWrites--;
    this.#queuedBytes -= pending.size.bytes;
    const team = pending.write.team ?? "";
    const teamBytes = (this.#teamBytes.get(team) ?? 0) - pending.size.bytes;
    if (teamBytes > 0) this.#teamBytes.set(team, teamBytes);
    else this.#teamBytes.delete(team);
    if (this.#pendingWrites > 0) return;
    clearTimeout(this.#wait);
    this.#wait = undefined;
    this.#idle?.resolve();
    this.#idle = null;
  }
}

/** Callbacks of a signal. */
export interface Wakes {
  /** Woken after a commit with pending marks. */
  readonly worker?: { wake(): void };
  /** Woken after a commit that filed work that may be due. */
  readonly work?: { wake(): void };
}

/** Signals the worker and the work loop. */
export class WorkerSignal {
  /** Null where the runtime has no queue of its own in memory. */
  readonly bell: Bell | null;
  #wakes: Wakes = {};
  /** Those whom the next ring of the bell wakes. */
  readonly #rung = new Set<keyof Wakes>();
  #raised = 0;

  /** Creates a signal that wakes nothing yet. */
  constructor(bell: Bell | null = null) {
    this.bell = bell;
  }

  /** Sets the callbacks; a ring of the bell calls those that it was rung for. */
  listen(wakes: Wakes): void {
    this.#wakes = wakes;
    this.bell?.listen(() => {
      const rung = [...this.#rung];
      this.#rung.clear();
      for (const name of rung) this.#wakes[name]?.wake();
    });
  }

  /** Number of commits with pending marks of calls; shows whether calls arrive. */
  get raised(): number {
    return this.#raised;
  }

  /**
   * Wakes the worker after a commit with pending marks is on disk.
   *
   * @param isCall false if all marks are of background work
   */
  raise(isCall = true): void {
    if (isCall) this.#raised++;
    this.#wake("worker");
  }

  /** Wakes the work loop after a commit with rows of the work queue is on disk. */
  raiseWork(): void {
    this.#wake("work");
  }

  #wake(name: keyof Wakes): void {
    this.#rung.add(name);
    this.bell?.ring();
    this.#wakes[name]?.wake();
  }
}

/** Wakes a listener some milliseconds after it is rung. */
export interface Bell {
  /** Rings it, unless an earlier ring has not arrived yet. */
  ring(): void;
  /** Sets the callback of its rings. */
  listen(wake: () => void): void;
  /** Ends it; nothing rings after that. */
  close(): void;
}

/**
 * Milliseconds until a message arrives, so that commits in this time share it: one takes 0.3 ms of
 * processor time. Those who have work are woken directly too.
 */
const RING_MS = 200;

/**
 * Opens a bell over a queue in memory. A queue in the ledger's file would end the process when the
 * disk is full.
 */
export async function openBell(): Promise<Bell> {
  const queue = await Deno.openKv(":memory:");
  let wake = () => {};
  let isRung = false;
  void queue.listenQueue(() => {
    isRung = false;
    wake();
  });
  return {
    ring() {
      if (isRung) return;
      isRung = true;
      queue.enqueue(null, { delay: RING_MS }).catch(() => isRung = false);
    },
    listen: (callback) => void (wake = callback),
    close: () => queue.close(),
  };
}
