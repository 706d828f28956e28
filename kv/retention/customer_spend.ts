/**
 * Deleting what is left of a customer's older runs: their share in roll-ups that outlive them.
 *
 * Each combination of labels has a row of its own, so what is the customer's is known exactly, and is
 * taken from every sum it is part of.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import {
  addMeasures,
  EMPTY_MEASURES,
  isEmpty,
  mergeRows,
  type RollupGroup,
  type RollupRow,
  subtractMeasures,
} from "../../domain/spend/rollup.ts";
import { keys } from "../base/keys.ts";
import { decodeRollup } from "../spend/rollups.ts";
import { customerPart } from "../base/index_parts.ts";
import { getAll, getValue, listRows, rowsAfter, type Store } from "../store.ts";

/** Rows of one step; each is taken from six sums at most, whose keys must fit into one commit. */
const ROWS_PER_STEP = 30;

/** Rows read at once, of all customers: what a step leaves of them is read again. */
const ROWS_PER_READ = 50;

/** Rows, and days, read for a step at most. */
const READ_MAX = { rows: 1_000, days: 100 } as const;

/** Where the day stands in a key. */
const DAY = 3;

/** How far a customer's spend is deleted. */
export interface SpendPlace {
  /** The day under way, or the one behind which the next is looked for. */
  readonly day: string;
  /** Kind of the rows under way; null to look for the next day. */
  readonly kind: "model_cell" | "cell" | null;
  /** The row read last; null for none of that kind. */
  readonly after: Deno.KvKey | null;
}

/** Where it begins. */
export const FIRST_DAY: SpendPlace = { day: "", kind: null, after: null };

/** What to take from a team's sums, of gone runs and of all. */
export interface CustomerShare {
  /** Differences, all of one day. */
  readonly rows: readonly RollupRow[];
  /** Whether nothing of that day is left then. */
  readonly isLast: boolean;
  /** Where to go on; null when nothing is left of any day. */
  readonly next: SpendPlace | null;
}

/** Reads on in what is left of a customer, each row once. It may find nothing and still have to go on. */
export async function customerShareOf(
  store: Store,
  team: TeamId,
  customer: string,
  place: SpendPlace,
): Promise<CustomerShare> {
  const { day, kind, after } = place;
  if (kind === null) return await nextDay(store, team, customer, day);
  const prefix = [...keys.removedRollups(team, kind), day];
  const found: RollupRow[] = [];
  let [last, isEnd] = [after, false];
  for (let read = 0; read < READ_MAX.rows && found.length < ROWS_PER_STEP && !isEnd;) {
    const options = { limit: ROWS_PER_READ };
    const rows = await listRows<Uint8Array>(store, rowsAfter(prefix, last), options);
    const used = rowsOf(customer, day, rows, ROWS_PER_STEP - found.length);
    found.push(...used.found);
    last = rows[used.count - 1]?.key ?? last;
    isEnd = used.count === rows.length && rows.length < ROWS_PER_READ;
    read += rows.length;
  }
  const rows = mergeRows(found.flatMap(takenFrom));
  return {
    rows,
    isLast: found.length > 0 && await isAllOf(store, team, customer, day, rows),
    next: isEnd ? behind(place) : { day, kind, after: last },
  };
}

/** Takes rows of a customer, and counts how many were passed for them. */
function rowsOf(
  customer: string,
  day: string,
  rows: readonly Deno.KvEntry<Uint8Array>[],
  max: number,
): { readonly found: readonly RollupRow[]; readonly count: number } {
  const found: RollupRow[] = [];
  let count = 0;
  for (const { value } of rows) {
    if (found.length === max) break;
    count++;
    const row = decodeRollup(day, value);
    if ("labels" in row.group && row.group.labels.customer === customer) found.push(row);
  }
  return { found, count };
}

/** The models first: as long as a day's whole sums are there, a process that begins again finds the day. */
function behind({ day, kind }: SpendPlace): SpendPlace {
  return { day, kind: kind === "model_cell" ? "cell" : null, after: null };
}

/** Looks through some days for the first behind `day` of which something of the customer is left. */
async function nextDay(
  store: Store,
  team: TeamId,
  customer: string,
  day: string,
): Promise<CustomerShare> {
  const name = customerPart(customer);
  const prefix = keys.removedRollups(team, "total");
  const range = rowsAfter(prefix, [...prefix, day]);
  const totals = await listRows(store, range, { limit: READ_MAX.days });
  const days = totals.map(({ key }) => String(key[DAY]));
  const step = (next: SpendPlace | null): CustomerShare => ({ rows: [], isLast: false, next });
  const rows = await getAll(
    store,
    days.map((each) => keys.removedRollup(team, "customer", each, name)),
  );
  const found = rows.find(({ versionstamp }) => versionstamp !== null);
  if (found !== undefined) {
    return step({ day: String(found.key[DAY]), kind: "model_cell", after: null });
  }
  const last = days.at(-1);
  return step(
    last === undefined || days.length < READ_MAX.days ? null : { ...FIRST_DAY, day: last },
  );
}

/** Whether nothing of the customer's day is left once these differences are taken. */
async function isAllOf(
  store: Store,
  team: TeamId,
  customer: string,
  day: string,
  rows: readonly RollupRow[],
): Promise<boolean> {
  const taken = rows.find(({ group }) => group.kind === "customer");
  if (taken === undefined) return false;
  const key = keys.removedRollup(team, "customer", day, customerPart(customer));
  const stored = await getValue<Uint8Array>(store, key);
  if (stored === null) return false;
  return isEmpty(addMeasures(decodeRollup(day, stored).measures, taken.measures));
}

/** The differences that take a row from itself and from every sum that it is part of. */
function takenFrom({ day, group, measures }: RollupRow): RollupRow[] {
  const minus = subtractMeasures(EMPTY_MEASURES, measures);
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
