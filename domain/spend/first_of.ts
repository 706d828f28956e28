/**
 * Selects the first items of a collection in some order, without sorting all of them.
 *
 * @module
 */

/**
 * Returns the first `max` items, in order.
 *
 * @param compare negative if the first of two comes first
 */
export function firstOf<Item>(
  all: Iterable<Item>,
  max: number,
  compare: (a: Item, b: Item) => number,
): Item[] {
  let first: Item[] = [];
  /** Last item currently selected, once there are enough. */
  let last: Item | undefined;
  const cut = () => first = first.sort(compare).slice(0, max);
  for (const item of all) {
    if (last !== undefined && compare(item, last) >= 0) continue;
    if (first.push(item) >= 2 * max) last = cut().at(-1);
  }
  return cut();
}
