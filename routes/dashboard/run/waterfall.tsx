/** The waterfall: a page of steps on the axis of the run, with its minimap and filters. */
import { countedText, durationText, formatCount } from "../components/format.ts";
import { Icon } from "../components/icons.tsx";
import { Minimap } from "./minimap.tsx";
import {
  isFiltered,
  PLAIN_VIEW,
  ROWS_PER_PAGE,
  STEP_KINDS,
  tracePath,
  type TraceView,
} from "./paths.ts";
import { isFailure } from "./steps.ts";
import type { Trace, TraceProps } from "./trace.ts";
import { percent, Row, STEP_ICONS } from "./waterfall_row.tsx";

export function Waterfall(props: TraceProps) {
  const { run, view, trace } = props;
  // All of a short trace is read at once, and shown in parts; of a long one a page is read.
  const isPart = props.page.next === null && props.after === null;
  const rows = isPart ? trace.rows.slice(view.skip, view.skip + ROWS_PER_PAGE + 1) : trace.rows;
  return (
    <div id="steps" class="steps-side">
      <Tools {...props} />
      <Minimap {...props} />
      {rows.length === 0 ? <NoRows {...props} /> : (
        <table
          class="wf"
          role="treegrid"
          aria-label="Steps of the run"
          data-length={trace.axis.lengthMs}
          data-step={trace.axis.stepMs}
          data-usual={trace.axis.usualMs ?? undefined}
        >
          <Head {...trace.axis} />
          <tbody id="rows">
            {rows.map((row) => <Row row={row} {...props} />)}
          </tbody>
        </table>
      )}
      <More {...props} shown={rows.length} />
      {run.usage.events > 0 && <Legend {...props} />}
    </div>
  );
}

