/**
 * The first of many in some order, without sorting all of them.
 *
 * @module
 */

/**
 * Picks the first so many, in order.
 *
 * @param compare negative when the first of two comes first
 */
export function firstOf<Item>(
  all: Iterable<Item>,
  max: number,
  compare: (a: Item, b: Item) => number,
): Item[] {
  let first: Item[] = [];
  /** The last one that would still be among them, once there are enough. */
  let last: Item | undefined;
  const cut = () => first = first.sort(compare).slice(0, max);
  for (const item of all) {
    if (last !== undefined && compare(item, last) >= 0) continue;
    if (first.push(item) >= 2 * max) last = cut().at(-1);
  }
  return cut();
}
