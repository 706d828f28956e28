/**
 * Caches roll-ups by day, so that unchanged days are not read again.
 *
 * Every commit that changes a roll-up also changes the version of its day. The version is read
 * before the rows. If another commit changes the day in between, the rows are cached under an
 * outdated version and are read again. So cached rows always equal the stored rows.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import type { Memory } from "../../runtime/memory.ts";
import { groupName, type RollupKind, type RollupRow } from "../../domain/spend/rollup.ts";
import { type ByteCache, BYTES_PER_CHAR, createByteCache } from "../../runtime/byte_cache.ts";
import { keyParts, keys } from "../base/keys.ts";
import { listRows, type Store } from "../store.ts";

/** Bytes of a row without its group's name: three objects, measures, and headers of texts. */
const ROW_BYTES = 640;

/** Bytes of a cached day without its rows. */
const DAY_BYTES = 200;

/** Versions by UTC day; a day without roll-up changes has none. */
export type DayVersions = ReadonlyMap<string, string>;

/** Rows of one kind and day, under one version of the day. */
interface CachedDay {
  readonly version: string;
  readonly rows: readonly RollupRow[];
  readonly bytes: number;
}

/** Cache of recently read days of all teams. */
export class RollupDays {
  readonly #days: ByteCache<string, CachedDay>;
  readonly #dayBytesMax: number;

  constructor(memory: Memory) {
    // A larger day would evict too many others.
    this.#dayBytesMax = memory.bytesMax("rollup_days") / 10;
    this.#days = createByteCache({
      memory,
      share: "rollup_days",
      bytesOf: ({ bytes }, name) => bytes + BYTES_PER_CHAR * name.length,
    });
  }

  /** Returns the rows of a day if they are cached under its current version; null otherwise. */
  get(
    team: TeamId,
    kind: RollupKind,
    day: string,
    versions: DayVersions,
  ): readonly RollupRow[] | null {
    const cached = this.#days.get(nameOf(team, kind, day));
    return cached !== undefined && cached.version === versions.get(day) ? cached.rows : null;
  }

  /**
   * Yields rows as they are read, and caches each day that was read completely.
   *
   * @param days to be read, in order
   * @param versions read before the rows
   */
  async *keep(
    team: TeamId,
    kind: RollupKind,
    days: readonly string[],
    versions: DayVersions,
    read: AsyncIterable<readonly RollupRow[]>,
  ): AsyncGenerator<readonly RollupRow[]> {
    const remaining = days.values();
    let day = remaining.next().value;
    let rows: RollupRow[] = [];
    let bytes = DAY_BYTES;
    const next = () => {
      const version = day && versions.get(day);
      if (day && version && bytes <= this.#dayBytesMax) {
        this.#days.set(nameOf(team, kind, day), { version, rows, bytes });
      }
      rows = [];
      bytes = DAY_BYTES;
      day = remaining.next().value;
    };
    for await (const batch of read) {
      for (const row of batch) {
        while (day !== undefined && day < row.day) next();
        bytes += bytesOfRow(row);
        if (bytes <= this.#dayBytesMax) rows.push(row);
        else rows = [];
      }
      yield batch;
    }
    while (day !== undefined) next();
  }
}

/** Estimates the bytes of a row in memory. */
export function bytesOfRow({ group }: RollupRow): number {
  return ROW_BYTES + BYTES_PER_CHAR * groupName(group).length;
}

/** Reads the versions of days. */
export async function readDayVersions(
  store: Store,
  team: TeamId,
  fromDay: string,
  toDay: string,
): Promise<DayVersions> {
  const rows = await listRows(store, keys.rollupDays(team, fromDay, toDay));
  return new Map(rows.map(({ key, versionstamp }) => [keyParts.name(key), versionstamp]));
}

function nameOf(team: TeamId, kind: RollupKind, day: string): string {
  return `${team} ${kind} ${day}`;
}
