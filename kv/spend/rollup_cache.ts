/**
 * The roll-ups of live teams in memory, so that adding to them need not read them first.
 *
 * One version stands for all of a team's roll-ups: whoever changes any of them changes it in the same
 * commit. As long as the version is the one that is remembered, so is every row.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { addMeasures, isEmpty, type RollupRow } from "../../domain/spend/rollup.ts";
import { ByteCache, BYTES_PER_CHAR } from "../base/byte_cache.ts";
import { keys } from "../base/keys.ts";
import { SizedMap } from "../base/sized_map.ts";
import { keyText } from "../writer/group.ts";
import { bytesOfRow } from "./rollup_bytes.ts";
import { decodeRollup, encodeRollup, rollupKey } from "./rollups.ts";
import { getAll, getEntry, type Store } from "../store.ts";
import type { Write } from "../writer/write.ts";

/** Part of the share that roll-ups may take; the rest is for the versions of runs. */
const TEAMS_PART = 0.75;

/** Bytes of a team without its rows. */
const TEAM_BYTES = 300;

/** What is remembered of a team. */
export interface TeamRollups {
  /** Version of all of them; null when the team has none yet. */
  readonly version: string | null;
  /** Number of the latest change in the feed under that version. */
  readonly lastChange: number;
  /** Rows as they are under that version, by the text of their key; null for none. */
  readonly rows: SizedMap<RollupRow | null>;
}

/** A change of roll-ups, ready to commit. */
export interface RollupChange extends Required<Pick<Write, "checks" | "sets" | "deletes">> {
  /** Remembers the change once it is committed under a version, and answers what is then known. */
  readonly remember: (version: string) => TeamRollups;
}

/** The roll-ups of live teams. */
export class RollupCache {
  readonly #store: Store;
  readonly #teams: ByteCache<TeamId, TeamRollups>;

  /** Remembers nothing yet. */
  constructor(store: Store) {
    this.#store = store;
    this.#teams = new ByteCache({
      memory: store.memory,
      share: "rollup_teams",
      part: TEAMS_PART,
      bytesOf: ({ rows }, team) => TEAM_BYTES + rows.bytes + BYTES_PER_CHAR * team.length,
    });
  }

  /** The team's roll-ups under one version. Take it before reading what is to be added. */
  async of(team: TeamId): Promise<TeamRollups> {
    const known = this.#teams.get(team);
    if (known !== undefined) return known;
    const { value, versionstamp } = await getEntry(this.#store, keys.rollupVersion(team));
    const loaded: TeamRollups = {
      version: versionstamp,
      lastChange: lastChangeOf(value),
      rows: newRows(),
    };
    this.#teams.set(team, loaded);
    return loaded;
  }

  /** Forgets a team, after a commit found that somebody else changed its roll-ups. */
  forget(team: TeamId): void {
    this.#teams.delete(team);
  }

  /**
   * Adds differences to a team's roll-ups; rows that come to nothing are deleted.
   *
   * @param lastChange number of the latest change in the feed once this is committed
   */
  async change(
    team: TeamId,
    known: TeamRollups,
    differences: readonly RollupRow[],
    lastChange: number = known.lastChange,
  ): Promise<RollupChange> {
    const keyed = differences.map((row) => {
      const key = rollupKey(team, row);
      return { key, name: keyText(key), row };
    });
    await this.#load(known, keyed);
    const versionKey = keys.rollupVersion(team);
    const sets: { key: Deno.KvKey; value: unknown }[] = [
      { key: versionKey, value: lastChange },
      ...dayMarks(team, differences),
    ];
    const deletes: Deno.KvKey[] = [];
    const after = new Map<string, RollupRow | null>();
    for (const { key, name, row } of keyed) {
      const before = known.rows.get(name)?.measures;
      const measures = before === undefined ? row.measures : addMeasures(before, row.measures);
      const empty = isEmpty(measures);
      if (empty) deletes.push(key);
      else sets.push({ key, value: encodeRollup({ ...row, measures }) });
      after.set(name, empty ? null : { ...row, measures });
    }
    return {
      checks: [{ key: versionKey, versionstamp: known.version }],
      sets,
      deletes,
      remember: (version) => this.#remember(team, known, after, { version, lastChange }),
    };
  }

  async #load(
    known: TeamRollups,
    wanted: readonly { readonly key: Deno.KvKey; readonly name: string; readonly row: RollupRow }[],
  ): Promise<void> {
    const missing = wanted.filter(({ name }) => !known.rows.has(name));
    const entries = await getAll(this.#store, missing.map(({ key }) => key));
    for (const [i, { name, row }] of missing.entries()) {
      const value = entries[i]?.value as Uint8Array | null | undefined;
      known.rows.set(name, value ? decodeRollup(row.day, value) : null);
    }
  }

  #remember(
    team: TeamId,
    known: TeamRollups,
    after: ReadonlyMap<string, RollupRow | null>,
    state: Omit<TeamRollups, "rows">,
  ): TeamRollups {
    // What a team has beyond its part is forgotten all at once.
    const rows = known.rows.bytes > this.#teams.entryBytesMax / 2 ? newRows() : known.rows;
    for (const [name, row] of after) rows.set(name, row);
    const now = { ...state, rows };
    this.#teams.set(team, now);
    return now;
  }
}

function newRows(): TeamRollups["rows"] {
  return new SizedMap((row) => row === null ? 0 : bytesOfRow(row));
}

/** What says that roll-ups of these days are others now. Only its version is read. */
function dayMarks(team: TeamId, differences: readonly RollupRow[]) {
  const days = new Set(differences.map(({ day }) => day));
  return Array.from(days, (day) => ({ key: keys.rollupDay(team, day), value: true }));
}

/** The number of a team's latest change by the value of its version; 0 before the first. */
export function lastChangeOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
