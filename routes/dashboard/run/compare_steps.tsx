/** The steps of two runs side by side. */
import { alignSteps, type ComparedPair } from "../../../domain/runs/compare.ts";
import { prettyJson } from "../../../domain/core/pretty_json.ts";
import type { PositionedEvent } from "../../../domain/runs/event_page.ts";
import type { RunTotals } from "../../../domain/runs/list.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { countedText, durationText, formatCount } from "../components/format.ts";
import { Icon } from "../components/icons.tsx";
import { runPath } from "../layout/paths.ts";
import { comparePath, positionBefore, ROWS_PER_PAGE, tracePath } from "./paths.ts";
import type { Step } from "./steps.ts";
import { lineOf } from "./event_preview.ts";
import { ErrorTag, StepIcon } from "./waterfall_row.tsx";

/** A step of a side. */
export interface ComparedRow extends Step {
  /** Generations of child runs that it is in. */
  readonly depth: number;
  /** Agents of those runs, each with its number among those of its parent; empty for none. */
  readonly within: string;
}

/** A run of a comparison. */
export interface Side {
  readonly run: RunRecord;
  /** Its steps in order of time, those of each child run after it. */
  readonly steps: readonly ComparedRow[];
  readonly children: number;
  /** Totals with those of the runs that it started. */
  readonly totals: RunTotals;
  readonly hasMore: boolean;
}

/** Two runs of a comparison. */
export interface Sides {
  readonly a: Side;
  readonly b: Side;
}

interface StepsProps extends Sides {
  readonly pairs: readonly ComparedPair[];
  /** Index of the first difference; -1 for none. */
  readonly first: number;
  /** True to list only the steps that differ. */
  readonly isBrief: boolean;
}

export function Steps(props: StepsProps) {
  const { a, b, pairs, first } = props;
  const isBrief = props.isBrief && first >= 0;
  const numbered = pairs.map((pair, i) => ({ pair, n: i + 1 }));
  const equal = isBrief ? [] : first < 0 ? numbered : numbered.slice(0, first);
  const rest = first < 0
    ? []
    : numbered.slice(first).filter(({ pair }) => !isBrief || !pair.isEqual);
  const row = (each: typeof numbered[number]) => <Pair {...each} a={a} b={b} />;
  return (
    <section class={isBrief ? "panel brief" : "panel"} aria-labelledby="steps-h">
      <header>
        <h2 id="steps-h">Steps in order</h2>
        {first >= 0 && <Switch {...props} isBrief={isBrief} />}
      </header>
      {equal.length > 0 && (
        <details class="equal" open={first < 0 && equal.length <= 20}>
          <summary>
            <Icon name="chevron" /> {countedText(equal.length, "equal step")}
          </summary>
          <table class="cmp">
            <CompareHead a={a} b={b} />
            <tbody>{equal.map(row)}</tbody>
          </table>
        </details>
      )}
      {first >= 0 && (
        <>
          <p class="rule">
            First difference, step {first + 1}:{" "}
            {differenceOf(pairs[first] as ComparedPair, a, b, true)}
          </p>
          <table class="cmp">
            <CompareHead a={a} b={b} />
            <tbody>{rest.map(row)}</tbody>
          </table>
          <Data pair={pairs[first] as ComparedPair} n={first + 1} a={a} b={b} />
        </>
      )}
    </section>
  );
}

/** Links to all steps and to those that differ. */
function Switch({ a, b, pairs, isBrief }: StepsProps) {
  const different = pairs.filter(({ isEqual }) => !isEqual).length;
  const choice = (name: string, brief: boolean) => (
    <a
      href={`${comparePath(a.run.id, b.run.id, brief)}#steps-h`}
      aria-current={brief === isBrief ? "true" : undefined}
    >
      {name}
    </a>
  );
  return (
    <div class="seg small end" role="group" aria-label="Steps listed">
      {choice(`All ${formatCount(pairs.length)}`, false)}
      {choice(`Differences ${formatCount(different)}`, true)}
    </div>
  );
}

/** Maximum characters of a name: hundreds of them are on a page. */
const NAME_CHARS = 60;

/** Characters of the data of a step. */
const DATA_CHARS = 1_500;

