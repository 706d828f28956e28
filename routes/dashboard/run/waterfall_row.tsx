/** A row of the waterfall: its step, its bar, its duration and its cost. */
import type { TraceRow } from "../../../domain/runs/trace.ts";
import { Money } from "../components/elements.tsx";
import { countedText, durationText, formatCount } from "../components/format.ts";
import { Icon, type IconName } from "../components/icons.tsx";
import { lineOf, offsetText } from "./event_preview.ts";
import { tracePath } from "./paths.ts";
import { isMarked } from "./spans.ts";
import type { Step, StepKind } from "./steps.ts";
import type { Trace, TraceProps } from "./trace.ts";

/** Levels of indentation; deeper rows keep the last and show their level. */
const LEVELS_MAX = 4;

/** Maximum characters of a reason in a row. */
const TAG_CHARS = 28;

/** Icon, class and word of each kind of step. */
export const STEP_ICONS: Readonly<Record<StepKind, readonly [IconName, string, string]>> = {
  run: ["agent", "k-run", "Agent"],
  model: ["model", "k-model", "Model call"],
  tool: ["tool", "k-tool", "Tool call"],
  log: ["log", "k-log", "Log"],
  span: ["page", "k-log", "Event"],
};

/** Draws the icon of a step: a failed one has the icon of its status. */
export function StepIcon({ step }: { readonly step: Step }) {
  const { kind, failure, status } = step;
  const [icon, name, word] = status === "timeout"
    ? ["timeout", "st-timeout", "Timed out"] as const
    : failure !== null
    ? ["bad", "st-bad", "Failed"] as const
    : status === "running"
    ? ["run", "st-run", "Running"] as const
    : STEP_ICONS[kind];
  return (
    <span class={`st ${name}`}>
      <Icon name={icon} />
      <span class="sr">{word}</span>
    </span>
  );
}

/** Texts that name a failure: a status of HTTP, a timeout, a code or a class of errors. */
const TELLING = [
  /\b[45]\d\d\b/,
  /\btimed out\b|\btimeout\b/i,
  /\bE[A-Z]{4,}\b/,
  /\b[A-Z]\w*(?:Error|Exception)\b/,
];

/** The part of a reason that names the failure, else its beginning. */
export function ErrorTag({ of }: { readonly of: string }) {
  const name = TELLING.map((pattern) => pattern.exec(of)?.[0]).find(Boolean);
  return <span class="tag bad">{lineOf(name ?? of, TAG_CHARS)}</span>;
}

export function Row({ row, ...props }: TraceProps & { readonly row: TraceRow<Step> }) {
  const { run, view, trace } = props;
  const { step, depth, below } = row;
  const { marks, axis, selected } = trace;
  const isRun = step.kind === "run";
  const isRoot = step.run === run.id;
  const select = {
    ...view,
    after: props.after ?? view.after,
    event: step.preview?.event.id ?? null,
    inRun: isRoot ? null : step.run,
  };
  const isFailed = step.failure !== null;
  return (
    <tr
      role="row"
      id={step.id}
      class={[isRun ? "is-run" : `is-${step.kind}`, isFailed ? "failed" : ""].join(" ").trim()}
      data-depth={Math.min(depth, LEVELS_MAX - 1)}
      aria-level={depth + 1}
      aria-expanded={below > 0 ? "true" : step.folded !== null && isRun ? "false" : undefined}
      aria-selected={step === selected ? "true" : "false"}
    >
      <td role="gridcell" class="c-name">
        <div class="cell">
          {below > 0
            ? (
              <button
                type="button"
                class="twist"
                tabindex={-1}
                aria-label={`Steps of ${step.name}`}
              >
                <Icon name="chevron" />
              </button>
            )
            : <span class="leaf">{depth >= LEVELS_MAX && depth}</span>}
          <StepIcon step={step} />
          <a class="row" href={`${tracePath(run.id, select)}#${step.id}`}>
            <b>{step.name}</b>
            {isFailed && !isRun && step.kind !== "log" && <ErrorTag of={step.failure ?? ""} />}
            {step.text !== null && <span class={step.name === "" ? "" : "args"}>{step.text}</span>}
          </a>
          {step.folded !== null && <Folded {...props} step={step} />}
        </div>
      </td>
      <td role="gridcell" class="c-lane">
        <span class="sr">Starts at {offsetText(step.atMs, axis.startMs)}</span>
        <Lane step={step} axis={axis} />
      </td>
      <td role="gridcell" class="c-dur num">
        {isMarked(step, marks.slowest) && <Mark name="slowest" />}
        {step.durationMs === null ? "" : durationText(step.durationMs)}
      </td>
      <td role="gridcell" class="c-cost num">
        {isMarked(step, marks.costliest) && <Mark name="most expensive" />}
        <StepCost step={step} />
      </td>
    </tr>
  );
}

