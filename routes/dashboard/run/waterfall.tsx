/** The waterfall: a page of steps on the axis of the run, with its filters and the ways to others. */
import { countedText, durationText, formatCount } from "../components/format.ts";
import { Icon } from "../components/icons.tsx";
import { Minimap } from "./minimap.tsx";
import {
  END,
  isFiltered,
  ROWS_PER_PAGE,
  START,
  STEP_KINDS,
  timelinePath,
  tracePath,
  type TraceView,
} from "./paths.ts";
import type { RunData } from "./run_load.ts";
import type { Trace } from "./run_view.ts";
import { isFailure } from "./steps.ts";
import { percent, Row, STEP_ICONS } from "./waterfall_row.tsx";

interface DataProps {
  readonly data: RunData;
}

interface TraceOnly {
  readonly trace: Trace;
}

export function Waterfall({ data, trace }: DataProps & TraceOnly) {
  const { run, view, after, page, branches, isWhole } = data;
  const hasEvents = run.usage.events > 0 && (page.events.length > 0 || view.after !== null);
  if (!hasEvents && branches.length === 0) return <NoEvents data={data} />;
  const { lengthMs, stepMs, usualMs } = trace.axis;
  // All of a short trace is read at once, and shown in parts; of a long one a page is read.
  const end = view.skip + ROWS_PER_PAGE + 1;
  const rows = isWhole ? trace.rows.slice(view.skip, end) : trace.rows;
  const rowView = { ...view, after: after ?? view.after };
  return (
    <div id="steps" class="steps-side">
      <Tools data={data} />
      <Minimap data={data} axis={trace.axis} />
      {rows.length === 0 ? <NoRows data={data} /> : (
        <table
          class="wf"
          role="treegrid"
          aria-label="Steps of the run"
          data-length={lengthMs}
          data-step={stepMs}
          data-usual={usualMs ?? undefined}
        >
          <Head axis={trace.axis} />
          <tbody id="rows">
            {rows.map((row) => <Row row={row} run={run.id} view={rowView} trace={trace} />)}
          </tbody>
        </table>
      )}
      <More data={data} skip={isWhole && end < trace.rows.length ? end : null} />
      {run.usage.events > 0 && <Legend trace={trace} />}
    </div>
  );
}

function Tools({ data: { run, view, isWhole, branches, family, totals } }: DataProps) {
  const isCounted = isWhole && !family.isCut && branches.every(({ open }) => open?.unread === 0);
  const label = (name: string, count: number) => isCounted ? `${name} ${formatCount(count)}` : name;
  const kinds = [
    [null, "All"],
    ["model", label("Model", totals.calls)],
    ["tool", label("Tools", totals.toolCalls)],
    ["log", label("Logs", totals.logs)],
  ] as const;
  const { list, kind: shown, failed, text } = view;
  const to = (change: Partial<TraceView>) =>
    timelinePath(run.id, { list, kind: shown, failed, text, ...change });
  const hidden = Object.entries({ kind: shown, failed: failed ? "1" : null, list });
  return (
    <div class="wf-tools">
      <h2 id="timeline-title">Timeline</h2>
      <div class="seg small" role="group" aria-label="Kind">
        {kinds.map(([kind, name]) => (
          <a href={to({ kind })} aria-current={shown === kind ? "true" : undefined}>{name}</a>
        ))}
      </div>
      <a
        class="btn small"
        href={to({ failed: !failed })}
        aria-current={failed ? "true" : undefined}
      >
        <span class="st st-bad">
          <Icon name="bad" />
        </span>{" "}
        {label("Failed", totals.errors)}
      </a>
      <form class="field" method="get" action={tracePath(run.id)} role="search">
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
        {isFiltered(view) && (
          <a class="btn small plain" href={timelinePath(run.id, { list })}>Clear</a>
        )}
        <button type="button" class="btn small plain" data-collapse hidden>Collapse all</button>
        <button type="button" class="btn small plain" data-zoom hidden>Zoom to steps</button>
        <button type="button" class="btn small plain" data-fit hidden>Fit</button>
      </div>
    </div>
  );
}

