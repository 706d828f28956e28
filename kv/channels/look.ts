/**
 * Looks at a channel that is due: claims its next try, or files the next look.
 *
 * @module
 */
import type { Delivery } from "../../domain/channels/delivery.ts";
import {
  BROKEN_MS,
  CLAIM_MS,
  isBlocked,
  isClaimed,
  type StoredHealth,
  type TryClaim,
} from "../../domain/channels/health.ts";
import { planQueue } from "../../domain/channels/joining.ts";
import { JOINING_TYPES } from "../../domain/channels/new_delivery.ts";
import type { DueChannel, Look } from "../../domain/channels/queue.ts";
import { ended, RETRY_AFTER_MS_MAX, untried } from "../../domain/channels/schedule.ts";
import type { Channel } from "../../domain/channels/store.ts";
import type { Team } from "../../domain/teams/team.ts";
import { keys } from "../base/keys.ts";
import { getMany, newRowName } from "../store.ts";
import type { KvSet } from "../writer/write.ts";
import { endedRows, lookRow, queuedRow, waitingRows } from "./delivery_rows.ts";
import { changeChannel, type ChannelChange, type ChannelPlan } from "./health.ts";
import {
  changesOf,
  type QueueOf,
  type QueueRow,
  readDeliveries,
  readQueue,
  readWaits,
  readWithJoined,
  waitingTimes,
} from "./queue_rows.ts";
import { hasOtherChannel } from "./reports.ts";

/** Due rows that one look removes; further ones cause further looks. */
const DUE_ROWS_MAX = 4;

/** First rows of a queue that one look reads, of types that join messages and of others. */
const QUEUE_ROWS = { joining: 100, others: 10 } as const;

/** Deliveries that one commit ends, with those that are joined to them: it fits the largest ones. */
const ENDED_PER_COMMIT = 20;

/** One look. */
interface Looking extends QueueOf {
  readonly nowMs: number;
  readonly canBeSlow: boolean;
  readonly health: StoredHealth;
  /** The due rows that caused it. */
  readonly dues: readonly Deno.KvEntryMaybe<unknown>[];
}

interface Planned extends ChannelPlan<Look> {
  /** Deliveries that end without a try. */
  readonly ended?: readonly Delivery[];
}

/**
 * Looks at a channel.
 *
 * @param onEnded called with the deliveries that have ended without a try
 */
export async function lookAt(
  { store, team, channel }: QueueOf,
  { times }: DueChannel,
  { nowMs, canBeSlow }: Pick<Looking, "nowMs" | "canBeSlow">,
  onEnded: (deliveries: readonly Delivery[]) => void,
): Promise<Look> {
  const dueKeys = times.slice(0, DUE_ROWS_MAX).map((at) => keys.dueChannel(at, team, channel));
  let endedNow: readonly Delivery[] = [];
  const look = await changeChannel<Look>(store, team, channel, async (health) => {
    // Read before the queue: a delivery that is added meanwhile changes or adds a due row.
    const entries = await getMany(store, dueKeys);
    const dues = entries.filter(({ versionstamp }) => versionstamp !== null);
    endedNow = [];
    if (dues.length === 0) return { result: { kind: "nothing" }, change: null };
    const planned = await plan({ store, team, channel, nowMs, canBeSlow, health, dues });
    endedNow = planned.ended ?? [];
    return planned;
  });
  onEnded(endedNow);
  return look;
}