function Mark({ name }: { readonly name: string }) {
  return (
    <span class="mark" title={name}>
      <span aria-hidden="true">▲</span>
      <span class="sr">{name}</span>
    </span>
  );
}

function StepCost({ step: { call, cost, kind } }: { readonly step: Step }) {
  if (call?.unpriced === true) return <span class="more">no price</span>;
  const isPriced = call !== null && call.lines.length > 0;
  return cost > 0n || isPriced || kind === "run" ? <Money of={cost} /> : null;
}

/** Unfolds a child run, or opens the one whose further steps are not listed. */
function Folded({ run, view, step }: TraceProps & { readonly step: Step }) {
  const { steps, failed } = step.folded ?? { steps: 0, failed: 0 };
  const isOpen = view.open === step.run;
  const words = `${countedText(steps, isOpen ? "more step" : "step")}${
    failed > 0 ? `, ${formatCount(failed)} failed` : ""
  }`;
  const to = isOpen
    ? tracePath(step.run)
    : `${tracePath(run.id, { ...view, open: step.run })}#${step.id}`;
  return <a class="tag fold-link" href={to}>▸ {words}</a>;
}

function Lane({ step, axis }: { readonly step: Step; readonly axis: Trace["axis"] }) {
  const s = Math.max(0, step.atMs - axis.startMs);
  const e = Math.max(s, step.endMs - axis.startMs);
  const at = (ms: number) => percent(ms, axis.lengthMs);
  const width = `${Math.max(0.15, round(100 * (e - s) / axis.lengthMs))}%`;
  const bad = step.failure === null ? "" : " is-bad";
  const times = { "data-s": Math.round(s), "data-e": Math.round(e) };
  return (
    <svg class="lane" aria-hidden="true">
      <use href="#ticks" />
      {step.kind === "run"
        ? (
          <>
            <rect class="b-run" {...times} x={at(s)} y="13" width={width} height="2" />
            {[s, e].map((end) =>
              step.status === "running" && end === e && e !== s ? null : (
                <rect
                  class={`b-run cap${bad}`}
                  data-s={Math.round(end)}
                  data-e={Math.round(end)}
                  x={at(end)}
                  y="10"
                  width="1.5"
                  height="8"
                />
              )
            )}
          </>
        )
        : (
          <rect
            class={`b-${step.kind}${bad}`}
            {...times}
            x={at(s)}
            y={bad === "" ? BAR_TOPS[step.kind] : 8}
            width={step.kind === "log" || e === s ? "1.5" : width}
            height={bad === "" ? 28 - 2 * BAR_TOPS[step.kind] : 12}
          />
        )}
    </svg>
  );
}

const BAR_TOPS: Readonly<Record<StepKind, number>> = {
  run: 13,
  model: 9.5,
  tool: 10.5,
  log: 10,
  span: 11,
};

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** Formats a place on the axis as an attribute value. */
export function percent(ms: number, lengthMs: number): string {
  return `${round(100 * ms / lengthMs)}%`;
}