/** Part of the axis whose ticks have labels: a later one would reach the next column. */
const LABELS_END = 0.92;

function Head({ axis: { lengthMs, stepMs, usualMs } }: Pick<Trace, "axis">) {
  const ticks = Array.from({ length: Math.ceil(lengthMs / stepMs) }, (_, i) => i * stepMs);
  const line = (name: string, ms: number) => (
    <line class={name} x1={percent(ms, lengthMs)} x2={percent(ms, lengthMs)} y1="0" y2="100%" />
  );
  const head = (name: string, text: string) => (
    <th scope="col" role="columnheader" class={name}>{text}</th>
  );
  return (
    <thead>
      <tr role="row">
        {head("c-name", "Step")}
        <th scope="col" role="columnheader" class="c-lane">
          <span class="sr">Time</span>
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
          </svg>
        </th>
        {head("c-dur num", "Took")}
        {head("c-cost num", "Cost")}
      </tr>
    </thead>
  );
}

/**
 * Links to the further steps and to the first and the last ones.
 *
 * @param skip rows before the further ones, if they are of this page; else null
 */
function More({ data, skip }: DataProps & { readonly skip: number | null }) {
  const { run, view, page, found, after } = data;
  const { next } = found ?? page;
  const isMiddle = after !== null || view.skip > 0;
  const isLast = skip === null && next === null;
  if (isLast && !isMiddle) return null;
  const to = (place: Partial<TraceView>) =>
    timelinePath(run.id, { ...view, event: null, inRun: null, after: null, skip: 0, ...place });
  const first = view.kind === null && isFailure(run.status) ? START : null;
  return (
    <p class="wf-more">
      <span class="quiet">{countedText(run.usage.events, "event")}</span>
      {isMiddle && <a class="btn small" href={to({ after: first })}>First steps</a>}
      {!isLast && (
        <a
          id="more"
          class="btn small"
          rel="next"
          href={to(skip === null ? { after: next } : { skip })}
          data-more
        >
          {found === null ? "Next steps" : "Search on"}
        </a>
      )}
      {found === null && next !== null && (
        <a class="btn small" href={to({ after: END })}>Last steps</a>
      )}
    </p>
  );
}

function NoRows({ data: { view, run, found } }: DataProps) {
  if (!isFiltered(view)) return <p class="wf-none">No further steps.</p>;
  return (
    <p class="wf-none">
      {found?.next ? "No step matches so far. " : "No step matches. "}
      <a href={timelinePath(run.id, { list: view.list })}>Clear the filters</a>
    </p>
  );
}

function NoEvents({ data: { run: { id, kind, usage } } }: DataProps) {
  return (
    <div class="steps-side" id="steps">
      <div class="wf-tools">
        <h2 id="timeline-title">Timeline</h2>
      </div>
      <p class="wf-none">
        {usage.events > 0
          ? `${
            countedText(usage.events, "event")
          } removed by age: the plan keeps payloads for a while. The totals are above.`
          : (
            <>
              {kind === "heartbeat" ? "A heartbeat has no events of its own. " : "No events yet. "}
              Model calls, tools and logs are shown here once they are sent to{" "}
              <code>POST /v1/runs/{id}/events</code>.
            </>
          )}
      </p>
    </div>
  );
}

function Legend({ trace: { rows, axis: { usualMs } } }: TraceOnly) {
  const hasFolded = rows.some(({ step }) => step.kind === "run" && step.folded !== null);
  return (
    <p class="wf-legend">
      {[...STEP_KINDS, "run" as const].map((kind) => (
        <span class={`st ${STEP_ICONS[kind][1]}`}>
          <Icon name={STEP_ICONS[kind][0]} />
          <span>{kind === "run" ? "agent" : kind}</span>
        </span>
      ))}
      <span>▲ slowest, most expensive{hasFolded && ", folded runs excepted"}</span>
      {usualMs !== null && <span>┊ usual end, {durationText(usualMs)}</span>}
    </p>
  );
}
