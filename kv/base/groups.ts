/**
 * Splits lists into groups that fit one read or one commit.
 *
 * @module
 */

/** Splits a list into groups of `length` items; the last one may be shorter. */
export function groupsOf<Item>(items: readonly Item[], length: number): (readonly Item[])[] {
  const groups: (readonly Item[])[] = [];
  for (let at = 0; at < items.length; at += length) groups.push(items.slice(at, at + length));
  return groups;
}
