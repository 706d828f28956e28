/** The few statistics of a handful of rounds. */

/** The middle value; of an even number, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return mean([sorted[Math.floor(middle)] ?? NaN, sorted[Math.ceil(middle)] ?? NaN]);
}

/** The arithmetic mean. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The range of the values over their median; a single value has none. */
export function spread(values: readonly number[]): number {
  if (values.length < 2) return NaN;
  return (Math.max(...values) - Math.min(...values)) / median(values);
}

/** Element by element, one list over the other: ratios of what was measured in the same round. */
export function ratios(ours: readonly number[], theirs: readonly number[]): number[] {
  return ours.map((value, round) => value / (theirs[round] ?? NaN));
}

/** The median of the values that are there; null when none is. */
export function medianOf(values: readonly (number | null)[]): number | null {
  const there = values.filter((value) => value !== null);
  return there.length === 0 ? null : median(there);
}

/** The list begun at another element, so that no side is always measured first. */
export function rotate<T>(list: readonly T[], by: number): T[] {
  const at = by % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}

/** The value that so great a part of the values is below, such as 0.99. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}
