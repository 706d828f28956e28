/** The frame of all pages of alerts: the team's settings, and the tabs with their counts. */
import { RULES } from "../../../domain/alerts/rule_body.ts";
import { type Silence, SILENCES } from "../../../domain/alerts/silence.ts";
import type { OpenIncidents } from "../../../domain/alerts/incident.ts";
import type { Channel } from "../../../domain/channels/channel.ts";
import { CHANNELS } from "../../../domain/channels/channel_body.ts";
import type { RequestContext } from "../../http/context.ts";
import { Tabs } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";
import { readAll } from "../objects/known_values.tsx";
import type { View, Visit } from "../layout/page.tsx";
import { ALERTS_PATH } from "../layout/paths.ts";
import * as paths from "./paths.ts";

/** Rules, channels and silences of a team, and their state. */
export type AlertSetup = Awaited<ReturnType<typeof readSetup>>;

/** Reads the rules, channels and silences of the session's team. */
export async function readSetup(visit: Visit) {
  const { c, deps, team, isAdmin } = visit;
  const [rules, channels, silences] = await Promise.all([
    readAll(visit, RULES),
    readAll(visit, CHANNELS),
    readAll(visit, SILENCES),
  ]);
  const health = await deps.channels.health(team, channels.map(({ slug }) => slug));
  const isFailing = ({ slug, settings }: Channel) =>
    settings.enabled && (health.get(slug)?.state ?? "ok") !== "ok";
  return {
    ...{ rules, channels, silences },
    /** State of the channels, by slug. */
    health,
    /** Number of enabled channels that do not work. */
    failing: channels.filter(isFailing).length,
    now: deps.environment.now(),
    /** Numbers of open incidents. */
    open: openCounts(c),
    /** True if the session may change something. */
    isAdmin,
  };
}

/** Parts of the area. */
type Part = "open" | "history" | "rules" | "channels" | "deliveries" | "silences";

/** Puts the tabs of the area above a page. */
export function withTabs(setup: AlertSetup, part: Part, view: View): View {
  const { rules, channels, failing, silences, now, open } = setup;
  const silenced = silences.filter(({ settings }) => isCurrent(settings, now)).length;
  const tag = (count: number, name = "tag", noun = "") =>
    count === 0 ? null : <span class={name}>{formatCount(count)}{noun}</span>;
  const working = tag(failing, "tag warn", " failing") ?? tag(channels.length);
  const tabs = [
    ["open", "Open", ALERTS_PATH, tag(sumOf(open), "tag bad")],
    ["history", "History", paths.HISTORY_PATH, null],
    ["rules", "Rules", paths.RULES_PATH, tag(rules.length)],
    ["channels", "Channels", paths.CHANNELS_PATH, working],
    ["deliveries", "Deliveries", paths.DELIVERIES_PATH, null],
    ["silences", "Silences", paths.SILENCES_PATH, tag(silenced)],
  ] as const;
  const links = tabs.map(([of, name, to, note]) => ({ name, to, note, isCurrent: of === part }));
  return { ...view, body: [<Tabs label="Alerts" tabs={links} />, view.body] };
}

/** Returns whether a silence holds messages back. */
export function isCurrent({ fromMs, untilMs }: Silence["settings"], now: number): boolean {
  return fromMs <= now && now < untilMs;
}

/** Returns the frame of pages of one part. */
export function alertFrame(part: Part) {
  return async (visit: Visit) => {
    const setup = await readSetup(visit);
    return (view: View) => withTabs(setup, part, view);
  };
}

/** Returns the numbers of open incidents, which the top bar has read. */
export function openCounts(c: RequestContext): OpenIncidents {
  return c.get("frame").open ?? { critical: 0, warning: 0, info: 0 };
}

/** Returns the number of open incidents. */
export function sumOf({ critical, warning, info }: OpenIncidents): number {
  return critical + warning + info;
}
