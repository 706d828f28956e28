/** A monitor: its state and the reason, its schedule, its last days, its facts and its history. */
import { Ago, At, type Pairs, Sign } from "./elements.tsx";
import type { Child } from "hono/jsx";
import {
  deadlinesOf,
  type Flip,
  type Monitor,
  type MonitorState,
} from "../../../domain/monitors/monitor.ts";
import { stripOf, uptimeOf } from "../../../domain/monitors/flips.ts";
import { nextSlots, scheduleWords } from "../../../domain/monitors/schedule.ts";
import { DAY_MS } from "../../../domain/core/time.ts";
import { countedText, dayText, durationText, listed } from "./format.ts";
import { runPath } from "../layout/paths.ts";
import type { IconName } from "./icons.tsx";

/**
 * The word and the icon of each state of an agent, in the order of their urgency: `incident` is an
 * agent that is neither down nor late and has an open incident; `none` another one without a monitor.
 */
export const MONITOR_LABELS = {
  down: ["Down", "bad"],
  incident: ["Incident", "bad"],
  late: ["Late", "late"],
  up: ["Up", "ok"],
  paused: ["Paused", "paused"],
  new: ["New", "new"],
  none: ["No monitor", "off"],
} as const satisfies Readonly<Record<string, readonly [word: string, icon: IconName]>>;

/** One of {@link AGENT_STATES}. */
export type AgentState = keyof typeof MONITOR_LABELS;

/** The states of an agent, the most urgent first. */
export const AGENT_STATES = Object.keys(MONITOR_LABELS) as readonly AgentState[];

/** Returns the state of an agent; its monitor is null if it has none. */
export function agentState(monitor: Monitor | null, incidents: number): AgentState {
  const state = monitor?.state ?? "none";
  return incidents > 0 && ["up", "new", "none"].includes(state) ? "incident" : state;
}

/** Facts from which the state of an agent follows. */
interface Judged {
  /** Null for an agent without one. */
  readonly monitor: Monitor | null;
  /** Number of the agent's open incidents. */
  readonly incidents: number;
  /** Latest flip of the monitor. */
  readonly last: Flip | undefined;
}

/** The state of an agent: punctual runs that fail, or an open incident, are not just "Up". */
export function MonitorStatus({ of, now }: { readonly of: Judged; readonly now: number }) {
  const { monitor, incidents, last } = of;
  const state = agentState(monitor, incidents);
  const isFailing = (monitor?.lastArrivalAt ?? 0) > (monitor?.lastOkAt ?? 0);
  const [word, icon] = state === "incident"
    ? [countedText(incidents, "open incident"), "bad"] as const
    : state === "up" && isFailing
    ? ["Up, last run failed", "warn"] as const
    : MONITOR_LABELS[state];
  const reason = monitor && reasonOf(monitor, last, now);
  return (
    <>
      <Sign icon={icon} isWord>{word}</Sign>
      {reason !== null && <small class="under">{reason}</small>}
    </>
  );
}

/** Causes of flips by their reasons. */
const FLIP_REASONS: Readonly<Record<Flip["reason"], string>> = {
  created: "monitor created",
  arrived: "a run arrived",
  expected: "a run was expected",
  missed: "no run came",
  failed: "a run failed",
  overrun: "a run took longer than its maximum",
  recovered: "a run succeeded",
  paused: "paused",
  resumed: "resumed",
  changed: "settings changed",
  absence: "the service did not run",
};

/** Returns why a monitor is in its state, in a few words; null where the state says it all. */
function reasonOf(monitor: Monitor, last: Flip | undefined, now: number): Child | null {
  const { state, since, pause, settings } = monitor;
  const lasted = durationText(Math.max(0, now - since));
  if (state === "new") return "no run yet";
  if (state === "late") return `for ${lasted}`;
  if (state === "down") return `for ${lasted}: ${FLIP_REASONS[last?.reason ?? "missed"]}`;
  if (state === "paused" && !settings.enabled) return "switched off";
  if (state !== "paused" || pause === null) return null;
  if (pause.untilMs !== null) return ["until ", <At at={pause.untilMs} />];
  return pause.isSticky ? "until it is resumed" : "until the next success";
}

/**
 * Returns the schedule and the grace in words.
 *
 * @param zone time zone of the page: another one of a cron line is named; null to name none
 */
export function scheduleText({ settings }: Monitor, zone: string | null): string {
  const { schedule, graceSeconds } = settings;
  const isElsewhere = zone !== null && "cron" in schedule && schedule.tz !== zone;
  const words = scheduleWords(schedule) + (isElsewhere ? ` (${schedule.tz})` : "");
  return `${words}, grace ${durationText(graceSeconds * 1_000)}`;
}

/** Days of a strip, including today. */
export const STRIP_DAYS = 30;

/** Returns the start of a strip: of its first UTC day, unix milliseconds. */
export function stripStart(now: number): number {
  return Math.floor(now / DAY_MS) * DAY_MS - (STRIP_DAYS - 1) * DAY_MS;
}

interface StripProps {
  /** Flips since the start of the strip, oldest first. */
  readonly flips: readonly Flip[];
  /** Current state. */
  readonly state: MonitorState;
  readonly now: number;
}

/** Height of a bar by the worst state of its day: trouble is taller. */
const HEIGHTS = { ok: 7, late: 14, down: 22, none: 2 } as const;

