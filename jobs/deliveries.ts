/**
 * Sends deliveries: messages about incidents, to the channels of teams.
 *
 * It has a loop of its own, so no receiver holds up runs. The due index tells which channels
 * have something to send; each channel has one try at a time. Channels that are slow or fail share
 * half of the slots, and so do the channels of one team.
 */
import type { OpenedChannelSettings } from "../domain/channels/channel.ts";
import type { Claim, DeliveryQueue, DueChannel, ReportClaim } from "../domain/channels/queue.ts";
import type { Sender, SendResult } from "../domain/channels/sender.ts";
import type { Channel } from "../domain/channels/store.ts";
import { StorageUnavailable } from "../domain/core/errors.ts";
import type { TeamId } from "../domain/core/ids.ts";
import type { Mailer } from "../domain/core/mail.ts";
import type { Team } from "../domain/teams/team.ts";
import { endsWithin } from "../runtime/deadlines.ts";
import { FAILURE_PAUSE_MS, type JobDeps, jobLine, Loop } from "../runtime/loop.ts";

export interface DeliveryDeps extends JobDeps {
  readonly queue: DeliveryQueue;
  readonly sender: Sender;
  /** Opens the secrets of a channel, to send; null if a key is missing. */
  readonly open: (team: Team, channel: Channel) => Promise<OpenedChannelSettings | null>;
  /** Sends reports to owners; null without a mail server. */
  readonly mailer: Mailer | null;
}

/** Channels that are tried at once, and those of one team or that are slow. */
const SLOTS = { max: 10, team: 5, slow: 5 } as const;

/** Milliseconds between looks at the due index. */
const LOOK_MS = 250;

/** Milliseconds until a channel without a slot is looked at again. */
const NO_SLOT_MS = { team: 1_000, slow: 5_000 } as const;

/** Times that the result of a try is stored, because the messages are sent again otherwise. */
const SETTLE_ATTEMPTS = 5;

/** Maximum milliseconds that shutdown waits for tries in progress. */
const STOP_MS = 2_000;

/** A channel under way. */
interface Slot {
  readonly team: TeamId;
  /** True until the look finds that it is not. */
  isSlow: boolean;
}

/** Background job that sends deliveries. Stop it before the store closes. */
export class DeliveryJob {
  readonly #deps: DeliveryDeps;
  readonly #loop: Loop;
  readonly #stopping = new AbortController();
  /** Channels under way, by team and slug. */
  readonly #slots = new Map<string, Slot>();
  /** Resolves once a channel leaves its slot. */
  #freed = Promise.withResolvers<void>();

