/**
 * Decides what signals, evaluations and users change of a team's alerts, within one commit.
 *
 * @module
 */
import type { Delivery } from "../channels/delivery.ts";
import type { ResolvedBy } from "../channels/message.ts";
import type { RunId } from "../core/ids.ts";
import {
  type AlertInstance,
  groupDueAt,
  groupEndOf,
  type GroupState,
  hasPlace,
  isOfRule,
  isStored,
  newInstance,
  repeatDueAt,
  stateOf,
  thresholdsOf,
  withSignal,
} from "./instance.ts";
import {
  type AlertSignal,
  groupName,
  newSignal,
  OTHER,
  outcomeFor,
  resolvedSignal,
  type SignalSubject,
  type Touched,
  touched,
} from "./signal.ts";
import {
  acknowledged,
  type AlertConfig,
  announce,
  isSilencedNow,
  type Notified,
  resolved,
  updateIncident,
} from "./transition.ts";
import type { Incident, Stamp } from "./incident.ts";
import {
  FIRING_GROUPS_MAX,
  INSTANCES_MAX,
  OTHER_GROUP,
  type Rule,
  type RuleCounts,
  type TeamCounts,
} from "./rule.ts";
import type { AlertWork, DueGroup, IncidentChange } from "./signal_sources.ts";

/** Rows that a decision reads. Maps have a row once it was read; null for none. */
export interface AlertRows {
  /** Rules of the team, and its channels and silences. */
  readonly config: AlertConfig;
  /** Numbers of instances by rule. */
  readonly counts: TeamCounts;
  /** Instances by the name of their group. */
  readonly instances: ReadonlyMap<string, AlertInstance | null>;
  /** Incidents by id. */
  readonly incidents: ReadonlyMap<string, Incident | null>;
  /** Latest signals that were counted of a group, by its name. */
  readonly earlier: ReadonlyMap<string, readonly AlertSignal[]>;
  /** Names of groups; true if all their models were called without a price before. */
  readonly unpriced: ReadonlyMap<string, boolean>;
  /** First 200 characters of the errors of runs. */
  readonly errors: ReadonlyMap<RunId, string | null>;
  /** Returns the latest arrival of an agent's calls before the commit, unix milliseconds. */
  readonly seenBefore?: ((agent: string) => number) | undefined;
}

/**
 * A group of which the signals that were counted are read: a bad one may have come late, or a good one
 * does not count any more.
 */
export interface LateGroup {
  /** Rule that counts it. */
  readonly rule: Rule;
  /** Names of its run. */
  readonly subject: SignalSubject;
  /** Arrival of its close, unix milliseconds. */
  readonly fromMs: number;
  /** True if it was good, so that bad ones before it may count again. */
  readonly isUndone: boolean;
}

/** Rows to read before the decision is made again. */
export interface LackingRows {
  /** Groups by name. */
  readonly instances: Map<string, Pick<DueGroup, "rule" | "group">>;
  /** Incidents by id. */
  readonly incidents: Set<string>;
  /** Groups with a late bad signal, or without a good one of before, by name. */
  readonly earlier: Map<string, LateGroup>;
  /** Signals of calls without a price, by the name of their group. */
  readonly unpriced: Map<string, readonly AlertSignal[]>;
  /** Runs whose errors are named. */
  readonly errors: Set<RunId>;
}

/** An instance before and after a change; null for none. */
export interface InstanceChange {
  /** As stored. */
  readonly before: AlertInstance | null;
  /** As the commit stores it. */
  readonly after: AlertInstance | null;
}

/** A row of the work queue of a group. */
export interface GroupDue extends DueGroup {
  /** Time of the row, unix milliseconds. */
  readonly at: number;
  /** False to delete it. */
  readonly isFiled: boolean;
}

