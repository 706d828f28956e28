/** A banner for messages that reach nobody: broken channels, and deliveries that were given up. */
import { CONFIG_PER_PAGE } from "../../../domain/config/objects.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps } from "../../http/context.ts";
import { queryText } from "../layout/paths.ts";
import { InlineNotice } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";
import { channelPath, DELIVERIES_PATH } from "./paths.ts";

/** Age of deliveries that the banner counts, milliseconds. */
const RECENT_MS = 86_400_000;

/** Deliveries that are counted. */
const COUNTED_MAX = 10;

/** Channels that send nothing, and the number of messages that were given up. */
export interface MessageTrouble {
  /** Slugs of channels. */
  readonly broken: readonly string[];
  readonly dead: number;
  /** True if more were given up. */
  readonly hasMore: boolean;
}

/** Reads which channels are broken, and counts the messages given up in the last 24 hours. */
export async function readMessageTrouble(
  { channels, deliveries }: Pick<AppDeps, "channels" | "deliveries">,
  team: Team,
  now: number,
): Promise<MessageTrouble> {
  const { objects } = await channels.list(team, { limit: CONFIG_PER_PAGE.max, after: null });
  const slugs = objects.filter(({ settings }) => settings.enabled).map(({ slug }) => slug);
  if (slugs.length === 0) return { broken: [], dead: 0, hasMore: false };
  const [health, page] = await Promise.all([
    channels.health(team, slugs),
    deliveries.list(team, {
      ...{ channel: null, state: "dead", incident: null, after: null },
      ...{ limit: COUNTED_MAX, fromMs: now - RECENT_MS },
    }),
  ]);
  const isBroken = (slug: string) =>
    ["broken", "needs_secret"].includes(health.get(slug)?.state ?? "ok");
  return {
    broken: slugs.filter(isBroken),
    dead: page.deliveries.length,
    hasMore: page.next !== null,
  };
}

/** Shows the banner if there is trouble. */
export function MessageBanner({ broken, dead, hasMore }: MessageTrouble) {
  if (broken.length + dead === 0) return null;
  return (
    <InlineNotice kind="bad">
      {broken.length > 0 && (
        <p>
          <strong>
            {broken.length === 1 ? "A channel sends" : `${broken.length} channels send`} nothing:
          </strong>{" "}
          {broken.map((slug, i) => (
            <>
              {i > 0 && ", "}
              <a href={channelPath(slug)}>{slug}</a>
            </>
          ))}. Correct the settings, then send a test.
        </p>
      )}
      {dead > 0 && (
        <p>
          <strong>
            {hasMore ? "More than " : ""}
            {formatCount(dead)} {dead === 1 ? "message was" : "messages were"} not delivered
          </strong>{" "}
          in the last 24 hours.{" "}
          <a href={DELIVERIES_PATH + queryText([["state", "dead"]])}>See which, and send again</a>
        </p>
      )}
    </InlineNotice>
  );
}