async function plan(looking: Looking): Promise<Planned> {
  const { store, health, nowMs, team: id, channel: slug } = looking;
  if (health.claim !== null && isClaimed(health, nowMs)) {
    return nothing(looking, health.claim.until);
  }
  const [teamEntry, configEntry] = await getMany(store, [
    keys.team(id),
    keys.configObject(id, "channel", slug),
  ]);
  const team = teamEntry?.value as Team | null;
  const channel = configEntry?.value as Channel | null;
  if (team === null || channel === null || !channel.settings.enabled) {
    const rows = await readQueue(looking, ENDED_PER_COMMIT);
    const isLast = rows.length < ENDED_PER_COMMIT;
    return await planEnd(looking, rows, "cancelled", isLast, channel === null);
  }
  const { report } = health;
  if (report !== null && report.at <= nowMs) return await planReport(looking, team);
  if (isBlocked(health)) {
    const rows = await readQueue(looking, ENDED_PER_COMMIT);
    const overdue = rows.filter(({ at }) => at + BROKEN_MS <= nowMs);
    if (overdue.length > 0) return await planEnd(looking, overdue, "dead", false, false);
    const firstAt = rows[0]?.at;
    if (health.state === "broken") {
      return nothing(looking, earliest(report?.at, firstAt && firstAt + BROKEN_MS));
    }
  }
  return await planTry(looking, team, channel);
}

/** Plans the end of waiting deliveries without a try. */
async function planEnd(
  looking: Looking,
  rows: readonly QueueRow[],
  state: "cancelled" | "dead",
  isLast: boolean,
  isDeleted: boolean,
): Promise<Planned> {
  const { team, nowMs } = looking;
  const { some, deliveries } = await fitting(looking, rows);
  const over = deliveries.map((delivery) => ended(delivery, state));
  const isAll = isLast && some.length === rows.length;
  const health = isAll && isDeleted ? null : { ...looking.health, claim: null };
  const change = changed(looking, isAll ? null : nowMs, health);
  return {
    result: { kind: "nothing" },
    ended: over,
    change: withRows(
      change,
      over.flatMap((delivery) => endedRows(team, delivery)),
      some.map(({ key }) => key),
    ),
  };
}

/** Reads the first deliveries with those that are joined to them, as many as one commit ends. */
async function fitting(looking: Looking, rows: readonly QueueRow[]) {
  const leaders = await readDeliveries(looking, rows.map(({ id }) => id));
  const sizes = new Map(leaders.map(({ id, joined }) => [id, 1 + joined.length]));
  let size = 0;
  const end = rows.findIndex(({ id }) => (size += sizes.get(id) ?? 0) > ENDED_PER_COMMIT);
  const some = end === -1 ? rows : rows.slice(0, end);
  return { some, deliveries: await readWithJoined(looking, some.map(({ id }) => id)) };
}

/** Claims a report to the owner, unless another channel of the team can tell. */
async function planReport(looking: Looking, team: Team): Promise<Planned> {
  const { store, health, nowMs, channel: slug } = looking;
  const { report } = health;
  if (report === null || await hasOtherChannel(store, team.id, slug)) {
    const change = changed(looking, nowMs, { ...health, report: null, claim: null });
    return { result: { kind: "nothing" }, change };
  }
  const claim = newClaim("", nowMs);
  return {
    result: { kind: "report", claim: { name: claim.name, team, slug, report } },
    change: changed(looking, claim.until, { ...health, claim }),
  };
}

