/** The monitor on an agent's page: its state, its next instants, its history; or a proposal. */
import type { Child, PropsWithChildren } from "hono/jsx";
import type { AgentRecord } from "../../../domain/agents/agents.ts";
import { uptimeOf } from "../../../domain/monitors/flips.ts";
import { deadlinesOf, type Flip, type Monitor } from "../../../domain/monitors/monitor.ts";
import { nextSlots, scheduleWords } from "../../../domain/monitors/schedule.ts";
import type { MonitorProposal, MonitorRecord } from "../../../domain/monitors/store.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps } from "../../http/context.ts";
import { type KeyValue, KeyValues, Section } from "../components/elements.tsx";
import { countedText, durationText, formatCount } from "../components/format.ts";
import { MonitorStatus, reasonOf, Strip, STRIP_DAYS, stripStart } from "../components/monitor.tsx";
import { Ago, At } from "../components/time.tsx";
import { MonitorHistory } from "./monitor_history.tsx";
import {
  ConfirmMonitorDeletion,
  CreateButton,
  DEFAULT_TEXTS,
  MonitorActions,
  MonitorForm,
  textsOfSettings,
} from "./monitor_form.tsx";
import { DAY_MS } from "../../../domain/core/time.ts";

/** Instants, flips listed, and flips read for the strip and the uptime. */
const SLOTS_SHOWN = 5, FLIPS_SHOWN = 20, FLIPS_MAX = 1_000;

/** Days that flips are kept. */
const HISTORY_DAYS = 400;

/** The monitor of an agent, or a proposal for one. */
interface AgentMonitor {
  /** Null if the agent has no monitor. */
  readonly record: MonitorRecord | null;
  /** Settings that fit the latest runs; null if none do, or if there is a monitor. */
  readonly proposal: MonitorProposal | null;
  /** Flips of the last days, oldest first. */
  readonly flips: readonly Flip[];
  /** Latest flips, latest first. */
  readonly history: readonly Flip[];
}

/** Reads the monitor of an agent, or a proposal for one. */
export async function readMonitor(
  { monitors }: AppDeps,
  team: Team,
  agent: string,
  zone: string,
  now: number,
): Promise<AgentMonitor> {
  const record = await monitors.read(team, agent);
  if (record === null) {
    return { record, proposal: await monitors.proposal(team, agent, zone), flips: [], history: [] };
  }
  const range = { fromMs: now - HISTORY_DAYS * DAY_MS, toMs: now + 1 };
  const [flips, history] = await Promise.all([
    monitors.flipsOf(team, [agent], stripStart(now), FLIPS_MAX),
    // One more than is shown, for how long the oldest one lasted.
    monitors.flips(team, agent, { ...range, limit: FLIPS_SHOWN + 1, after: null }),
  ]);
  return { record, proposal: null, flips: flips.get(agent) ?? [], history: history.flips };
}

export interface MonitorPanelProps extends AgentMonitor {
  readonly agent: AgentRecord;
  readonly now: number;
  readonly isAdmin: boolean;
  /** Number of the agent's open incidents. */
  readonly incidents: number;
  /** True to ask before the monitor is deleted. */
  readonly confirms: boolean;
}

export function MonitorPanel(props: MonitorPanelProps) {
  const { record, agent: { agent, archived }, now, isAdmin, confirms, history, flips } = props;
  if (record === null) return archived ? null : <NoMonitor {...props} />;
  const { monitor } = record;
  const reason = reasonOf({ monitor, last: history[0] ?? null, now });
  return (
    <>
      {confirms && isAdmin && <ConfirmMonitorDeletion agent={agent} />}
      <Section
        id="monitor"
        title="Monitor"
        aside={isAdmin && <MonitorActions agent={agent} isPaused={monitor.pause !== null} />}
      >
        <div class="monitor">
          <div>
            <p class="now">
              <MonitorStatus monitor={monitor} incidents={props.incidents} />
              {reason !== null && <span class="soft">{reason}</span>}
            </p>
            <Strip flips={flips} state={monitor.state} now={now} />
            <KeyValues pairs={pairsOf(monitor, flips, now)} />
          </div>
          <MonitorHistory flips={history} shown={FLIPS_SHOWN} />
        </div>
        {isAdmin && (
          <details>
            <summary>Change the monitor</summary>
            <MonitorForm
              agent={agent}
              texts={textsOfSettings(monitor.settings, monitor.version)}
              problem={null}
              exists
            />
          </details>
        )}
      </Section>
    </>
  );
}

