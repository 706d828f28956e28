/** Runs written straight to a store, and the proof that the roll-ups are their sum. */
import { processingOf, runStoreOf } from "../harness/stores.ts";
import { assert, assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import type { EventId, RunId, TeamId } from "../../../domain/core/ids.ts";
import type { LlmCall } from "../../../domain/pricing/llm_call.ts";
import type { RunEvent } from "../../../domain/runs/event.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import type { RunStore } from "../../../domain/runs/store.ts";
import type { RateCard } from "../../../domain/pricing/rates.ts";
import {
  addMeasures,
  contributionsOf,
  groupName,
  type RollupRow,
} from "../../../domain/spend/rollup.ts";
import type { Measures } from "../../../domain/runs/contribution.ts";
import { isCurrent, summarize } from "../../../domain/runs/summary.ts";
import { readHeads } from "../../../kv/runs/heads.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { decodeRollup } from "../../../kv/spend/rollups.ts";
import type { Store } from "../../../kv/store.ts";
import { eventId, runId } from "./requests.ts";
import { cardOf, rateRow } from "./cards.ts";
import { NOON } from "../harness/harness.ts";

export const TEAM: Team = { id: "team" as TeamId, name: "team", tier: "business" };

/** A card with one model; a token in costs 3 and one out 5 picodollars. */
const CARD = cardOf(rateRow("known", 3, 5));

/** What prices runs by a card that never changes. */
export function runsOf(store: Store, card: RateCard = CARD): RunStore {
  return runStoreOf(store, { card: () => card });
}

/** The pipeline's store without any stage behind the cost. */
export function pipelineOf(store: Store) {
  return processingOf(store, () => NOON);
}

/** Run id number `n`. */
export function run(n: number): RunId {
  return runId(n) as RunId;
}

/** A call of a model: `n` names the event and counts its tokens. */
export function aCall(n: number, model = "known", provider: string | null = null): RunEvent {
  const call: LlmCall = {
    model,
    provider,
    counted: true,
    inputTokens: n,
    outputTokens: 1,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
  };
  return {
    id: eventId(n) as EventId,
    type: "llm_call",
    ts: NOON + n,
    // The audit reads the call out of its payload again.
    data: rawOf({ model, provider, input_tokens: n, output_tokens: 1 }),
    facts: { error: false, call },
  };
}

/** Opens run number `n`. */
export function open(runs: RunStore, n: number, fields: Record<string, unknown> = {}, team = TEAM) {
  return runs.open(team, { id: run(n), agent: "a", startedAt: NOON, ...fields }, NOON);
}

/** Finishes run number `n`. */
export function finish(runs: RunStore, n: number, team = TEAM) {
  return runs.finish(team, run(n), { status: "success", finishedAt: NOON + 1 }, NOON);
}

/** Takes the marks of both lanes, as often as there are any, and projects the runs they name. */
export async function projectAll(store: Store, pipeline = pipelineOf(store)): Promise<void> {
  for (const lane of ["closed", "open"] as const) {
    for (;;) {
      const rows = await pipeline.takePending(lane, 10);
      if (rows.isEmpty) break;
      const byTeam = Map.groupBy(rows.runs, ({ team }) => team);
      for (const [team, some] of byTeam) await pipeline.project(team, some.map(({ run }) => run));
      await rows.ack();
    }
  }
}

/**
 * Fails unless every summary is made of the run's present parts and every team's roll-ups are exactly
 * the sums of its runs, row by row; the audit must agree. Answers how many closed runs there are.
 */
export async function assertSumsAddUp(store: Store): Promise<number> {
  let closed = 0;
  for await (const { id, head, summary } of headsOf(store)) {
    assert(isCurrent(summary, head), `${id} is not summed up`);
    assertEquals(summary?.contribution, summarize(head, null).contribution, id);
    if (head.parts.closing === null) continue;
    closed++;
    assert((summary?.revision ?? 0) > 0, `${id} is closed and was never final`);
  }
  await assertRollupsAddUp(store);
  assertEquals((await verifyStore(store, { pauseMs: 0 })).differences, []);
  return closed;
}

/**
 * Fails unless the roll-ups are exactly the sums of the summaries as they are. That holds at every
 * moment, also while runs wait to be summed up.
 */
export async function assertRollupsAddUp(store: Store): Promise<void> {
  const sums = new Map<string, Measures>();
  for await (const { team, summary } of headsOf(store)) {
    const contribution = summary?.contribution ?? null;
    for (const row of contribution === null ? [] : contributionsOf(contribution)) {
      const name = nameOf(team, row);
      const known = sums.get(name);
      sums.set(name, known === undefined ? row.measures : addMeasures(known, row.measures));
    }
  }
  assertEquals(await storedRows(store), new Map([...sums].sort(byName)));
}

/** All runs of all teams. */
async function* headsOf(store: Store) {
  const runs = new Map<TeamId, Set<RunId>>();
  for await (const { key } of store.reader.list({ prefix: ["run"] })) {
    const team = key[2] as TeamId;
    runs.set(team, (runs.get(team) ?? new Set()).add(key[1] as RunId));
  }
  for (const [team, ids] of runs) {
    for (const head of await readHeads(store, team, [...ids])) yield { team, ...head };
  }
}

async function storedRows(store: Store): Promise<Map<string, Measures>> {
  const rows: [string, Measures][] = [];
  for await (const { key, value } of store.reader.list<Uint8Array>({ prefix: ["rollup"] })) {
    const row = decodeRollup(String(key[3]), value);
    rows.push([nameOf(key[1] as TeamId, row), row.measures]);
  }
  return new Map(rows.sort(byName));
}

function nameOf(team: TeamId, { day, group }: RollupRow): string {
  return `${team} ${day} ${groupName(group)}`;
}

function byName([a]: [string, Measures], [b]: [string, Measures]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The whole store as text, one line a key with its version. */
export async function dumpOf(store: Store): Promise<string[]> {
  return await Array.fromAsync(
    store.reader.list({ prefix: [] }),
    ({ key, value, versionstamp }) => `${Deno.inspect(key)} ${versionstamp} ${Deno.inspect(value)}`,
  );
}
