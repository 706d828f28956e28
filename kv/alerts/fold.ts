/**
 * Plans what signals change: instances, incidents, and the messages about them, for the commit of
 * what the signals report.
 *
 * @module
 */
import { groupOf, OTHER } from "../../domain/alerts/group.ts";
import { outcomeFor } from "../../domain/alerts/instance.ts";
import { matches } from "../../domain/alerts/match.ts";
import { INSTANCES_MAX, type Rule, RULES_PER_SIGNAL_MAX } from "../../domain/alerts/rule.ts";
import { thresholdsOf } from "../../domain/alerts/outcomes.ts";
import type { AlertSignal, AlertWork } from "../../domain/alerts/signal.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { Store } from "../store.ts";
import type { KvSet } from "../writer/write.ts";
import { type AlertDeps, AlertSession, type GroupSignals } from "./session.ts";
import { readIncident } from "./rows.ts";
import { laterOutcomes } from "./seed.ts";
import { wereUnpriced } from "./unpriced_calls.ts";
import { type AlertCache, instanceName, type TeamAlerts } from "./state.ts";

/** Kinds of rules that judge runs: only those closed after the rule's last change. */
const OF_RUNS: ReadonlySet<AlertSignal["kind"]> = new Set([
  "run_failed",
  "check_failed",
  "run_cost",
  "unpriced",
]);

/** Rows that alerts add to a commit. */
export interface AlertRows {
  readonly sets: readonly KvSet[];
  readonly deletes: readonly Deno.KvKey[];
  /** Runs whose outcome an instance counts. */
  readonly counted: ReadonlySet<RunId>;
  /** Updates the cache after the commit, from one version of the roll-ups to the next. */
  readonly remember: (before: string | null, after: string) => void;
}

/** Other rows that a plan may use. */
export interface AlertHints {
  /** Returns the latest arrival of an agent's calls before the commit, unix milliseconds. */
  readonly seenBefore?: (agent: string) => number;
}

/**
 * Plans the changes of a team's alerts.
 *
 * @param version version of the team's roll-ups, read before what the signals report
 */
export async function planAlerts(
  deps: AlertDeps & { readonly cache: AlertCache },
  team: TeamId,
  version: string | null,
  { signals, looks = [], byHand, ends }: AlertWork,
  hints: AlertHints = {},
): Promise<AlertRows> {
  const { cache } = deps;
  const isNothing = looks.length === 0 && byHand === undefined && ends === undefined;
  if (signals.length === 0 && isNothing) return nothingFor(cache, team);
  const alerts = await cache.of(team, version);
  const groups = groupsOf(alerts, signals);
  if (groups.length === 0 && isNothing) return nothingFor(cache, team);
  const incident = byHand === undefined ? null : await readIncident(deps.store, team, byHand.id);
  const wanted = [
    ...groups.map(({ rule, text }) => ({ rule: rule.slug, group: text })),
    ...incident === null ? [] : [{ rule: incident.rule, group: incident.groupText }],
    ...ends === undefined ? [] : [ends],
  ];
  await cache.load(team, alerts, [...wanted, ...looks]);
  const session = new AlertSession(deps, team, alerts);
  if (byHand !== undefined && incident !== null) session.changeByHand(byHand, incident);
  const ended = ends === undefined ? null : session.find(ends.rule, ends.group);
  if (ended !== null) await session.end(ended, "condition");
  for (const { rule, group, at } of looks) await session.look(rule, group, at);
  const running = new Set(signals.flatMap(({ run }) => run === null ? [] : [run]));
  for (const group of groups) {
    const known = session.find(group.rule.slug, group.text);
    if (known === null && (!group.hasBad || await isSilent(deps.store, team, group))) continue;
    const knownFrom = known?.knownFrom ?? Infinity;
    const isCounted = !(known === null && isFull(session)) &&
      await session.count(await seeded(deps, team, group, knownFrom, running, hints));
    if (!isCounted) await overflow(deps, team, alerts, session, group);
  }
  const { changed, counted, counts: { state } } = session;
  return {
    ...await session.rows(),
    counted,
    remember: (before, after) => cache.remember(team, before, after, { state, changed }),
  };
}