/** Changes of a team's alerts. */
export interface AlertChange {
  /** Changed instances by the name of their group. */
  readonly instances: ReadonlyMap<string, InstanceChange>;
  /** Changed incidents by id; `isNew` for those that the commit opens. */
  readonly incidents: ReadonlyMap<string, { readonly incident: Incident; readonly isNew: boolean }>;
  /** Messages to send. */
  readonly deliveries: readonly Delivery[];
  /** Incidents to name in the records of runs. */
  readonly incidentsOfRuns: ReadonlyMap<RunId, ReadonlySet<string>>;
  /** Rows of the work queue that are filed or deleted. */
  readonly due: readonly GroupDue[];
  /** Numbers of instances; the same object if none changes. */
  readonly counts: TeamCounts;
  /** Runs whose outcome an instance counts. */
  readonly counted: ReadonlySet<RunId>;
}

/** A decision, or the rows that it lacks. */
export type AlertDecision =
  | { readonly change: AlertChange; readonly lacking: null }
  | { readonly change: null; readonly lacking: LackingRows };

/**
 * Rows after which no further incident changes in a commit: the loop makes those changes. One more
 * incident has at most 20 runs, and 20 channels with five rows each.
 */
const ROWS_MAX = 150;

/** Rows of an incident without its runs, and of a delivery. */
const INCIDENT_ROWS = 4, DELIVERY_ROWS = 5;

const NO_INSTANCES: RuleCounts = { instances: 0, firing: 0, overflow: null };

/**
 * Decides what some work changes. The same arguments give the same result.
 *
 * @param stamp fresh for each call
 * @returns the changes, or the rows that the decision lacks: read them, and call again
 */
export function decideAlerts(
  rows: AlertRows,
  work: AlertWork,
  stamp: Stamp,
): AlertDecision {
  const decision = new Decision(rows, stamp);
  decision.apply(work);
  const { isComplete, lacking } = decision;
  return isComplete ? { change: decision.change(), lacking: null } : { change: null, lacking };
}

/** Changes instances and incidents. */
class Decision {
  readonly lacking: LackingRows = {
    instances: new Map(),
    incidents: new Set(),
    earlier: new Map(),
    unpriced: new Map(),
    errors: new Set(),
  };
  readonly #rows: AlertRows;
  readonly #stamp: Stamp;
  readonly #instances = new Map<string, InstanceChange>();
  /** Incidents that were read or changed. */
  readonly #known = new Map<string, Incident>();
  readonly #incidents = new Map<string, { readonly incident: Incident; readonly isNew: boolean }>();
  readonly #deliveries: Delivery[] = [];
  readonly #incidentsOfRuns = new Map<RunId, Set<string>>();
  readonly #due = new Map<string, GroupDue>();
  readonly #counted = new Set<RunId>();
  #counts: TeamCounts;
  #size = 0;

  constructor(rows: AlertRows, stamp: Stamp) {
    this.#rows = rows;
    const { nowMs, newId } = stamp;
    // A decision that lacks rows is made again, so it draws no further identifiers.
    this.#stamp = { nowMs, newId: (prefix) => this.isComplete ? newId(prefix) : "" };
    this.#counts = rows.counts;
  }

  get isComplete(): boolean {
    return Object.values(this.lacking).every(({ size }) => size === 0);
  }