/** Shows the data of the steps that differ first, if both runs have the step. */
function Data({ pair, n, a, b }: Sides & { readonly pair: ComparedPair; readonly n: number }) {
  const sides = [["A", a, pair.a], ["B", b, pair.b]] as const;
  const shown = sides.flatMap(([name, side, index]) => {
    const event = index === null ? undefined : side.steps[index]?.preview?.event;
    return event === undefined ? [] : [{ name, json: prettyJson(event.data, DATA_CHARS) }];
  });
  if (shown.length < sides.length) return null;
  const [left = [], right = []] = shown.map(({ json }) => json.text.split("\n"));
  // A comma at the end of a line says only that another member follows.
  const lines = (texts: readonly string[]) =>
    texts.map((text) => ({ name: text.replace(/,$/, ""), failed: false }));
  const pairs = alignSteps(lines(left), lines(right));
  const marked = [
    pairs.map((line) => line.a !== null && <Line text={left[line.a]} only={line.b === null} />),
    pairs.map((line) => line.b !== null && <Line text={right[line.b]} only={line.a === null} />),
  ];
  return (
    <div class="first-data">
      {shown.map(({ name, json }, i) => (
        <div>
          <h3>{name}, step {n}</h3>
          <pre class="code" tabindex={0}>{marked[i]}{json.isCut && "…"}</pre>
        </div>
      ))}
    </div>
  );
}

/** A line of JSON, marked if the other side does not have it. */
function Line({ text, only }: { readonly text: string | undefined; readonly only: boolean }) {
  const line = `${text}\n`;
  return only ? <mark>{line}</mark> : <>{line}</>;
}

/** Levels of indentation; steps of deeper child runs keep the last. */
const DEPTH_MAX = 3;

function CompareHead({ a, b }: Sides) {
  return (
    <thead>
      <tr>
        <th scope="col" class="num c-n">Step</th>
        <th scope="col">A, {a.run.status}</th>
        <th scope="col">B, {b.run.status}</th>
        <th scope="col" class="c-d">Difference</th>
      </tr>
    </thead>
  );
}

function Pair({ pair, n, a, b }: Sides & { readonly pair: ComparedPair; readonly n: number }) {
  return (
    <tr class={pair.isEqual ? "" : "diff"}>
      <td class="num c-n">{n}</td>
      <Cell side={a} index={pair.a} name="A" />
      <Cell side={b} index={pair.b} name="B" />
      <td class="c-d">{differenceOf(pair, a, b)}</td>
    </tr>
  );
}

function Cell({ side, index, name }: {
  readonly side: Side;
  readonly index: number | null;
  readonly name: string;
}) {
  const step = index === null ? undefined : side.steps[index];
  if (step === undefined) return <td class="none" data-side={name}>no such step</td>;
  return (
    <td data-side={name} data-depth={Math.min(step.depth, DEPTH_MAX)}>
      <div class="cell">
        <StepIcon step={step} />
        <a
          href={step.preview === null
            ? runPath(step.run)
            : stepPath(side.run.id, step, step.preview.event, index ?? 0)}
        >
          {lineOf(step.name === "" ? step.text ?? "log" : step.name, NAME_CHARS)}
        </a>
        {step.failure !== null && <ErrorTag of={step.failure} />}
        <span class="num">{step.durationMs === null ? "" : durationText(step.durationMs)}</span>
      </div>
    </td>
  );
}

/** Path of a run's page with an event selected; beyond the first page, it begins with the event. */
function stepPath(
  run: string,
  step: ComparedRow,
  { id, position }: PositionedEvent,
  index: number,
): string {
  const isInner = step.depth > 0;
  const after = isInner || index < ROWS_PER_PAGE ? null : positionBefore(position);
  return `${tracePath(run, { event: id, after, inRun: isInner ? step.run : null })}#step`;
}

/** Names the child run that a step is in. */
function inRun(step: ComparedRow | undefined): string {
  const agent = step?.within.split("/").at(-2)?.replace(/ \d+$/, "");
  return agent === undefined ? "" : ` of ${lineOf(agent, NAME_CHARS)}`;
}

/** Factor by which one of two steps must take longer to be named slower. */
const SLOWER = 2;

function differenceOf(pair: ComparedPair, a: Side, b: Side, isSentence = false): string {
  const [left, right] = [
    pair.a === null ? undefined : a.steps[pair.a],
    pair.b === null ? undefined : b.steps[pair.b],
  ];
  if (left === undefined || right === undefined) {
    const [only, side] = left === undefined ? [right, "B"] : [left, "A"];
    return `only in ${side}${isSentence ? inRun(only) : ""}`;
  }
  const outcome = (left.failure === null) === (right.failure === null)
    ? null
    : left.failure === null
    ? "failed in B"
    : "failed in A";
  if (isSentence) return `the same step${inRun(left)}, ${outcome ?? "another outcome"}`;
  const [longer, shorter] = [left.durationMs ?? 0, right.durationMs ?? 0];
  const ratio = shorter === 0 ? 0 : longer / shorter;
  const speed = ratio >= SLOWER
    ? `${ratio.toFixed(ratio < 10 ? 1 : 0)}× slower`
    : ratio > 0 && ratio <= 1 / SLOWER
    ? `${(1 / ratio).toFixed(1 / ratio < 10 ? 1 : 0)}× faster`
    : null;
  return [outcome, speed].filter((part) => part !== null).join(", ");
}
