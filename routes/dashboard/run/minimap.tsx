/** The minimap of a trace: all its events in one lane for each kind. */
import { countedText, durationText, formatCount } from "../components/format.ts";
import { isFiltered, positionBeforeMs, timelinePath } from "./paths.ts";
import { offsetText } from "./event_preview.ts";
import type { Span } from "./run_load.ts";
import type { Trace, ViewProps } from "./run_view.ts";

/** Units of the axis, and of a cell: the width of the shortest event. */
const WIDTH = 1_000, CELL = 3;

/** Class, top and height of each lane, and the events in it. */
const LANES = [
  ["m", 4, 6, ({ type }: Span) => type === "llm_call"],
  ["t", 12, 6, ({ type }: Span) => type === "tool_call"],
  ["l", 20, 4, ({ type }: Span) => type !== "llm_call" && type !== "tool_call"],
  ["e", 25, 4, ({ error }: Span) => error],
] as const;

/** Draws the minimap; nothing for a run without events, and a sentence for one with too many. */
export function Minimap({ data, trace }: ViewProps) {
  const { spans, spansMax, run, isLive, isWhole, view } = data;
  const { axis } = trace;
  if (spans === null) {
    return (
      <p class="wf-none">
        A trace has a map and marks up to {formatCount(spansMax)} events
        {isLive && " while it changes"}, or fewer large ones.
      </p>
    );
  }
  if (spans.length === 0) return null;
  const { events, errors } = run.usage;
  const label =
    `The complete run, ${durationText(axis.lengthMs)}: ${countedText(events, "event")}` +
    (errors > 0 ? `, ${errors} failed.` : ".");
  const hasPages = !isWhole && !isFiltered(view);
  return (
    <div class="minimap" data-minimap>
      <svg viewBox={`0 0 ${WIDTH} 32`} preserveAspectRatio="none" role="img" aria-label={label}>
        {LANES.map(([name, top, height, isIn]) => (
          <path class={name} d={laneOf(spans.filter(isIn), axis, top, height)} />
        ))}
        {hasPages && <Frame data={data} trace={trace} />}
        <rect class="win" x="0" y="0" width={WIDTH} height="32" visibility="hidden" />
      </svg>
      {hasPages && <PageLinks data={data} trace={trace} />}
    </div>
  );
}

/** Number of links of a minimap, each to the page that begins at its time. */
const PAGE_LINKS = 40;

/** Links across the minimap. They are one Tab stop: the one with the first step of the page. */
function PageLinks({ data: { run, view, page }, trace: { axis } }: ViewProps) {
  const { startMs, lengthMs } = axis;
  const shownMs = (page.events[0]?.ts ?? startMs) - startMs;
  const here = Math.min(PAGE_LINKS - 1, Math.max(0, Math.floor(shownMs / lengthMs * PAGE_LINKS)));
  return (
    <nav class="map-pages" aria-label="Steps by time">
      {Array.from({ length: PAGE_LINKS }, (_, i) => {
        const atMs = Math.floor(startMs + i * lengthMs / PAGE_LINKS);
        const text = `Steps from ${offsetText(atMs, startMs)}`;
        return (
          <a
            href={timelinePath(run.id, { after: positionBeforeMs(atMs), list: view.list })}
            aria-label={text}
            title={text}
            aria-current={i === here ? "true" : undefined}
            tabindex={i === here ? 0 : -1}
            draggable={false}
          />
        );
      })}
    </nav>
  );
}

/** Least width of the frame around the steps of a page. */
const FRAME_WIDTH_MIN = 6;

/** Frames the steps of a page in a run of several pages. */
function Frame({ data: { page: { events } }, trace: { axis } }: ViewProps) {
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || last === undefined) return null;
  const scale = WIDTH / axis.lengthMs;
  const width = Math.max(FRAME_WIDTH_MIN, (last.ts - first.ts) * scale);
  const x = Math.min(WIDTH - width, Math.max(0, (first.ts - axis.startMs) * scale));
  return <rect class="here" x={x.toFixed(1)} width={width.toFixed(1)} y="0.5" height="31" />;
}

/** Returns the path of a lane: a rectangle for each range of cells that have an event. */
function laneOf(spans: readonly Span[], axis: Trace["axis"], top: number, height: number): string {
  const cells: (0 | 1)[] = Array(Math.ceil(WIDTH / CELL)).fill(0);
  const cellOf = (ms: number) => {
    const cell = Math.floor((ms - axis.startMs) / axis.lengthMs * cells.length);
    return Math.min(cells.length - 1, Math.max(0, cell));
  };
  for (const { atMs, durationMs } of spans) {
    cells.fill(1, cellOf(atMs), cellOf(atMs + durationMs) + 1);
  }
  const ranges = cells.join("").matchAll(/1+/g).map(({ index, 0: { length } }) => {
    const width = length * CELL;
    return `M${index * CELL} ${top}h${width}v${height}h-${width}z`;
  });
  return [...ranges].join("");
}
