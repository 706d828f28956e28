/** The minimap of a trace: all its events in one lane for each kind. */
import { countedText, durationText, formatCount } from "../components/format.ts";
import { isFiltered, positionBeforeMs, timelinePath } from "./paths.ts";
import { offsetText } from "./event_preview.ts";
import { type RunData, type Span, SPANS_MAX } from "./run_load.ts";
import type { Trace } from "./run_view.ts";

/** Units of the axis, and of a cell: the width of the shortest event. */
const WIDTH = 1_000, CELL = 3;

/** Class, top and height of each lane, and the events in it. */
const LANES = [
  ["m", 4, 6, ({ type }: Span) => type === "llm_call"],
  ["t", 12, 6, ({ type }: Span) => type === "tool_call"],
  ["l", 20, 4, ({ type }: Span) => type !== "llm_call" && type !== "tool_call"],
  ["e", 25, 4, ({ error }: Span) => error],
] as const;

interface MinimapProps extends Pick<Trace, "axis"> {
  readonly data: RunData;
}

/** Draws the minimap; nothing for a run without events, and a sentence for one with too many. */
export function Minimap({ data, axis }: MinimapProps) {
  const { spans, run, isLive, isWhole, view } = data;
  if (spans === null) {
    return (
      <p class="wf-none">
        {isLive ? "While it changes, a" : "A"} trace has a map and marks up to{" "}
        {formatCount(SPANS_MAX[isLive ? "live" : "usual"])} events, or fewer large ones.
      </p>
    );
  }
  if (spans.length === 0) return null;
  const { events, errors } = run.usage;
  const label =
    `The complete run, ${durationText(axis.lengthMs)}: ${countedText(events, "event")}` +
    (errors > 0 ? `, ${errors} failed.` : ".");
  const hasPages = !isWhole && !isFiltered(view);
  const place = hasPages ? placeOf({ data, axis }) : null;
  return (
    <div class="minimap" data-minimap>
      <svg viewBox={`0 0 ${WIDTH} 32`} preserveAspectRatio="none" role="img" aria-label={label}>
        {LANES.map(([name, top, height, isIn]) => (
          <path class={name} d={laneOf(spans.filter(isIn), axis, top, height)} />
        ))}
        {place !== null && <rect class="here" {...place} y="0.5" height="31" />}
        <rect class="win" x="0" y="0" width={WIDTH} height="32" visibility="hidden" />
      </svg>
      {hasPages && <PageLinks data={data} axis={axis} />}
    </div>
  );
}

/** Number of links of a minimap, each to the page that begins at its time. */
const PAGE_LINKS = 40;

/** Links across the minimap. They are one Tab stop: the one with the first step of the page. */
function PageLinks({ data: { run, view, page }, axis: { startMs, lengthMs } }: MinimapProps) {
  const widthMs = lengthMs / PAGE_LINKS;
  const shownMs = (page.events[0]?.ts ?? startMs) - startMs;
  const here = Math.min(PAGE_LINKS - 1, Math.max(0, Math.floor(shownMs / widthMs)));
  return (
    <nav class="map-pages" aria-label="Steps by time">
      {Array.from({ length: PAGE_LINKS }, (_, i) => {
        const atMs = Math.floor(startMs + i * widthMs);
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
const PLACE_WIDTH = 6;

/** Returns where the steps of a page are in a run of several pages; null for a page without steps. */
function placeOf({ data: { page: { events } }, axis: { startMs, lengthMs } }: MinimapProps) {
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || last === undefined) return null;
  const scale = WIDTH / lengthMs;
  const width = Math.max(PLACE_WIDTH, (last.ts - first.ts) * scale);
  const x = Math.min(WIDTH - width, Math.max(0, (first.ts - startMs) * scale));
  return { x: x.toFixed(1), width: width.toFixed(1) };
}

/** Returns the path of a lane: a rectangle for each range of cells that have an event. */
function laneOf(spans: readonly Span[], axis: Trace["axis"], top: number, height: number): string {
  const cells = new Uint8Array(Math.ceil(WIDTH / CELL));
  const cellOf = (ms: number) => {
    const cell = Math.floor((ms - axis.startMs) / axis.lengthMs * cells.length);
    return Math.min(cells.length - 1, Math.max(0, cell));
  };
  for (const { atMs, durationMs } of spans) {
    cells.fill(1, cellOf(atMs), cellOf(atMs + durationMs) + 1);
  }
  let path = "";
  for (let from = cells.indexOf(1); from >= 0;) {
    const end = cells.indexOf(0, from);
    const to = end < 0 ? cells.length : end;
    const width = (to - from) * CELL;
    path += `M${from * CELL} ${top}h${width}v${height}h-${width}z`;
    from = cells.indexOf(1, to);
  }
  return path;
}
