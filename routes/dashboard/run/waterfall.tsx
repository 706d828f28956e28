/** The waterfall: a page of steps on the axis of the run, its filters, and the map of all steps. */
import type { Child } from "hono/jsx";
import { countedText, durationText, formatCount } from "../components/format.ts";
import { Sign, Tabs } from "../components/elements.tsx";
import { Icon } from "../components/icons.tsx";
import * as paths from "./paths.ts";
import type { RunData, Span } from "./run_load.ts";
import type { Trace, ViewProps } from "./run_view.ts";
import { isFailure, offsetText } from "./texts.ts";
import { percent, Row, STEP_ICONS } from "./waterfall_row.tsx";

type DataProps = Pick<ViewProps, "data">;

export function Waterfall({ data, trace }: ViewProps) {
  const { run, view, page, branches, isSearch } = data;
  const { rows, axis } = trace;
  const isRemoved = page.events.length === 0 && view.after === null && !isSearch;
  const hasEvents = run.usage.events > 0 && !isRemoved;
  const hasSteps = hasEvents || branches.length > 0;
  return (
    <div id="steps" class="steps-side">
      <div class="wf-tools">
        <h2 id="timeline-title">Timeline</h2>
        {hasSteps && <Tools data={data} />}
      </div>
      {hasSteps && <Minimap data={data} trace={trace} />}
      {!hasSteps || rows.length === 0 ? <p class="wf-none">{emptyText(data, hasSteps)}</p> : (
        <table
          class="wf"
          role="treegrid"
          aria-label="Steps of the run"
          data-length={axis.lengthMs}
          data-step={axis.stepMs}
          data-usual={axis.usualMs ?? undefined}
        >
          <Head axis={axis} />
          <tbody id="rows">{rows.map((row) => <Row row={row} data={data} trace={trace} />)}</tbody>
        </table>
      )}
      {hasSteps && <More data={data} />}
      {hasSteps && run.usage.events > 0 && <Legend trace={trace} />}
    </div>
  );
}

function Tools({ data: { run, view, isWhole, branches, family, totals } }: DataProps) {
  const isCounted = isWhole && !family.isCut && branches.every(({ open }) => open?.unread === 0);
  const label = (name: string, count: number) => isCounted ? `${name} ${formatCount(count)}` : name;
  const { kind: shown, failed, text, list } = view;
  const to = (change: Partial<paths.TraceView>) =>
    paths.timelinePath(run.id, { list, kind: shown, failed, text, ...change });
  const kind = (name: string, kind: paths.TraceView["kind"]) => (
    { name, to: to({ kind }), isCurrent: shown === kind }
  );
  const kinds = [
    kind("All", null),
    kind(label("Model", totals.calls), "model"),
    kind(label("Tools", totals.toolCalls), "tool"),
    kind(label("Logs", totals.logs), "log"),
  ];
  const hidden = Object.entries({ kind: shown, failed: failed ? "1" : null, list });
  return (
    <>
      <Tabs class="seg" label="Kind" tabs={kinds} />
      <a
        class="btn small"
        href={to({ failed: !failed })}
        aria-current={failed ? "true" : undefined}
      >
        <Sign icon="bad" name={totals.errors > 0 ? "st-bad" : "st-off"} />{" "}
        {label("Failed", totals.errors)}
      </a>
      <form class="field" method="get" action={paths.tracePath(run.id)} role="search">
        <Icon name="search" />
        <input
          type="search"
          name="text"
          value={text}
          placeholder="Find in steps"
          aria-label="Find in steps"
          maxlength={100}
          autocomplete="off"
        />
        {hidden.map(([name, value]) =>
          value !== null && <input type="hidden" name={name} value={value} />
        )}
      </form>
      <div class="end">
        {paths.isFiltered(view) && (
          <a class="btn small plain" href={paths.timelinePath(run.id, { list })}>Clear</a>
        )}
        <button type="button" class="btn small plain" data-collapse hidden>Collapse all</button>
        <button type="button" class="btn small plain" data-zoom hidden>Zoom to steps</button>
        <button type="button" class="btn small plain" data-fit hidden>Fit</button>
      </div>
    </>
  );
}

/** Part of the axis whose ticks have labels: a later one would reach the next column. */
const LABELS_END = 0.92;

