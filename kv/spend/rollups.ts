/**
 * Stored roll-ups: one key for each day and group, read by ranges of days.
 *
 * @module
 */
import type { Team } from "../../domain/teams/team.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { RollupGroup, RollupKind, RollupRow, SpendStore } from "../../domain/spend/rollup.ts";
import type { Measures } from "../../domain/runs/contribution.ts";
import { daysOf } from "../../domain/spend/spend_query.ts";
import { keys } from "../base/keys.ts";
import { countRead, throwIfEnded } from "../base/read_scope.ts";
import { getAll, type Store, unavailable } from "../store.ts";
import { readDayVersions, RollupDays } from "./rollup_days.ts";
import { SpendQuestions } from "./questions.ts";
import { keyPart } from "../base/index_parts.ts";

/** Rows of one read: the most that one batch of the runtime holds. */
const ROWS_PER_READ = 500;

/** Cached rows after which a query yields to the event loop. */
const ROWS_PER_PAUSE = 5_000;

/** Offset of the day in a key. */
const DAY_AT = 3;

/** A stored row: what the key does not hold, with bigints as decimal text. */
type StoredRollup = Pick<RollupRow, "group"> & {
  readonly measures: { readonly [Name in keyof Measures]: Measures[Name] | string };
};

/** Returns the key of a row. */
export function rollupKey(team: TeamId, { day, group }: RollupRow): Deno.KvKey {
  return keys.rollup(team, group.kind, day, keyPart(group));
}

/** Encodes a row's group and measures; its day is in the key. */
export function encodeRollup({ group, measures }: RollupRow): Uint8Array {
  const text = JSON.stringify(
    { group, measures },
    (_, value) => typeof value === "bigint" ? value.toString() : value,
  );
  return new TextEncoder().encode(text);
}

/** Decodes what {@link encodeRollup} encoded. */
export function decodeRollup(day: string, value: Uint8Array): RollupRow {
  const { group, measures }: StoredRollup = JSON.parse(new TextDecoder().decode(value));
  return {
    day,
    group,
    measures: {
      runs: Number(measures.runs),
      succeeded: Number(measures.succeeded),
      failed: Number(measures.failed),
      timedOut: Number(measures.timedOut),
      running: Number(measures.running),
      events: Number(measures.events),
      calls: Number(measures.calls),
      inputTokens: BigInt(measures.inputTokens),
      outputTokens: BigInt(measures.outputTokens),
      cachedInputTokens: BigInt(measures.cachedInputTokens),
      cost: BigInt(measures.cost),
      unpricedCalls: Number(measures.unpricedCalls),
      unpricedInputTokens: BigInt(measures.unpricedInputTokens),
      unpricedOutputTokens: BigInt(measures.unpricedOutputTokens),
      unpricedCachedInputTokens: BigInt(measures.unpricedCachedInputTokens),
    },
  };
}

/** Creates the spend store; it caches days that did not change. */
export function createSpendStore(store: Store): SpendStore {
  const cache = new RollupDays(store.memory);
  const questions = new SpendQuestions(store.deadlines);
  async function* rows(
    { id: team }: Team,
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
        await pause();
      }
      throwIfEnded();
      yield rows;
    }
    yield* read(missing);
  }
  return {
    rows,
    ask: (team, work) => questions.run(team.id, work),
    some: (team, groups, days) =>
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
  const range = keys.rollups(team, kind, first, last);
  let cursor = "";
  while (true) {
    // The deadline applies to one batch: a long range may take longer than one read should.
    const at = cursor;
    const read = await store.reads.run(team, () => readBatch(store, range, at));
    yield read.entries.map(({ key, value }) => decodeRollup(String(key[DAY_AT]), value));
    if (read.entries.length < ROWS_PER_READ) return;
    cursor = read.cursor;
  }
}

/**
 * Reads one key for each group and day, so that the cost does not depend on the number of groups.
 */
async function readSome(
  store: Store,
  { id: team }: Team,
  groups: readonly RollupGroup[],
  days: readonly string[],
): Promise<RollupRow[]> {
  const groupKeys = groups.flatMap((group) => {
    const name = keyPart(group);
    return days.map((day) => keys.rollup(team, group.kind, day, name));
  });
  return (await getAll(store, groupKeys)).flatMap(({ key, value }) =>
    value instanceof Uint8Array ? [decodeRollup(String(key[DAY_AT]), value)] : []
  );
}

/** Yields to the event loop. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

async function readBatch(store: Store, range: ReturnType<typeof keys.rollups>, cursor: string) {
  throwIfEnded();
  try {
    const options = { limit: ROWS_PER_READ, batchSize: ROWS_PER_READ };
    const list = store.reader.list<Uint8Array>(
      range,
      cursor === "" ? options : { ...options, cursor },
    );
    const entries = await Array.fromAsync(list);
    countRead(entries);
    return { entries, cursor: list.cursor };
  } catch (error) {
    throw unavailable("list", error);
  }
}
