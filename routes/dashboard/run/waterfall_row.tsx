/** A row of the waterfall: its step, its bar, its duration and its cost. */
import type { TraceRow } from "../../../domain/runs/trace.ts";
import { Money, Sign } from "../components/elements.tsx";
import { countedText, durationText, formatCount } from "../components/format.ts";
import { Icon } from "../components/icons.tsx";
import { lineOf, offsetText } from "./texts.ts";
import { tracePath } from "./paths.ts";
import { isMarked, type Step, type Trace, type ViewProps } from "./run_view.ts";

/** Levels of indentation; deeper rows keep the last and show their level. */
const LEVELS_MAX = 6;

/** Maximum characters of a reason in a row. */
const TAG_CHARS = 28;

/** Icon, class and word of each kind of step, and of each status that is shown instead. */
export const STEP_ICONS = {
  run: ["agent", "k-run", "Agent"],
  agent: ["agent", "k-run", "Agent"],
  model: ["model", "k-model", "Model call"],
  tool: ["tool", "k-tool", "Tool call"],
  log: ["log", "k-log", "Log"],
  span: ["page", "k-log", "Step"],
  timeout: ["timeout", "st-timeout", "Timed out"],
  failed: ["bad", "st-bad", "Failed"],
  running: ["run", "st-run", "Running"],
} as const;

interface StepProps {
  readonly step: Step;
}

/** Draws the icon of a step: a failed one has the icon of its status. */
export function StepIcon({ step: { kind, failure, status } }: StepProps) {
  const other = failure === null ? kind : "failed";
  const shown = status === "timeout" || status === "running" ? status : other;
  const [icon, name, word] = STEP_ICONS[shown];
  return <Sign icon={icon} name={name} isIcon>{word}</Sign>;
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

export function Row({ row, data, trace }: ViewProps & { readonly row: TraceRow<Step> }) {
  const { step, depth, below } = row;
  const { marks, axis } = trace;
  const { id, kind, name, text, failure, folded, durationMs } = step;
  const isRun = kind === "run";
  const inRun = step.run === data.run.id ? null : step.run;
  const to = trace.pathWith({ event: step.preview?.event.id ?? null, inRun });
  const isFolded = folded !== null && isRun;
  return (
    <tr
      role="row"
      id={id}
      class={`is-${kind}${failure === null ? "" : " failed"}`}
      data-depth={Math.min(depth, LEVELS_MAX - 1)}
      aria-level={depth + 1}
      aria-expanded={below > 0 ? "true" : isFolded ? "false" : undefined}
      aria-selected={step === trace.selected ? "true" : "false"}
    >
      <td role="gridcell" class="c-name">
        <div class="cell">
          {below > 0
            ? (
              <button type="button" class="twist" tabindex={-1} aria-label={`Steps of ${name}`}>
                <Icon name="chevron" />
              </button>
            )
            : <span class="leaf">{depth >= LEVELS_MAX && depth}</span>}
          <StepIcon step={step} />
          <a class="row" href={`${to}#${id}`}>
            <b>{name}</b>
            {failure !== null && !isRun && kind !== "log" && <ErrorTag of={failure} />}
            {text !== null && <span class={name === "" ? "" : "args"}>{text}</span>}
          </a>
          <FoldLink step={step} data={data} trace={trace} />
        </div>
      </td>
      <td role="gridcell" class="c-lane">
        <span class="sr">Starts at {offsetText(step.atMs, axis.startMs)}</span>
        <Lane step={step} axis={axis} />
      </td>
      <td role="gridcell" class="c-dur num">
        {isMarked(step, marks.slowest) && <Mark name="slowest" />}
        {durationMs === null ? "" : durationText(durationMs)}
      </td>
      <td role="gridcell" class="c-cost num">
        {isMarked(step, marks.costliest) && <Mark name="most expensive" />}
        <StepCost step={step} below={trace.costBelow.get(step) ?? 0n} />
      </td>
    </tr>
  );
}

function Mark({ name }: { readonly name: string }) {
  return <span class="mark" title={name} role="img" aria-label={name}>▲</span>;
}

/** The cost of a step; of one that costs nothing itself, the cost below it in grey. */
function StepCost({ step, below }: StepProps & { readonly below: bigint }) {
  const { call, cost, kind, preview } = step;
  if (preview?.event.twin !== undefined) return <span class="quiet">not counted</span>;
  if (call?.unpriced === true) return <span class="more">no price</span>;
  const isPriced = call !== null && call.lines.length > 0;
  if (cost > 0n || isPriced || kind === "run") return <Money of={cost} />;
  return below > 0n && (
    <span class="quiet">
      <Money of={below} />
    </span>
  );
}

/** Unfolds a child run, or opens the one whose further steps are not listed. */
function FoldLink({ step, data, trace }: StepProps & ViewProps) {
  if (step.folded === null) return null;
  const { steps, failed } = step.folded;
  const isOpen = data.view.open === step.run;
  const to = isOpen ? tracePath(step.run) : `${trace.pathWith({ open: step.run })}#${step.id}`;
  return (
    <a class="tag fold-link" href={to}>
      ▸ {countedText(steps, isOpen ? "more step" : "step")}
      {failed > 0 && `, ${formatCount(failed)} failed`}
    </a>
  );
}

/** Top of each kind of bar, and of a failed one; height of a lane; least width of a bar, in percent. */
const TOPS = { run: 13, agent: 13, model: 9.5, tool: 10.5, log: 10, span: 11, failed: 8 } as const;
const LANE_HEIGHT = 28, WIDTH_MIN = 0.15;

/** Draws the bar of a step; the bar of a run or an agent is a line with caps. */
function Lane({ step, axis }: StepProps & Pick<Trace, "axis">) {
  const { kind, failure, status } = step;
  const s = Math.max(0, step.atMs - axis.startMs);
  const e = Math.max(s, step.endMs - axis.startMs);
  const bad = failure === null ? "" : " is-bad";
  const width = `${Math.max(WIDTH_MIN, round(100 * (e - s) / axis.lengthMs))}%`;
  const from = (start: number, end: number) => ({
    "data-s": Math.round(start),
    "data-e": Math.round(end),
    x: percent(start, axis.lengthMs),
  });
  const isLine = kind === "run" || kind === "agent";
  const y = TOPS[bad === "" || isLine ? kind : "failed"];
  const isPoint = !isLine && (kind === "log" || e === s);
  const caps = !isLine ? [] : status === "running" && e !== s ? [s] : [s, e];
  return (
    <svg class="lane" aria-hidden="true">
      <use href="#ticks" />
      <rect
        class={isLine ? "b-run" : `b-${kind}${bad}`}
        {...from(s, e)}
        y={y}
        width={isPoint ? "1.5" : width}
        height={LANE_HEIGHT - 2 * y}
      />
      {caps.map((end) => (
        <rect class={`b-run cap${bad}`} {...from(end, end)} y="10" width="1.5" height="8" />
      ))}
    </svg>
  );
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** Formats a place on the axis as an attribute value. */
export function percent(ms: number, lengthMs: number): string {
  return `${round(100 * ms / lengthMs)}%`;
}
