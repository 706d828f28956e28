/**
 * Builds the commits of teams: summaries and entries of changed runs, rows of a plan, and what both
 * change of the roll-ups, agents, monitors and incidents.
 *
 * @module
 */
import type { ByteCache } from "../../runtime/memory.ts";
import { agentRunOf } from "../../domain/agents/agents.ts";
import type { AlertWork } from "../../domain/alerts/signal_sources.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { monthOf } from "../../domain/core/time.ts";
import { type ChangeNumbers, numbersAfter, type RunSummary } from "../../domain/runs/summary.ts";
import { type ContributionChange, differencesOf } from "../../domain/spend/rollup.ts";
import { changeActivity } from "../agents/agents.ts";
import { type AlertDeps, countsRow, NO_ALERTS, planAlerts } from "../alerts/rows.ts";
import type { GroupSpends } from "../budgets/group_spend.ts";
import { ruleWorkSets, runSignals } from "../alerts/run_work.ts";
import { encodeSums } from "../base/codec_sums.ts";
import {
  addEntries,
  comparePositions,
  type EntryToAdd,
  type EntryToRemove,
  removeEntries,
} from "../index/entries.ts";
import { keys } from "../base/keys.ts";
import { NO_RESULTS, planResults } from "../checks/results.ts";
import type { ConfigCache, PreparedConfig } from "../config/prepared.ts";
import { outcomeRows } from "../monitors/outcomes.ts";
import { NO_ROWS } from "../monitors/rows.ts";
import { indexChange, type Orders } from "../run_list/run_index.ts";
import { type RunRows, type RunUpdate, tombstoneRow } from "../runs/heads.ts";
import { changeRemovedRuns, changeRollups } from "../spend/rollups.ts";
import type { Store } from "../store.ts";
import {
  type PlannedRows,
  storedRows,
  type TeamRowCache,
  type TeamRows,
} from "../team/team_rows.ts";
import { workSet } from "../work/store.ts";
import { keyText, type KvSet, type Write } from "../writer/group.ts";

/**
 * Maximum blocks that hold entries of one run: those of its opening, its close, and one more. A
 * run that changes more often gets rows of its own, so that few blocks are searched for an entry.
 */
const BLOCKS_PER_RUN_MAX = 3;

/** Summaries as a commit stores them, with their change numbers and blocks. */
export type Summaries = ReadonlyMap<RunId, RunSummary>;

/** Caches of rows that are current under the version of a team; all commits share them. */
export interface TeamCaches {
  readonly store: Store;
  readonly rows: TeamRowCache;
  /** Configuration of teams. */
  readonly configs: ConfigCache;
  /** Null if runs change without alerts. */
  readonly alerts: AlertDeps | null;
  /** Spend that budgets judge. */
  readonly spends: GroupSpends;
  /** Evaluations of rules that are filed and not due yet. */
  readonly filed: ByteCache<string, true>;
}

/** Changes of one commit: runs, or the rows of a plan. */
export interface TeamChange extends Partial<PlannedRows> {
  readonly runs?: readonly RunUpdate[];
}

/** A commit, ready to write. */
export interface TeamWrite {
  readonly write: Write & Required<Pick<Write, "sets" | "deletes">>;
  readonly summaries: Summaries;
  /** Writes the rows through to memory, once they are committed under a version. */
  readonly committed: (version: string) => void;
}

/** Identifiers of the checks of a team whose configuration a commit does not need. */
const NO_CHECKS: ReadonlySet<string> = new Set();

/** Builds the commit of what changes a team, with what follows from it. */
export async function buildTeamWrite(
  caches: TeamCaches,
  team: TeamId,
  current: TeamRows,
  { runs = [], spend = [], rows: planned = [], alerts: cause, ...change }: TeamChange,
): Promise<TeamWrite> {
  const { alerts: alertDeps, configs, spends, filed, store } = caches;
  const config = runs.length > 0 || cause !== undefined && isCause(cause)
    ? await configs.of(team, current)
    : null;
  const results = runs.some(hasResults)
    ? await planResults(store, team, current, config?.checkIds ?? NO_CHECKS, runs)
    : { ...NO_RESULTS, updates: runs };
  const { updates } = results;
  const feed = feedChange(team, updates, results.judged, current.lastChange);
  const differences = [...differencesOf(updates.map(contributionChangeOf)), ...spend];
  const rollups = await changeRollups(current, team, differences);
  const agents = await changeActivity(store, current, team, updates.flatMap(agentChangeOf));
  const monitored = new Map(agents.agents.entries().filter(([, { monitor }]) => monitor !== null));
  const monitors = monitored.size === 0
    ? NO_ROWS
    : await outcomeRows(store, team, monitored, updates);
  const { signals: caused = [], ...causes } = cause ?? {};
  let alerts = NO_ALERTS;
  let dueRows: readonly KvSet[] = [];
  if (alertDeps !== null && config !== null) {
    const counts = await current.get(countsRow(team)) ?? {};
    const signals = [
      ...runSignals(config, counts, updates, results.results),
      ...monitors.alerts?.signals ?? [],
      ...caused,
    ];
    const changed = {
      runs: updates.map(({ run }) => run),
      seenBefore: runs.length === 0 ? undefined : agents.seenBefore,
    };
    alerts = await planAlerts(alertDeps, team, current, config, { ...causes, signals }, changed);
    const { nowMs } = alertDeps.stamps();
    if (runs.length > 0) dueRows = dueSets(caches, team, config, updates, nowMs);
  }
  const entries = await entriesOf(store, team, current, updates, feed, alerts.counted);
  const removed = await changeRemovedRuns({ store, team }, updates, spend);
  const rows = [
    ...[rollups, agents, monitors, alerts, results].flatMap(({ rows }) => rows),
    ...planned,
  ];
  const { checks = [], sums = [], sets = [], deletes = [] } = change;
  const parts: readonly Part[] = [
    ...[storedRows(rows), rollups, monitors, alerts, results, feed, entries, removed],
    ...[{ sets: dueRows }, { sets, deletes, checks, sums }],
    ...updates.map((update) => update.rows),
  ];
  const key = keys.rollupVersion(team);
  return {
    write: {
      team,
      checks: [
        { key, versionstamp: current.version },
        ...parts.flatMap(({ checks = [] }) => checks),
      ],
      sums: parts.flatMap(({ sums = [] }) => sums),
      // An operation sets a row that it also deletes.
      sets: [{ key, value: feed.lastChange }, ...parts.flatMap(({ sets = [] }) => sets)],
      deletes: parts.flatMap(({ deletes = [] }) => deletes),
    },
    summaries: entries.summaries,
    committed: (version) => {
      for (const { key } of dueRows) filed.set(keyText(key), true);
      // A plan may change rows without their decoded values.
      const others = [...sets.map(({ key }) => key), ...deletes];
      current.written(version, feed.lastChange, rows, others);
      if (spends.teams.has(team)) spends.publish(team, differences, rollups.rows);
      if (config !== null) spends.listener?.configured(team, config);
    },
  };
}

