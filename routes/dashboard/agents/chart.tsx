/** The days of an agent as a chart with a scale, and the same figures as a table. */
import type { DayOfRuns } from "../../../domain/spend/agent_days.ts";
import { Money, Wide } from "../parts/basics.tsx";
import { countedText, countText } from "../parts/format.ts";
import { wordsOf } from "../parts/sparkline.tsx";

/** Units of the drawing; it is stretched to the width of the page, so there is no text in it. */
const DAY_WIDTH = 24, BAR_WIDTH = 20, HEIGHT = 160;

/** Succeeded runs and, on top of them, all others. */
export function DaysChart({ days }: { readonly days: readonly DayOfRuns[] }) {
  const most = Math.max(1, ...days.map(({ measures }) => measures.runs));
  const width = days.length * DAY_WIDTH;
  return (
    <figure>
      <div class="soft">up to {countText(most)} a day</div>
      <svg
        class="chart days"
        role="img"
        aria-labelledby="days-title"
        viewBox={`0 0 ${width} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        <title id="days-title">{wordsOf(days)}</title>
        <line class="axis" x1="0" y1="0" x2={width} y2="0" />
        <line class="axis" x1="0" y1={HEIGHT} x2={width} y2={HEIGHT} />
        {days.map((each, i) => <DayBar of={each} at={i} scale={HEIGHT / most} />)}
      </svg>
      <div class="soft ends">
        <span>{days[0]?.day}</span>
        <span>{days.at(-1)?.day}</span>
      </div>
      <figcaption class="soft legend">
        <span class="key good" aria-hidden="true" /> succeeded{" "}
        <span class="key bad" aria-hidden="true" />{" "}
        on top: failed, timed out, cancelled or still running
      </figcaption>
    </figure>
  );
}

interface Bar {
  readonly of: DayOfRuns;
  readonly at: number;
  /** Height of one run. */
  readonly scale: number;
}

function DayBar({ of: { day, measures: { runs, succeeded } }, at, scale }: Bar) {
  if (runs <= 0) return null;
  const [all, good] = [runs * scale, succeeded * scale];
  const box = { x: at * DAY_WIDTH + (DAY_WIDTH - BAR_WIDTH) / 2, width: BAR_WIDTH };
  return (
    <g>
      <title>
        {`${day}: ${countedText(runs, "run")}, ${countText(runs - succeeded)} not succeeded`}
      </title>
      <rect class="good" {...box} y={(HEIGHT - good).toFixed(1)} height={good.toFixed(1)} />
      <rect class="bad" {...box} y={(HEIGHT - all).toFixed(1)} height={(all - good).toFixed(1)} />
    </g>
  );
}

/** The same figures, to be opened. */
export function DaysTable({ days }: { readonly days: readonly DayOfRuns[] }) {
  const used = days.filter(({ measures }) => measures.runs > 0).toReversed();
  return used.length === 0 ? null : (
    <details>
      <summary>The same as a table</summary>
      <Wide label="Runs by day">
        <table class="roomy">
          <thead>
            <tr>
              <th scope="col">Day (UTC)</th>
              <th scope="col" class="number">Runs</th>
              <th scope="col" class="number">Succeeded</th>
              <th scope="col" class="number">Not succeeded</th>
              <th scope="col" class="number">Cost</th>
            </tr>
          </thead>
          <tbody>
            {used.map(({ day, measures: { runs, succeeded, cost } }) => (
              <tr>
                <th scope="row">{day}</th>
                <td class="number">{countText(runs)}</td>
                <td class="number">{countText(succeeded)}</td>
                <td class="number">{countText(runs - succeeded)}</td>
                <td class="number">
                  <Money of={cost} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </details>
  );
}
