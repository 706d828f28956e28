/**
 * Reads the outcomes of a group that were counted before, when a bad one of an earlier close arrives,
 * or when a good one does not count any more. While a group has no instance, they are not kept.
 *
 * @module
 */
import type { LateGroup } from "../../domain/alerts/decide.ts";
import {
  type AlertSignal,
  groupOf,
  matches,
  type SignalSubject,
} from "../../domain/alerts/group.ts";
import type { Rule } from "../../domain/alerts/rule.ts";
import { OUTCOMES_MAX } from "../../domain/outcomes/window.ts";
import { closeSignals, resultSignals, subjectOf } from "../../domain/alerts/signal.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { RUN_KINDS } from "../../domain/runs/cost.ts";
import { closeArrivalOf, type RunSummary } from "../../domain/runs/summary.ts";
import { decodeResults } from "../base/codec_checks.ts";
import {
  agentPart,
  ALL_ENTRIES,
  customerPart,
  type EntryPage,
  EntryReader,
  featurePart,
  type Position,
  readEntries,
} from "../index/entries.ts";
import { keyParts, keys } from "../base/keys.ts";
import { readSummaries } from "../runs/heads.ts";
import { getAll, type Store } from "../store.ts";

/** Latest runs by start that are read of an order. */
const RUNS_MAX = 100;

/** Latest changes of the team that are read: at once, and at most. */
const CHANGES = { perRead: 50, max: 500 } as const;

/**
 * Returns the latest signals of a group, in order of the arrivals of the closes; none if a bad outcome
 * came and no close of the group arrived after its own.
 *
 * Runs are found by their latest change, so also those that started long ago, and by their start.
 *
 * @param excluded runs that are changing
 */
export async function earlierOutcomes(
  store: Store,
  team: TeamId,
  { rule, subject, fromMs, isUndone }: LateGroup,
  excluded: ReadonlySet<RunId>,
): Promise<readonly AlertSignal[]> {
  const { groupBy } = rule.settings;
  const { text } = groupOf(groupBy, subject);
  const isCounted = ([id, summary]: readonly [RunId, RunSummary]) => {
    const own = subjectOf(summary);
    return !excluded.has(id) && closeArrivalOf(summary) >= rule.updatedAt &&
      matches(rule.settings, own) && groupOf(groupBy, own).text === text;
  };
  const { changed, isAll } = await changedSince(store, team, fromMs);
  const isLater = (summary: RunSummary) => closeArrivalOf(summary) >= fromMs;
  if (!isUndone && isAll && !changed.some((run) => isLater(run[1]) && isCounted(run))) return [];
  const started = await latestStarted(store, team, rule, subject);
  const runs = new Map([...changed, ...started].filter(isCounted));
  const signals = await signalsOf(store, team, rule, runs);
  return signals.toSorted((a, b) => a.at - b.at).slice(-OUTCOMES_MAX);
}

/**
 * Reads the runs that changed last, until all closes of a read arrived before an instant.
 *
 * @returns `isAll` if it ended there
 */
async function changedSince(store: Store, team: TeamId, fromMs: number) {
  const reader = new EntryReader(store, keys.changes(team), { end: null, reverse: true });
  const changed: [RunId, RunSummary][] = [];
  let last: Position | null = null;
  for (let read = 0; read < CHANGES.max; read += CHANGES.perRead) {
    const { entries }: EntryPage = await reader.read(last, CHANGES.perRead);
    const page = await readSummaries({ store, team }, entries.map(({ run }) => run));
    changed.push(...page);
    last = entries.at(-1) ?? null;
    const isOver = page.values().every((summary) => closeArrivalOf(summary) < fromMs);
    if (isOver || entries.length < CHANGES.perRead) return { changed, isAll: true };
  }
  return { changed, isAll: false };
}

/** Reads the latest runs by start of the orders that hold the runs of a group. */
async function latestStarted(store: Store, team: TeamId, rule: Rule, subject: SignalSubject) {
  const options = { limit: RUNS_MAX, reverse: true };
  const pages = await Promise.all(
    ordersOf(team, rule, subject).map((order) => readEntries(store, order, ALL_ENTRIES, options)),
  );
  const runs = pages.flatMap(({ entries }) => entries.map(({ run }) => run));
  return await readSummaries({ store, team }, runs);
}

/** Returns what the closes of runs, or their stored results, mean for a rule. */
async function signalsOf(
  store: Store,
  team: TeamId,
  rule: Rule,
  runs: ReadonlyMap<RunId, RunSummary>,
): Promise<readonly AlertSignal[]> {
  if (rule.settings.condition.kind === "run_failed") {
    return [...runs].flatMap(([id, after]) =>
      closeSignals({ id, before: null, after, latestAt: null })
    );
  }
  const judged = [...runs].filter(([, { checks }]) => checks !== undefined);
  const rows = await getAll(store, judged.map(([id]) => keys.checkResults(team, id)));
  const results = new Map(rows.map(({ key, value }) => [keyParts.headRow(key).run, value]));
  return judged.flatMap(([id, summary]) =>
    resultSignals(id, summary, decodeResults(results.get(id) ?? null), [rule])
  );
}

/** Returns the orders in the index that hold the runs of a group, and others. */
function ordersOf(
  team: TeamId,
  { settings: { groupBy } }: Rule,
  { agent, customer, feature }: SignalSubject,
): readonly Deno.KvKey[] {
  if (groupBy === "agent" && agent !== null) return [keys.runsBy(team, groupBy, agentPart(agent))];
  if (groupBy === "customer" && customer !== null) {
    return [keys.runsBy(team, groupBy, customerPart(customer))];
  }
  if (groupBy === "feature" && feature !== null) {
    return [keys.runsBy(team, groupBy, featurePart(feature))];
  }
  return RUN_KINDS.map((kind) => keys.runsBy(team, "kind", kind));
}
