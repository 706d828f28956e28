/**
 * Deleting what is left of a customer's older runs: their share in roll-ups that outlive them.
 *
 * Each combination of labels has a row of its own, so what is the customer's is known exactly, and is
 * taken from every sum it is part of.
 *
 * @module
 */
import type { TeamId } from "../../domain/credentials.ts";
import {
  EMPTY_MEASURES,
  mergeRows,
  type RollupGroup,
  type RollupKind,
  type RollupRow,
  subtractMeasures,
} from "../../domain/spend/rollup.ts";
import { keys } from "../keys.ts";
import { GET_MANY_KEYS_MAX } from "../kv_limits.ts";
import { decodeRollup } from "../pipeline/rollups.ts";
import { customerPart } from "../pipeline/run_index.ts";
import { eachRow, getMany, listRows, type Store } from "../store.ts";

/** Rows of one step; each is taken from six sums at most. */
const ROWS_PER_STEP = 40;

/** Where the day stands in a key. */
const DAY = 3;

/** What to take from a team's sums, of gone runs and of all. */
export interface CustomerShare {
  /** Differences, all of one day. */
  readonly rows: readonly RollupRow[];
  /** Whether nothing of that day is left then. */
  readonly isLast: boolean;
}

/** Some of what is left of a customer; null when nothing is. */
export async function shareOf(
  store: Store,
  team: TeamId,
  customer: string,
): Promise<CustomerShare | null> {
  const day = await firstDay(store, team, customer);
  if (day === null) return null;
  // The models first: as long as a day's whole sums are there, the day is found again.
  const models = await rowsOf(store, team, "model_cell", day, customer);
  const rows = models.length > 0 ? models : await rowsOf(store, team, "cell", day, customer);
  const isLast = models.length === 0 && rows.length <= ROWS_PER_STEP;
  return { rows: mergeRows(rows.slice(0, ROWS_PER_STEP).flatMap(takenFrom)), isLast };
}

/** The first day of which something of the customer is left. */
async function firstDay(store: Store, team: TeamId, customer: string): Promise<string | null> {
  const name = customerPart(customer);
  const totals = await listRows(store, { prefix: keys.removedRollups(team, "total") });
  for (let at = 0; at < totals.length; at += GET_MANY_KEYS_MAX) {
    const days = totals.slice(at, at + GET_MANY_KEYS_MAX).map(({ key }) => String(key[DAY]));
    const rows = days.map((day) => keys.removedRollup(team, "customer", day, name));
    const found = (await getMany(store, rows)).find(({ versionstamp }) => versionstamp !== null);
    if (found !== undefined) return String(found.key[DAY]);
  }
  return null;
}

/** Rows of the customer's, one more than a step takes at most. */

async function rowsOf(
  store: Store,
  team: TeamId,
  kind: RollupKind,
  day: string,
  customer: string,
): Promise<RollupRow[]> {
  const found: RollupRow[] = [];
  const range = { prefix: [...keys.removedRollups(team, kind), day] };
  for await (const { value } of eachRow<Uint8Array>(store, range)) {
    const row = decodeRollup(day, value);
    if ("labels" in row.group && row.group.labels.customer === customer) found.push(row);
    if (found.length > ROWS_PER_STEP) break;
  }
  return found;
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
