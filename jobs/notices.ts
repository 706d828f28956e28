/**
 * Tells owners that a month's count has reached 80 % or 100 % of what is included (decision 41).
 *
 * It looks at teams whose runs were summed up, and at every team when it starts, since an earlier
 * process may have ended in between. It has a loop of its own: no mail server can keep the worker.
 */
import type { TeamId } from "../domain/core/ids.ts";
import { StorageUnavailable } from "../domain/core/errors.ts";
import {
  attempted,
  claimed,
  newNotice,
  type Notice,
  type NoticeName,
  type NoticeStore,
  type ReadNotice,
} from "../domain/teams/quota_notice.ts";
import { noticeText, percentsReached } from "../domain/teams/quota.ts";
import type { Mailer } from "../domain/core/mail.ts";
import { planOfTeam } from "../domain/teams/plans.ts";
import { monthOf } from "../domain/core/time.ts";
import { jobLine, Loop } from "./loop.ts";

/** What the job is built from. */
export interface NoticeDeps {
  readonly store: NoticeStore;
  /** Null where no mail server is set. */
  readonly mailer: Mailer | null;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Takes one line about what was told, or could not be. */
  readonly log: (line: string) => void;
}

/** Milliseconds between two looks at a team: a look costs a read, and nobody is in a hurry. */
const PAUSE_MS = 5_000;

/** Milliseconds without anything new after which it looks for tries that are due. */
const CLOCK_MS = 60_000;

/** Milliseconds after its end in which a month is looked at: its last events are counted in it. */
const LATE_MS = 3_600_000;

/** E-mails under way at once. */
const SENDS_AT_ONCE_MAX = 5;

/** Milliseconds that e-mails under way are given when the process stops. */
const STOP_MS = 2_000;

/** The job. Always stop it before the store closes. */
export class NoticeJob {
  readonly #deps: NoticeDeps;
  readonly #active = new Set<TeamId>();
  readonly #loop: Loop;
  readonly #stopping = new AbortController();
  #seenAll = false;

  /** Creates a job that does nothing yet. */
  constructor(deps: NoticeDeps) {
    this.#deps = deps;
    const failed = (error: unknown) => {
      // A store that fails is logged by the worker.
      if (!(error instanceof StorageUnavailable)) this.#log({}, error);
      return PAUSE_MS;
    };
    this.#loop = new Loop({ step: () => this.#step(failed), failed });
  }

  /** Begins to look. */
  start(): void {
    void this.#loop.start();
  }

  /** Says that a team may have used more. */
  updated(team: TeamId): void {
    this.#active.add(team);
    this.#loop.waker.wake();
  }

  /** Finishes what is under way, for a moment, and stops. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#stopping.abort(), STOP_MS);
    await this.#loop.stop();
    clearTimeout(timer);
  }

  /** Looks at the teams that were active, and sends what is due. */
  async round(): Promise<void> {
    await this.#findAll();
    for (const team of [...this.#active]) {
      if (this.#loop.isStopped) return;
      this.#active.delete(team);
      try {
        await this.#look(team);
      } catch (error) {
        this.#active.add(team);
        throw error;
      }
    }
    await this.#sendDue();
  }

  async #step(failed: (error: unknown) => void): Promise<void> {
    await this.round().catch(failed);
    await this.#loop.rest(PAUSE_MS);
    await this.#loop.wait(CLOCK_MS);
  }

  async #findAll(): Promise<void> {
    if (this.#seenAll) return;
    for await (const team of this.#deps.store.teams()) this.#active.add(team);
    this.#seenAll = true;
  }

  /** Decides which notices a team is due, once each. */
  async #look(id: TeamId): Promise<void> {
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
      const some = due.slice(at, at + SENDS_AT_ONCE_MAX);
      const ends = await Promise.allSettled(some.map((known) => this.#try(known)));
      const failed = ends.find((end) => end.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    }
  }

  async #try(known: ReadNotice): Promise<void> {
    const { store, now } = this.#deps;
    const to = (await store.team(known.notice.team))?.ownerEmail;
    const { mailer } = this.#deps;
    // A start without the settings may have followed.
    if (known.notice.state === "pending" && (mailer === null || to === undefined)) {
      return await this.#complete(known, { ...known.notice, state: "logged" });
    }
    let held = await store.change(known, claimed(known.notice, now()));
    // Another process was faster.
    if (held === null) return;
    if (held.notice.state === "unknown" || mailer === null || to === undefined) {
      return this.#logNotice(held.notice);
    }
    const { team, month, percent } = held.notice;
    const messageId = `${percent}.${month}.${team}@notices.runledger`;
    const mail = { to, messageId, ...noticeText(held.notice) };
    const outcome = await mailer.send(mail, async () => {
      const given: ReadNotice | null = held &&
        await store.change(held, { ...held.notice, state: "sending" });
      if (given === null) throw new Error("Another process has taken it");
      held = given;
    }, this.#stopping.signal);
    await this.#complete(held, attempted(held.notice, outcome, now()));
  }

  async #complete(known: ReadNotice, to: Notice): Promise<void> {
    if (await this.#deps.store.change(known, to) !== null) this.#logNotice(to);
  }

  #logNotice({ team, month, percent, state, used, included, attempts, error }: Notice): void {
    this.#log({ team, month, percent, state, used, included, attempts }, error ?? undefined);
  }

  #log(fields: Record<string, unknown>, error?: unknown): void {
    this.#deps.log(jobLine(this.#deps.now(), { notice: "quota", ...fields }, error));
  }
}
