/** Search for an order of steps that each took effect at one instant. */

/** A step, and the interval that contains its instant. */
export interface Step {
  readonly beginMs: number;
  /** `Infinity` if it may still happen. */
  readonly endMs: number;
}

/** States that one step, by its index, took effect before another. */
export interface Before {
  readonly from: number;
  readonly to: number;
}

/**
 * Looks for an instant of each step that satisfies every `Before`. Returns null if there is one.
 * Otherwise returns a contradictory chain: a cycle, or one whose last step ended before its first
 * began.
 *
 * Each step takes effect as early as its predecessors allow. If that is too late, no other choice
 * is earlier, so the search is exact and needs no backtracking.
 */
export function findContradiction<B extends Before>(
  steps: readonly Step[],
  befores: readonly B[],
): readonly B[] | null {
  const after = Map.groupBy(befores, ({ from }) => from);
  const open = steps.map(() => 0);
  for (const { to } of befores) open[to] = (open[to] ?? 0) + 1;
  const earliest = steps.map(({ beginMs }) => beginMs);
  const causes = new Map<number, B>();
  const ready = [...steps.keys()].filter((step) => open[step] === 0);
  for (const step of ready) {
    if ((earliest[step] ?? 0) > (steps[step]?.endMs ?? 0)) return chainTo(step, causes);
    for (const before of after.get(step) ?? []) {
      const { to } = before;
      if ((earliest[step] ?? 0) > (earliest[to] ?? 0)) {
        earliest[to] = earliest[step] ?? 0;
        causes.set(to, before);
      }
      open[to] = (open[to] ?? 0) - 1;
      if (open[to] === 0) ready.push(to);
    }
  }
  if (ready.length === steps.length) return null;
  return shortestCycle(befores.filter(({ from, to }) => open[from] !== 0 && open[to] !== 0));
}

/** Returns the chain that delayed a step, from the step that began too late. */
function chainTo<B extends Before>(step: number, causes: ReadonlyMap<number, B>): B[] {
  const chain: B[] = [];
  for (let cause = causes.get(step); cause !== undefined; cause = causes.get(cause.from)) {
    chain.unshift(cause);
  }
  return chain;
}

function shortestCycle<B extends Before>(befores: readonly B[]): readonly B[] {
  const after = Map.groupBy(befores, ({ from }) => from);
  let shortest: readonly B[] = befores;
  for (const start of after.keys()) {
    const cycle = cycleThrough(start, after);
    if (cycle !== null && cycle.length < shortest.length) shortest = cycle;
  }
  return shortest;
}

/** Follows predecessors of a step until the walk returns to it. */
function cycleThrough<B extends Before>(
  start: number,
  after: ReadonlyMap<number, readonly B[]>,
): readonly B[] | null {
  const causes = new Map<number, B>();
  const reached = [start];
  for (const step of reached) {
    for (const before of after.get(step) ?? []) {
      if (before.to === start) {
        causes.delete(start);
        return [...chainTo(step, causes), before];
      }
      if (causes.has(before.to)) continue;
      causes.set(before.to, before);
      reached.push(before.to);
    }
  }
  return null;
}