/** The last days of a monitor, one bar each; hovering names the days with trouble. */
export function Strip({ flips, state, now }: StripProps) {
  const fromMs = stripStart(now);
  // Today lasts to its end, in the current state.
  const days = stripOf(flips, state, fromMs, fromMs + STRIP_DAYS * DAY_MS, STRIP_DAYS);
  return barsOf(stripText(days, fromMs), days.map((day) => [[day, HEIGHTS[day]]]), HEIGHTS.down);
}

/** Width of a day with its gap, and of its bar. */
const SLOT = 6, BAR = 4;

/**
 * Small bars in a row. One shape a class instead of one a bar keeps a page of many agents small.
 *
 * @param bars the parts of each from the bottom up: their class and height
 */
export function barsOf(
  title: string,
  bars: readonly (readonly (readonly [string, number])[])[],
  height: number,
) {
  const shapes = new Map<string, string>();
  for (const [i, parts] of bars.entries()) {
    let bottom = height;
    for (const [name, size] of parts) {
      const path = size === 0 ? "" : `M${i * SLOT} ${bottom}v-${size}h${BAR}v${size}z`;
      shapes.set(name, (shapes.get(name) ?? "") + path);
      bottom -= size;
    }
  }
  const width = bars.length * SLOT - (SLOT - BAR);
  const box = { width, height, viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none" };
  return (
    <svg class="strip" role="img" {...box}>
      <title>{title}</title>
      {[...shapes].map(([name, d]) => <path class={name} d={d} />)}
    </svg>
  );
}

/** Maximum days named of a state. */
const DAYS_NAMED = 4;

/** Describes a strip in one sentence. */
function stripText(days: readonly string[], fromMs: number): string {
  const parts = ["down", "late"].flatMap((worst) => {
    const at = days.flatMap((day, i) => day === worst ? [dayText(fromMs + i * DAY_MS)] : []);
    const named = listed(at.toReversed(), DAYS_NAMED);
    return at.length === 0 ? [] : [`${worst} on ${countedText(at.length, "day")} (${named})`];
  });
  const isJudged = days.some((day) => day !== "none");
  return `${STRIP_DAYS} days: ` +
    (isJudged ? parts.join(", ") || "no trouble" : "nothing was expected");
}

/** Expected instants and flips shown. */
const SLOTS_SHOWN = 5, FLIPS_SHOWN = 20;

/** Returns the facts of a monitor, most urgent first. */
export function monitorFacts(monitor: Monitor, flips: readonly Flip[], now: number): Pairs {
  const { settings, state, since, lastOkAt, lastArrivalAt } = monitor;
  const { expectedAt, downAfter } = deadlinesOf(monitor);
  const { schedule, maxRuntimeSeconds, failureThreshold, recoveryThreshold } = settings;
  const from = Math.max(monitor.createdAt, now - STRIP_DAYS * DAY_MS);
  const uptime = uptimeOf(flips, state, from, now);
  const isRunning = expectedAt !== null && state !== "paused" && state !== "new";
  const instant = (at: number | null): Child =>
    at === null ? "–" : [<At at={at} />, ", ", <Ago at={at} />];
  const slots = isRunning ? nextSlots(schedule, expectedAt, SLOTS_SHOWN) : [];
  const times = slots.map((at) => <At at={at} />);
  return [
    ["Since", <At at={since} />],
    isRunning && ["Expected", instant(expectedAt)],
    isRunning && downAfter !== null && state !== "down" && ["Down after", instant(downAfter)],
    ["Schedule", scheduleText(monitor, null)],
    "cron" in schedule && ["Cron line", [<code>{schedule.cron}</code>, `, ${schedule.tz}`]],
    isRunning && [
      `Next ${SLOTS_SHOWN}`,
      <ol class="slots">{times.map((time) => <li>{time}</li>)}</ol>,
    ],
    ["Last arrival", instant(lastArrivalAt)],
    lastOkAt !== lastArrivalAt && ["Last success", instant(lastOkAt)],
    maxRuntimeSeconds !== null && ["Maximum duration", durationText(maxRuntimeSeconds * 1_000)],
    failureThreshold > 1 && ["Also down after", `${failureThreshold} failures in a row`],
    recoveryThreshold > 1 && ["Up after", `${recoveryThreshold} successes in a row`],
    // Rounded down: only no downtime at all is 100%.
    uptime !== null && [`Not down, ${STRIP_DAYS} days`, `${Math.floor(uptime * 1e4) / 100}%`],
  ];
}

/** Returns the history of a monitor, latest first: its flips as sentences. */
export function flipEntries(flips: readonly Flip[]) {
  return flips.slice(0, FLIPS_SHOWN).map((flip, i) => {
    const icon = flip.to === "unknown" ? "off" : MONITOR_LABELS[flip.to][1];
    return (
      <li>
        <At at={flip.at} />
        <Sign icon={icon} />
        <span>{sentenceOf(flip, flips[i + 1])}</span>
      </li>
    );
  });
}

/** Describes a flip; `before` is the one that it ended. */
function sentenceOf({ to, reason, at, until, run }: Flip, before: Flip | undefined): Child {
  const cause = FLIP_REASONS[reason];
  if (to === "unknown") {
    return until === undefined
      ? cause
      : [<b>Not judged</b>, `: ${cause}, until `, <At at={until} />];
  }
  const hasLasted = to === "up" && (before?.to === "down" || before?.to === "late");
  return [
    <b>{MONITOR_LABELS[to][0]}</b>,
    reason !== to && [": ", run === undefined ? cause : <a href={runPath(run)}>{cause}</a>],
    hasLasted && `, ${before.to} for ${durationText(at - before.at)}`,
  ];
}