  change(): AlertChange {
    return {
      instances: this.#instances,
      incidents: this.#incidents,
      deliveries: this.#deliveries,
      incidentsOfRuns: this.#incidentsOfRuns,
      due: [...this.#due.values()],
      counts: this.#counts,
      counted: this.#counted,
    };
  }

  apply({ signals, dueGroups = [], byHand, ends }: AlertWork): void {
    if (byHand !== undefined) this.#changeByHand(byHand);
    const ended = ends === undefined ? null : this.#find(ends.rule, ends.group);
    if (ended) this.#end(ended, "condition");
    for (const group of dueGroups) this.#review(group);
    const { config, counts } = this.#rows;
    for (const group of touched(config, counts, signals)) this.#touch(group);
  }

  /** Counts the signals of a group; of one too many in the group that such ones share. */
  #touch(group: Touched): void {
    const { rule, text, bad, undoneAt } = group;
    const known = this.#find(rule.slug, text);
    if (known === undefined) return;
    const isNothing = bad.length === 0 && undoneAt === Infinity;
    if (known === null && (isNothing || this.#isSilent(group))) return;
    const hasRoom = known !== null || !this.#isFull();
    let shared = bad;
    if (hasRoom || bad.length === 0) {
      const earlier = this.#earlierOf(group, known?.knownFrom ?? Infinity);
      if (earlier === undefined || hasRoom && this.#count(group, group.signals, earlier)) return;
      if (bad.length === 0) shared = lastBad(group, known, [...earlier, ...group.signals]);
    }
    if (shared.length === 0) return;
    const { nowMs } = this.#stamp;
    // The shared group ends a day after it was last found, however long the trouble has been there.
    const signals = shared.map((signal) => ({ ...signal, at: nowMs }));
    const counts = this.#countsOf(rule.slug);
    const { since = nowMs, groups = 0 } = counts.overflow ?? {};
    const overflow = { since, groups: groups + signals.length };
    this.#setCounts(rule.slug, { ...counts, overflow });
    this.#count({ ...OTHER, rule }, signals);
  }

  /** Returns whether a group without an instance opens none: its models were reported before. */
  #isSilent({ rule, text, signals }: Touched): boolean {
    if (rule.settings.condition.kind !== "unpriced") return false;
    const name = groupName(rule.slug, text);
    const isSilent = this.#rows.unpriced.get(name);
    if (isSilent === undefined) this.lacking.unpriced.set(name, signals);
    return isSilent ?? true;
  }

  /** Returns whether no further group gets an instance. */
  #isFull(): boolean {
    const all = Object.values(this.#counts).reduce((sum, { instances }) => sum + instances, 0);
    return all >= INSTANCES_MAX;
  }

  /**
   * Returns the outcomes that were counted before a bad one that arrived earlier, and those before
   * it: without a row, a group knows none. They also count again when the good one that ended their
   * incident does not. Undefined if they are to be read.
   *
   * @param knownFrom arrival from which the instance has all outcomes, unix milliseconds
   */
  #earlierOf(
    { rule, text, signals, bad, undoneAt }: Touched,
    knownFrom: number,
  ): readonly AlertSignal[] | undefined {
    const [first = signals[0]] = bad;
    if (thresholdsOf(rule.settings) === null || first === undefined) return [];
    const fromMs = Math.min(undoneAt, ...bad.map(({ at }) => at));
    if (fromMs >= knownFrom) return [];
    const { subject } = first;
    const isUndone = undoneAt < knownFrom;
    const isByAgent = rule.settings.groupBy === "agent";
    const seenAt = isByAgent ? this.#rows.seenBefore?.(subject.agent ?? "") : undefined;
    if (!isUndone && seenAt !== undefined && seenAt < fromMs) return [];
    const name = groupName(rule.slug, text);
    const earlier = this.#rows.earlier.get(name);
    if (earlier === undefined) this.lacking.earlier.set(name, { rule, subject, fromMs, isUndone });
    return earlier;
  }

  /**
   * Counts signals of a group.
   *
   * @param earlier signals that were counted before
   * @returns false if too many groups of the rule fire, so that this one shares another's incident
   */
  #count(
    { rule, text, group }: Pick<Touched, "rule" | "text" | "group">,
    signals: readonly AlertSignal[],
    earlier: readonly AlertSignal[] = [],
  ): boolean {
    const stored = this.#current(rule, text);
    const before = stored ?? newInstance(rule, { text, group });
    let instance = before;
    let isPaused = false;
    const isInRow = thresholdsOf(rule.settings) !== null;
    const all = [...earlier, ...signals];
    for (const signal of all) {
      const after = withSignal(instance, rule, signal);
      if (after === instance) continue;
      instance = after;
      isPaused = signal.outcome === "paused";
      if (isInRow && signal.run !== null) this.#counted.add(signal.run);
    }
    if (instance === before) return true;
    const isBad = (signal: AlertSignal) => outcomeFor(rule, signal) === "bad";
    const firstOf = (signal: AlertSignal) =>
      Math.min(isBad(signal) ? signal.at : Infinity, signal.undoneAt ?? Infinity);
    instance = { ...instance, knownFrom: Math.min(before.knownFrom, ...signals.map(firstOf)) };
    const ofAll = all.filter(isBad).sort((a, b) => a.at - b.at);
    // Of those that were counted before, only some belong to the incident.
    const bad = earlier.length === 0
      ? ofAll
      : ofAll.slice(Math.max(0, ofAll.length - stateOf(instance, rule).count));
    if (this.#isOneTooMany(rule, instance)) {
      if (stored !== null) this.#remove(stored);
      return false;
    }
    this.#update(rule, instance, stored, bad, isPaused);
    return true;
  }

