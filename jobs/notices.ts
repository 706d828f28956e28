/**
 * Notifies owners that a month's usage has reached 80 % or 100 % of the included events (decision
 * 41).
 *
 * It checks teams whose runs were summarized. It also checks every team, because an earlier process
 * may have ended in between: at startup, or once an hour on a store whose instances start often. It
 * has a separate loop, so no mail server can block the worker.
 */
import type { TeamId } from "../domain/core/ids.ts";
import { StorageUnavailable } from "../domain/core/errors.ts";
import {
  attempted,
  claimed,
  newNotice,
  type Notice,
  type NoticeName,
  noticeText,
  percentsReached,
  type ReadNotice,
} from "../domain/teams/quota.ts";
import type { Mailer } from "../domain/core/mail.ts";
import { planOfTeam } from "../domain/teams/plans.ts";
import { monthOf } from "../domain/core/time.ts";
import { allDone, type JobDeps, jobLine, Loop } from "../runtime/loop.ts";
import type { NoticeStore } from "../kv/teams/usage.ts";

export interface NoticeDeps extends JobDeps {
  readonly store: NoticeStore;
  /** Null without a mail server. */
  readonly mailer: Mailer | null;
  /** True if other instances share the checks of all teams. */
  readonly isShared?: boolean;
}

/** Milliseconds between checks of a team: a check costs a read, and notices are not urgent. */
const PAUSE_MS = 5_000;

/** Milliseconds between checks for due retries while no team is active. */
const CLOCK_MS = 60_000;

/**
 * Milliseconds after the end of a month during which it is still checked, because its last events
 * are counted late.
 */
const LATE_MS = 3_600_000;

/** Milliseconds between checks of all teams by several instances. */
const CHECK_ALL_MS = LATE_MS;

/** Milliseconds between stored positions of such a check: a platform may stop the process. */
const POSITION_MS = 2_000;

/** Maximum emails sent concurrently. */
const SENDS_AT_ONCE_MAX = 5;

/** Maximum milliseconds that shutdown waits for emails in progress. */
const STOP_MS = 2_000;

/** Background job that creates and sends quota notices. Stop it before the store closes. */
export class NoticeJob {
  readonly #deps: NoticeDeps;
  readonly #active = new Set<TeamId>();
  readonly #loop: Loop;
  readonly #stopping = new AbortController();
  /** Time of the next check of all teams, unix milliseconds. */
  #checkAllAtMs = -Infinity;

  /** Creates a job; `start` runs it. */
  constructor(deps: NoticeDeps) {
    this.#deps = deps;
    const failed = (error: unknown) => {
      // The worker logs store failures.
      if (!(error instanceof StorageUnavailable)) this.#log({}, error);
      return PAUSE_MS;
    };
    this.#loop = new Loop(() => this.#step(failed), failed, deps.turn);
  }

  start(): void {
    void this.#loop.start();
  }

  /** Marks a team for a check, because its usage may have grown. */
  updated(team: TeamId): void {
    this.#active.add(team);
    this.#loop.waker.wake();
  }

  /** Resolves once the teams marked so far are checked, and each due notice was tried. */
  idle(): Promise<void> {
    return this.#loop.idle();
  }

