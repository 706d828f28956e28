/** Runs of the last days as bars: those that succeeded upwards, all others downwards. */
import type { DayOfRuns } from "../../../domain/spend/agent_days.ts";
import { countedText, countText } from "./format.ts";

/** Width of a day, and the part of it that its bar fills. */
const DAY = { width: 4, bar: 3 } as const;

/** Height of the whole, and where bars begin: the larger part is for what succeeded. */
const HEIGHT = 26, BASE = 16;

/** A small chart; its title says in words what it shows. */
export function Sparkline({ days }: { readonly days: readonly DayOfRuns[] }) {
  const width = days.length * DAY.width;
  const up = Math.max(1, ...days.map(({ measures }) => measures.succeeded));
  const down = Math.max(1, ...days.map(({ measures }) => measures.runs - measures.succeeded));
  // One scale for both, as long as both have room.
  const scale = Math.min(BASE / up, (HEIGHT - BASE) / down);
  const words = wordsOf(days);
  return (
    <svg
      class="spark"
      role="img"
      viewBox={`0 0 ${width} ${HEIGHT}`}
      width={width}
      height={HEIGHT}
    >
      <title>{words}</title>
      <rect class="base" x="0" y={BASE - 0.25} width={width} height="0.5" />
      <path class="good" d={barsOf(days, ({ succeeded }) => -heightOf(succeeded, scale))} />
      <path
        class="bad"
        d={barsOf(days, ({ runs, succeeded }) => heightOf(runs - succeeded, scale))}
      />
    </svg>
  );
}

/** All bars as one shape, which is a fraction of an element each. */
function barsOf(
  days: readonly DayOfRuns[],
  lengthOf: (measures: DayOfRuns["measures"]) => number,
): string {
  return days.map(({ measures }, i) => {
    const length = Math.round(lengthOf(measures) * 100) / 100;
    return length === 0 ? "" : `M${i * DAY.width} ${BASE}h${DAY.bar}v${length}h-${DAY.bar}z`;
  }).join("");
}

/** What is there at all can be seen. */
function heightOf(count: number, scale: number): number {
  return count <= 0 ? 0 : Math.max(1, count * scale);
}

/** The chart in a sentence. */
export function wordsOf(days: readonly DayOfRuns[]): string {
  const sum = (of: (day: DayOfRuns) => number) => days.reduce((all, day) => all + of(day), 0);
  const runs = sum(({ measures }) => measures.runs);
  if (runs === 0) return `No run in ${days.length} days`;
  const other = runs - sum(({ measures }) => measures.succeeded);
  const most = days.reduce((a, b) => b.measures.runs > a.measures.runs ? b : a);
  return `${countedText(runs, "run")} in ${days.length} days, of which ${
    countText(other)
  } did not ` +
    `succeed; most on ${most.day}: ${countText(most.measures.runs)}`;
}
