/** Quota notices of one team, with a real mail server and a clock that the test moves. */
import type { Team } from "../../../domain/teams/team.ts";
import type { NoticeState } from "../../../domain/teams/quota.ts";
import type { Mailer } from "../../../domain/core/mail.ts";
import { WorkLoop } from "../../../jobs/work_loop.ts";
import { keys } from "../../../kv/base/keys.ts";
import type { OpenStore } from "../../../kv/open.ts";
import type { Store } from "../../../kv/store.ts";
import { createQuotaWork } from "../../../kv/teams/quota_work.ts";
import { createUsageStore } from "../../../kv/teams/usage.ts";
import { createWorkStore, workSet } from "../../../kv/work/store.ts";
import { createMailer } from "../../../outbound/mail.ts";
import { NOON } from "./harness.ts";
import { SENDER, SmtpSink } from "../fakes/smtp.ts";
import { TempStore } from "./temp_store.ts";
import { insertTeam } from "../builders/teams.ts";
import { fixture } from "./fixture.ts";

/** The month of {@link NOON}. */
export const MONTH = "2026-11";

/** A team on the free plan with an owner, a mail server, and any number of work loops. */
export class NoticesHarness implements AsyncDisposable {
  static readonly test = fixture(() => NoticesHarness.open());

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

  get store(): OpenStore {
    return this.#temp.store;
  }

  /** Creates a loop, not started. */
  loop(
    mailer: Mailer | null = createMailer(this.sink.url, SENDER),
    store: Store = this.store,
  ): WorkLoop {
    const deps = { now: () => this.nowMs, log: (line: string) => void this.log.push(line) };
    const handlers = createQuotaWork({ store, mailer, ...deps });
    return new WorkLoop({ store: createWorkStore(store, Infinity), handlers, ...deps });
  }

  /** Checks the usage as after a change of a run, and sends what is due. */
  async check(loop: WorkLoop = this.loop()): Promise<void> {
    const row = { at: this.nowMs, kind: "quota", team: this.team.id, name: "" } as const;
    await this.store.writer.commit({ sets: [workSet(row)] });
    await loop.round(["back"]);
    await loop.round(["send"]);
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
