/** Stacked columns, one a day or month, on an axis with round ticks. */
import { percentText } from "./format.ts";

export interface ChartColumn {
  /** Name below the column, where there is room. */
  readonly name: string;
  /** Name and size, shown above the chart on hover and focus. */
  readonly title: string;
  /** Page of what it counts; absent for none. */
  readonly to?: string | null;
  /** Segments from bottom to top: the class of the colour, and the size. */
  readonly parts: readonly (readonly [string, number])[];
}

interface ChartProps {
  /** Describes the chart and its numbers in one sentence. */
  readonly title: string;
  readonly columns: readonly ChartColumn[];
  readonly format: (tick: number) => string;
  /** Value to compare with, drawn as a dashed line; none by default. */
  readonly usual?: number | null;
  /** Height of the columns in pixels. */
  readonly height?: number;
}

/** Height in pixels of the areas above and below the columns, and of the columns. */
const ABOVE = 20, BELOW = 20, PLOT = 116;

/** Fraction of its slot that a column fills, and its maximum width in slots of a wide chart. */
const FILLED = 0.78, SLOTS_LEAST = 7;

/** Pixels of a digit of a tick. */
const DIGIT = 6.5;

/** Radius of the upper corners of a column, in pixels. */
const ROUND = 2;

/** Names below the columns, at most one more. */
const NAMES = 4;

/**
 * Draws columns and highlights the last one. Horizontal positions are percentages, so text keeps
 * its size at any width.
 */
export function ColumnChart({ title, columns, format, usual = null, height = PLOT }: ChartProps) {
  const ticks = ticksOf(Math.max(...columns.map(({ parts }) => sumOf(parts)), usual ?? 0));
  const top = ticks.at(-1) ?? 1;
  const yOf = (size: number) => ABOVE + height * (1 - size / top);
  const labels = ticks.map(format);
  const gutter = 8 + DIGIT * Math.max(...labels.map(({ length }) => length));
  const slot = 100 / columns.length;
  const width = Math.min(slot, 100 / SLOTS_LEAST) * FILLED;
  const last = columns.length - 1;
  const everyName = Math.max(1, Math.ceil(last / NAMES));
  return (
    <figure class="chart">
      <svg width={gutter} height={ABOVE + height + BELOW} aria-hidden="true">
        {ticks.map((tick, i) => (
          <text x={gutter - 8} y={yOf(tick) + 4} text-anchor="end">{labels[i]}</text>
        ))}
      </svg>
      <svg
        class="columns"
        role={columns.some(({ to }) => to) ? "group" : "img"}
        aria-label={title}
        height={ABOVE + height + BELOW}
      >
        {ticks.map((tick) => <line class="grid" x2="100%" y1={yOf(tick)} y2={yOf(tick)} />)}
        {columns.map(({ title, to, parts }, i) => {
          const shape = [
            <rect class="place" {...place(slot * i, slot)} y={ABOVE} height={height} />,
            <svg y={ABOVE} width="100%" height={height}>
              {barsOf(parts, height, top).map(({ name, ...bar }) => (
                <rect class={name} {...place(slot * (i + 0.5) - width / 2, width)} {...bar} />
              ))}
            </svg>,
            <text class="tip" {...anchor(i < columns.length / 2 ? 0 : 100)} y="11">{title}</text>,
          ];
          const name = i === last ? "column today" : "column";
          return to
            ? <a class={name} href={to} aria-label={title}>{shape}</a>
            : <g class={name}>{shape}</g>;
        })}
        {usual !== null && <line class="usual" x2="100%" y1={yOf(usual)} y2={yOf(usual)} />}
        {columns.map(({ name }, i) =>
          (last - i) % everyName === 0 && (
            <text {...anchor(i === last ? 100 : slot * (i + 0.5))} y={ABOVE + height + 15}>
              {name}
            </text>
          )
        )}
      </svg>
    </figure>
  );
}

/** Returns where a shape is and its width, both in percent. */
function place(x: number, width: number) {
  return { x: percent(x), width: percent(width) };
}

/** Returns where a text is, in percent: it ends at the right edge, and begins at the left one. */
function anchor(x: number) {
  return { x: percent(x), "text-anchor": x === 0 ? "start" : x === 100 ? "end" : "middle" };
}

/** Returns the segments of a column, from the top down. */
function barsOf(parts: ChartColumn["parts"], height: number, top: number) {
  let y = height;
  const shown = parts.filter(([, size]) => size > 0);
  return shown.map(([name, size], i) => {
    const pixels = height * size / top;
    const rx = i === shown.length - 1 ? ROUND : undefined;
    y -= pixels;
    // The lower corners are outside of the plot, or below the next segment.
    return { name, y, height: Math.max(1, pixels) + (rx ?? 0), rx };
  }).toReversed();
}

function sumOf(parts: ChartColumn["parts"]): number {
  return parts.reduce((sum, [, size]) => sum + size, 0);
}

/** Intervals between ticks, at most. */
const INTERVALS = 4;

/** Returns round ticks from 0 on, integers 1, 2 or 5 × 10ⁿ apart; the last covers the greatest. */
export function ticksOf(greatest: number): readonly number[] {
  const least = Math.max(1, greatest / INTERVALS);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((of) => of >= least) ?? power;
  const count = Math.max(1, Math.ceil(greatest / step));
  return Array.from({ length: count + 1 }, (_, i) => i * step);
}

/** Formats a percentage as an attribute value. */
export function percent(share: number): string {
  return `${Math.round(share * 100) / 100}%`;
}

/** A colour sample, by its class, for the label next to it. */
export function Swatch({ of }: { readonly of: string }) {
  return (
    <svg class="columns in-text" width="10" height="10" aria-hidden="true">
      <rect class={of} width="10" height="10" rx={ROUND} />
    </svg>
  );
}

/** The colours of a chart with their labels. */
export function Legend(
  { of }: { readonly of: readonly (readonly [name: string, label: string])[] },
) {
  return (
    <p class="below-chart">
      {of.map(([name, label]) => [
        <span>
          <Swatch of={name} /> {label}
        </span>,
        " ",
      ])}
    </p>
  );
}

/** A sample of the dashed line. */
export function UsualSwatch() {
  return (
    <svg class="columns in-text" width="16" height="10" aria-hidden="true">
      <line class="usual" x1="0" x2="16" y1="5" y2="5" />
    </svg>
  );
}

/** A share of a sum as a bar and a percentage. */
export function ShareBar({ part, all }: {
  readonly part: number | bigint;
  readonly all: number | bigint;
}) {
  const share = Number(all) > 0 ? Math.max(0, Number(part) / Number(all)) : 0;
  return (
    <>
      <svg class="share" height="6" aria-hidden="true">
        <rect class="past" width={percent(100 * share)} height="6" rx={ROUND} />
      </svg>{" "}
      {percentText(part, all)}
    </>
  );
}

/** A bar of a share in percent, with a mark; `far` beyond the mark, `over` if the limit stops work. */
export function LoadBar({ share, mark, level }: {
  readonly share: number;
  readonly mark: number;
  readonly level: "now" | "far" | "over";
}) {
  return (
    <svg class="load" width="100%" height="4" aria-hidden="true">
      <rect class="track" width="100%" height="4" rx="2" />
      <rect class={level} width={percent(share)} height="4" rx="2" />
      <rect class="mark" x={percent(mark)} width="1.5" height="4" />
    </svg>
  );
}
