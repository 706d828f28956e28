/**
 * Builds the commit of changed runs: their summaries and entries, and the differences to the roll-ups,
 * agents, monitors and incidents of their team.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import { agentRunOf } from "../../domain/agents/activity.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { type ContributionChange, differencesOf } from "../../domain/spend/rollup.ts";
import type { ActivityChange } from "../agents/agents.ts";
import { type AlertRows, planAlerts } from "../alerts/fold.ts";
import { runLookSets, runSignals } from "../alerts/run_work.ts";
import type { TeamAlerts } from "../alerts/state.ts";
import { encodeSums } from "../base/codec_sums.ts";
import { type EntryToAdd, type EntryToRemove, packEntries } from "../base/entries.ts";
import { keys } from "../base/keys.ts";
import { planResults, type ResultsPlan } from "../checks/results.ts";
import { removeEntries } from "../entries.ts";
import { type FeedChange, feedChange } from "../feed/feed_rows.ts";
import type { MonitorRows } from "../monitors/rows.ts";
import { signalRows } from "../monitors/signals.ts";
import { indexChange, type Orders } from "../run_list/run_index.ts";
import type { RunRows, RunUpdate } from "../runs/run_update.ts";
import { removedRunSets, type TeamRollups } from "../spend/rollup_cache.ts";
import { keyText } from "../writer/group.ts";
import type { KvSet, Write } from "../writer/write.ts";
import { NO_ALERTS, type TeamCaches } from "./team_caches.ts";

/**
 * Maximum blocks that hold entries of one run: those of its opening, its close, and one more. A
 * run that changes more often gets rows of its own, so that few blocks are searched for an entry.
 */
const BLOCKS_PER_RUN_MAX = 3;

/** Maximum looks at rules that a process remembers to have filed. */
const LOOKS_MAX = 10_000;

/** Summaries as a commit stores them, with their change numbers and blocks. */
export type Summaries = ReadonlyMap<RunId, RunSummary>;

/** One commit of many changed runs. */
export interface RunWrite {
  readonly write: Write & Required<Pick<Write, "deletes">>;
  readonly summaries: Summaries;
  /** Updates the caches after the commit, and returns the roll-ups under its version. */
  readonly remember: (version: string) => TeamRollups;
}

/** Rows of alerts, and looks at rules. */
type RunAlerts = AlertRows & { readonly looks: readonly KvSet[] };

/** Builds commits of changed runs. */
export class RunWriter {
  readonly #caches: TeamCaches;
  /** Looks at rules that are filed and not due yet. */
  readonly #filed = new LRUCache<string, true>({ max: LOOKS_MAX });

  constructor(caches: TeamCaches) {
    this.#caches = caches;
  }

  /** Builds one write from many changes. */
  async writeOf(
    team: TeamId,
    current: TeamRollups,
    planned: readonly RunUpdate[],
  ): Promise<RunWrite> {
    const { agents: agentCache, configs, rollups: rollupCache, store } = this.#caches;
    const known = await configs.of(team, current.version);
    const { config: { checkIds: existing }, checkDays: days } = known;
    const results = await planResults(store, team, { existing, days }, planned);
    const { updates: changes } = results;
    const feed = feedChange(team, changes, results.judged, current.lastChange);
    const differences = differencesOf(changes.map(contributionChangeOf));
    const rollups = await rollupCache.change(team, current, differences, feed.lastChange);
    const agents = await agentCache.change(team, current.version, changes.flatMap(agentChangeOf));
    const monitors = await signalRows(store, team, agents.agents, changes);
    const alerts = await this.#alertsOf(team, known, results, agents, monitors);
    const entries = await this.#entriesOf(team, current, changes, feed, alerts.counted);
    const removed = { sets: await removedRunSets({ store, team }, changes) };
    const rows = changes.map((change) => change.rows);
    const changed: readonly Pick<RunRows, "sets">[] = [
      rollups,
      agents,
      monitors,
      alerts,
      results,
      { sets: alerts.looks },
      removed,
      feed,
      entries,
    ];
    return {
      write: {
        team,
        checks: [...rollups.checks, ...rows.flatMap(({ checks = [] }) => checks)],
        sums: rows.flatMap(({ sums = [] }) => sums),
        sets: [...changed, ...rows].flatMap(({ sets }) => sets),
        deletes: [rollups, monitors, alerts, results, entries, ...rows]
          .flatMap(({ deletes }) => deletes),
      },
      summaries: entries.summaries,
      remember: (version) => {
        agents.remember(version, monitors.monitors);
        results.remember();
        alerts.remember(current.version, version);
        for (const { key } of alerts.looks) this.#filed.set(keyText(key), true);
        return rollups.remember(version);
      },
    };
  }

  /** Returns what the changes mean for incidents. */
  async #alertsOf(
    team: TeamId,
    known: TeamAlerts,
    { updates, results }: ResultsPlan,
    { seenBefore }: ActivityChange,
    monitors: MonitorRows,
  ): Promise<RunAlerts> {
    const { alerts: deps, configs } = this.#caches;
    const { version } = known;
    if (deps === null) {
      const remember = (before: string | null, after: string) =>
        configs.remember(team, before, after);
      return { ...NO_ALERTS, looks: [], remember };
    }
    const signals = [...runSignals(known, updates, results), ...monitors.alerts?.signals ?? []];
    const { nowMs } = deps.making();
    const isFiled = (key: Deno.KvKey) => this.#filed.has(keyText(key));
    const looks = runLookSets(team, known, updates, nowMs, isFiled);
    return { ...await planAlerts(deps, team, version, { signals }, { seenBefore }), looks };
  }

  /**
   * Returns the rows of entries and summaries.
   *
   * @param counted runs whose close an alert rule counts
   */
  async #entriesOf(
    team: TeamId,
    { lastChange }: TeamRollups,
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
    const packed = packEntries([...feed.added, ...added], number, sharing);
    const kept = await removeEntries(this.#caches.store, removed);
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
}

function agentChangeOf({ run: { id }, before, after, remains = null }: RunUpdate) {
  const [old, now] = [agentRunOf(id, before), agentRunOf(id, after ?? remains)];
  return old === null && now === null ? [] : [{ before: old, after: now }];
}

function contributionChangeOf({ before, after, remains }: RunUpdate): ContributionChange {
  const now = after ?? remains ?? null;
  return { before: before?.contribution ?? null, after: now?.contribution ?? null };
}
