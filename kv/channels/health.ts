/**
 * States of channels, the commits that change them, and the reports about a channel that does not
 * work (decision 87): the `service` rules, the audit log, and a mail to the owner when no other
 * default channel works.
 *
 * Each change or removal of a delivery that has not ended also writes the state of its channel. So a
 * check of that one row protects all deliveries of a try, which may be more than a commit can check.
 *
 * @module
 */
import type { ChannelHealth } from "../../domain/channels/channel.ts";
import { isBlocked, NEW_HEALTH, type StoredHealth } from "../../domain/channels/health.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { getAll, getEntry, getMany, type Store } from "../store.ts";
import type { KvSet, Write } from "../writer/group.ts";
import { formatInstantOrNull } from "../../domain/core/time.ts";
import { SERVICE_ACTOR } from "../../domain/teams/audit_log.ts";
import { workKey, workSet } from "../work/store.ts";
import { readConfig } from "../config/objects.ts";
import type { Mailer } from "../../domain/core/mail.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { WorkHandler } from "../../domain/work/work.ts";
import { auditRows } from "../teams/audit_log.ts";

/** A planned change of a channel's deliveries. */
export interface ChannelPlan<Result> {
  readonly result: Result;
  /** Rows to commit; null for none. */
  readonly change: ChannelChange | null;
}

/** Rows of a change. */
export interface ChannelChange extends Pick<Write, "checks" | "sets" | "deletes"> {
  /** New state of the channel's deliveries; null to remove it. */
  readonly health: StoredHealth | null;
}

/** Plans and commits a change of a channel's deliveries; it is planned again after a conflict. */
export function changeChannel<Result>(
  store: Store,
  team: TeamId,
  channel: string,
  plan: (health: StoredHealth) => Promise<ChannelPlan<Result>>,
): Promise<Result> {
  const key = keys.channelHealth(team, channel);
  return untilCommitted("change the deliveries of a channel", async () => {
    const entry = await getEntry(store, key);
    const { result, change } = await plan(healthOf(entry));
    if (change === null) return result;
    const { health, checks = [], sets = [], deletes = [] } = change;
    // Without a row nothing is under way, and the check alone protects this commit.
    const isNone = health === null || health === NEW_HEALTH;
    const version = await store.writer.commit({
      team,
      checks: [entry, ...checks],
      sets: isNone ? sets : [...sets, { key, value: health }],
      deletes: health === null ? [...deletes, key] : deletes,
    });
    return version === null ? LOST : result;
  });
}

/** Returns the state of channels, by slug. */
export async function readHealths(
  store: Store,
  team: TeamId,
  slugs: readonly string[],
): Promise<ReadonlyMap<string, ChannelHealth>> {
  const entries = await getAll(store, slugs.map((slug) => keys.channelHealth(team, slug)));
  return new Map(slugs.map((slug, i) => {
    const { state, lastOkAt, failingSince, lastError } = healthOf(entries[i]);
    return [slug, { state, lastOkAt, failingSince, lastError }];
  }));
}

/** Returns the state in an entry. */
function healthOf(entry: Deno.KvEntryMaybe<unknown> | undefined): StoredHealth {
  return entry?.value as StoredHealth | null | undefined ?? NEW_HEALTH;
}

/** Words of the report about a channel whose secrets cannot be opened. */
export const NEEDS_SECRET = "its secrets cannot be opened: set them again";

/** Returns whether a team has another default channel that works, so that it gets the incident. */
async function hasOtherChannel(store: Store, team: TeamId, slug: string): Promise<boolean> {
  const { channels } = await readConfig(store, team);
  const others = channels
    .filter(({ slug: other, settings }) => other !== slug && settings.isDefault && settings.enabled)
    .map((channel) => channel.slug);
  const healths = await readHealths(store, team, others);
  return others.some((other) => {
    const health = healths.get(other);
    return health !== undefined && !isBlocked(health);
  });
}

/** Returns the row that reports a channel to the owner, if this change stops it. */
export function reportRows(
  team: TeamId,
  slug: string,
  before: Healths,
  after: Healths,
  atMs: number,
): readonly KvSet[] {
  return isBlocked(before) || !isBlocked(after)
    ? []
    : [workSet({ at: atMs, kind: "channel_report", team, name: slug })];
}

/**
 * Creates the handler that writes to owners that a channel does not work, unless another channel of
 * the team does.
 *
 * @param mailer null without a mail server
 */
export function createReportWork(store: Store, mailer: Mailer | null): WorkHandler {
  return {
    kind: "channel_report",
    async look([row], _, stopping) {
      if (row === undefined) return [];
      const { team: id, name: slug } = row;
      const [teamEntry, healthEntry] = await getMany(store, [
        keys.team(id),
        keys.channelHealth(id, slug),
      ]);
      const team = teamEntry?.value as Team | null;
      const health = healthEntry?.value as StoredHealth | null;
      const to = team?.ownerEmail;
      if (
        mailer !== null && team !== null && to !== undefined && health !== null &&
        isBlocked(health) && !await hasOtherChannel(store, id, slug)
      ) {
        const mail = {
          to: [to],
          messageId: `${slug}.${id}.${health.failingSince ?? 0}@channels.runledger`,
          ...reportText(team.name, slug, health),
        };
        const outcome = await mailer.send(mail, () => Promise.resolve(), stopping);
        if (outcome.kind === "failed") throw outcome.error;
      }
      await store.writer.commit({ team: id, deletes: [workKey(row)] });
      return [];
    },
  };
}

/** Returns the text of a report. */
function reportText(teamName: string, slug: string, { state, lastError }: StoredHealth) {
  const reason = state === "broken" ? `it is broken: ${lastError}` : lastError;
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

/** States of a channel before and after a change. */
type Healths = Pick<StoredHealth, "state">;

/**
 * Returns the due rows at which rules of the kind `service` are judged: if a channel stops or starts
 * to work, or a delivery has failed.
 */
export async function troubleRows(
  store: Store,
  team: TeamId,
  before: Healths,
  after: Healths,
  atMs: number,
  hasDead = false,
): Promise<KvSet[]> {
  const isSame = isBlocked(before) === isBlocked(after);
  if (isSame && !hasDead) return [];
  const { rules } = await readConfig(store, team);
  return rules
    .filter(({ settings }) => settings.condition.kind === "service" && settings.enabled)
    .map(({ slug }) => workSet({ at: atMs, kind: "rule", team, name: slug }));
}

/** Returns the audit entry of a channel that this change breaks. */
export function brokenRows(
  team: TeamId,
  slug: string,
  before: Healths,
  after: Healths & Pick<StoredHealth, "lastError" | "failingSince">,
  atMs: number,
): readonly KvSet[] {
  if (before.state === "broken" || after.state !== "broken") return [];
  const { lastError, failingSince } = after;
  return auditRows({
    at: atMs,
    team,
    actor: SERVICE_ACTOR,
    action: "channel.broken",
    target: slug,
    details: { error: lastError, failing_since: formatInstantOrNull(failingSince) },
  });
}
