/** Channels of one team on a store, with receivers that tests script and a clock that they move. */
import type {
  Channel,
  ChannelSettings,
  OpenedChannelSettings,
} from "../../../domain/channels/channel.ts";
import {
  type Delivery,
  newDelivery,
  type StoredHealth,
} from "../../../domain/channels/delivery.ts";
import type { IncidentFacts, MessageEvent } from "../../../domain/channels/message.ts";
import type { Envelope, Sender, SendResult } from "../../../domain/channels/sender.ts";
import type { Mail, Mailer } from "../../../domain/core/mail.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { WorkLoop } from "../../../jobs/work_loop.ts";
import { keys } from "../../../kv/base/keys.ts";
import { newDeliveryRows } from "../../../kv/channels/delivery_rows.ts";
import { type ChannelTester, createChannelTester } from "../../../kv/channels/tester.ts";
import { type ChannelWorkDeps, createChannelWork } from "../../../kv/channels/channel_work.ts";
import { createReportWork } from "../../../kv/channels/owner_report.ts";
import { createWorkStore } from "../../../kv/work/store.ts";
import type { Store } from "../../../kv/store.ts";
import { NOON } from "./harness.ts";
import { TempStore } from "./temp_store.ts";
import { insertTeam } from "../builders/teams.ts";
import { fixture } from "./fixture.ts";

export const DELIVERED: SendResult = {
  verdict: "delivered",
  status: 200,
  error: null,
  retryAfterMs: null,
  answer: null,
};

export const FAILED: SendResult = {
  ...DELIVERED,
  verdict: "retry",
  status: 503,
  error: "HTTP 503",
};

/** A request that a receiver got. */
interface Sent {
  readonly id: string;
  readonly at: number;
  readonly channel: string;
  /** Incident and event of each message. */
  readonly messages: readonly string[];
}

/** Answers of receivers, by channel. */
type Receiver = (
  envelope: Envelope,
  signal: AbortSignal,
) => Promise<SendResult> | SendResult;

/** A team with channels, and any number of jobs. */
export class DeliveriesHarness implements AsyncDisposable {
  static readonly test = fixture(() => DeliveriesHarness.open());

  nowMs = NOON;
  readonly sent: Sent[] = [];
  readonly log: string[] = [];
  readonly mails: Mail[] = [];
  readonly counts: { readonly type: string; readonly state: string }[] = [];
  /** Answers of each channel; it succeeds without one. */
  readonly receivers = new Map<string, Receiver>();
  /** False if secrets cannot be opened. */
  hasKey = true;
  readonly store: Store;
  readonly team: Team;
  readonly #temp: AsyncDisposable;
  readonly #jobs: WorkLoop[] = [];
  #ids = 0;