  /** Finishes the work in progress, within a short limit, and stops. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#stopping.abort(), STOP_MS);
    await this.#loop.stop();
    clearTimeout(timer);
  }

  /** Checks the active teams, and sends due notices. */
  async round(): Promise<void> {
    if (this.#deps.now() >= this.#checkAllAtMs) await this.#checkAll();
    for (const team of [...this.#active]) {
      if (this.#loop.isStopped) return;
      this.#active.delete(team);
      try {
        await this.#check(team);
      } catch (error) {
        this.#active.add(team);
        throw error;
      }
    }
    await this.#sendDue();
  }

  async #step(failed: (error: unknown) => void): Promise<void> {
    await this.round().catch(failed);
    if (!this.#loop.isAwaited) await this.#loop.rest(PAUSE_MS);
    await this.#loop.wait(CLOCK_MS);
  }

  /** Checks all teams: once per process, or where another instance has stopped, if that is due. */
  async #checkAll(): Promise<void> {
    const { store, isShared = false, now } = this.#deps;
    const last = isShared ? await store.lastCheck() : null;
    let check = last;
    if (check === null || check.isDone && now() >= check.startedAt + CHECK_ALL_MS) {
      check = { startedAt: now(), isDone: false };
    }
    let savedAt = now();
    for await (const team of check.isDone ? [] : store.teams(check.lastTeam ?? null)) {
      if (this.#loop.isStopped) return;
      await this.#check(team);
      check = { ...check, lastTeam: team };
      if (!isShared || now() - savedAt < POSITION_MS) continue;
      await store.saveCheck(check);
      savedAt = now();
    }
    if (isShared && !check.isDone) await store.saveCheck({ ...check, isDone: true });
    this.#checkAllAtMs = isShared ? check.startedAt + CHECK_ALL_MS : Infinity;
  }

  /** Creates the notices a team is due, each once. */
  async #check(id: TeamId): Promise<void> {
    const { store, mailer, now } = this.#deps;
    const team = await store.team(id);
    if (team === null) return;
    const included = planOfTeam(team).eventsPerMonth;
    const nowMs = now();
    for (const month of new Set([monthOf(nowMs - LATE_MS), monthOf(nowMs)])) {
      const used = await store.used(id, month);
      for (const percent of percentsReached(used, included)) {
        const name: NoticeName = { team: id, month, percent };
        if (await store.has(name)) continue;
        const canSend = mailer !== null && team.ownerEmail !== undefined;
        const facts = { teamName: team.name, month, percent, used, included };
        const notice = newNotice(name, facts, canSend, nowMs);
        if (await store.add(notice) && !canSend) this.#logNotice(notice);
      }
    }
  }

  async #sendDue(): Promise<void> {
    const { store, now } = this.#deps;
    const due = (await store.open()).filter(({ notice }) => notice.dueMs <= now());
    for (let at = 0; at < due.length && !this.#loop.isStopped; at += SENDS_AT_ONCE_MAX) {
      const batch = due.slice(at, at + SENDS_AT_ONCE_MAX);
      await allDone(batch.map((stored) => this.#attempt(stored)));
    }
  }

  async #attempt(stored: ReadNotice): Promise<void> {
    const { store, now } = this.#deps;
    const to = (await store.team(stored.notice.team))?.ownerEmail;
    const { mailer } = this.#deps;
    // The service may have restarted without a mail server or an owner address.
    if (stored.notice.state === "pending" && (mailer === null || to === undefined)) {
      return await this.#complete(stored, { ...stored.notice, state: "logged" });
    }
    let current = await store.change(stored, claimed(stored.notice, now()));
    // Another process claimed it first.
    if (current === null) return;
    if (current.notice.state === "unknown" || mailer === null || to === undefined) {
      return this.#logNotice(current.notice);
    }
    const { team, month, percent } = current.notice;
    const messageId = `${percent}.${month}.${team}@notices.runledger`;
    const mail = { to: [to], messageId, ...noticeText(current.notice) };
    const outcome = await mailer.send(mail, async () => {
      const sending: ReadNotice | null = current &&
        await store.change(current, { ...current.notice, state: "sending" });
      if (sending === null) throw new Error("Another process has claimed the notice");
      current = sending;
    }, this.#stopping.signal);
    await this.#complete(current, attempted(current.notice, outcome, now()));
  }

  async #complete(stored: ReadNotice, to: Notice): Promise<void> {
    if (await this.#deps.store.change(stored, to) !== null) this.#logNotice(to);
  }

  #logNotice({ team, month, percent, state, used, included, attempts, error }: Notice): void {
    this.#log({ team, month, percent, state, used, included, attempts }, error ?? undefined);
  }

  #log(fields: Record<string, unknown>, error?: unknown): void {
    this.#deps.log(jobLine(this.#deps.now(), { notice: "quota", ...fields }, error));
  }
}