/** Returns whether a run has results of checks before or after an update. */
function hasResults({ before, judged }: RunUpdate): boolean {
  return before?.checks !== undefined || (judged?.length ?? 0) > 0;
}

/** Returns whether alerts may change. */
function isCause({ signals, ...others }: AlertWork): boolean {
  return signals.length > 0 || Object.keys(others).length > 0;
}

/** Mutations and checks of a part of a commit. */
type Part = Pick<Write, "checks" | "sums" | "sets" | "deletes">;

/** Returns the rows at which rules and the usage of the team are evaluated. */
function dueSets(
  { filed }: TeamCaches,
  team: TeamId,
  config: PreparedConfig,
  changes: readonly RunUpdate[],
  nowMs: number,
): KvSet[] {
  const isFiled = (key: Deno.KvKey) => filed.has(keyText(key));
  const usage = usageSet(team, nowMs);
  return [
    ...ruleWorkSets(team, config, changes, nowMs, isFiled),
    ...isFiled(usage.key) ? [] : [usage],
  ];
}

/** Milliseconds within which changes of a team's runs share a check of its usage. */
const USAGE_STEP_MS = 60_000;

/** Returns the row at which the usage of a team is checked, after runs of it changed. */
export function usageSet(team: TeamId, nowMs: number): KvSet {
  // The work of an earlier row may be over when this is stored.
  const at = (Math.floor(nowMs / USAGE_STEP_MS) + 1) * USAGE_STEP_MS;
  return workSet({ at, kind: "quota", team, name: monthOf(at) });
}

/** Changes of the feed by one commit. */
interface FeedChange {
  readonly added: readonly EntryToAdd[];
  readonly removed: readonly EntryToRemove[];
  /** Tombstones of deleted runs, with the number of the deletion: it lets a later commit find it. */
  readonly sets: readonly KvSet[];
  /** Change numbers of the runs whose summary changes. */
  readonly numbers: ReadonlyMap<RunId, ChangeNumbers>;
  /** Number of the latest change once this is committed. */
  readonly lastChange: number;
}

/**
 * Numbers the changes of runs. A run's earlier entry is removed, so each run has one.
 *
 * @param judged runs whose checks were judged
 * @param last number of the latest change so far
 */
function feedChange(
  team: TeamId,
  changes: readonly RunUpdate[],
  judged: ReadonlySet<RunId>,
  last: number,
): FeedChange {
  const order = keys.changes(team);
  const added: EntryToAdd[] = [];
  const removed: EntryToRemove[] = [];
  const sets: KvSet[] = [];
  const numbers = new Map<RunId, ChangeNumbers>();
  let number = last;
  for (const { run: { id }, before, after, deletion = null } of changes) {
    if (after === before && deletion === null) continue;
    if (before?.changes !== undefined) {
      const { changes: { latest }, blocks = [] } = before;
      removed.push({ order, at: latest, run: id, blocks });
    }
    if (after !== null) {
      numbers.set(id, numbersAfter(before, after, ++number, judged.has(id)));
      added.push({ order, at: number, run: id, value: true, mayShare: true });
    } else if (deletion !== null) {
      sets.push({ key: tombstoneRow(team, deletion), value: ++number });
      added.push({ order, at: number, run: id, value: deletion.deletedAt, mayShare: false });
    }
  }
  return { added, removed, sets, numbers, lastChange: number };
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
  // Sorted once: each block sorts its entries, which takes a tenth of the time if they are in order.
  for (const { run: { id }, before, after, rows } of changes.toSorted(compareStarts)) {
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

function compareStarts({ run: a, after: first }: RunUpdate, { run: b, after: second }: RunUpdate) {
  return comparePositions(
    { at: first?.listed.at ?? 0, run: a.id },
    { at: second?.listed.at ?? 0, run: b.id },
  );
}

function agentChangeOf({ run: { id }, before, after, remains = null }: RunUpdate) {
  const [old, now] = [agentRunOf(id, before), agentRunOf(id, after ?? remains)];
  // Later spans may name another agent of a trace.
  const isMoved = old !== null && now !== null && old.agent !== now.agent;
  if (isMoved) return [{ before: old, after: null }, { before: null, after: now }];
  return old === null && now === null ? [] : [{ before: old, after: now }];
}

function contributionChangeOf({ before, after, remains }: RunUpdate): ContributionChange {
  const now = after ?? remains ?? null;
  return { before: before?.contribution ?? null, after: now?.contribution ?? null };
}
