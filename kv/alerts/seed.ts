/**
 * Reads what a new instance of `run_failed` must know: successful runs that arrived after its first
 * bad outcome, but were summarized before it. While a group has no instance, they are not kept.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { cutText, printable } from "../../domain/core/text.ts";
import { groupOf } from "../../domain/alerts/group.ts";
import { matches } from "../../domain/alerts/match.ts";
import type { Rule } from "../../domain/alerts/rule.ts";
import { closeOutcomeOf, goodSignalOf } from "../../domain/alerts/run_signals.ts";
import type { AlertSignal, SignalSubject } from "../../domain/alerts/signal.ts";
import { TEXT_CHARS_MAX } from "../../domain/channels/forms/words.ts";
import { errorOf } from "../../domain/runs/run.ts";
import { agentPart, customerPart, featurePart } from "../base/index_parts.ts";
import { keys } from "../base/keys.ts";
import { ALL_ENTRIES, listEntries } from "../entries.ts";
import { readParts, readSummaries } from "../runs/heads.ts";
import { getValue, type Store } from "../store.ts";

/** Latest runs by start that are read. */
const RUNS_MAX = 100;

/** A group without an instance, and its first bad outcome. */
export interface NewGroup {
  readonly rule: Rule;
  readonly subject: SignalSubject;
  /** Arrival of its first bad outcome, unix milliseconds. */
  readonly fromMs: number;
}

/**
 * Returns good signals of a group that arrived since its first bad outcome.
 *
 * @param excluded runs that are changing
 */
export async function laterGoods(
  store: Store,
  team: TeamId,
  { rule, subject, fromMs }: NewGroup,
  excluded: ReadonlySet<RunId>,
): Promise<readonly AlertSignal[]> {
  const { groupBy, match } = rule.settings;
  const options = { limit: RUNS_MAX, reverse: true };
  const { entries } = await listEntries(
    store,
    orderOf(team, groupBy, subject),
    ALL_ENTRIES,
    options,
  );
  const ids = entries.map(({ run }) => run).filter((run) => !excluded.has(run));
  const summaries = await readSummaries({ store, team }, ids);
  const { text } = groupOf(groupBy, subject);
  return [...summaries].filter(([, summary]) => closeOutcomeOf(summary) === "good")
    .map(([id, summary]) => goodSignalOf(id, summary))
    .filter((signal) =>
      signal.at >= Math.max(fromMs, rule.updatedAt) && matches(match, signal.subject) &&
      groupOf(groupBy, signal.subject).text === text
    );
}

/** Returns the order in the index that holds the successful runs of a group, and others. */
function orderOf(
  team: TeamId,
  groupBy: Rule["settings"]["groupBy"],
  { agent, customer, feature }: SignalSubject,
): Deno.KvKey {
  if (groupBy === "agent" && agent !== null) return keys.runsBy(team, groupBy, agentPart(agent));
  if (groupBy === "customer" && customer !== null) {
    return keys.runsBy(team, groupBy, customerPart(customer));
  }
  if (groupBy === "feature" && feature !== null) {
    return keys.runsBy(team, groupBy, featurePart(feature));
  }
  return keys.runsBy(team, "status", "success");
}

/** Reads the first 200 characters of a run's error; null if it has none. */
export async function readError(store: Store, team: TeamId, id: RunId): Promise<string | null> {
  const closing = await getValue(store, keys.closing(team, id));
  const error = errorOf(await readParts({ store, team, id }, null, closing));
  return error === null ? null : cutText(printable(error), TEXT_CHARS_MAX.error);
}
