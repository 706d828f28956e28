/** Compares two loaded runs: their steps side by side, the first difference, and its data. */
import { alignSteps } from "../../../domain/runs/compare.ts";
import { prettyJson } from "../../../domain/core/pretty_json.ts";
import type { RawJson } from "../../../domain/core/raw_json.ts";
import { countedText } from "../components/format.ts";
import { runPath } from "../layout/paths.ts";
import { type ComparedStep, type Side, STEPS_MAX } from "./compare_load.ts";
import { lineOf } from "./texts.ts";
import { positionBefore, ROWS_PER_PAGE, tracePath } from "./paths.ts";

/** Maximum characters of a name: hundreds of them are on a page. */
const NAME_CHARS = 60;

/** Maximum characters of the data of a step. */
const DATA_CHARS = 1_500;

/** Factor by which one of two steps must take longer to be named slower. */
const SLOWER = 2;

/** A comparison as its page shows it. */
export type Comparison = ReturnType<typeof compareRuns>;

/** Compares two runs. */
export function compareRuns(a: Side, b: Side) {
  const rows = pairsOf(a, b).map((pair) => ({ ...pair, difference: differenceOf(pair) }));
  const different = rows.filter(({ isEqual }) => !isEqual);
  const [first = null] = different;
  const equal = first === null ? rows : rows.slice(0, first.n - 1);
  const { agent, feature } = a.run;
  const steps = countedText(rows.length, "step");
  return {
    rows,
    different,
    /** The first row that differs; null if no row does. */
    first: first === null ? null : { ...first, place: placeOf(first), data: dataOf(first) },
    /** Rows before the first difference, and those from it on. */
    equal,
    rest: rows.slice(equal.length),
    subtitle: [
      agent === b.run.agent ? "Same agent" : "Another agent",
      feature !== null && feature === b.run.feature ? " and feature. " : ". ",
      first === null
        ? `All ${steps} have the same names and outcomes.`
        : equal.length === 0
        ? `The first of ${steps} differs.`
        : `The first ${equal.length} of ${steps} are equal.`,
      a.isCut || b.isCut ? ` The first ${STEPS_MAX} steps of each run are compared.` : "",
    ].join(""),
  };
}

type Pair = ReturnType<typeof pairsOf>[number];

/** Aligns the steps of two runs. Child runs differ where their steps do, if any of them differs. */
function pairsOf(a: Side, b: Side) {
  const aligned = alignSteps(a.steps.map(compared), b.steps.map(compared));
  const pairs = aligned.map((pair, i) => ({
    /** Its number, from 1. */
    n: i + 1,
    /** The step of each run; null if the run does not have it. */
    a: a.steps[pair.a ?? -1] ?? null,
    b: b.steps[pair.b ?? -1] ?? null,
    isEqual: pair.isEqual,
  }));
  return pairs.map((pair) => {
    const { a, b, n } = pair;
    if (a?.kind !== "run" || b === null || endsAlike(a, b)) return pair;
    const after = pairs.slice(n);
    const end = after.findIndex((other) => ((other.a ?? other.b)?.depth ?? 0) <= a.depth);
    const inside = after.slice(0, end < 0 ? undefined : end);
    return { ...pair, isEqual: inside.some(({ isEqual }) => !isEqual) };
  });
}

function compared({ kind, name, failure, within }: ComparedStep) {
  return {
    name: `${within}${kind === "log" ? "log" : `${kind} ${name}`}`,
    failed: kind !== "run" && failure !== null,
  };
}

function endsAlike(a: ComparedStep, b: ComparedStep): boolean {
  return (a.failure === null) === (b.failure === null);
}

function differenceOf({ a, b }: Pair): string {
  if (a === null || b === null) return `only in ${a === null ? "B" : "A"}`;
  const [x, y] = [a.durationMs ?? 0, b.durationMs ?? 0];
  const times = Math.max(x, y) / Math.min(x, y);
  const speed = `${times.toFixed(times < 10 ? 1 : 0)}× ${x > y ? "slower" : "faster"}`;
  const outcome = `failed in ${a.failure === null ? "B" : "A"}`;
  const isFarOff = Number.isFinite(times) && times >= SLOWER;
  return [...endsAlike(a, b) ? [] : [outcome], ...isFarOff ? [speed] : []].join(", ");
}

/** Names the agent of the child run that a pair is in. */
function placeOf({ a, b }: Pair): string {
  const agent = (a ?? b)?.within.split("/").at(-2)?.replace(/ \d+$/, "");
  return agent === undefined ? "" : ` of ${lineOf(agent, NAME_CHARS)}`;
}

/** Returns the data of two events, with the lines that only one of them has; null for other steps. */
function dataOf({ a, b }: Pair) {
  const [left, right] = [a, b].map((step) =>
    prettyJson(step?.preview?.event.data ?? "" as RawJson, DATA_CHARS)
  );
  if (!left?.text || !right?.text) return null;
  const [x, y] = [left.text.split("\n"), right.text.split("\n")];
  // A comma at the end of a line says only that another member follows.
  const named = (text: string) => ({ name: text.replace(/,$/, ""), failed: false });
  const pairs = alignSteps(x.map(named), y.map(named));
  const onlyA = new Set(pairs.map((pair) => pair.b === null ? pair.a : null));
  const onlyB = new Set(pairs.map((pair) => pair.a === null ? pair.b : null));
  return [
    { name: "A", lines: x, only: onlyA, isCut: left.isCut },
    { name: "B", lines: y, only: onlyB, isCut: right.isCut },
  ];
}

/** Returns the name of a step in one line. */
export function stepName({ name, text }: ComparedStep): string {
  return lineOf(name === "" ? text ?? "log" : name, NAME_CHARS);
}

/** Path of a step on the page of a compared run; beyond the first page, that begins with the step. */
export function stepPath(run: string, { preview, index, depth, run: of }: ComparedStep): string {
  if (preview === null) return runPath(of);
  const { id, position } = preview.event;
  const after = depth > 0 || index < ROWS_PER_PAGE ? null : positionBefore(position);
  return `${tracePath(run, { event: id, after, inRun: depth > 0 ? of : null })}#step`;
}
