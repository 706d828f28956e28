/**
 * Compares two runs step by step.
 *
 * @module
 */

/** A step as it is compared: equal steps have equal names and equal outcomes. */
export interface ComparedStep {
  /** Kind and name, such as `tool search`. */
  readonly name: string;
  /** True if it failed. */
  readonly failed: boolean;
}

/** Two steps side by side; null for a step that only one of the runs has. */
export interface ComparedPair {
  /** Index in the first run. */
  readonly a: number | null;
  /** Index in the second run. */
  readonly b: number | null;
  /** True if both have the step, with the same outcome. */
  readonly isEqual: boolean;
}

/**
 * Aligns the steps of two runs by a longest common subsequence of their names. It takes time for
 * each pair of steps, so callers limit their number.
 */
export function alignSteps(
  a: readonly ComparedStep[],
  b: readonly ComparedStep[],
): readonly ComparedPair[] {
  const lengths = commonLengths(a, b);
  const lengthAt = (i: number, j: number) => lengths[i * (b.length + 1) + j] ?? 0;
  const pairs: ComparedPair[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]];
    if (left !== undefined && right !== undefined && left.name === right.name) {
      pairs.push({ a: i++, b: j++, isEqual: left.failed === right.failed });
    } else if (
      right === undefined || (left !== undefined && lengthAt(i + 1, j) >= lengthAt(i, j + 1))
    ) {
      pairs.push({ a: i++, b: null, isEqual: false });
    } else {
      pairs.push({ a: null, b: j++, isEqual: false });
    }
  }
  return pairs;
}

/** Computes the common lengths of all pairs of ends, last ones first. */
function commonLengths(a: readonly ComparedStep[], b: readonly ComparedStep[]): Uint16Array {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i]?.name === b[j]?.name
        ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
        : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
    }
  }
  return lengths;
}
