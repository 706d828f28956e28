/** Runs written directly to a store, and the check that the roll-ups equal their total. */
import { addCounts } from "../../../domain/core/sums.ts";
import { processingOf, runStoreOf } from "../harness/stores.ts";
import { assert, assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import type { EventId, RunId, TeamId } from "../../../domain/core/ids.ts";
import type { LlmCall } from "../../../domain/pricing/llm_call.ts";
import type { RunEvent } from "../../../domain/runs/event.ts";
import type { EventPosition, RunPage } from "../../../domain/runs/event_page.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import type { RunStore } from "../../../domain/runs/run_store.ts";
import type { RateCard } from "../../../domain/pricing/rates.ts";
import { contributionsOf, groupName, type RollupRow } from "../../../domain/spend/rollup.ts";
import { processingOf as stagesOfRun, type StageProgress } from "../../../domain/runs/stages.ts";
import { isCurrent, type Measures, summarize } from "../../../domain/runs/summary.ts";
import { readHead, readHeads } from "../../../kv/runs/heads.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { decodeRollup } from "../../../kv/spend/rollups.ts";
import type { Store } from "../../../kv/store.ts";
import { eventId, runId } from "./requests.ts";
import { cardOf, rateRow } from "./cards.ts";
import { NOON } from "../harness/harness.ts";

export const TEAM: Team = { id: "team" as TeamId, name: "team", tier: "business" };

/** A card with one model; an input token costs 3 picodollars, an output token 5. */
const CARD = cardOf(rateRow("known", 3, 5));

/** Creates a run store with a fixed rate card. */
export function runsOf(store: Store, card: RateCard = CARD): RunStore {
  return runStoreOf(store, { card: () => card });
}

/** Creates the processing store of a process of its own. */
export function processingStoreOf(store: Store) {
  return processingOf(store, () => NOON);
}

export function run(n: number): RunId {
  return runId(n) as RunId;
}

/** Creates a model call: `n` names the event and is its token count. */
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
    // The integrity check parses the call from its payload.
    data: rawOf({ model, provider, input_tokens: n, output_tokens: 1 }),
    facts: { error: false, call },
  };
}

export function open(runs: RunStore, n: number, fields: Record<string, unknown> = {}, team = TEAM) {
  return runs.open(team, { id: run(n), agent: "a", startedAt: NOON, ...fields }, NOON);
}

export function finish(runs: RunStore, n: number, team = TEAM) {
  return runs.finish(team, run(n), { status: "success", finishedAt: NOON + 1 }, NOON);
}

/** Reads a run and at most `limit` of its events after a position; null if it is not stored. */
export async function readRun(
  runs: Pick<RunStore, "find">,
  team: Team,
  id: RunId,
  after: EventPosition | null,
  limit: number,
): Promise<RunPage | null> {
  const stored = await runs.find(team, id);
  return stored === null ? null : { ...stored, ...await stored.page(after, limit) };
}

/** Returns the stages of run number `n` as its record shows them. */
export async function stagesOf(store: Store, n: number): Promise<readonly StageProgress[]> {
  const { head, ...read } = await readHead({ store, team: TEAM.id, id: run(n) });
  return stagesOfRun({ ...read, ...head });
}

/** Processes the pending runs of both lanes until none is left. */
export async function processAll(store: Store, pipeline = processingStoreOf(store)): Promise<void> {
  for (const lane of ["closed", "open"] as const) {
    for (;;) {
      const rows = await pipeline.takePending(lane, 10);
      if (rows.isEmpty) break;
      const byTeam = Map.groupBy(rows.runs, ({ team }) => team);
      for (const [team, items] of byTeam) await pipeline.project(team, items.map(({ run }) => run));
      await rows.ack();
    }
  }
}

/**
 * Fails unless every summary matches its run's current parts, every team's roll-ups equal its runs
 * row by row, and the integrity check agrees. Returns the number of closed runs.
 */
export async function assertSumsAddUp(store: Store): Promise<number> {
  let closed = 0;
  for await (const { id, head, summary } of headsOf(store)) {
    assert(isCurrent(summary, head), `${id} is not aggregated`);
    assertEquals(summary?.contribution, summarize(head, null).contribution, id);
    if (head.parts.closing === null) continue;
    closed++;
    assert((summary?.revision ?? 0) > 0, `${id} is closed but never became final`);
  }
  await assertRollupsAddUp(store);
  assertEquals((await verifyStore(store, { pauseMs: 0 })).differences, []);
  return closed;
}

/**
 * Fails unless the roll-ups equal the totals of the current summaries. That holds at every moment,
 * even while runs wait for aggregation.
 */
export async function assertRollupsAddUp(store: Store): Promise<void> {
  const sums = new Map<string, Measures>();
  for await (const { team, summary } of headsOf(store)) {
    const contribution = summary?.contribution ?? null;
    for (const row of contribution === null ? [] : contributionsOf(contribution)) {
      const name = nameOf(team, row);
      const total = sums.get(name);
      sums.set(name, total === undefined ? row.measures : addCounts(total, row.measures));
    }
  }
  assertEquals(await storedRows(store), new Map([...sums].sort(byName)));
}

/** Reads all runs of all teams. */
async function* headsOf(store: Store) {
  const runs = new Map<TeamId, Set<RunId>>();
  for await (const { key } of store.reader.list({ prefix: ["run"] })) {
    const team = key[2] as TeamId;
    runs.set(team, (runs.get(team) ?? new Set()).add(key[1] as RunId));
  }
  for (const [team, ids] of runs) {
    for (const head of await readHeads({ store, team }, [...ids])) yield head;
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

/** Dumps the complete store as text, one line per key with its version. */
export async function dumpOf(store: Store): Promise<string[]> {
  return await Array.fromAsync(
    store.reader.list({ prefix: [] }),
    ({ key, value, versionstamp }) => `${Deno.inspect(key)} ${versionstamp} ${Deno.inspect(value)}`,
  );
}
