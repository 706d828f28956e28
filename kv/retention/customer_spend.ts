/**
 * Deletes a customer's share of roll-ups whose runs are already removed.
 *
 * Each combination of labels has its own row, so the customer's share is known exactly and is
 * subtracted from every total that includes it.
 *
 * @module
 */
import { addCounts, isZero, subtractCounts } from "../../domain/core/sums.ts";
import { EMPTY_MEASURES } from "../../domain/runs/summary.ts";
import { mergeRows, type RollupGroup, type RollupRow } from "../../domain/spend/rollup.ts";
import { keyParts, keys } from "../base/keys.ts";
import type { TeamRef } from "../runs/heads.ts";
import { decodeRollup } from "../spend/rollups.ts";
import { customerPart } from "../index/entries.ts";
import { getAll, getValue, listRows, rowsAfter } from "../store.ts";

/** Rows of one step; each changes at most six totals, whose keys must fit into one commit. */
const ROWS_PER_STEP = 30;

/** Rows of one read, of all customers; the next step reads the unused rows again. */
const ROWS_PER_READ = 100;

const DAYS_PER_READ = 100;

/** Progress of deleting a customer's spend. */
export interface SpendPosition {
  /** The current day; if `kind` is null, the day after which to search. */
  readonly day: string;
  /** Kind of the current rows; null to search for the next day. */
  readonly kind: "model_cell" | "cell" | null;
  /** The last row read; null before the first row of that kind. */
  readonly after: Deno.KvKey | null;
}

/** The initial position. */
export const FIRST_DAY: SpendPosition = { day: "", kind: null, after: null };

/**
 * Reads the next rows of a customer, each once. A step may find no rows and still have a next one.
 *
 * @returns `rows` differences to add to a team's roll-ups and to its totals of removed runs, all of one
 *   day; `isLast` true if they delete the rest of that day; `next` null after the last day
 */
export async function customerShareOf(at: TeamRef, customer: string, position: SpendPosition) {
  const { day, kind, after } = position;
  if (kind === null) {
    return { rows: [] as RollupRow[], isLast: false, next: await nextDay(at, customer, day) };
  }
  const range = rowsAfter([...keys.removedRollups(at.team, kind), day], after);
  const read = await listRows<Uint8Array>(at.store, range, { limit: ROWS_PER_READ });
  const matching: RollupRow[] = [];
  let last = after;
  for (const { key, value } of read) {
    if (matching.length === ROWS_PER_STEP) break;
    last = key;
    const row = decodeRollup(day, value);
    if ("labels" in row.group && row.group.labels.customer === customer) matching.push(row);
  }
  const rows = mergeRows(matching.flatMap(takenFrom));
  const isEnd = read.length < ROWS_PER_READ && last === (read.at(-1)?.key ?? after);
  // Models are first: a restarted process finds the day by its totals.
  const nextKind = kind === "model_cell" ? "cell" : null;
  const next: SpendPosition = isEnd
    ? { day, kind: nextKind, after: null }
    : { day, kind, after: last };
  return { rows, isLast: await isAllOf(at, customer, day, rows), next };
}

/** Searches some days for the first day after `day` that has spend of the customer. */
async function nextDay(
  { store, team }: TeamRef,
  customer: string,
  day: string,
): Promise<SpendPosition | null> {
  const name = customerPart(customer);
  const prefix = keys.removedRollups(team, "total");
  const range = rowsAfter(prefix, [...prefix, day]);
  const totals = await listRows(store, range, { limit: DAYS_PER_READ });
  const days = totals.map(({ key }) => keyParts.day(key));
  const rows = await getAll(
    store,
    days.map((day) => keys.removedRollup(team, "customer", day, name)),
  );
  const matching = rows.find(({ versionstamp }) => versionstamp !== null);
  if (matching !== undefined) {
    return { day: keyParts.day(matching.key), kind: "model_cell", after: null };
  }
  return days.length < DAYS_PER_READ ? null : { ...FIRST_DAY, day: days.at(-1) ?? day };
}

/** Returns true if these differences delete the rest of the customer's day. */
async function isAllOf(
  { store, team }: TeamRef,
  customer: string,
  day: string,
  rows: readonly RollupRow[],
): Promise<boolean> {
  const difference = rows.find(({ group }) => group.kind === "customer");
  if (difference === undefined) return false;
  const key = keys.removedRollup(team, "customer", day, customerPart(customer));
  const stored = await getValue<Uint8Array>(store, key);
  if (stored === null) return false;
  return isZero(addCounts(decodeRollup(day, stored).measures, difference.measures));
}

/**
 * Returns the differences that subtract a row from itself and from every total that includes it.
 */
function takenFrom({ day, group, measures }: RollupRow): RollupRow[] {
  const minus = subtractCounts(EMPTY_MEASURES, measures);
  return partsOf(group).map((part) => ({ day, group: part, measures: minus }));
}

function partsOf(group: RollupGroup): RollupGroup[] {
  if (group.kind === "model_cell") return [group, { kind: "model", value: group.value }];
  if (group.kind !== "cell") return [group];
  const { agent, customer, feature, status } = group.labels;
  return [
    group,
    { kind: "total" },
    { kind: "agent", value: agent },
    { kind: "customer", value: customer },
    { kind: "feature", value: feature },
    { kind: "status", value: status },
  ];
}