function Head({ axis: { lengthMs, stepMs, usualMs } }: Pick<Trace, "axis">) {
  const ticks = Array.from({ length: Math.ceil(lengthMs / stepMs) }, (_, i) => i * stepMs);
  const line = (name: string, ms: number) => (
    <line class={name} x1={percent(ms, lengthMs)} x2={percent(ms, lengthMs)} y1="0" y2="100%" />
  );
  const time = [
    <span class="sr">Time</span>,
    <svg class="axis" aria-hidden="true">
      <defs>
        <g id="ticks">
          {ticks.map((ms) => line("tick", ms))}
          {usualMs !== null && line("tick-usual", usualMs)}
        </g>
      </defs>
      {ticks.filter((ms) => ms < LABELS_END * lengthMs).map((ms) => (
        <text x={percent(ms, lengthMs)} y="12">{ms === 0 ? "0" : durationText(ms)}</text>
      ))}
    </svg>,
  ];
  const heads = { "c-name": "Step", "c-lane": time, "c-dur num": "Took", "c-cost num": "Cost" };
  return (
    <thead>
      <tr role="row">
        {Object.entries(heads).map(([name, head]) => (
          <th scope="col" role="columnheader" class={name}>{head}</th>
        ))}
      </tr>
    </thead>
  );
}

/** Links to the further steps, to the first and the last ones, and to child runs without a row. */
function More({ data: { run, view, page, after, isSearch, family } }: DataProps) {
  const others = family.children.length - paths.CHILDREN_LISTED;
  if (page.next === null && after === null && others <= 0) return null;
  const to = (after: paths.TraceView["after"]) =>
    paths.timelinePath(run.id, { ...view, event: null, inRun: null, after });
  const first = view.kind === null && isFailure(run.status) ? paths.START : null;
  return (
    <p class="wf-more">
      <span class="quiet">{countedText(run.usage.events, "event")}</span>
      {after !== null && <a class="btn small" href={to(first)}>First steps</a>}
      {page.next !== null && (
        <a id="more" class="btn small" rel="next" href={to(page.next)} data-more>
          {isSearch ? "Search on" : "Next steps"}
        </a>
      )}
      {page.next !== null && !isSearch && <a class="btn small" href={to(paths.END)}>Last steps</a>}
      {others > 0 && (
        <a href={paths.rawPath(run.id, null, 1)}>
          {others}
          {family.hasMore && "+"} child runs that started earlier
        </a>
      )}
    </p>
  );
}

/** Says why there are no rows: none match, the page is after the last one, or there are no events. */
function emptyText({ view, page, run: { id, kind, usage } }: RunData, hasSteps: boolean): Child {
  if (hasSteps && !paths.isFiltered(view)) return "No further steps.";
  if (hasSteps) {
    const text = page.next === null ? "No step matches. " : "No step matches so far. ";
    return [text, <a href={paths.timelinePath(id, { list: view.list })}>Clear the filters</a>];
  }
  if (usage.events > 0) {
    const removed = `${countedText(usage.events, "event")} removed by age`;
    return `${removed}: the plan keeps payloads for a while. The totals are above.`;
  }
  return [
    kind === "heartbeat" ? "A heartbeat has no events of its own. " : "No events yet. ",
    "Model calls, tools and logs are shown here once they are sent to ",
    <code>POST /v1/runs/{id}/events</code>,
    ".",
  ];
}

function Legend({ trace: { rows, axis: { usualMs } } }: Pick<ViewProps, "trace">) {
  const hasFolded = rows.some(({ step }) => step.kind === "run" && step.folded !== null);
  return (
    <p class="wf-legend">
      {[...paths.STEP_KINDS, "run" as const].map((kind) => {
        const [icon, name] = STEP_ICONS[kind];
        return <Sign icon={icon} name={name}>{kind === "run" ? "agent" : kind}</Sign>;
      })}
      <span>▲ slowest, most expensive{hasFolded && ", folded runs excepted"}</span>
      {usualMs !== null && <span>┊ usual end, {durationText(usualMs)}</span>}
    </p>
  );
}

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
function Minimap({ data, trace }: ViewProps) {
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
  const hasPages = !isWhole && !paths.isFiltered(view);
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
            href={paths.timelinePath(run.id, {
              after: paths.positionBeforeMs(atMs),
              list: view.list,
            })}
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
