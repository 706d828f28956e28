/** Stacked columns, one a day or month. */

export interface ChartColumn {
  /** Name and size, shown on hover. */
  readonly title: string;
  /** Segments from bottom to top: the class of the colour, and the size. */
  readonly parts: readonly (readonly [string, number])[];
}

interface Chart {
  /** Describes the chart and its numbers in one sentence. */
  readonly title: string;
  readonly columns: readonly ChartColumn[];
  /** Labels below the first and the last column. */
  readonly ends: readonly [string, string];
  /** Label at the top: the value of the full height. */
  readonly top: string;
  /** Value to compare with, drawn as a dashed line; none by default. */
  readonly usual?: number | null;
}

/** Height in pixels of the areas above, of, and below the columns. */
const ABOVE = 16, PLOT = 104, BELOW = 18;

/** Fraction of its slot that a column fills. */
const WIDTH = 0.72;

/**
 * Draws columns and highlights the last one, which still grows. Widths are percentages, so text
 * keeps its size.
 */
export function ColumnChart({ title, columns, ends, top, usual = null }: Chart) {
  const sizes = columns.map(({ parts }) => parts.reduce((sum, [, size]) => sum + size, 0));
  const tallest = Math.max(...sizes, usual ?? 0) || 1;
  const slot = 100 / columns.length;
  const usualY = percent(100 - 100 * (usual ?? 0) / tallest);
  return (
    <svg class="columns" role="img" width="100%" height={ABOVE + PLOT + BELOW}>
      <title>{title}</title>
      <text x="0" y="11">{top}</text>
      <svg x="0" y={ABOVE} width="100%" height={PLOT}>
        {columns.map((column, i) => (
          <Parts
            {...column}
            left={slot * i}
            slot={slot}
            tallest={tallest}
            isLast={i === columns.length - 1}
          />
        ))}
        <line class="ground" x1="0" x2="100%" y1="100%" y2="100%" />
        {usual !== null && <line class="usual" x1="0" x2="100%" y1={usualY} y2={usualY} />}
      </svg>
      <text x="0" y={ABOVE + PLOT + 14}>{ends[0]}</text>
      <text class="marked" x="100%" y={ABOVE + PLOT + 14} text-anchor="end">{ends[1]}</text>
    </svg>
  );
}

interface PartsProps extends ChartColumn {
  readonly left: number;
  readonly slot: number;
  readonly tallest: number;
  readonly isLast: boolean;
}

function Parts({ title, parts, left, slot, tallest, isLast }: PartsProps) {
  let below = 0;
  return (
    <g class={isLast ? "today" : undefined}>
      <title>{title}</title>
      {/* The full slot shows the title on hover, also above a low column. */}
      <rect class="place" x={percent(left)} width={percent(slot)} height="100%" />
      {parts.map(([name, size]) => {
        const height = 100 * size / tallest;
        below += height;
        return height > 0 && (
          <rect
            class={name}
            x={percent(left + slot * (1 - WIDTH) / 2)}
            y={percent(100 - below)}
            width={percent(slot * WIDTH)}
            height={percent(height)}
            rx={1}
          />
        );
      })}
    </g>
  );
}

/** Formats a percentage as an attribute value. */
export function percent(share: number): string {
  return `${Math.round(share * 100) / 100}%`;
}

/** A colour sample, by its class, for the label next to it. */
export function Swatch({ of }: { readonly of: string }) {
  return (
    <svg class="columns in-text" width="10" height="10" aria-hidden="true">
      <rect class={of} width="10" height="10" />
    </svg>
  );
}
