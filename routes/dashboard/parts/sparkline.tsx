/** Runs of the last days as bars: those that succeeded upwards, all others downwards. */
import type { DayOfRuns } from "../../../domain/spend/agent_days.ts";
import { countText } from "./format.ts";

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
      aria-label={words}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      width={width}
      height={HEIGHT}
    >
      <title>{words}</title>
      <rect class="base" x="0" y={BASE - 0.25} width={width} height="0.5" />
      {days.map(({ measures: { runs, succeeded } }, i) => (
        <>
          <Bar at={i} from={BASE - heightOf(succeeded, scale)} size={heightOf(succeeded, scale)} />
          <Bar at={i} from={BASE} size={heightOf(runs - succeeded, scale)} isBad />
        </>
      ))}
    </svg>
  );
}

interface BarShape {
  readonly at: number;
  readonly from: number;
  readonly size: number;
  readonly isBad?: boolean;
}

function Bar({ at, from, size, isBad = false }: BarShape) {
  return size === 0 ? null : (
    <rect
      class={isBad ? "bad" : "good"}
      x={at * DAY.width}
      y={round(from)}
      width={DAY.bar}
      height={round(size)}
    />
  );
}

/** What is there at all can be seen. */
function heightOf(count: number, scale: number): number {
  return count <= 0 ? 0 : Math.max(1, count * scale);
}

function round(length: number): number {
  return Math.round(length * 100) / 100;
}

/** The chart in a sentence. */
export function wordsOf(days: readonly DayOfRuns[]): string {
  const sum = (of: (day: DayOfRuns) => number) => days.reduce((all, day) => all + of(day), 0);
  const runs = sum(({ measures }) => measures.runs);
  if (runs === 0) return `No run in ${days.length} days`;
  const other = runs - sum(({ measures }) => measures.succeeded);
  const most = days.reduce((a, b) => b.measures.runs > a.measures.runs ? b : a);
  return `${countText(runs)} runs in ${days.length} days, of which ${countText(other)} did not ` +
    `succeed; most on ${most.day}: ${countText(most.measures.runs)}`;
}
