/**
 * Stored roll-ups: one key for each day and group, read by ranges of days, and the changes that runs
 * make to them.
 *
 * @module
 */
import { addCounts, isZero } from "../../domain/core/sums.ts";
import type { Measures } from "../../domain/runs/summary.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import {
  contributionsOf,
  groupName,
  mergeRows,
  type RollupGroup,
  type RollupKind,
  type RollupRow,
} from "../../domain/spend/rollup.ts";
import { daysOf } from "../../domain/spend/spend_query.ts";
import { keyParts, keys } from "../base/keys.ts";
import { type Form, packRecord, storedShape, unpackRecord } from "../base/codec_sums.ts";
import { throwIfEnded } from "../base/reads.ts";
import { getAll, listRows, type Store } from "../store.ts";
import {
  type RowFamily,
  type TeamKey,
  teamKey,
  type TeamRows,
  type TeamSet,
  teamSet,
} from "../team/team_rows.ts";
import { createQueries } from "./queries.ts";
import { keyPart } from "../index/entries.ts";
import {
  type ByteCache,
  BYTES_PER_CHAR,
  createByteCache,
  type Memory,
} from "../../runtime/memory.ts";
import type { KvSet, Write } from "../writer/group.ts";
import {
  addAgentRun,
  type AgentActivity,
  agentRunOf,
  withLastSeen,
} from "../../domain/agents/agents.ts";
import type { RunUpdate, TeamRef } from "../runs/heads.ts";

/** Rows of one read: the most that one batch of the runtime holds. */
const ROWS_PER_READ = 500;

/** Cached rows after which a query yields to the event loop. */
const ROWS_PER_PAUSE = 5_000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Stored order of the measures. */
const MEASURES = storedShape(
  "measures",
  {
    runs: "plain",
    succeeded: "plain",
    failed: "plain",
    timedOut: "plain",
    running: "plain",
    events: "plain",
    calls: "plain",
    inputTokens: "big",
    outputTokens: "big",
    cachedInputTokens: "big",
    cost: "big",
    unpricedCalls: "plain",
    unpricedInputTokens: "big",
    unpricedOutputTokens: "big",
    unpricedCachedInputTokens: "big",
    uncountedCalls: "plain",
  } as const satisfies Record<keyof Measures, Form>,
);

export function rollupKey(team: TeamId, { day, group }: RollupRow): Deno.KvKey {
  return keys.rollup(team, group.kind, day, keyPart(group));
}

const ROLLUPS: RowFamily<RollupRow> = {
  decode: (stored, key) => decodeRollup(keyParts.day(key), stored as Uint8Array),
  encode: encodeRollup,
  bytesOf: bytesOfRow,
};

/** Returns the key of a row among the rows of its team. */
export function rollupRow(team: TeamId, row: RollupRow): TeamKey<RollupRow> {
  return teamKey(ROLLUPS, rollupKey(team, row));
}

/** Encodes a row's group and measures; its day is in the key. */
export function encodeRollup({ group, measures }: RollupRow): Uint8Array {
  return encoder.encode(JSON.stringify([group, packRecord(measures, MEASURES)]));
}

/** Decodes what {@link encodeRollup} encoded. */
export function decodeRollup(day: string, value: Uint8Array): RollupRow {
  const [group, packed] = JSON.parse(decoder.decode(value));
  return { day, group, measures: unpackRecord(packed, MEASURES) as Measures };
}

/** Adds a difference to a row; returns null if the row becomes empty. */
export function changedRow(before: RollupRow | null, difference: RollupRow): RollupRow | null {
  const measures = before === null
    ? difference.measures
    : addCounts(before.measures, difference.measures);
  return isZero(measures) ? null : { ...difference, measures };
}

/** Reads the daily roll-ups. */
export type SpendStore = ReturnType<typeof createSpendStore>;

/**
 * Creates the spend store; it caches days that did not change. Methods reject with
 * `StorageUnavailable` when the store fails or takes too long.
 */
