/** Quota notices of one team, with a real mail server and a clock that the test moves. */
import type { Team } from "../../../domain/teams/team.ts";
import type { NoticeState } from "../../../domain/teams/quota.ts";
import type { Mailer } from "../../../domain/core/mail.ts";
import { NoticeJob } from "../../../jobs/notices.ts";
import { keys } from "../../../kv/base/keys.ts";
import { createNoticeStore, createUsageStore, type NoticeStore } from "../../../kv/teams/usage.ts";
import { createMailer } from "../../../outbound/mail.ts";
import { NOON } from "./harness.ts";
import { SENDER, SmtpSink } from "../fakes/smtp.ts";
import { TempStore } from "./temp_store.ts";
import { insertTeam } from "../builders/teams.ts";

/** The month of {@link NOON}. */
export const MONTH = "2026-11";

/** A team on the free plan with an owner, a mail server, and any number of jobs. */
export class NoticesHarness implements AsyncDisposable {
  nowMs = NOON;
  readonly log: string[] = [];
  team!: Team;
  #temp!: TempStore;
  sink!: SmtpSink;

  static async open(login?: { user: string; pass: string }): Promise<NoticesHarness> {
    const bench = new NoticesHarness();
    bench.#temp = await TempStore.open();
    bench.sink = await SmtpSink.start(login === undefined ? {} : { login });
    const team = await insertTeam(bench.#temp.store, "free", "Ships");
    bench.team = { ...team, ownerEmail: "owner@example.org" };
    await bench.#temp.store.writer.commit({
      sets: [{ key: keys.team(team.id), value: bench.team }],
    });
    return bench;
  }

  get store(): NoticeStore {
    return createNoticeStore(this.#temp.store);
  }

  job(
    mailer: Mailer | null = createMailer(this.sink.url, SENDER),
    store = this.store,
    isShared = false,
  ): NoticeJob {
    const log = (line: string) => void this.log.push(line);
    return new NoticeJob({ store, mailer, isShared, now: () => this.nowMs, log });
  }

  async count(by: number, month = MONTH): Promise<void> {
    const sums = [{ key: keys.usage(this.team.id, month), by: BigInt(by) }];
    await this.#temp.store.writer.commit({ sums });
  }

  async forgetOwner(): Promise<void> {
    const { ownerEmail: _, ...value } = this.team;
    await this.#temp.store.writer.commit({ sets: [{ key: keys.team(value.id), value }] });
  }

  async states(month = MONTH): Promise<[number, NoticeState][]> {
    const notices = await createUsageStore(this.#temp.store).notices(this.team.id, month);
    return notices.map(({ percent, state }) => [percent, state]);
  }

  get subjects(): string[] {
    return this.sink.received.map(({ subject }) => subject.replace(/.*reached /, "")).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sink[Symbol.asyncDispose]();
    await this.#temp[Symbol.asyncDispose]();
  }
}
