/**
 * Days of roll-ups in memory, so that days nobody changed need not be read again.
 *
 * Whoever changes a roll-up changes the version of its day in the same commit. The version is read before
 * the rows: when somebody changed some in between, they are remembered under a version that the day has
 * no longer, and are read again. So what is answered from memory is what the store holds.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import type { TeamId } from "../../domain/credentials.ts";
import type { RollupKind, RollupRow } from "../../domain/spend/rollup.ts";
import { keys } from "../keys.ts";
import { listRows, type Store } from "../store.ts";

/** Rows remembered, of all teams together: some 420 bytes each. */
const ROWS_MAX = 60_000;

/** Rows of one kind and day that are remembered; longer days would push out those of others. */
const DAY_ROWS_MAX = 5_000;

/** Where the day stands in a key. */
const DAY_AT = 2;

/** Versions by UTC day; a day that no roll-up ever changed in has none. */
export type DayVersions = ReadonlyMap<string, string>;

/** The rows of one kind and day, as they are under a version of the day. */
interface KnownDay {
  readonly version: string;
  readonly rows: readonly RollupRow[];
}

/** The days of all teams that were read of late. */
export class RollupDays {
  readonly #days = new LRUCache<string, KnownDay>({
    maxSize: ROWS_MAX,
    // A day without rows takes room as well.
    sizeCalculation: ({ rows }) => rows.length + 1,
  });

  /** The rows of a day, if they are known under the version that it has; a day without is not known. */
  get(
    team: TeamId,
    kind: RollupKind,
    day: string,
    versions: DayVersions,
  ): readonly RollupRow[] | null {
    const known = this.#days.get(nameOf(team, kind, day));
    return known !== undefined && known.version === versions.get(day) ? known.rows : null;
  }

  /**
   * Passes on rows as they are read, and remembers each day that was read to its end.
   *
   * @param days which are read, in order
   * @param versions read before the rows
   */
  async *keep(
    team: TeamId,
    kind: RollupKind,
    days: readonly string[],
    versions: DayVersions,
    read: AsyncIterable<readonly RollupRow[]>,
  ): AsyncGenerator<readonly RollupRow[]> {
    const left = days.values();
    let day = left.next().value;
    let rows: RollupRow[] = [];
    const next = () => {
      const version = day && versions.get(day);
      if (day && version && rows.length <= DAY_ROWS_MAX) {
        this.#days.set(nameOf(team, kind, day), { version, rows });
      }
      rows = [];
      day = left.next().value;
    };
    for await (const some of read) {
      for (const row of some) {
        while (day !== undefined && day < row.day) next();
        if (rows.length <= DAY_ROWS_MAX) rows.push(row);
      }
      yield some;
    }
    while (day !== undefined) next();
  }
}

/** Reads the versions of days. */
export async function readDayVersions(
  store: Store,
  team: TeamId,
  fromDay: string,
  toDay: string,
): Promise<DayVersions> {
  const rows = await listRows(store, keys.rollupDays(team, fromDay, toDay));
  return new Map(rows.map(({ key, versionstamp }) => [String(key[DAY_AT]), versionstamp]));
}

function nameOf(team: TeamId, kind: RollupKind, day: string): string {
  return `${team} ${kind} ${day}`;
}