/** Claims the next try, if one is due. */
async function planTry(looking: Looking, team: Team, channel: Channel): Promise<Planned> {
  const { health, nowMs, canBeSlow } = looking;
  const { notBefore, report } = health;
  // A longer pause was set before the clock was set back.
  if (notBefore > nowMs && notBefore <= nowMs + RETRY_AFTER_MS_MAX) {
    return nothing(looking, earliest(notBefore, report?.at));
  }
  const joins = JOINING_TYPES.has(channel.settings.type);
  const limit = QUEUE_ROWS[joins ? "joining" : "others"];
  const rows = await readQueue(looking, limit);
  const queue = planQueue(rows, await readWaits(looking, rows, nowMs), joins, nowMs);
  const [first] = queue.group;
  if (first !== undefined && health.isSlow && !canBeSlow) {
    return { result: { kind: "slow" }, change: null };
  }
  const { ended, sets, deletes } = await changesOf(looking, rows, queue);
  const grouped = rows.filter(({ id }) => queue.group.includes(id));
  const [leader, ...joined] = await readWithJoined(looking, queue.group);
  if (leader === undefined) {
    // Behind messages that wait for others there may be ones that are due.
    const isMore = grouped.length > 0 || ended.length > 0 ||
      (queue.moved.size > 0 && rows.length === limit);
    const nextMs = isMore ? nowMs : earliest(report?.at, ...waitingTimes(rows, queue));
    const change = changed(looking, nextMs, { ...health, claim: null });
    const removed = [...deletes, ...grouped.map(({ key }) => key)];
    return { result: { kind: "nothing" }, ended, change: withRows(change, sets, removed) };
  }
  const claim = newClaim(leader.id, nowMs);
  // A channel that has got a type without joins sends each message on its own.
  const [members, apart] = joins ? [joined, []] : [[], joined.map(untried)];
  const deliveries = sending(leader, members, claim);
  const others = grouped.filter(({ id }) => id !== leader.id).map(({ key }) => key);
  return {
    result: {
      kind: "try",
      claim: { name: claim.name, team, channel, deliveries },
      isSlow: health.isSlow,
    },
    ended,
    change: withRows(
      changed(looking, claim.until, { ...health, claim }),
      [
        ...sets,
        ...sendingRows(looking, deliveries),
        ...apart.flatMap((delivery) => waitingRows(team.id, delivery)),
      ],
      [...deletes, ...others],
    ),
  };
}

function newClaim(delivery: string, nowMs: number): TryClaim {
  return { name: newRowName(), delivery, at: nowMs, until: nowMs + CLAIM_MS };
}

/** Returns the deliveries of a try: the leader, and those that are joined to it. */
function sending(leader: Delivery, members: readonly Delivery[], claim: TryClaim): Delivery[] {
  const state = { state: "sending", leaseUntil: claim.until, nextAt: leader.nextAt } as const;
  return [
    { ...leader, ...state, joined: members.map(({ id }) => id) },
    ...members.map((member) => ({ ...member, ...state })),
  ];
}

/** Returns the rows of deliveries under way. The leader's row stays in the queue until the result. */
function sendingRows({ team }: Looking, deliveries: readonly Delivery[]): KvSet[] {
  const rows = deliveries.map((value) => ({ key: keys.delivery(team, value.id), value }));
  return [...rows, ...deliveries.slice(0, 1).flatMap((leader) => queuedRow(team, leader, false))];
}

/** Returns a look that finds nothing to do before a time; null for never. */
function nothing(looking: Looking, nextMs: number | null): Planned {
  return { result: { kind: "nothing" }, change: changed(looking, nextMs, looking.health) };
}

/** Returns the change that replaces the due rows by one at the next look; null for none. */
function changed(
  { team, channel, dues, nowMs }: Looking,
  nextMs: number | null,
  health: StoredHealth | null,
): ChannelChange {
  const next = nextMs === null ? null : lookRow(team, channel, nextMs, nowMs);
  const isNext = ({ key }: Deno.KvEntryMaybe<unknown>) => key[1] === next?.key[1];
  return {
    health,
    checks: dues,
    sets: next === null ? [] : [next],
    deletes: dues.filter((due) => !isNext(due)).map(({ key }) => key),
  };
}

function withRows(
  change: ChannelChange,
  sets: readonly KvSet[],
  deletes: readonly Deno.KvKey[],
): ChannelChange {
  return {
    ...change,
    sets: [...change.sets ?? [], ...sets],
    deletes: [...change.deletes ?? [], ...deletes],
  };
}

/** Returns the earliest of the times that are there; null for none. */
export function earliest(...times: readonly (number | undefined)[]): number | null {
  const first = Math.min(...times.filter((at) => at !== undefined));
  return first === Infinity ? null : first;
}