  /** Creates a job; `start` runs it. */
  constructor(deps: DeliveryDeps) {
    this.#deps = deps;
    this.#loop = new Loop(() => this.#step(), (error) => {
      this.#logFailure(error);
      return FAILURE_PAUSE_MS;
    }, deps.turn);
  }

  start(): void {
    void this.#loop.start();
  }

  /** Resolves once everything that is due was tried. */
  idle(): Promise<void> {
    return this.#loop.idle();
  }

  /** Finishes the tries in progress, within a short limit, and stops. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#stopping.abort(), STOP_MS);
    await this.#loop.stop();
    while (this.#slots.size > 0) await this.#freed.promise;
    clearTimeout(timer);
  }

  async #step(): Promise<void> {
    const hasStarted = this.#slots.size < SLOTS.max && await this.#startDue();
    if (hasStarted) return;
    if (this.#slots.size === 0) return await this.#loop.wait(LOOK_MS);
    await endsWithin(LOOK_MS, this.#freed.promise);
  }

  /** Starts what is due and has a slot; returns false if nothing was started. */
  async #startDue(): Promise<boolean> {
    const { queue, now } = this.#deps;
    const nextMs = await queue.nextDueMs();
    if (nextMs === null || nextMs > now()) return false;
    const before = this.#slots.size;
    for (const due of await queue.due(now(), SLOTS.max * 2)) {
      if (this.#slots.size >= SLOTS.max) break;
      const name = `${due.team} ${due.channel}`;
      if (this.#slots.has(name)) continue;
      const ofTeam = [...this.#slots.values()].filter(({ team }) => team === due.team);
      if (ofTeam.length >= SLOTS.team) {
        await queue.postpone(due, now() + NO_SLOT_MS.team);
        continue;
      }
      void this.#take(name, due);
    }
    return this.#slots.size > before;
  }

  /** Works on a channel in a slot of its own. Never rejects. */
  async #take(name: string, due: DueChannel): Promise<void> {
    const slot: Slot = { team: due.team, isSlow: true };
    this.#slots.set(name, slot);
    try {
      await this.#work(due, slot);
    } catch (error) {
      this.#logFailure(error);
      // The channel is still due: without a pause it would be taken again at once.
      if (!this.#loop.isStopped) await pause(FAILURE_PAUSE_MS);
    } finally {
      this.#slots.delete(name);
      this.#freed.resolve();
      this.#freed = Promise.withResolvers();
    }
  }

  async #work(due: DueChannel, slot: Slot): Promise<void> {
    const { queue, now } = this.#deps;
    const slow = [...this.#slots.values()].filter((other) => other !== slot && other.isSlow).length;
    const look = await queue.look(due, now(), slow < SLOTS.slow);
    if (look.kind === "slow") await queue.postpone(due, now() + NO_SLOT_MS.slow);
    if (look.kind === "report") await this.#report(look.claim);
    if (look.kind === "try") {
      slot.isSlow = look.isSlow;
      await this.#try(look.claim);
    }
  }

  /** Sends the messages of a claimed try and stores the result. */
  async #try(claim: Claim): Promise<void> {
    const { queue, sender, open, now } = this.#deps;
    const { team, channel, deliveries: [first] } = claim;
    const settings = await open(team, channel);
    if (settings === null) return await queue.needSecret(claim, now());
    if (first === undefined || this.#loop.isStopped) return await queue.release(claim, now());
    const messages = claim.deliveries.map(({ message }) => message);
    const startMs = now();
    const { signal } = this.#stopping;
    const envelope = { team, settings, id: first.id, messages };
    const result = await sender.send(envelope, startMs, signal);
    // A cancelled try says nothing about the receiver: the next process repeats it.
    if (signal.aborted && result.verdict === "retry") return await queue.release(claim, now());
    await this.#settle(claim, startMs, result);
  }

  async #settle(claim: Claim, startMs: number, result: SendResult): Promise<void> {
    const { queue, now } = this.#deps;
    for (let attempt = 1;; attempt++) {
      try {
        return await queue.settle(claim, { startMs, endMs: now(), result });
      } catch (error) {
        if (!(error instanceof StorageUnavailable) || attempt === SETTLE_ATTEMPTS) throw error;
        await pause(FAILURE_PAUSE_MS);
      }
    }
  }

  /** Writes to the owner that a channel does not work. */
  async #report(claim: ReportClaim): Promise<void> {
    const { mailer, queue, now } = this.#deps;
    const { team, slug, report } = claim;
    const to = team.ownerEmail;
    this.#log({ team: team.id, channel: slug, report: report.reason });
    if (mailer === null || to === undefined) return await queue.settleReport(claim, true, now());
    const mail = {
      to: [to],
      messageId: `${slug}.${team.id}.${report.createdAt}@channels.runledger`,
      ...reportText(team.name, slug, report.reason),
    };
    const outcome = await mailer.send(mail, () => Promise.resolve(), this.#stopping.signal);
    if (outcome.kind === "failed") this.#log({ team: team.id, channel: slug }, outcome.error);
    await queue.settleReport(claim, outcome.kind !== "failed", now());
  }

  #logFailure(error: unknown): void {
    // The worker logs store failures.
    if (!(error instanceof StorageUnavailable)) this.#log({}, error);
  }

  #log(fields: Record<string, unknown>, error?: unknown): void {
    this.#deps.log(jobLine(this.#deps.now(), { delivery: "channels", ...fields }, error));
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Returns the text of a report. */
function reportText(teamName: string, slug: string, reason: string) {
  return {
    subject: `Runledger: channel ${slug} of team ${teamName} does not work`,
    text: [
      `The channel ${slug} of the team ${teamName} does not work: ${reason}.`,
      "",
      "No other default channel of the team works, so alerts may reach nobody.",
      "Correct the channel's settings, then send a test on its page: a test that succeeds makes",
      "the channel send again. Messages that wait are kept for 5 days, failed ones for 30.",
      "",
    ].join("\n"),
  };
}
