/**
 * Stored roll-ups: one key for each day and group, read by ranges of days.
 *
 * @module
 */
import { addCounts, isZero } from "../../domain/core/sums.ts";
import type { Measures } from "../../domain/runs/contribution.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import {
  type RollupGroup,
  type RollupKind,
  type RollupRow,
  type SpendStore,
} from "../../domain/spend/rollup.ts";
import { daysOf } from "../../domain/spend/spend_query.ts";
import { keyParts, keys } from "../base/keys.ts";
import { type Form, packRecord, storedShape, unpackRecord } from "../base/codec_shape.ts";
import { throwIfEnded } from "../base/read_scope.ts";
import { getAll, listRows, type Store } from "../store.ts";
import { readDayVersions, RollupDays } from "./rollup_days.ts";
import { createQueries } from "./queries.ts";
import { keyPart } from "../base/index_parts.ts";

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

/** Returns the key of a row. */
export function rollupKey(team: TeamId, { day, group }: RollupRow): Deno.KvKey {
  return keys.rollup(team, group.kind, day, keyPart(group));
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

/** Creates the spend store; it caches days that did not change. */
export function createSpendStore(store: Store): SpendStore {
  const cache = new RollupDays(store.memory);
  const ask = createQueries(store.deadlines);
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
    ask: (team, work) => ask(team.id, work),
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
