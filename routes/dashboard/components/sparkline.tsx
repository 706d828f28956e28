/** Runs of the last days as small bars: succeeded and running ones upwards, all others downwards. */
import type { DayOfRuns } from "../../../domain/spend/agent_days.ts";
import type { Measures } from "../../../domain/runs/contribution.ts";
import { countedText, formatCount } from "./format.ts";
import { byStatus } from "./statuses.ts";

/** Width of a day and of its bar. */
const DAY = { width: 4, bar: 3 } as const;

/** Height of the chart and y position of the baseline; successful runs get the larger part. */
const HEIGHT = 26, BASE = 16;

/** A small chart; its title describes it in words. */
export function Sparkline({ days }: { readonly days: readonly DayOfRuns[] }) {
  const width = days.length * DAY.width;
  const down = Math.max(1, ...days.map(({ measures }) => lostOf(measures)));
  const up = Math.max(1, ...days.map(({ measures }) => measures.runs - lostOf(measures)));
  // One scale for both directions, chosen so that both fit.
  const scale = Math.min(BASE / up, (HEIGHT - BASE) / down);
  return (
    <svg
      class="spark"
      role="img"
      viewBox={`0 0 ${width} ${HEIGHT}`}
      width={width}
      height={HEIGHT}
    >
      <title>{wordsOf(days)}</title>
      <rect class="base" x="0" y={BASE - 0.25} width={width} height="0.5" />
      {Object.entries(barsOf(days, scale)).map(([status, d]) => <path class={status} d={d} />)}
    </svg>
  );
}

/** Counts runs that ended without success. */
function lostOf({ runs, succeeded, running }: Measures): number {
  return runs - succeeded - running;
}

/**
 * Draws all bars of a status as one path, which needs fewer elements; omits statuses that do not
 * occur.
 */
function barsOf(days: readonly DayOfRuns[], scale: number): Record<string, string> {
  const shapes: Record<string, string> = {};
  for (const [at, { measures }] of days.entries()) {
    let [above, below] = [BASE, BASE];
    // Starting at the baseline, success is first upwards and failed is first downwards.
    const statuses = byStatus(measures);
    for (const [status, count] of [...statuses.slice(0, 3), ...statuses.slice(3).toReversed()]) {
      const height = heightOf(count, scale);
      if (height === 0) continue;
      const isUp = status === "success" || status === "running";
      const y = isUp ? above -= height : below;
      if (!isUp) below += height;
      shapes[status] = `${shapes[status] ?? ""}M${at * DAY.width} ${rounded(y)}h${DAY.bar}` +
        `v${rounded(height)}h-${DAY.bar}z`;
    }
  }
  return shapes;
}

/** Any count above 0 is at least 1 pixel high. */
function heightOf(count: number, scale: number): number {
  return count <= 0 ? 0 : Math.max(1, count * scale);
}

function rounded(size: number): number {
  return Math.round(size * 100) / 100;
}

/** Describes the chart in one sentence. */
export function wordsOf(days: readonly DayOfRuns[]): string {
  const sum = (of: (measures: Measures) => number) =>
    days.reduce((all, { measures }) => all + of(measures), 0);
  const runs = sum(({ runs }) => runs);
  if (runs === 0) return `No run in ${days.length} days`;
  const running = sum(({ running }) => running);
  const most = days.reduce((a, b) => b.measures.runs > a.measures.runs ? b : a);
  return `${countedText(runs, "run")} in ${days.length} days, of which ` +
    `${formatCount(sum(lostOf))} did not succeed${
      running === 0 ? "" : ` and ${formatCount(running)} ${running === 1 ? "is" : "are"} running`
    }; most on ${most.day}: ${formatCount(most.measures.runs)}`;
}
