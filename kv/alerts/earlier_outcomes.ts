/**
 * Reads what a new instance must know: runs that arrived after its first bad outcome, but were counted
 * before it. While a group has no instance, they are not kept.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { resultSignals } from "../../domain/alerts/check_signals.ts";
import type { EarlierOutcomes } from "../../domain/alerts/decide.ts";
import { groupOf } from "../../domain/alerts/group.ts";
import { matches } from "../../domain/alerts/match.ts";
import type { Rule } from "../../domain/alerts/rule.ts";
import { closeOutcomeOf, goodSignalOf, subjectOf } from "../../domain/alerts/run_signals.ts";
import type { AlertSignal, SignalSubject } from "../../domain/alerts/signal.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { RUN_KINDS } from "../../domain/runs/flags.ts";
import { decodeResults } from "../base/codec_checks.ts";
import { agentPart, customerPart, featurePart } from "../base/index_parts.ts";
import { keyParts, keys } from "../base/keys.ts";
import { ALL_ENTRIES, listEntries } from "../entries.ts";
import { readSummaries } from "../runs/heads.ts";
import { getAll, type Store } from "../store.ts";

/** Latest runs by start that are read of an order. */
const RUNS_MAX = 100;

/** A run with its summary. */
type SummarizedRun = readonly [RunId, RunSummary];

/**
 * Returns signals of a group that arrived since its first bad outcome: of `run_failed` the good ones,
 * of `check_failed` also bad ones, because runs are not judged in the order of their arrival.
 *
 * @param excluded runs that are changing
 */
export async function laterOutcomes(
  store: Store,
  team: TeamId,
  { rule, subject, fromMs }: EarlierOutcomes,
  excluded: ReadonlySet<RunId>,
): Promise<readonly AlertSignal[]> {
  const { groupBy, match, condition } = rule.settings;
  const pages = await Promise.all(
    ordersOf(team, rule, subject).map((order) =>
      listEntries(store, order, ALL_ENTRIES, { limit: RUNS_MAX, reverse: true })
    ),
  );
  const ids = pages.flatMap(({ entries }) => entries.map(({ run }) => run))
    .filter((run) => !excluded.has(run));
  const { text } = groupOf(groupBy, subject);
  const runs = [...await readSummaries({ store, team }, ids)].filter(([, summary]) => {
    const own = subjectOf(summary);
    return (summary.times?.receivedAt ?? 0) >= Math.max(fromMs, rule.updatedAt) &&
      matches(match, own) && groupOf(groupBy, own).text === text;
  });
  return condition.kind === "check_failed"
    ? await judgedOf(store, team, runs, rule)
    : runs.filter(([, summary]) => closeOutcomeOf(summary) === "good")
      .map(([id, summary]) => goodSignalOf(id, summary));
}

/** Returns what the stored results of runs mean for a rule. */
async function judgedOf(
  store: Store,
  team: TeamId,
  runs: readonly SummarizedRun[],
  rule: Rule,
): Promise<readonly AlertSignal[]> {
  const judged = runs.filter(([, { checks }]) => checks !== undefined);
  const rows = await getAll(store, judged.map(([id]) => keys.checkResults(team, id)));
  const results = new Map(rows.map(({ key, value }) => [keyParts.headRow(key).run, value]));
  return judged.flatMap(([id, summary]) =>
    resultSignals(id, summary, decodeResults(results.get(id) ?? null), [rule])
  );
}

/** Returns the orders in the index that hold the runs of a group, and others. */
function ordersOf(
  team: TeamId,
  { settings: { groupBy, condition } }: Rule,
  { agent, customer, feature }: SignalSubject,
): readonly Deno.KvKey[] {
  if (groupBy === "agent" && agent !== null) return [keys.runsBy(team, groupBy, agentPart(agent))];
  if (groupBy === "customer" && customer !== null) {
    return [keys.runsBy(team, groupBy, customerPart(customer))];
  }
  if (groupBy === "feature" && feature !== null) {
    return [keys.runsBy(team, groupBy, featurePart(feature))];
  }
  return condition.kind === "run_failed"
    ? [keys.runsBy(team, "status", "success")]
    : RUN_KINDS.map((kind) => keys.runsBy(team, "kind", kind));
}