export function createSpendStore(store: Store) {
  const cache = new RollupDays(store.memory);
  const ask = createQueries(store.deadlines);
  /**
   * Reads the rows of one kind by day, in pages.
   *
   * Each row is an exact sum over its runs at some moment during the read. Different rows may
   * reflect different moments.
   */
  async function* rows(
    { id: team }: Pick<Team, "id">,
    kind: RollupKind,
    fromDay: string,
    toDay: string,
  ): AsyncGenerator<readonly RollupRow[]> {
    const reading = () => readDayVersions(store, team, fromDay, toDay);
    const versions = await store.reads.run(team, reading);
    const read = (days: readonly string[]) =>
      cache.keep(team, kind, days, versions, readDays(store, team, kind, days));
    let missing: string[] = [];
    let rowsSincePause = 0;
    for (const day of daysOf({ from: fromDay, to: toDay })) {
      const rows = cache.get(team, kind, day, versions);
      if (rows === null) {
        missing.push(day);
        continue;
      }
      yield* read(missing);
      missing = [];
      // Cached days need no await: without a pause, they would block the event loop.
      rowsSincePause += rows.length;
      if (rowsSincePause > ROWS_PER_PAUSE) {
        rowsSincePause = 0;
        await new Promise((resolve) => setTimeout(resolve));
      }
      throwIfEnded();
      yield rows;
    }
    yield* read(missing);
  }
  return {
    rows,
    /**
     * Answers a query that reads many rows: queued, and within a deadline. The work must not call
     * `ask` again. Rejects with `Overloaded` when too many queries are queued.
     *
     * @throws {Refused} when the query takes too long
     */
    ask: <T>(team: Team, work: () => Promise<T>) => ask(team.id, work),
    /**
     * Reads the rows of the given groups and days, in no particular order. Use it for few groups
     * among many.
     */
    some: (team: Pick<Team, "id">, groups: readonly RollupGroup[], days: readonly string[]) =>
      store.reads.run(team.id, () => readSome(store, team, groups, days)),
  };
}

/** Reads the rows of consecutive days, a batch at a time. */
async function* readDays(
  store: Store,
  team: TeamId,
  kind: RollupKind,
  days: readonly string[],
): AsyncGenerator<RollupRow[]> {
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return;
  let range: { readonly start: Deno.KvKey; readonly end: Deno.KvKey } = keys.rollups(
    team,
    kind,
    first,
    last,
  );
  while (true) {
    // The deadline applies to one batch: a long range may take longer than one read should.
    const current = range;
    const rows = await store.reads.run(
      team,
      () => listRows<Uint8Array>(store, current, { limit: ROWS_PER_READ }),
    );
    yield rows.map(({ key, value }) => decodeRollup(keyParts.day(key), value));
    const last = rows.at(-1)?.key;
    if (last === undefined || rows.length < ROWS_PER_READ) return;
    // `true` sorts after every other key part.
    range = { ...range, start: [...last, true] };
  }
}

/**
 * Reads one key for each group and day, so that the cost does not depend on the number of groups.
 */
async function readSome(
  store: Store,
  { id: team }: Pick<Team, "id">,
  groups: readonly RollupGroup[],
  days: readonly string[],
): Promise<RollupRow[]> {
  const groupKeys = groups.flatMap((group) => {
    const name = keyPart(group);
    return days.map((day) => keys.rollup(team, group.kind, day, name));
  });
  return (await getAll(store, groupKeys)).flatMap(({ key, value }) =>
    value instanceof Uint8Array ? [decodeRollup(keyParts.day(key), value)] : []
  );
}

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

/**
 * Caches days of roll-ups of all teams, so that unchanged days are not read again.
 *
 * Every commit that changes a roll-up also changes the version of its day. The version is read
 * before the rows. If another commit changes the day in between, the rows are cached under an
 * outdated version and are read again. So cached rows always equal the stored rows.
 */
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

