/**
 * Sums of counts by name. A count is a number or a bigint, of the same type in every record.
 *
 * @module
 */

/** Mutable counts, for accumulation. */
export type Sums<Counts> = { -readonly [Name in keyof Counts]: Counts[Name] };

/** Adds counts to an accumulator in place. */
export function addTo<Counts extends object>(sums: Sums<Counts>, counts: Partial<Counts>): void {
  // The compiler cannot see that a count has the same type in both.
  const totals = sums as Record<string, number>;
  for (const name in counts) (totals[name] as number) += counts[name] as number;
}

/** Subtracts counts from an accumulator in place; a count may become negative. */
export function subtractFrom<Counts extends object>(
  sums: Sums<Counts>,
  counts: Partial<Counts>,
): void {
  const totals = sums as Record<string, number>;
  for (const name in counts) (totals[name] as number) -= counts[name] as number;
}

/** Returns `a` plus the counts of `b`. */
export function addCounts<Counts extends object>(a: Counts, b: Partial<Counts>): Counts {
  const sums: Sums<Counts> = { ...a };
  addTo(sums, b);
  return sums;
}

/** Returns `a` minus the counts of `b`; a count of the result may be negative. */
export function subtractCounts<Counts extends object>(a: Counts, b: Partial<Counts>): Counts {
  const rest: Sums<Counts> = { ...a };
  subtractFrom(rest, b);
  return rest;
}

/** Returns whether every count is 0. */
export function isZero(counts: object): boolean {
  return Object.values(counts).every((count) => Number(count) === 0);
}

/** Compares values of one kind, to sort them. */
export function compare<Value extends string | number | bigint>(a: Value, b: Value): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