  private constructor(temp: AsyncDisposable, store: Store, team: Team) {
    [this.#temp, this.store, this.team] = [temp, store, team];
  }

  static async open(): Promise<DeliveriesHarness> {
    const temp = await TempStore.open();
    return await DeliveriesHarness.over(temp.store, temp);
  }

  /** Creates a team on a store that it disposes. */
  static async over(store: Store, temp: AsyncDisposable): Promise<DeliveriesHarness> {
    const team = { ...await insertTeam(store, "free", "Ships"), ownerEmail: "owner@example.org" };
    await store.writer.commit({ sets: [{ key: keys.team(team.id), value: team }] });
    return new DeliveriesHarness(temp, store, team);
  }

  /** Returns the time of the next row of a channel, unix milliseconds; null for none. */
  nextMs(): Promise<number | null> {
    return createWorkStore(this.store, Infinity).nextMs("send");
  }

  readonly sender: Sender = {
    send: async (envelope, at, signal) => {
      const channel = channelOf(envelope.settings);
      const messages = envelope.messages
        .map(({ incident, event }) => `${incident?.id} ${event.replace("incident.", "")}`);
      this.sent.push({ id: envelope.id, at, channel, messages });
      return await (this.receivers.get(channel) ?? (() => DELIVERED))(envelope, signal);
    },
  };

  readonly counter: ChannelWorkDeps["counts"] = {
    count: ({ channel_type: type = "", outcome: state = "" }) => this.counts.push({ type, state }),
  };

  readonly open = (_: unknown, { settings }: Channel) =>
    Promise.resolve(this.hasKey ? opened(settings) : null);

  tester(): ChannelTester {
    return createChannelTester({
      store: this.store,
      sender: this.sender,
      open: this.open,
      region: "eu",
      environment: {
        now: () => this.nowMs,
        random: (n) => crypto.getRandomValues(new Uint8Array(n)),
      },
      counts: this.counter,
    });
  }

  readonly mailer: Mailer = {
    send: (mail) => {
      this.mails.push(mail);
      return Promise.resolve({ kind: "sent" });
    },
  };

  /** Starts a job on its store, with parts of a test in the place of its own. */
  job(store = this.store, parts: Partial<ChannelWorkDeps> = {}): WorkLoop {
    const job = new WorkLoop({
      store: createWorkStore(store, Infinity),
      handlers: [
        ...createChannelWork({
          store,
          sender: this.sender,
          open: this.open,
          environment: { now: () => this.nowMs, random: () => new Uint8Array([0x80, 0, 0, 0]) },
          counts: this.counter,
          ...parts,
        }),
        createReportWork(store, this.mailer),
      ],
      lanes: ["send"],
      now: () => this.nowMs,
      log: (line) => this.log.push(line),
    });
    this.#jobs.push(job);
    job.start();
    return job;
  }

  async put(
    slug: string,
    type: Channel["settings"]["type"] = "webhook",
    more: Partial<ChannelSettings> = {},
    team = this.team,
  ): Promise<void> {
    const settings = {
      type,
      isDefault: true,
      includeError: true,
      enabled: true,
      host: slug,
      to: [slug],
      ...more,
    } as ChannelSettings;
    const value: Channel = {
      slug,
      id: `chn_${slug}`,
      version: 1,
      settings,
      createdAt: NOON,
      updatedAt: NOON,
      updatedBy: "key",
    };
    await this.store.writer.commit({
      sets: [{ key: keys.configObject(team.id, "channel", slug), value }],
    });
  }

  /** Creates a delivery that is not stored. */
  delivery(
    slug: string,
    incident: string,
    event: MessageEvent = "incident.opened",
    type: Channel["settings"]["type"] = "webhook",
    after: string | null = null,
  ): Delivery {
    const id = `whd_eu_${String(++this.#ids).padStart(6, "0")}`;
    const message = { event, at: this.nowMs, incident: { id: incident } as IncidentFacts };
    return newDelivery(id, { slug, type }, message, after);
  }

  /** Stores new deliveries, as the commit of a transition does. */
  async add(deliveries: readonly Delivery[], team = this.team): Promise<void> {
    const sets = newDeliveryRows(team.id, deliveries);
    await this.store.writer.commit({ team: team.id, sets });
  }

  async send(...args: Parameters<DeliveriesHarness["delivery"]>): Promise<string> {
    const delivery = this.delivery(...args);
    await this.add([delivery]);
    return delivery.id;
  }

  /** Moves the clock to each due time up to `untilMs` and waits for what happens then. */
  async pass(job: WorkLoop, untilMs: number): Promise<void> {
    await job.idle();
    for (;;) {
      const nextMs = await this.nextMs();
      if (nextMs === null || nextMs > untilMs) break;
      this.nowMs = Math.max(this.nowMs, nextMs);
      await job.idle();
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
  }

  async stored(id: string): Promise<Delivery> {
    return (await this.store.reader.get<Delivery>(keys.delivery(this.team.id, id))).value!;
  }

  async states(): Promise<Record<string, number>> {
    const states: Record<string, number> = {};
    for await (const { value } of this.store.reader.list<Delivery>({ prefix: ["delivery"] })) {
      states[value.state] = (states[value.state] ?? 0) + 1;
    }
    return states;
  }

  async health(slug: string): Promise<StoredHealth | null> {
    return (await this.store.reader.get<StoredHealth>(keys.channelHealth(this.team.id, slug)))
      .value;
  }

  /** Numbers of rows of queues and of due channels. */
  async waiting(): Promise<readonly [number, number]> {
    const count = async (prefix: Deno.KvKey) =>
      (await Array.fromAsync(this.store.reader.list({ prefix }))).length;
    return [await count(keys.deliveryQueues()), await count(keys.work("send"))];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#jobs.map((job) => job.stop()));
    await this.#temp[Symbol.asyncDispose]();
  }
}

/** Secrets of the tests' channels are their hosts. */
function opened(settings: ChannelSettings): OpenedChannelSettings {
  return settings as unknown as OpenedChannelSettings;
}

function channelOf(settings: OpenedChannelSettings): string {
  return (settings as { host?: string }).host ?? "?";
}
