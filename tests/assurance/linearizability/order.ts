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
  return cycleIn(befores.filter(({ from, to }) => open[from] !== 0 && open[to] !== 0));
}

/** Returns the chain that delayed a step, from the step that began too late. */
function chainTo<B extends Before>(step: number, causes: ReadonlyMap<number, B>): B[] {
  const chain: B[] = [];
  for (let cause = causes.get(step); cause !== undefined; cause = causes.get(cause.from)) {
    chain.unshift(cause);
  }
  return chain;
}

/** Returns a cycle of steps, each of which waits for another one of `befores`. */
function cycleIn<B extends Before>(befores: readonly B[]): B[] {
  const causes = new Map(befores.map((before) => [before.to, before]));
  const walk: B[] = [];
  let [next] = causes.values();
  for (; next !== undefined && !walk.includes(next); next = causes.get(next.from)) walk.push(next);
  return next === undefined ? walk : walk.slice(walk.indexOf(next)).reverse();
}
