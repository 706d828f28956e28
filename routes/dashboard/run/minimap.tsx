/** The minimap of a run: all its events in one lane for each kind, from its stored buckets. */
import { KIND_BITS, type MinimapBuckets, minimapBuckets } from "../../../domain/runs/minimap.ts";
import { countedText, durationText } from "../components/format.ts";
import { isFiltered, tracePath } from "./paths.ts";
import { offsetText } from "./event_preview.ts";
import type { Trace, TraceProps } from "./trace.ts";

/** Units of the axis. */
const WIDTH = 1_000;

/** Class, bit, top and height of each lane. */
const LANES = [
  ["m", KIND_BITS.model, 4, 6],
  ["t", KIND_BITS.tool, 12, 6],
  ["l", KIND_BITS.other, 20, 4],
  ["e", KIND_BITS.failed, 25, 4],
] as const;

/** Draws the minimap; nothing for a run without events. */
export function Minimap(props: TraceProps) {
  const { page, trace: { axis }, run, branches } = props;
  const maps = [page.totals.minimap, ...branches.map(({ loaded }) => loaded?.minimap)]
    .flatMap((map) => map === undefined ? [] : [minimapBuckets(map)]);
  if (maps.length === 0) return null;
  const place = placeOf(props);
  const { events, errors } = run.usage;
  const label =
    `The complete run, ${durationText(axis.lengthMs)}: ${countedText(events, "event")}` +
    (errors > 0 ? `, ${errors} failed.` : ".");
  return (
    <div class="minimap" data-minimap>
      <svg viewBox={`0 0 ${WIDTH} 32`} preserveAspectRatio="none" role="img" aria-label={label}>
        {LANES.map(([name, bit, top, height]) => (
          <path
            class={name}
            d={maps.map((map) => laneOf(map, axis, bit, top, height)).join("")}
          />
        ))}
        {place !== null && <rect class="here" {...place} y="0.5" height="31" />}
        <rect class="win" x="0" y="0" width={WIDTH} height="32" visibility="hidden" />
      </svg>
      {hasPages(props) && <PageLinks {...props} />}
    </div>
  );
}

/** Returns whether the steps of a run are on several pages. */
function hasPages({ page, after, view }: TraceProps): boolean {
  return (page.next !== null || after !== null) && !isFiltered(view);
}

/** Number of links of a minimap, each to the page that begins at its time. */
const PAGE_LINKS = 40;

/** Sorts after every event of its instant. */
const LAST = { batch: 999_999_999, index: 99 } as const;

/** Links across the minimap. They are one Tab stop: the one with the first step of the page. */
function PageLinks({ run, view, page, trace: { axis } }: TraceProps) {
  const widthMs = axis.lengthMs / PAGE_LINKS;
  const shownMs = (page.events[0]?.ts ?? axis.startMs) - axis.startMs;
  const here = Math.min(PAGE_LINKS - 1, Math.max(0, Math.floor(shownMs / widthMs)));
  return (
    <nav class="map-pages" aria-label="Steps by time">
      {Array.from({ length: PAGE_LINKS }, (_, i) => {
        const atMs = Math.floor(axis.startMs + i * widthMs);
        const after = { ts: Math.max(0, atMs - 1), ...LAST };
        const text = `Steps from ${offsetText(atMs, axis.startMs)}`;
        return (
          <a
            href={`${tracePath(run.id, { after, list: view.list })}#timeline`}
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

/** Returns where the steps of a page are in a run of several pages; null for one page. */
function placeOf(props: TraceProps) {
  const { page, trace: { axis } } = props;
  const [first, last] = [page.events[0], page.events.at(-1)];
  if (!hasPages(props) || first === undefined || last === undefined) return null;
  const scale = WIDTH / axis.lengthMs;
  const width = Math.max(PLACE_WIDTH, (last.ts - first.ts) * scale);
  const x = Math.min(WIDTH - width, Math.max(0, (first.ts - axis.startMs) * scale));
  return { x: x.toFixed(1), width: width.toFixed(1) };
}

/** Returns the path of a lane: a rectangle for each range of buckets that have the kind. */
function laneOf(
  { startMs, widthMs, kinds }: MinimapBuckets,
  axis: Trace["axis"],
  bit: number,
  top: number,
  height: number,
): string {
  const x = (bucket: number) =>
    Math.min(
      WIDTH,
      Math.max(0, (startMs + bucket * widthMs - axis.startMs) / axis.lengthMs * WIDTH),
    );
  let path = "";
  for (let from = 0; from < kinds.length;) {
    if (((kinds[from] ?? 0) & bit) === 0) {
      from++;
      continue;
    }
    let to = from + 1;
    while (((kinds[to] ?? 0) & bit) !== 0) to++;
    const [left, width] = [x(from), Math.max(3, x(to) - x(from)).toFixed(1)];
    path += `M${left.toFixed(1)} ${top}h${width}v${height}h-${width}z`;
    from = to;
  }
  return path;
}
