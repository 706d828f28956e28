/**
 * Builds the commit of changed runs: their summaries and entries, and the differences to the roll-ups,
 * agents, monitors and incidents of their team.
 *
 * @module
 */
import { agentRunOf } from "../../domain/agents/activity.ts";
import type { AlertConfig } from "../../domain/alerts/touched.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { type ContributionChange, differencesOf } from "../../domain/spend/rollup.ts";
import { changeActivity } from "../agents/agents.ts";
import { NO_ALERTS, planAlerts } from "../alerts/plan.ts";
import { countsRow } from "../alerts/rows.ts";
import { runLookSets, runSignals } from "../alerts/run_work.ts";
import { encodeSums } from "../base/codec_sums.ts";
import {
  addEntries,
  type EntryToAdd,
  type EntryToRemove,
  removeEntries,
} from "../index/entries.ts";
import { keys } from "../base/keys.ts";
import { planResults } from "../checks/results.ts";
import { type FeedChange, feedChange } from "../feed/feed_rows.ts";
import { outcomeRows } from "../monitors/outcomes.ts";
import { indexChange, type Orders } from "../run_list/run_index.ts";
import type { RunRows, RunUpdate } from "../runs/run_update.ts";
import { changeRollups, removedRunSets } from "../spend/rollup_changes.ts";
import type { Store } from "../store.ts";
import { storedRows, type TeamRows } from "../team/rows.ts";
import { quotaSet } from "../teams/quota_work.ts";
import { keyText } from "../writer/group.ts";
import type { KvSet, Write } from "../writer/write.ts";
import type { TeamCaches } from "./team_commits.ts";

/**
 * Maximum blocks that hold entries of one run: those of its opening, its close, and one more. A
 * run that changes more often gets rows of its own, so that few blocks are searched for an entry.
 */
const BLOCKS_PER_RUN_MAX = 3;

/** Summaries as a commit stores them, with their change numbers and blocks. */
export type Summaries = ReadonlyMap<RunId, RunSummary>;

/** Builds one write from many changes. */
export async function buildRunWrite(
  caches: TeamCaches,
  team: TeamId,
  current: TeamRows,
  planned: readonly RunUpdate[],
) {
  const { configs, filed, store } = caches;
  const config = await configs.of(team, current);
  const counts = await current.get(countsRow(team)) ?? {};
  const results = await planResults(store, team, current, config.checkIds, planned);
  const { updates: changes } = results;
  const feed = feedChange(team, changes, results.judged, current.lastChange);
  const differences = differencesOf(changes.map(contributionChangeOf));
  const rollups = await changeRollups(current, team, differences);
  const agents = await changeActivity(store, current, team, changes.flatMap(agentChangeOf));
  const monitors = await outcomeRows(store, team, agents.agents, changes);
  const signals = [
    ...runSignals(config, counts, changes, results.results),
    ...monitors.alerts?.signals ?? [],
  ];
  const alerts = caches.alerts === null
    ? NO_ALERTS
    : await planAlerts(caches.alerts, team, current, config, { signals }, agents);
  const changedRows = [rollups, agents, monitors, alerts, results].flatMap(({ rows }) => rows);
  const looks = caches.alerts === null
    ? []
    : lookSets(caches, team, config, changes, caches.alerts.stamps().nowMs);
  const entries = await entriesOf(store, team, current, changes, feed, alerts.counted);
  const removed = await removedRunSets({ store, team }, changes);
  const rows = changes.map((change) => change.rows);
  const stored = storedRows(changedRows);
  const changed = [stored, rollups, monitors, alerts, results, feed, entries, ...rows];
  const versionKey = keys.rollupVersion(team);
  return {
    write: {
      team,
      checks: [
        { key: versionKey, versionstamp: current.version },
        ...rows.flatMap(({ checks = [] }) => checks),
      ],
      sums: rows.flatMap(({ sums = [] }) => sums),
      sets: [
        { key: versionKey, value: feed.lastChange },
        ...changed.flatMap(({ sets }) => sets),
        ...looks,
        ...removed,
      ],
      deletes: [stored, monitors, alerts, results, entries, ...rows]
        .flatMap(({ deletes }) => deletes),
    } satisfies Write,
    summaries: entries.summaries,
    /** Updates the caches after the commit. */
    remember: (version: string) => {
      for (const { key } of looks) filed.set(keyText(key), true);
      current.written(version, feed.lastChange, changedRows);
    },
  };
}

/** Returns the rows at which rules and the usage of the team are looked at. */
function lookSets(
  { filed }: TeamCaches,
  team: TeamId,
  config: AlertConfig,
  changes: readonly RunUpdate[],
  nowMs: number,
): KvSet[] {
  const isFiled = (key: Deno.KvKey) => filed.has(keyText(key));
  const quota = quotaSet(team, nowMs);
  return [
    ...runLookSets(team, config, changes, nowMs, isFiled),
    ...isFiled(quota.key) ? [] : [quota],
  ];
}

/**
 * Returns the rows of entries and summaries.
 *
 * @param counted runs whose close an alert rule counts
 */
async function entriesOf(
  store: Store,
  team: TeamId,
  { lastChange }: TeamRows,
  changes: readonly RunUpdate[],
  feed: FeedChange,
  counted: ReadonlySet<RunId>,
): Promise<Pick<RunRows, "sets" | "deletes"> & { readonly summaries: Summaries }> {
  // Runs whose summary can record one more block.
  const sharing = new Set<RunId>();
  const added: EntryToAdd[] = [];
  const removed: EntryToRemove[] = [...feed.removed];
  const orders: Orders = new Map();
  for (const { run: { id }, before, after, rows } of changes) {
    const blocks = before?.blocks?.length ?? 0;
    if (feed.numbers.has(id) && blocks < BLOCKS_PER_RUN_MAX) sharing.add(id);
    const index = indexChange(team, id, before, after, orders);
    for (const entry of index.added) added.push(entry);
    for (const entry of rows.added ?? []) added.push(entry);
    for (const entry of [...index.removed, ...rows.removed ?? []]) removed.push(entry);
  }
  // The first number of the commit is unique, so it also identifies its blocks.
  const number = feed.lastChange > lastChange ? lastChange + 1 : null;
  const packed = addEntries([...feed.added, ...added], number, sharing);
  const kept = await removeEntries(store, removed);
  const sets: KvSet[] = [...kept.sets, ...packed.sets];
  const summaries = new Map<RunId, RunSummary>();
  for (const { run: { id }, before, after } of changes) {
    const numbers = feed.numbers.get(id);
    if (after === null || numbers === undefined) continue;
    const blocks = [...before?.blocks ?? [], ...packed.shared.has(id) ? [number ?? 0] : []];
    const isCounted = after.seen.closing && (counted.has(id) || before?.isCounted === true);
    const stored: RunSummary = {
      ...after,
      changes: numbers,
      ...blocks.length === 0 ? {} : { blocks },
      ...isCounted ? { isCounted } : {},
    };
    summaries.set(id, stored);
    sets.push({ key: keys.summary(team, id), value: encodeSums(stored) });
  }
  return { sets, deletes: kept.deletes, summaries };
}

function agentChangeOf({ run: { id }, before, after, remains = null }: RunUpdate) {
  const [old, now] = [agentRunOf(id, before), agentRunOf(id, after ?? remains)];
  return old === null && now === null ? [] : [{ before: old, after: now }];
}

function contributionChangeOf({ before, after, remains }: RunUpdate): ContributionChange {
  const now = after ?? remains ?? null;
  return { before: before?.contribution ?? null, after: now?.contribution ?? null };
}