function Tools({ run, view, page, branches, unfolded, family, totals }: TraceProps) {
  const isWhole = page.next === null && view.after === null && !family.isCut &&
    branches.every(({ row, loaded }) => unfolded.has(row.id) && loaded?.unread === 0);
  const label = (name: string, count: number) => isWhole ? `${name} ${formatCount(count)}` : name;
  const kinds = [
    [null, "All"],
    ["model", label("Model", totals.calls)],
    ["tool", label("Tools", totals.toolCalls)],
    ["log", label("Logs", totals.logs)],
  ] as const;
  const plain = { ...PLAIN_VIEW, list: view.list };
  const filters = { ...plain, kind: view.kind, failed: view.failed, text: view.text };
  const to = (change: Partial<TraceView>) =>
    `${tracePath(run.id, { ...filters, ...change })}#timeline`;
  return (
    <div class="wf-tools">
      <h2 id="timeline-title">Timeline</h2>
      <div class="seg small" role="group" aria-label="Kind">
        {kinds.map(([kind, name]) => (
          <a href={to({ kind })} aria-current={view.kind === kind ? "true" : undefined}>{name}</a>
        ))}
      </div>
      <a
        class="btn small"
        href={to({ failed: !view.failed })}
        aria-current={view.failed ? "true" : undefined}
      >
        <span class="st st-bad">
          <Icon name="bad" />
        </span>{" "}
        {label("Failed", totals.errors)}
      </a>
      <form class="field" method="get" action={`${tracePath(run.id)}`} role="search">
        <Icon name="search" />
        <input
          type="search"
          name="text"
          value={view.text}
          placeholder="Find in steps"
          aria-label="Find in steps"
          maxlength={100}
          autocomplete="off"
        />
        {view.kind !== null && <input type="hidden" name="kind" value={view.kind} />}
        {view.failed && <input type="hidden" name="failed" value="1" />}
        {view.list !== null && <input type="hidden" name="list" value={view.list} />}
      </form>
      <div class="end">
        {isFiltered(view) && (
          <a class="btn small plain" href={`${tracePath(run.id, plain)}#timeline`}>Clear</a>
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

function Head({ lengthMs, stepMs, usualMs }: Trace["axis"]) {
  const ticks = Array.from({ length: Math.ceil(lengthMs / stepMs) }, (_, i) => i * stepMs);
  const at = (ms: number) => percent(ms, lengthMs);
  return (
    <thead>
      <tr role="row">
        <th scope="col" role="columnheader" class="c-name">Step</th>
        <th scope="col" role="columnheader" class="c-lane">
          <span class="sr">Time</span>
          <svg class="axis" aria-hidden="true">
            <defs>
              <g id="ticks">
                {ticks.map((ms) => <line class="tick" x1={at(ms)} x2={at(ms)} y1="0" y2="100%" />)}
                {usualMs !== null && (
                  <line class="tick-usual" x1={at(usualMs)} x2={at(usualMs)} y1="0" y2="100%" />
                )}
              </g>
            </defs>
            {ticks.filter((ms) => ms < LABELS_END * lengthMs).map((ms) => (
              <text x={at(ms)} y="12">{ms === 0 ? "0" : durationText(ms)}</text>
            ))}
          </svg>
        </th>
        <th scope="col" role="columnheader" class="c-dur num">Took</th>
        <th scope="col" role="columnheader" class="c-cost num">Cost</th>
      </tr>
    </thead>
  );
}

function More(props: TraceProps & { readonly shown: number }) {
  const { run, view, trace, page, found, after, shown } = props;
  const rest = trace.rows.length - view.skip - shown;
  const isPart = page.next === null && after === null;
  const next = found !== null
    ? found.next === null ? null : { after: found.next, skip: 0 }
    : isPart && rest > 0
    ? { after: null, skip: view.skip + shown }
    : page.next === null
    ? null
    : { after: page.next, skip: 0 };
  const base = { ...view, event: null, inRun: null };
  const isMiddle = after !== null || view.skip > 0;
  if (next === null && !isMiddle) return null;
  const to = (change: Partial<TraceView>) =>
    `${tracePath(run.id, { ...base, ...change })}#timeline`;
  const first = view.kind === null && isFailure(run.status)
    ? { after: START, skip: 0 }
    : { after: null, skip: 0 };
  return (
    <p class="wf-more">
      <span class="quiet">{countedText(run.usage.events, "event")}</span>
      {isMiddle && <a class="btn small" href={to(first)}>First steps</a>}
      {next !== null && (
        <a
          id="more"
          class="btn small"
          rel="next"
          href={to(next)}
          data-more
        >
          {found === null ? "Next steps" : "Search on"}
        </a>
      )}
      {found === null && page.next !== null && page.nearEnd !== null && (
        <a class="btn small" href={to({ after: page.nearEnd, skip: 0 })}>Last steps</a>
      )}
    </p>
  );
}

/** Sorts before every event: a failed run would open at its failure without a position. */
const START = { ts: 0, batch: 0, index: 0 };

function NoRows({ view, run, found }: TraceProps) {
  if (isFiltered(view)) {
    return (
      <p class="wf-none">
        {found?.next ? "No step matches so far. " : "No step matches. "}
        <a href={`${tracePath(run.id, { list: view.list })}#timeline`}>Clear the filters</a>
      </p>
    );
  }
  return <p class="wf-none">No further steps.</p>;
}

function Legend({ trace }: TraceProps) {
  const { usualMs } = trace.axis;
  const hasFolded = trace.rows.some(({ step }) => step.kind === "run" && step.folded !== null);
  return (
    <p class="wf-legend">
      {STEP_KINDS.map((kind) => (
        <span class={`st ${STEP_ICONS[kind][1]}`}>
          <Icon name={STEP_ICONS[kind][0]} />
          <span>{kind}</span>
        </span>
      ))}
      <span class="st k-run">
        <Icon name="agent" />
        <span>agent</span>
      </span>
      <span>▲ slowest, most expensive{hasFolded && ", folded runs excepted"}</span>
      {usualMs !== null && <span>┊ usual end, {durationText(usualMs)}</span>}
    </p>
  );
}