/** Roll-ups within a commit. */
export interface RollupChange {
  readonly rows: readonly TeamSet[];
  /** Marks of changed days. */
  readonly sets: readonly KvSet[];
}

/** Adds differences to a team's roll-ups; removes rows that become empty. */
export async function changeRollups(
  rows: TeamRows,
  team: TeamId,
  differences: readonly RollupRow[],
): Promise<RollupChange> {
  const keyed = differences.map((row) => rollupRow(team, row));
  const before = await rows.getAll(keyed);
  return {
    rows: keyed.map((key, i) =>
      teamSet(key, changedRow(before[i] ?? null, differences[i] as RollupRow))
    ),
    sets: dayMarks(team, differences),
  };
}

/** Returns the rows that mark days as changed. Only their versions are read. */
function dayMarks(team: TeamId, differences: readonly RollupRow[]): KvSet[] {
  const days = new Set(differences.map(({ day }) => day));
  return Array.from(days, (day) => ({ key: keys.rollupDay(team, day), value: true }));
}

/**
 * Returns the rows to change when runs are removed, or spend of runs that were removed before.
 *
 * Roll-ups and agents outlive the runs they are aggregated from. The totals of removed runs are
 * stored separately, so that the integrity check can recompute each number from stored runs and
 * these rows.
 *
 * @param spend differences, one row per group
 */
export async function changeRemovedRuns(
  at: TeamRef,
  changes: readonly RunUpdate[],
  spend: readonly RollupRow[],
): Promise<Required<Pick<Write, "sets" | "deletes">>> {
  const { store, team } = at;
  const removed = changes.filter(({ after }) => after === null);
  const rows = removed.flatMap(({ remains }) =>
    remains?.contribution ? contributionsOf(remains.contribution) : []
  );
  const differences = mergeRows([...rows, ...spend]);
  const stored = await getAll(
    store,
    differences.map(({ day, group }) => keys.removedRollup(team, group.kind, day, keyPart(group))),
  );
  const sets: KvSet[] = await agentSets(at, changes);
  const deletes: Deno.KvKey[] = [];
  for (const [i, { key, value }] of stored.entries()) {
    const difference = differences[i] as RollupRow;
    const before = value === null ? null : decodeRollup(difference.day, value as Uint8Array);
    const after = changedRow(before, difference);
    if (after === null) deletes.push(key);
    else sets.push({ key, value: encodeRollup(after) });
  }
  return { sets, deletes };
}

/** Returns the rows of agents that lose a run: it is removed, or its trace names another agent. */
async function agentSets(
  { store, team }: TeamRef,
  changes: readonly RunUpdate[],
): Promise<KvSet[]> {
  const runs = changes.flatMap(({ run: { id }, before, after, remains }) => {
    if (after !== null) {
      const [old, now] = [agentRunOf(id, before), agentRunOf(id, after)];
      const isMoved = old !== null && now !== null && old.agent !== now.agent;
      return isMoved ? [{ run: old, isKept: false }] : [];
    }
    const kept = agentRunOf(id, remains ?? null);
    const run = kept ?? agentRunOf(id, before);
    return run === null ? [] : [{ run, isKept: kept !== null }];
  });
  const slugs = [...new Set(runs.map(({ run }) => run.agent))];
  const entries = await getAll(store, slugs.map((slug) => keys.removedAgent(team, slug)));
  const activities = new Map<string, AgentActivity | null>(
    slugs.map((slug, i) => [slug, entries[i]?.value as AgentActivity | null]),
  );
  for (const { run, isKept } of runs) {
    const before = activities.get(run.agent) ?? null;
    // The time an agent was last seen remains, even if that run is deleted.
    const after = isKept ? addAgentRun(before, null, run) : withLastSeen(before, run.receivedAt);
    activities.set(run.agent, after);
  }
  return Array.from(activities, ([slug, value]) => ({ key: keys.removedAgent(team, slug), value }));
}
