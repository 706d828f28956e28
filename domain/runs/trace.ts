/**
 * A run as a trace: the tree of its steps, and the axis of its time.
 *
 * @module
 */
import { isObject } from "../core/raw_json.ts";
import { DAY_MS, HOUR_MS } from "../core/time.ts";

/** A step before its place in the tree is known. */
export interface TraceStep {
  /** Unique in the trace. */
  readonly key: string;
  /** Key of the step above it; null for the root. A key that no step has counts as the root's. */
  readonly parent: string | null;
  /** Start, unix milliseconds. */
  readonly atMs: number;
}

/** A step in its place. */
export interface TraceRow<Step extends TraceStep> {
  /** The step. */
  readonly step: Step;
  /** Generations above it; 0 for the root. */
  readonly depth: number;
  /** Number of all steps below it. */
  readonly below: number;
}

/**
 * Orders steps as a tree: each one after its parent, siblings by time. Of steps with one key, the
 * first has the children. A cycle is broken at its earliest step, which becomes a child of the root.
 *
 * @param steps the root first; the others in the order of equal times
 */
export function orderAsTree<Step extends TraceStep>(steps: readonly Step[]): TraceRow<Step>[] {
  const [root, ...others] = steps;
  if (root === undefined) return [];
  const byKey = new Map<string, Step>([[root.key, root]]);
  for (const step of others) if (!byKey.has(step.key)) byKey.set(step.key, step);
  const parentOf = (step: Step) => byKey.get(step.parent ?? root.key) ?? root;
  const breaks = earliestOfCycles(root, others, parentOf);
  const children = new Map<Step, Step[]>();
  for (const step of others.toSorted((a, b) => a.atMs - b.atMs)) {
    const parent = breaks.has(step) ? root : parentOf(step);
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [step]);
    else siblings.push(step);
  }
  return flatten(root, children);
}

/** Returns the earliest step of each cycle of parents. Each step is visited once. */
function earliestOfCycles<Step extends TraceStep>(
  root: Step,
  steps: readonly Step[],
  parentOf: (step: Step) => Step,
): ReadonlySet<Step> {
  const visited = new Set<Step>([root]);
  const earliest = new Set<Step>();
  for (const step of steps) {
    const path = new Set<Step>();
    let at = step;
    for (; !visited.has(at) && !path.has(at); at = parentOf(at)) path.add(at);
    if (path.has(at)) {
      const steps = [...path];
      earliest.add(steps.slice(steps.indexOf(at)).reduce((a, b) => isEarlier(b, a) ? b : a));
    }
    for (const each of path) visited.add(each);
  }
  return earliest;
}

function isEarlier(a: TraceStep, b: TraceStep): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.key < b.key);
}

/** Walks the tree without recursion: strangers choose its depth. */
function flatten<Step extends TraceStep>(
  root: Step,
  children: ReadonlyMap<Step, readonly Step[]>,
): TraceRow<Step>[] {
  const rows: { step: Step; depth: number; below: number }[] = [];
  const next: { step: Step; depth: number }[] = [{ step: root, depth: 0 }];
  for (let at = next.pop(); at !== undefined; at = next.pop()) {
    const { step, depth } = at;
    rows.push({ step, depth, below: 0 });
    const list = children.get(step) ?? [];
    for (let i = list.length - 1; i >= 0; i--) {
      next.push({ step: list[i] as Step, depth: depth + 1 });
    }
  }
  // Steps below a row follow it until one of its depth or less.
  const open: number[] = [];
  for (let end = 0; end <= rows.length; end++) {
    const depth = rows[end]?.depth ?? 0;
    for (let at = open.at(-1); at !== undefined; at = open.at(-1)) {
      const row = rows[at];
      if (row === undefined || row.depth < depth) break;
      row.below = end - at - 1;
      open.pop();
    }
    open.push(end);
  }
  return rows;
}

/** Reads the `span: { id, parent }` of an event's data; null for absent or unreadable ones. */
export function spanOf(
  data: unknown,
): { readonly id: string | null; readonly parent: string | null } {
  const span = fieldOf(data, "span");
  return { id: nameOf(fieldOf(span, "id")), parent: nameOf(fieldOf(span, "parent")) };
}

function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

/** Maximum characters of a span's id. */
const SPAN_CHARS_MAX = 256;

function nameOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" && value.length <= SPAN_CHARS_MAX ? value : null;
}

const SECOND_MS = 1_000, MINUTE_MS = 60_000;

/** Milliseconds between ticks that people count in, beyond those below a second. */
const TICKS_MS = [
  ...[1, 2, 5, 10, 20, 30].map((step) => step * SECOND_MS),
  ...[1, 2, 5, 10, 20, 30].map((step) => step * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((step) => step * HOUR_MS),
];

/** Returns the round number of milliseconds between the ticks of an axis. */
export function tickStepOf(lengthMs: number): number {
  const least = Math.max(1, lengthMs) / 5;
  return least > SECOND_MS && least <= DAY_MS / 2
    ? TICKS_MS.find((step) => step >= least) ?? DAY_MS
    : least > SECOND_MS
    ? roundUp(least / DAY_MS) * DAY_MS
    : Math.max(1, roundUp(least));
}

/** Rounds up to 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((step) => step * power >= value * (1 - 1e-9)) ?? 10) * power;
}
