/**
 * Tests channels: one message, noted as a delivery that is not tried again (decision 90).
 *
 * @module
 */
import {
  afterTry,
  CHANNEL_TESTS_PER_MINUTE,
  CLAIM_MS,
  type Delivery,
  newDelivery,
  type Outcome,
  tryOf,
  withSuccess,
} from "../../domain/channels/delivery.ts";
import { SEND_MS_MAX, type Sender, type SendResult } from "../../domain/channels/sender.ts";
import type { Channel } from "../../domain/channels/channel.ts";
import type { Environment } from "../../domain/core/environment.ts";
import { type Region, type TeamId, uuid7Hex } from "../../domain/core/ids.ts";
import type { MadeBy, Team } from "../../domain/teams/team.ts";
import type { LabeledCounter } from "../../runtime/metrics.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommittedInTime } from "../base/retry.ts";
import { workSet } from "../work/store.ts";
import { readObject } from "../config/objects.ts";
import { getEntry, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";
import { countStates } from "./channel_work.ts";
import { changeChannel, storedRows, troubleRows, wakeRow } from "./delivery_rows.ts";
import type { OpenChannel } from "./seal.ts";

/** Dependencies of the tester. */
export interface TesterDeps {
  readonly store: Store;
  readonly sender: Sender;
  readonly open: OpenChannel;
  readonly region: Region;
  readonly environment: Environment;
  /** Counts the states of tests that have ended. */
  readonly counts: Pick<LabeledCounter, "count">;
}

/** Result of a test whose channel's secrets cannot be opened. */
const NO_SECRET: SendResult = {
  verdict: "final",
  status: null,
  error: "The secrets of the channel cannot be opened: set them again",
  retryAfterMs: null,
  answer: null,
};

/** Sends one test message to a channel and notes it as a delivery. */
export type ChannelTester = ReturnType<typeof createChannelTester>;

/** Creates the tester. */
export function createChannelTester(deps: TesterDeps) {
  return {
    /**
     * Sends a test within 15 seconds, without a retry.
     *
     * @returns the try; `limited` beyond {@link CHANNEL_TESTS_PER_MINUTE}; null if there is no such
     * channel
     */
    async test(team: Team, slug: string, made: MadeBy) {
      const channel = await readObject<Channel["settings"]>(deps.store, team.id, "channel", slug);
      if (channel === null || "isDeleted" in channel) return null;
      const delivery = await begin(deps, team.id, channel, made);
      if (delivery === "limited") return delivery;
      const outcome = await send(deps, team, channel, delivery);
      const tried = afterTry(delivery, outcome, 0);
      await end(deps, team.id, tried, outcome);
      countStates(deps, [tried]);
      return tryOf(outcome);
    },
  };
}

/** Notes a test before it is sent, if the team may make another one. */
function begin(
  { store, region, environment }: TesterDeps,
  team: TeamId,
  channel: Channel,
  { by, at }: MadeBy,
): Promise<Delivery | "limited"> {
  const id = `whd_${region}_${uuid7Hex(at, environment.random(10))}`;
  const message = { event: "channel.test", at, incident: null } as const;
  const target = { slug: channel.slug, type: channel.settings.type };
  const leaseUntil = at + CLAIM_MS;
  const delivery: Delivery = {
    ...newDelivery(id, target, message, null),
    state: "sending",
    nextAt: null,
    leaseUntil,
  };
  const audit = { at, team, actor: by, action: "channel.tested", target: channel.slug } as const;
  return untilCommittedInTime("test a channel", store.deadlines, async () => {
    const entry = await getEntry(store, keys.channelTests(team));
    const times = (entry.value as readonly number[] | null ?? [])
      .filter((time) => Math.abs(at - time) < 60_000);
    if (times.length >= CHANNEL_TESTS_PER_MINUTE) return "limited";
    const committed = await store.writer.commit({
      team,
      checks: [entry],
      sets: [
        { key: entry.key, value: [...times, at] },
        ...storedRows(team, delivery),
        // If this process ends meanwhile, the work loop ends the test.
        workSet({ at: leaseUntil, kind: "delivery", team, name: id }),
        ...auditRows({ ...audit, details: { delivery: id } }),
      ],
    });
    return committed === null ? LOST : delivery;
  });
}

async function send(
  { sender, open, environment: { now } }: TesterDeps,
  team: Team,
  channel: Channel,
  { id, message }: Delivery,
): Promise<Outcome> {
  const startMs = now();
  const settings = await open(team, channel);
  const envelope = settings && { team, settings, id, messages: [message] };
  const result = envelope === null
    ? NO_SECRET
    : await sender.send(envelope, startMs, AbortSignal.timeout(SEND_MS_MAX));
  return { startMs, endMs: now(), result };
}

/** Stores the result. A success repairs the channel: what waits is sent. */
async function end(
  { store }: TesterDeps,
  team: TeamId,
  tried: Delivery,
  { endMs, result }: Outcome,
): Promise<void> {
  const sets = storedRows(team, tried);
  if (result.verdict !== "delivered") return void await store.writer.commit({ team, sets });
  await changeChannel(store, team, tried.channel, async (before) => {
    const health = { ...withSuccess(before, endMs), notBefore: 0 };
    const problems = await troubleRows(store, team, before, health, endMs);
    const wake = wakeRow(team, tried.channel, endMs);
    return { result: undefined, change: { health, sets: [...sets, wake, ...problems] } };
  });
}
