/**
 * Spend of groups by day in memory, from the roll-ups that the spend page reads.
 *
 * It is read once; then the commits of this process publish what they change of it. Other
 * processes change roll-ups too, so what is old is read again.
 *
 * @module
 */
import { decodeTime } from "@std/ulid";
import type { TeamId } from "../../domain/core/ids.ts";
import { daysInUse, type SpendByDay, type Spent } from "../../domain/budgets/verdict.ts";
import { DAY_MS } from "../../domain/core/time.ts";
import { PENDING_LANES } from "../../domain/runs/stages.ts";
import { groupName, type RollupGroup, type RollupRow } from "../../domain/spend/rollup.ts";
import { BYTES_PER_CHAR, type Memory } from "../../runtime/memory.ts";
import { TeamCache } from "../../runtime/team_cache.ts";
import { keyParts, keys } from "../base/keys.ts";
import type { TeamConfig } from "../config/objects.ts";
import { decodeRollup } from "../spend/rollups.ts";
import { keyPart } from "../index/entries.ts";
import { getAll, listRows, type Store } from "../store.ts";
import type { TeamSet } from "../team/team_rows.ts";

/** Spend of one group on some days. */
export interface GroupSpend {
  /** Days with spend among those that were read. */
  readonly days: SpendByDay;
  /** Days that were read, in order. */
  readonly read: readonly string[];
  /** Time of the read, unix milliseconds. */
  readonly readAtMs: number;
  /** Everything acknowledged before is in the days, unix milliseconds. */
  readonly staleAsOf: number;
}

/** A spend, and the days that commits have published since its latest read began. */
interface StoredSpend extends GroupSpend {
  readonly days: Map<string, Spent>;
  published: Set<string>;
}

/** Bytes of a spend without its days, and of a day. */
const SPEND_BYTES = 300, DAY_BYTES = 120;

/** Days of a spend that are counted for memory: periods have at most 42. */
const DAYS_COUNTED = 31;

/** Kinds of roll-ups that budgets are about. */
const KINDS: ReadonlySet<RollupGroup["kind"]> = new Set(["total", "agent", "customer", "feature"]);

/** Receives what commits publish. */
export interface SpendListener {
  /** Spends of a team have changed. */
  changed(team: TeamId): void;
  /** A commit of a team's runs was made under a configuration. */
  configured(team: TeamId, config: TeamConfig): void;
}

/** Spends of groups of all teams, within one share of the memory. */
export class GroupSpends {
  readonly #spends: TeamCache<StoredSpend>;
  /** Teams with spends: only their commits publish. */
  readonly teams: TeamCache<StoredSpend>["teams"];
  /** Days in use, and the times between which they are. */
  #window = { fromMs: 0, untilMs: 0, days: [] as readonly string[] };
  /** Null before there is one. */
  listener: SpendListener | null = null;

  constructor(memory: Memory) {
    this.#spends = new TeamCache({
      memory,
      share: "guard",
      part: 0.45,
      bytesOf: (_, name) => SPEND_BYTES + DAYS_COUNTED * DAY_BYTES + BYTES_PER_CHAR * name.length,
    });
    this.teams = this.#spends.teams;
  }

  /** Returns the spend of a group; undefined if the days in use were not read. */
  get(team: TeamId, group: RollupGroup, nowMs: number): GroupSpend | undefined {
    const spend = this.#spends.get(team, groupName(group));
    return spend?.read[0] === this.#days(nowMs)[0] ? spend : undefined;
  }

  /**
   * Reads the spends of groups. A day that a commit publishes meanwhile stays as published.
   *
   * @param nowMs time of the read, unix milliseconds
   */
  async read(
    store: Store,
    team: TeamId,
    groups: readonly RollupGroup[],
    nowMs: number,
  ): Promise<void> {
    const days = this.#days(nowMs);
    const names = groups.map(groupName);
    for (const name of names) this.#spends.peek(team, name)?.published.clear();
    // Before the sums: what is not pending by then is in them.
    const staleAsOf = await projectedToMs(store, nowMs);
    const rows = await getAll(
      store,
      groups.flatMap((group) =>
        days.map((day) => keys.rollup(team, group.kind, day, keyPart(group)))
      ),
    );
    for (const [i, name] of names.entries()) {
      const known = this.#spends.peek(team, name);
      const read = new Map<string, Spent>();
      for (const { key, value } of rows.slice(i * days.length, (i + 1) * days.length)) {
        const day = keyParts.day(key);
        const spent = known?.published.has(day)
          ? known.days.get(day)
          : value instanceof Uint8Array
          ? spentOf(decodeRollup(day, value))
          : undefined;
        if (spent !== undefined) read.set(day, spent);
      }
      const spend = {
        days: read,
        read: days,
        readAtMs: nowMs,
        staleAsOf,
        published: new Set<string>(),
      };
      this.#spends.set(team, name, spend);
    }
  }

  /** Publishes roll-ups that a commit has changed, in the order of their differences. */
  publish(team: TeamId, differences: readonly RollupRow[], rows: readonly TeamSet[]): void {
    for (const [i, { day, group }] of differences.entries()) {
      const spend = KINDS.has(group.kind) ? this.#spends.peek(team, groupName(group)) : undefined;
      if (!spend?.read.includes(day)) continue;
      const row = rows[i]?.value as RollupRow | null;
      if (row === null) spend.days.delete(day);
      else spend.days.set(day, spentOf(row));
      spend.published.add(day);
      // Nothing is kept of a customer whose runs are deleted.
      if (spend.days.size === 0) this.#spends.delete(team, groupName(group));
    }
    this.listener?.changed(team);
  }

  /** Returns the days in use, which change at midnight. */
  #days(nowMs: number): readonly string[] {
    const { fromMs, untilMs } = this.#window;
    if (nowMs < fromMs || nowMs >= untilMs) {
      const midnight = Math.floor(nowMs / DAY_MS) * DAY_MS;
      this.#window = { fromMs: midnight, untilMs: midnight + DAY_MS, days: daysInUse(nowMs) };
    }
    return this.#window.days;
  }
}

function spentOf({ measures: { cost, unpricedCalls } }: RollupRow): Spent {
  return { cost, unpricedCalls };
}

/** Returns the time before which all acknowledged calls are in the roll-ups, unix milliseconds. */
async function projectedToMs(store: Store, nowMs: number): Promise<number> {
  const lanes = PENDING_LANES.map((lane) => ({ prefix: keys.pendingLane(lane) }));
  const oldest = await Promise.all(lanes.map((lane) => listRows(store, lane, { limit: 1 })));
  // The name of a mark begins with its time.
  return Math.min(nowMs, ...oldest.flat().map(({ key }) => decodeTime(keyParts.id(key))));
}
