/**
 * Writes to the owner of a team that a channel does not work, when no other default channel works
 * (decision 87).
 *
 * @module
 */
import { isBlocked, type StoredHealth } from "../../domain/channels/delivery.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { getMany, type Store } from "../store.ts";
import { workKey } from "../work/store.ts";
import { readConfig } from "../config/objects.ts";
import type { Mailer } from "../../domain/core/mail.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { WorkHandler } from "../../domain/work/work.ts";
import { readHealths } from "./delivery_rows.ts";

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

/**
 * Creates the handler that writes to owners that a channel does not work, unless another channel of
 * the team does.
 *
 * @param mailer null without a mail server
 */
export function createReportWork(store: Store, mailer: Mailer | null): WorkHandler {
  return {
    kind: "channel_report",
    async handle([row], _, stopping) {
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
