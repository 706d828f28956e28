/**
 * Rows of a team that its commits change together, decoded, under one version.
 *
 * Every commit that changes such a row checks and changes the version. So a row is read at most once
 * a version, a commit writes its rows through to memory, and two processes never add one difference
 * twice. Those rows are roll-ups, agents' activity, monitors, alert instances and their numbers, and
 * counts of check results.
 *
 * @module
 */
import type { Region, TeamId } from "../../domain/core/ids.ts";
import {
  type ByteCache,
  BYTES_PER_CHAR,
  createByteCache,
  ENTRY_BYTES,
} from "../../runtime/memory.ts";
import { keys } from "../base/keys.ts";
import { getAll, getEntry, type Store } from "../store.ts";
import { keyText, type KvSet, type Write } from "../writer/group.ts";
import type { AlertWork } from "../../domain/alerts/signal_sources.ts";
import type { Environment } from "../../domain/core/environment.ts";
import type { RollupRow } from "../../domain/spend/rollup.ts";

/** Bytes of a team without its rows, and of a row without its name and value. */
const TEAM_BYTES = 400, ROW_BYTES = ENTRY_BYTES + 40;

/** Rows of one kind. */
export interface RowFamily<Value> {
  /** Decodes the value of a stored row. */
  readonly decode: (stored: unknown, key: Deno.KvKey) => Value;
  readonly encode: (value: Value) => unknown;
  /** Returns the bytes of a value in memory, roughly. */
  readonly bytesOf: (value: Value) => number;
}

/** Key of a row, with its family. */
export interface TeamKey<Value> {
  readonly key: Deno.KvKey;
  readonly name: string;
  readonly family: RowFamily<Value>;
}

/** A changed row, encoded and decoded; both are null for a removed one. */
export interface TeamSet {
  readonly key: Deno.KvKey;
  readonly name: string;
  readonly stored: unknown;
  readonly value: unknown;
  readonly bytes: number;
}

export function teamKey<Value>(family: RowFamily<Value>, key: Deno.KvKey): TeamKey<Value> {
  return { key, name: keyText(key), family };
}

/** Returns a changed row; null removes it. */
export function teamSet<Value>(
  { key, name, family }: TeamKey<Value>,
  value: Value | null,
): TeamSet {
  if (value === null) return { key, name, stored: null, value, bytes: 0 };
  return { key, name, stored: family.encode(value), value, bytes: family.bytesOf(value) };
}

/** Returns the rows that a commit stores and deletes. */
export function storedRows(changed: readonly TeamSet[]): Required<Pick<Write, "sets" | "deletes">> {
  const sets: KvSet[] = [];
  const deletes: Deno.KvKey[] = [];
  for (const { key, stored } of changed) {
    if (stored === null) deletes.push(key);
    else sets.push({ key, value: stored });
  }
  return { sets, deletes };
}

/** Returns the number of a team's latest feed change from its version row; 0 before the first. */
export function lastChangeOf(stored: unknown): number {
  return typeof stored === "number" ? stored : 0;
}

/** The rows of one team. Only the work whose turn it is uses them. */
export class TeamRows {
  readonly #store: Store;
  readonly #bytesMax: number;
  /** Rows by the text of their key; null for one that is not stored. */
  readonly #rows = new Map<string, Pick<TeamSet, "value" | "bytes">>();
  #version: string | null;
  #lastChange: number;
  #bytes = 0;

  /** @param bytesMax bytes of rows with which a commit begins; a team with more loses them first */
  constructor(store: Store, version: Deno.KvEntryMaybe<unknown>, bytesMax: number) {
    this.#store = store;
    this.#bytesMax = bytesMax;
    this.#version = version.versionstamp;
    this.#lastChange = lastChangeOf(version.value);
  }

  /** Version of all rows, which their next commit checks; null before the first one. */
  get version(): string | null {
    return this.#version;
  }

  /** Number of the latest feed change under that version. */
  get lastChange(): number {
    return this.#lastChange;
  }