/** Returns what there is to say of a monitor, most urgent first. */
function pairsOf(monitor: Monitor, flips: readonly Flip[], now: number): readonly KeyValue[] {
  const { settings, state, since, lastOkAt, lastArrivalAt } = monitor;
  const { expectedAt, downAfter } = deadlinesOf(monitor);
  const { maxRuntimeSeconds, failureThreshold, recoveryThreshold } = settings;
  const from = Math.max(monitor.createdAt, now - STRIP_DAYS * DAY_MS);
  const uptime = uptimeOf(flips, state, from, now);
  const isRunning = expectedAt !== null && state !== "paused" && state !== "new";
  const pairs: readonly (KeyValue | false)[] = [
    ["Since", <At at={since} />],
    isRunning && ["Expected", <Instant at={expectedAt} now={now} />],
    isRunning && downAfter !== null && state !== "down" &&
    ["Down after", <Instant at={downAfter} now={now} />],
    ["Schedule", <Schedule {...settings} />],
    isRunning && [
      `Next ${SLOTS_SHOWN}`,
      <ol class="slots">
        {nextSlots(settings.schedule, expectedAt, SLOTS_SHOWN).map((at) => (
          <li>
            <At at={at} />
          </li>
        ))}
      </ol>,
    ],
    ["Last arrival", <Instant at={lastArrivalAt} now={now} />],
    lastOkAt !== lastArrivalAt && ["Last success", <Instant at={lastOkAt} now={now} />],
    maxRuntimeSeconds !== null &&
    ["Maximum duration", durationText(maxRuntimeSeconds * 1_000)],
    failureThreshold > 1 && ["Also down after", `${failureThreshold} failures in a row`],
    recoveryThreshold > 1 && ["Up after", `${recoveryThreshold} successes in a row`],
    uptime !== null && [`Not down, ${STRIP_DAYS} days`, uptimeText(uptime)],
  ];
  return pairs.filter((pair) => pair !== false);
}

/** Formats a fraction with 2 decimals, rounded down: only no downtime at all is 100%. */
function uptimeText(fraction: number): string {
  return `${(Math.floor(fraction * 10_000) / 100).toFixed(2).replace(/\.?0+$/, "")}%`;
}

function Schedule({ schedule, graceSeconds }: Monitor["settings"]) {
  return (
    <>
      {scheduleWords(schedule)}
      {"cron" in schedule && (
        <>
          {" "}
          (<code>{schedule.cron}</code>, {schedule.tz})
        </>
      )}, grace {durationText(graceSeconds * 1_000)}
    </>
  );
}

function Instant({ at, now }: { readonly at: number | null; readonly now: number }) {
  if (at === null) return <>–</>;
  return (
    <>
      <At at={at} />, <Ago at={at} now={now} />
    </>
  );
}

/** Says what a monitor would do, and offers the one that fits the latest runs. */
function NoMonitor({ agent: { agent }, proposal, isAdmin }: MonitorPanelProps) {
  return (
    <Section id="monitor" title="Monitor">
      {proposal === null
        ? (
          <p class="soft">
            A monitor notices when a run does not come. A schedule is proposed here once the runs of
            this agent have a rhythm.
          </p>
        )
        : (
          <Proposal {...proposal}>
            {isAdmin && <CreateButton agent={agent} settings={settingsOf(proposal)} />}
          </Proposal>
        )}
      {isAdmin
        ? (
          <details>
            <summary>{proposal === null ? "Create a monitor" : "Other settings"}</summary>
            <MonitorForm
              agent={agent}
              texts={proposal === null
                ? DEFAULT_TEXTS
                : textsOfSettings(settingsOf(proposal), null)}
              problem={null}
              exists={false}
            />
          </details>
        )
        : (
          <p class="soft">
            Creating one takes a key with the scope <code>admin</code>.
          </p>
        )}
    </Section>
  );
}

/** Returns the settings of a proposal. */
export function settingsOf({ schedule, graceSeconds }: MonitorProposal): Monitor["settings"] {
  return {
    schedule,
    graceSeconds,
    maxRuntimeSeconds: null,
    failureThreshold: 1,
    recoveryThreshold: 1,
    enabled: true,
  };
}

/** Shows the rhythm of the latest runs, with a button that creates its monitor. */
export function Proposal(
  props: PropsWithChildren<MonitorProposal & { readonly name?: Child }>,
) {
  const { schedule, graceSeconds, fromRuns, hits, name, children } = props;
  const gaps = fromRuns - 1;
  return (
    <div class="proposal">
      <p>
        {name !== undefined && <>{name}{" "}</>}
        <strong>{scheduleWords(schedule)}</strong>
        {"cron" in schedule && ` (${schedule.tz})`}: {formatCount(Math.round(hits * gaps))}{" "}
        of the last {countedText(gaps, "run")}{" "}
        came in this rhythm. A monitor notices when one does not, and waits{" "}
        {durationText(graceSeconds * 1_000)} for it.
      </p>
      {children}
    </div>
  );
}
