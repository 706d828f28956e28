/**
 * A cache that teams share fairly: a team that holds more than a quarter makes room first, so that
 * one with very many entries replaces its own.
 *
 * @module
 */
import { ENTRY_BYTES, type Memory, type MemoryShare } from "./memory.ts";

interface TeamCacheOptions<Value> {
  /** Memory budget of the process. */
  readonly memory: Memory;
  /** Share of the budget that bounds the cache. */
  readonly share: MemoryShare;
  /** Fraction of the share. */
  readonly part: number;
  /** Bytes of an entry's name and value. */
  readonly bytesOf: (value: Value, name: string) => number;
}

interface Entry<Value> {
  readonly value: Value;
  readonly bytes: number;
}

/** Entries of one team, the least recently used first. */
interface TeamEntries<Value> {
  readonly entries: Map<string, Entry<Value>>;
  bytes: number;
}

/** Entries of all teams, by team and name. Values must not slice a request body. */
export class TeamCache<Value> {
  readonly #bytesMax: number;
  /** Maximum bytes of an entry, and of a team whose entries stay while others make room. */
  readonly #quarter: number;
  readonly #bytesOf: TeamCacheOptions<Value>["bytesOf"];
  /** The least recently used team is the first. */
  readonly #teams = new Map<string, TeamEntries<Value>>();
  /** Teams with entries. */
  readonly teams: Pick<ReadonlySet<string>, "has"> = this.#teams;
  /** Teams that hold more than a quarter. */
  readonly #large = new Set<string>();
  #bytes = 0;

  constructor({ memory, share, part, bytesOf }: TeamCacheOptions<Value>) {
    this.#bytesMax = memory.bytesMax(share) * part;
    this.#quarter = this.#bytesMax / 4;
    this.#bytesOf = bytesOf;
    memory.register(share, () => this.#bytes);
  }

  /** Returns an entry and marks it as used; undefined for none. */
  get(team: string, name: string): Value | undefined {
    const own = this.#teams.get(team);
    const entry = own?.entries.get(name);
    if (own === undefined || entry === undefined) return undefined;
    moveToEnd(own.entries, name, entry);
    moveToEnd(this.#teams, team, own);
    return entry.value;
  }

  /** Returns an entry without marking it as used; undefined for none. */
  peek(team: string, name: string): Value | undefined {
    return this.#teams.get(team)?.entries.get(name)?.value;
  }

  /** Stores an entry, unless it takes more than a quarter of the cache. */
  set(team: string, name: string, value: Value): void {
    this.delete(team, name);
    const bytes = ENTRY_BYTES + this.#bytesOf(value, name);
    if (bytes > this.#quarter) return;
    const own = this.#teams.get(team) ?? { entries: new Map(), bytes: 0 };
    moveToEnd(this.#teams, team, own);
    own.entries.set(name, { value, bytes });
    this.#add(team, own, bytes);
    while (this.#bytes > this.#bytesMax) {
      const [first = ""] = this.#large.size > 0 ? this.#large : this.#teams.keys();
      const [oldest = ""] = this.#teams.get(first)?.entries.keys() ?? [];
      this.delete(first, oldest);
    }
  }

  /** Removes an entry. */
  delete(team: string, name: string): void {
    const own = this.#teams.get(team);
    const entry = own?.entries.get(name);
    if (own === undefined || entry === undefined) return;
    own.entries.delete(name);
    if (own.entries.size === 0) this.#teams.delete(team);
    this.#add(team, own, -entry.bytes);
  }

  #add(team: string, own: TeamEntries<Value>, bytes: number): void {
    own.bytes += bytes;
    this.#bytes += bytes;
    if (own.bytes > this.#quarter) this.#large.add(team);
    else this.#large.delete(team);
  }
}

function moveToEnd<Value>(map: Map<string, Value>, name: string, value: Value): void {
  map.delete(name);
  map.set(name, value);
}