  /** Bytes of all known rows. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Returns rows in their order, null for one that is not stored. Only unknown ones are read. */
  async getAll<Value>(rows: readonly TeamKey<Value>[]): Promise<(Value | null)[]> {
    const missing = rows.filter(({ name }) => !this.#rows.has(name));
    if (missing.length > 0) {
      const entries = await getAll(this.#store, missing.map(({ key }) => key));
      for (const [i, { key, name, family }] of missing.entries()) {
        const stored = entries[i]?.value ?? null;
        const value = stored === null ? null : family.decode(stored, key);
        this.#set(name, value, value === null ? 0 : family.bytesOf(value));
      }
    }
    return rows.map(({ name }) => this.#rows.get(name)?.value as Value | null);
  }

  /** Returns a row, null if it is not stored. */
  async get<Value>(row: TeamKey<Value>): Promise<Value | null> {
    return (await this.getAll([row]))[0] as Value | null;
  }

  /**
   * Writes the rows of a commit through, after it has changed the version.
   *
   * @param others keys of rows that it changed without their decoded values
   */
  written(
    version: string,
    lastChange: number,
    sets: readonly TeamSet[],
    others: Iterable<Deno.KvKey> = [],
  ): void {
    this.#version = version;
    this.#lastChange = lastChange;
    if (this.#bytes > this.#bytesMax) {
      this.#rows.clear();
      this.#bytes = 0;
    }
    for (const key of others) this.#drop(keyText(key));
    for (const { name, value, bytes } of sets) this.#set(name, value, bytes);
  }

  #set(name: string, value: unknown, bytes: number): void {
    const known = this.#rows.get(name);
    if (known === undefined) this.#bytes += ROW_BYTES + BYTES_PER_CHAR * name.length;
    this.#bytes += bytes - (known?.bytes ?? 0);
    this.#rows.set(name, { value, bytes });
  }

  #drop(name: string): void {
    const known = this.#rows.get(name);
    if (known === undefined) return;
    this.#bytes -= known.bytes + ROW_BYTES + BYTES_PER_CHAR * name.length;
    this.#rows.delete(name);
  }
}

/** Rows of all teams within one share of the memory. */
export class TeamRowCache {
  readonly #store: Store;
  readonly #teams: ByteCache<TeamId, TeamRows>;

  constructor(store: Store) {
    this.#store = store;
    this.#teams = createByteCache({
      memory: store.memory,
      share: "team_rows",
      bytesOf: ({ bytes }, team) => TEAM_BYTES + bytes + BYTES_PER_CHAR * team.length,
    });
  }

  /** Returns the rows of a team under one version. Call it before reading what is to be added. */
  async of(team: TeamId): Promise<TeamRows> {
    const known = this.#teams.get(team);
    if (known !== undefined) return known;
    const version = await getEntry(this.#store, keys.rollupVersion(team));
    const rows = new TeamRows(this.#store, version, this.#teams.maxEntrySize / 2);
    this.#teams.set(team, rows);
    return rows;
  }

  /** Measures the rows of a team after their use. */
  keep(team: TeamId, rows: TeamRows): void {
    // The cache measures only a new entry.
    this.#teams.delete(team);
    this.#teams.set(team, rows);
  }

  /** Drops the rows of a team, whose version a commit may change. */
  forget(team: TeamId): void {
    this.#teams.delete(team);
  }
}

/** Rows of one commit. */
export interface PlannedRows extends Required<Pick<Write, "sets" | "deletes">> {
  /** Changed rows of the kinds that commits write through to memory; absent for none. */
  readonly rows?: readonly TeamSet[];
  /** Causes of changes to incidents; absent for none. The same commit changes them. */
  readonly alerts?: AlertWork;
  /** Read versions of rows that are changed without a turn. */
  readonly checks?: NonNullable<Write["checks"]>;
  /** Differences to the roll-ups that belong to removed runs, one row per group; absent for none. */
  readonly spend?: readonly RollupRow[];
  /** Amounts to add to counters; absent for none. */
  readonly sums?: NonNullable<Write["sums"]>;
}

/** Result of planning a change, and what to commit for it; null for nothing. */
export interface TeamPlan<Result> {
  readonly result: Result;
  readonly rows: PlannedRows | null;
  /** Result if the rows and what they cause do not fit into a commit: nothing is stored then. */
  readonly tooLarge?: Result;
  /** Receives the version of the commit. */
  readonly onCommitted?: (version: string) => void;
}

/** Commits changes of monitors, rules, incidents and what they cause. */
export interface TeamChanges {
  /**
   * Plans and commits a change of a team, in turn with the changes of its runs.
   *
   * @param by a call is planned within its deadline, which includes the wait for its turn; the loop
   * waits as long as it takes
   * @param plan reads what it changes; called again after a conflict with another process
   * @throws {StorageUnavailable} when the store fails, or the call takes too long
   */
  commitPlan<Result>(
    team: TeamId,
    by: "call" | "clock",
    plan: () => Promise<TeamPlan<Result>>,
  ): Promise<Result>;
}

/** Dependencies of changes in turn. */
export interface ChangeDeps {
  readonly store: Store;
  readonly changes: TeamChanges;
}

/** Dependencies of stores that create objects with an identifier. */
export interface ObjectDeps extends ChangeDeps {
  readonly region: Region;
  readonly environment: Pick<Environment, "random">;
}