  /** Returns the instance of a rule's current version; ends that of another version. */
  #current(rule: Rule, text: string): AlertInstance | null {
    const stored = this.#find(rule.slug, text) ?? null;
    if (stored === null || isOfRule(stored, rule)) return stored;
    this.#end(stored, "rule");
    return null;
  }

  #isOneTooMany(rule: Rule, instance: AlertInstance): boolean {
    return !hasPlace(instance) && instance.text !== OTHER_GROUP &&
      this.#countsOf(rule.slug).firing >= FIRING_GROUPS_MAX &&
      stateOf(instance, rule).isFiring;
  }

  /** Evaluates a group whose row is due. */
  #review({ rule: slug, group, at }: DueGroup): void {
    const stored = this.#find(slug, group);
    if (stored === undefined) return;
    const { nowMs } = this.#stamp;
    // What the commit has no room for is evaluated again.
    if (stored !== null && !this.#hasRoom) return this.#fileDue(slug, group, at ?? nowMs);
    if (at !== null) this.#fileDue(slug, group, at, false);
    if (stored === null) return;
    const instance = at !== null && stored.dueAt === at ? { ...stored, dueAt: null } : stored;
    const rule = this.#ruleOf(slug);
    if (rule === null || !isOfRule(instance, rule)) return this.#end(instance, "rule");
    if (instance.isPending) return this.#update(rule, instance, stored, [], false);
    const incident = this.#incidentOf(instance);
    const end = groupEndOf(rule, instance);
    if (end !== null && end.at <= nowMs) return this.#end(instance, end.by, end.at);
    if (incident !== null) this.#repeat(rule, incident);
    this.#keep(rule, instance, stored);
  }

  /** Sends the message of an open incident again if it is time, or if it was held back. */
  #repeat(rule: Rule, incident: Incident): void {
    const { nowMs } = this.#stamp;
    const { config } = this.#rows;
    if (isSilencedNow(incident, config, nowMs)) return;
    const repeatAt = repeatDueAt(rule.settings, incident);
    const isDue = repeatAt !== null && repeatAt <= nowMs;
    const isHeldBack = incident.isHeldBack && incident.state === "open";
    if (isDue || isHeldBack) this.#write(announce(incident, rule, config, this.#stamp), incident);
  }

  /** Changes an incident that is not resolved as a user asks. */
  #changeByHand({ id, what, note, made }: IncidentChange): void {
    const incident = this.#incident(id);
    if (incident === null) return;
    const { config } = this.#rows;
    if (what === "acknowledged") {
      return this.#write(acknowledged(incident, note, made, config, this.#stamp), incident);
    }
    const { at, by } = made;
    this.#write(resolved(incident, "hand", at, config, this.#stamp, { by, note }), incident);
    const instance = this.#find(incident.rule, incident.groupText) ?? null;
    if (instance === null || instance.incident !== id) return;
    const rule = this.#ruleOf(incident.rule);
    if (rule === null || !isOfRule(instance, rule)) return this.#remove(instance);
    const after = withSignal(instance, rule, resolvedSignal(rule, at));
    this.#keep(rule, { ...after, incident: null }, instance);
  }

  /** Ends an instance with its incident. */
  #end(instance: AlertInstance, by: ResolvedBy, at = this.#stamp.nowMs): void {
    const incident = this.#incidentOf(instance);
    if (incident !== null) {
      this.#write(resolved(incident, by, at, this.#rows.config, this.#stamp), incident);
    }
    this.#remove(instance);
  }

  /** Changes the incident of an instance as its outcomes require, if the commit has room. */
  #update(
    rule: Rule,
    instance: AlertInstance,
    before: AlertInstance | null,
    bad: readonly AlertSignal[],
    isPaused: boolean,
  ): void {
    const [old, now] = [before === null ? null : stateOf(before, rule), stateOf(instance, rule)];
    const isSame = old !== null && old.isFiring === now.isFiring && old.count === now.count &&
      old.runs.every((run, n) => run === now.runs[n]) && !instance.isPending;
    if (isSame || !now.isFiring && instance.incident === null) {
      const reset = now.isFiring ? instance : { ...instance, isPending: false };
      return this.#keep(rule, reset, before);
    }
    if (!this.#hasRoom) return this.#keep(rule, { ...instance, isPending: true }, before);
    const incident = this.#incidentOf(instance);
    const error = now.isFiring ? this.#newestError(bad, now) : undefined;
    const { instance: after, notified } = updateIncident(instance, incident, {
      ...this.#stamp,
      ...{ rule, recipients: this.#rows.config, isPaused },
      ...error === undefined ? {} : { error },
    });
    if (notified !== null) this.#write(notified, incident);
    const { incident: id } = after;
    // Also runs of the incident that are not among its newest.
    if (id !== null) { for (const { run } of bad) if (run !== null) this.#nameIn(run, id); }
    this.#keep(rule, after, before);
  }

  /** Returns the error of a group's newest run, null for none; undefined if no added outcome is its. */
  #newestError(
    bad: readonly AlertSignal[],
    { runs: [newest] }: GroupState,
  ): string | null | undefined {
    const last = bad.findLast(({ run }) => run === null || run === newest);
    if (last === undefined || last.error !== null) return last?.error;
    if (last.kind !== "run_failed" || last.run === null) return null;
    const error = this.#rows.errors.get(last.run);
    if (error === undefined) this.lacking.errors.add(last.run);
    return error ?? null;
  }

  #ruleOf(slug: string): Rule | null {
    return this.#rows.config.rules.find((rule) => rule.slug === slug) ?? null;
  }

  /** Returns the instance of a group, of any version of its rule; undefined if it is to be read. */
  #find(rule: string, group: string): AlertInstance | null | undefined {
    const name = groupName(rule, group);
    const changed = this.#instances.get(name);
    const known = changed === undefined ? this.#rows.instances.get(name) : changed.after;
    if (known === undefined) this.lacking.instances.set(name, { rule, group });
    return known;
  }

  #incidentOf({ incident }: AlertInstance): Incident | null {
    return incident === null ? null : this.#incident(incident);
  }

  #incident(id: string): Incident | null {
    const incident = this.#known.get(id) ?? this.#rows.incidents.get(id);
    if (incident === undefined) this.lacking.incidents.add(id);
    if (incident) this.#known.set(id, incident);
    return incident ?? null;
  }

  /** True if a further incident may change. */
  get #hasRoom(): boolean {
    return this.#size < ROWS_MAX;
  }

  /** Writes an incident with its places in lists, and the messages about it. */
  #write({ incident, deliveries }: Notified, before: Incident | null): void {
    const { id, runs } = incident;
    this.#known.set(id, incident);
    const isNew = this.#incidents.get(id)?.isNew ?? before === null;
    this.#incidents.set(id, { incident, isNew });
    const known = new Set(before?.runs);
    const added = runs.filter((run) => !known.has(run));
    for (const run of added) this.#nameIn(run, id);
    this.#deliveries.push(...deliveries);
    this.#size += INCIDENT_ROWS + added.length + DELIVERY_ROWS * deliveries.length;
  }

  /** Names an incident in the record of a run. */
  #nameIn(run: RunId, incident: string): void {
    const incidents = this.#incidentsOfRuns.get(run) ?? new Set();
    this.#incidentsOfRuns.set(run, incidents.add(incident));
  }

  /** Stores an instance with its row in the work queue, or removes it if it is `ok`. */
  #keep(rule: Rule, instance: AlertInstance, before: AlertInstance | null): void {
    if (!isStored(instance, rule)) {
      if (before !== null) this.#remove(before);
      return;
    }
    const next = this.#nextDueAt(rule, instance);
    // A later deadline moves no row: the evaluation of the earlier row files it.
    const isFiled = instance.dueAt !== null && (next === null || instance.dueAt <= next);
    const dueAt = isFiled ? instance.dueAt : next;
    if (before?.dueAt !== dueAt) {
      const { rule: slug, text } = instance;
      if (before !== null && before.dueAt !== null) this.#fileDue(slug, text, before.dueAt, false);
      if (dueAt !== null) this.#fileDue(slug, text, dueAt);
    }
    this.#replace(instance, { ...instance, dueAt });
  }

  #nextDueAt(rule: Rule, instance: AlertInstance): number | null {
    const { nowMs } = this.#stamp;
    const { dueAt, incident: id, isPending } = instance;
    if (isPending) return nowMs;
    const incident = id === null ? null : this.#known.get(id);
    // Without a change of the incident, its row is filed already.
    return incident === undefined ? dueAt : groupDueAt(rule, instance, incident, nowMs);
  }

  #remove(instance: AlertInstance): void {
    const { rule, text, dueAt } = instance;
    if (dueAt !== null) this.#fileDue(rule, text, dueAt, false);
    this.#replace(instance, null);
  }

  /** Replaces the instance of a group, and counts it. */
  #replace({ rule, text }: AlertInstance, after: AlertInstance | null): void {
    const name = groupName(rule, text);
    const known = this.#find(rule, text) ?? null;
    const before = this.#rows.instances.get(name) ?? null;
    this.#instances.set(name, { before, after });
    const { instances, firing, overflow } = this.#countsOf(rule);
    const isFiring = (one: AlertInstance | null) => Number(one !== null && hasPlace(one));
    const isOver = known?.text === OTHER_GROUP && after === null;
    this.#setCounts(rule, {
      instances: instances + Number(after !== null) - Number(known !== null),
      firing: firing + isFiring(after) - isFiring(known),
      overflow: isOver ? null : overflow,
    });
  }

  #countsOf(rule: string): RuleCounts {
    return this.#counts[rule] ?? NO_INSTANCES;
  }

  #setCounts(rule: string, counts: RuleCounts): void {
    const { [rule]: known, ...others } = this.#counts;
    if (JSON.stringify(known) === JSON.stringify(counts)) return;
    const isNothing = counts.instances === 0 && counts.overflow === null;
    this.#counts = isNothing ? others : { ...others, [rule]: counts };
  }

  /** Files the row of a group in the work queue, or deletes it. */
  #fileDue(rule: string, group: string, at: number, isFiled = true): void {
    this.#due.set(`${at} ${groupName(rule, group)}`, { rule, group, at, isFiled });
  }
}

/** Returns the latest bad outcome of a group, as a signal; none if the group does not fire. */
function lastBad(
  { rule, text, group }: Touched,
  known: AlertInstance | null,
  signals: readonly AlertSignal[],
): readonly AlertSignal[] {
  const before = known !== null && isOfRule(known, rule)
    ? known
    : newInstance(rule, { text, group });
  const after = signals.reduce((instance, signal) => withSignal(instance, rule, signal), before);
  const { isFiring, count, last } = stateOf(after, rule);
  if (!isFiring || count === 0 || last === null) return [];
  const { key, at, run, value, detail } = last;
  const { kind } = rule.settings.condition;
  return [newSignal({ kind, key, at, outcome: "bad", run, value, detail })];
}
