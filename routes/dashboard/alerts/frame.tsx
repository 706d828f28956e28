/** What all pages of alerts share: what the team configured, and the tabs with their counts. */
import type { Rule } from "../../../domain/alerts/rule.ts";
import type { Silence } from "../../../domain/alerts/silence.ts";
import type { OpenIncidents } from "../../../domain/alerts/store.ts";
import type { ChannelHealth } from "../../../domain/channels/channel.ts";
import type { Channel } from "../../../domain/channels/store.ts";
import { CONFIG_PER_PAGE } from "../../../domain/config/objects.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { mayAdmin } from "../../http/access.ts";
import type { View } from "../layout/page.ts";
import { ALERTS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { formatCount } from "../components/format.ts";
import { Tabs } from "../components/elements.tsx";
import {
  CHANNELS_PATH,
  DELIVERIES_PATH,
  HISTORY_PATH,
  RULES_PATH,
  SILENCES_PATH,
} from "./paths.ts";

/** What a team configured, and how it is. */
export interface AlertSetup {
  readonly rules: readonly Rule[];
  readonly channels: readonly Channel[];
  /** State of the channels, by slug. */
  readonly health: ReadonlyMap<string, ChannelHealth>;
  readonly silences: readonly Silence[];
  readonly now: number;
  /** True if the session may change something. */
  readonly isAdmin: boolean;
}

/** All objects of a kind: there are fewer than a page has. */
const ALL = { limit: CONFIG_PER_PAGE.max, after: null } as const;

/** Reads what the session's team configured. */
export async function readSetup(c: RequestContext, deps: AppDeps): Promise<AlertSetup> {
  const principal = c.get("principal");
  const { team } = principal;
  const [rules, channels, silences] = await Promise.all([
    deps.rules.list(team, ALL),
    deps.channels.list(team, ALL),
    deps.silences.list(team, ALL),
  ]);
  const health = await deps.channels.health(team, channels.objects.map(({ slug }) => slug));
  return {
    rules: rules.objects,
    channels: channels.objects,
    health,
    silences: silences.objects,
    now: deps.environment.now(),
    isAdmin: mayAdmin(principal),
  };
}

/** Parts of the area. */
type Part = "open" | "history" | "rules" | "channels" | "deliveries" | "silences";

/** Shows a page of the area below its tabs. */
export function showAlerts(
  c: RequestContext,
  setup: AlertSetup,
  part: Part,
  view: View,
  headers: Record<string, string> = {},
): Response {
  const body = (
    <>
      <AlertTabs setup={setup} part={part} open={sumOf(openCounts(c))} />
      {view.body}
    </>
  );
  return showPage(c, { ...view, body }, headers);
}

/** Returns the numbers of open incidents, which the top bar has read. */
export function openCounts(c: RequestContext): OpenIncidents {
  return c.get("frame").open ?? { critical: 0, warning: 0, info: 0 };
}

/** Returns the number of open incidents. */
export function sumOf({ critical, warning, info }: OpenIncidents): number {
  return critical + warning + info;
}

/** Returns the number of channels that do not work, though they are enabled. */
export function failingCount({ channels, health }: AlertSetup): number {
  return channels.filter(({ slug, settings }) =>
    settings.enabled && (health.get(slug)?.state ?? "ok") !== "ok"
  ).length;
}

interface TabsProps {
  readonly setup: AlertSetup;
  readonly part: Part;
  readonly open: number;
}

function AlertTabs({ setup, part, open }: TabsProps) {
  const failing = failingCount(setup);
  const silenced =
    setup.silences.filter(({ settings: { fromMs, untilMs } }) =>
      fromMs <= setup.now && setup.now < untilMs
    ).length;
  const tag = (count: number, name = "tag") =>
    count === 0 ? null : <span class={name}>{formatCount(count)}</span>;
  const tabs = [
    ["open", "Open", ALERTS_PATH, tag(open, "tag bad")],
    ["history", "History", HISTORY_PATH, null],
    ["rules", "Rules", RULES_PATH, tag(setup.rules.length)],
    [
      "channels",
      "Channels",
      CHANNELS_PATH,
      failing > 0
        ? <span class="tag warn">{formatCount(failing)} failing</span>
        : tag(setup.channels.length),
    ],
    ["deliveries", "Deliveries", DELIVERIES_PATH, null],
    ["silences", "Silences", SILENCES_PATH, tag(silenced)],
  ] as const;
  return (
    <Tabs
      label="Alerts"
      tabs={tabs.map(([name, text, to, note]) => ({
        name: text,
        to,
        note,
        isCurrent: name === part,
      }))}
    />
  );
}
