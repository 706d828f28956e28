/**
 * Days of roll-ups in memory, so that days nobody changed need not be read again.
 *
 * Whoever changes a roll-up changes the version of its day in the same commit. The version is read before
 * the rows: when somebody changed some in between, they are remembered under a version that the day has
 * no longer, and are read again. So what is answered from memory is what the store holds.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import type { Memory } from "../../domain/core/memory.ts";
import type { RollupKind, RollupRow } from "../../domain/spend/rollup.ts";
import { ByteCache, BYTES_PER_CHAR } from "../base/byte_cache.ts";
import { keys } from "../base/keys.ts";
import { listRows, type Store } from "../store.ts";
import { bytesOfRow } from "./rollup_bytes.ts";

/** Bytes of a day without its rows, which takes room as well. */
const DAY_BYTES = 200;

/** Where the day is in a key. */
const DAY_AT = 2;

/** Versions by UTC day; a day that no roll-up ever changed in has none. */
export type DayVersions = ReadonlyMap<string, string>;

/** The rows of one kind and day, as they are under a version of the day. */
interface KnownDay {
  readonly version: string;
  readonly rows: readonly RollupRow[];
  readonly bytes: number;
}

/** The days of all teams that were read recently. */
export class RollupDays {
  readonly #days: ByteCache<string, KnownDay>;
  readonly #dayBytesMax: number;

  /** Creates a memory of no day. */
  constructor(memory: Memory) {
    // A longer day would push out those of others.
    this.#dayBytesMax = memory.bytesMax("rollup_days") / 10;
    this.#days = new ByteCache({
      memory,
      share: "rollup_days",
      bytesOf: ({ bytes }, name) => bytes + BYTES_PER_CHAR * name.length,
    });
  }

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
    let bytes = DAY_BYTES;
    const next = () => {
      const version = day && versions.get(day);
      if (day && version && bytes <= this.#dayBytesMax) {
        this.#days.set(nameOf(team, kind, day), { version, rows, bytes });
      }
      rows = [];
      bytes = DAY_BYTES;
      day = left.next().value;
    };
    for await (const some of read) {
      for (const row of some) {
        while (day !== undefined && day < row.day) next();
        bytes += bytesOfRow(row);
        if (bytes <= this.#dayBytesMax) rows.push(row);
        else rows = [];
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
