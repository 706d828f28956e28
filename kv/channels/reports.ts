/**
 * Reports about channels that do not work and deliveries that failed (decision 87): the `service`
 * rules, the audit log, and a mail to the owner when no other default channel works.
 *
 * @module
 */
import { isBlocked, type StoredHealth } from "../../domain/channels/health.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { formatInstantOrNull } from "../../domain/core/time.ts";
import { SERVICE_ACTOR } from "../../domain/teams/audit_log.ts";
import { workKey, workSet } from "../work/work_rows.ts";
import { readConfig } from "../config/objects.ts";
import { getMany, type Store } from "../store.ts";
import { keys } from "../base/keys.ts";
import type { Mailer } from "../../domain/core/mail.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { WorkHandler } from "../../domain/work/work.ts";
import { auditRows } from "../teams/audit_log.ts";
import type { KvSet } from "../writer/write.ts";
import { readHealths } from "./health.ts";

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