/** Returns whether a group without an instance opens none: its models were reported before. */
async function isSilent(store: Store, team: TeamId, group: GroupSignals): Promise<boolean> {
  const { rule: { settings: { condition } }, signals } = group;
  return condition.kind === "unpriced" && await wereUnpriced(store, team, signals);
}

/** Returns the rows of a commit that changes no alerts. */
export function nothingFor(cache: AlertCache, team: TeamId): AlertRows {
  return {
    sets: [],
    deletes: [],
    counted: new Set(),
    remember: (before, after) => cache.remember(team, before, after),
  };
}

/** Returns signals by rule and group, without good ones that no instance can count. */
function groupsOf(alerts: TeamAlerts, signals: readonly AlertSignal[]): GroupSignals[] {
  const groups = new Map<string, GroupSignals>();
  for (const signal of signals) {
    for (const rule of rulesOf(alerts, signal)) {
      const group = groupOf(rule.settings.groupBy, signal.subject);
      const name = instanceName(rule.slug, group.text);
      let known = groups.get(name);
      if (known === undefined) {
        known = { ...group, rule, signals: [], hasBad: false };
        groups.set(name, known);
      }
      known.signals.push(signal);
      known.hasBad ||= outcomeFor(rule, signal) === "bad";
    }
  }
  return Array.from(groups.values()).filter(({ rule, hasBad }) =>
    hasBad || (alerts.state[rule.slug]?.instances ?? 0) > 0
  );
}

/** Returns the rules that count a signal. */
function rulesOf({ config }: TeamAlerts, signal: AlertSignal): readonly Rule[] {
  const ofKind = config.byKind.get(signal.kind) ?? [];
  return ofKind.filter(({ slug, updatedAt, settings }) =>
    (signal.rule === null || signal.rule === slug) &&
    (!OF_RUNS.has(signal.kind) || signal.at >= updatedAt) &&
    matches(settings.match, signal.subject)
  ).slice(0, RULES_PER_SIGNAL_MAX);
}

/** Returns whether no further group gets an instance. */
function isFull({ counts }: AlertSession): boolean {
  return counts.total >= INSTANCES_MAX;
}

/** Counts the bad outcomes of a group in the one that such groups share. */
async function overflow(
  { cache, making }: AlertDeps & { readonly cache: AlertCache },
  team: TeamId,
  alerts: TeamAlerts,
  session: AlertSession,
  group: GroupSignals,
): Promise<void> {
  const { rule } = group;
  const { nowMs } = making();
  await cache.load(team, alerts, [{ rule: rule.slug, group: OTHER.text }]);
  // The shared group ends a day after it was last found, however long the trouble has been there.
  const signals = group.signals.filter((signal) => outcomeFor(rule, signal) === "bad")
    .map((signal) => ({ ...signal, at: nowMs }));
  session.counts.noteOverflow(rule.slug, signals.length, nowMs);
  await session.count({ ...group, ...OTHER, signals });
}

/**
 * Adds the outcomes that were counted before a bad one that arrived earlier.
 *
 * @param knownFrom arrival from which the instance has all outcomes, unix milliseconds
 */
async function seeded(
  { store }: AlertDeps,
  team: TeamId,
  group: GroupSignals,
  knownFrom: number,
  running: ReadonlySet<RunId>,
  { seenBefore }: AlertHints,
): Promise<GroupSignals> {
  const { rule, signals } = group;
  const { groupBy } = rule.settings;
  if (thresholdsOf(rule.settings) === null || !group.hasBad) return group;
  const bad = signals.filter((signal) => outcomeFor(rule, signal) === "bad");
  const fromMs = Math.min(...bad.map(({ at }) => at));
  if (fromMs >= knownFrom) return group;
  const subject = (bad[0] as AlertSignal).subject;
  const seenAt = groupBy === "agent" ? seenBefore?.(subject.agent ?? "") : undefined;
  if (seenAt !== undefined && seenAt < fromMs) return group;
  const later = await laterOutcomes(store, team, { rule, subject, fromMs }, running);
  return { ...group, signals: [...later, ...signals] };
}
