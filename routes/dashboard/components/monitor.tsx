/** The state of a monitor: its word, its reason, and its last days. */
import type { Child } from "hono/jsx";
import type { Flip, Monitor, MonitorState } from "../../../domain/monitors/monitor.ts";
import { stripOf } from "../../../domain/monitors/flips.ts";
import { agoText, countedText, dayText } from "./format.ts";
import { Icon, type IconName } from "./icons.tsx";
import { At } from "./time.tsx";
import { DAY_MS } from "../../../domain/core/time.ts";

/** The word and the icon of each state, in the order of their urgency. */
export const MONITOR_LABELS: Readonly<Record<MonitorState, readonly [string, IconName]>> = {
  down: ["Down", "bad"],
  late: ["Late", "late"],
  up: ["Up", "ok"],
  paused: ["Paused", "paused"],
  new: ["New", "new"],
};

/** Days of a strip, including today. */
export const STRIP_DAYS = 30;

/** Returns whether a state alone says of no trouble, so that an open incident comes first. */
export function isWell(state: MonitorState | "none"): boolean {
  return state === "up" || state === "new" || state === "none";
}

interface MonitorStatusProps {
  /** Null for an agent without one. */
  readonly monitor: Monitor | null;
  /** Number of the agent's open incidents. */
  readonly incidents: number;
}

/** The state of an agent: punctual runs that fail, or an open incident, are not just "Up". */
export function MonitorStatus({ monitor, incidents }: MonitorStatusProps) {
  const state = monitor?.state ?? "none";
  const [name, word, icon] = isWell(state) && incidents > 0
    ? ["bad", countedText(incidents, "open incident"), "bad"] as const
    : state === "none"
    ? ["off", "No monitor", "off"] as const
    : state === "up" && (monitor?.lastArrivalAt ?? 0) > (monitor?.lastOkAt ?? 0)
    ? ["warn", "Up, last run failed", "warn"] as const
    : [state, ...MONITOR_LABELS[state]] as const;
  return (
    <span class={`st word st-${name}`}>
      <Icon name={icon} />
      <span>{word}</span>
    </span>
  );
}

interface ReasonProps {
  readonly monitor: Monitor;
  /** Its latest flip; null if none is known. */
  readonly last: Flip | null;
  readonly now: number;
}

/** What made an agent go down, by the reason of its flip. */
const CAUSES: ReadonlyMap<Flip["reason"], string> = new Map([
  ["failed", "runs fail"],
  ["overrun", "a run takes too long"],
]);

/** Why a monitor is in its state, in a few words; null where the state says it all. */
export function reasonOf({ monitor, last, now }: ReasonProps): Child | null {
  const { state, since, pause, settings } = monitor;
  const lasted = agoText(since, now).replace(/ ago$/, "").replace("just now", "a moment");
  switch (state) {
    case "down":
      return `for ${lasted}: ${CAUSES.get(last?.reason ?? "missed") ?? "no run came"}`;
    case "late":
      return `for ${lasted}`;
    case "paused":
      if (!settings.enabled) return "switched off";
      if (pause === null) return null;
      if (pause.untilMs !== null) {
        return (
          <>
            until <At at={pause.untilMs} />
          </>
        );
      }
      return pause.isSticky ? "until it is resumed" : "until the next success";
    case "new":
      return "no run yet";
    default:
      return null;
  }
}

/** Width of a day with its gap and of its bar, and the height of a strip. */
const SLOT = 6, BAR = 4, HEIGHT = 22;

/** Height of a bar by the worst state of its day: trouble is taller. */
const HEIGHTS = { ok: 7, late: 14, down: HEIGHT, none: 2 } as const;

interface StripProps {
  /** Flips since the start of the strip, oldest first. */
  readonly flips: readonly Flip[];
  /** Current state. */
  readonly state: MonitorState;
  readonly now: number;
}

/** Returns the start of a strip: of its first UTC day, unix milliseconds. */
export function stripStart(now: number): number {
  return Math.floor(now / DAY_MS) * DAY_MS - (STRIP_DAYS - 1) * DAY_MS;
}

/** The last days of a monitor, one bar each; hovering names the days with trouble. */
export function Strip({ flips, state, now }: StripProps) {
  const fromMs = stripStart(now);
  // Today lasts to its end, in the current state.
  const days = stripOf(flips, state, fromMs, fromMs + STRIP_DAYS * DAY_MS, STRIP_DAYS);
  // One shape a state instead of one a day keeps a page of many agents small.
  const shapes = (["ok", "late", "down", "none"] as const).flatMap((worst) => {
    const bars = days.flatMap((day, i) =>
      day === worst ? [`M${i * SLOT} ${HEIGHT}v-${HEIGHTS[worst]}h${BAR}v${HEIGHTS[worst]}z`] : []
    );
    return bars.length === 0 ? [] : [<path class={worst} d={bars.join("")} />];
  });
  return (
    <svg class="strip" role="img" width={STRIP_DAYS * SLOT - (SLOT - BAR)} height={HEIGHT}>
      <title>{stripText(days, fromMs)}</title>
      {shapes}
    </svg>
  );
}

/** Maximum days named of a state. */
const DAYS_NAMED = 4;

/** Describes a strip in one sentence. */
function stripText(days: readonly string[], fromMs: number): string {
  const parts = (["down", "late"] as const).flatMap((worst) => {
    const at = days.flatMap((day, i) => day === worst ? [dayText(fromMs + i * DAY_MS)] : []);
    if (at.length === 0) return [];
    const more = at.length > DAYS_NAMED ? " and before" : "";
    const named = at.toReversed().slice(0, DAYS_NAMED).join(", ");
    return [`${worst} on ${countedText(at.length, "day")} (${named}${more})`];
  });
  if (days.every((day) => day === "none")) return `${STRIP_DAYS} days: nothing was expected`;
  return `${STRIP_DAYS} days: ${parts.length === 0 ? "no trouble" : parts.join(", ")}`;
}
