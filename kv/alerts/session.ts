/**
 * The changes of a team's alerts within one commit.
 *
 * @module
 */
import { repeatDueAt } from "../../domain/alerts/deadlines.ts";
import { groupDueAt, groupEndOf } from "../../domain/alerts/due.ts";
import type { Group } from "../../domain/alerts/group.ts";
import type { Incident } from "../../domain/alerts/incident.ts";
import {
  type AlertInstance,
  hasPlace,
  isKept,
  isOfRule,
  newInstance,
  outcomeFor,
  stateOf,
  withSignal,
} from "../../domain/alerts/instance.ts";
import { announce, isSilencedNow, type Making, type Notified } from "../../domain/alerts/notify.ts";
import { thresholdsOf } from "../../domain/alerts/outcomes.ts";
import { FIRING_GROUPS_MAX, OTHER_GROUP, type Rule } from "../../domain/alerts/rule.ts";
import type { AlertSignal, IncidentChange } from "../../domain/alerts/signal.ts";
import { acknowledged, resolved, settle } from "../../domain/alerts/transition.ts";
import type { ResolvedBy } from "../../domain/channels/message.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { Store } from "../store.ts";
import { type ChangedRows, CommitRows } from "./commit_rows.ts";
import { AlertCounts } from "./counts.ts";
import { readIncident } from "./rows.ts";
import { newestError } from "./run_errors.ts";
import { instanceName, type TeamAlerts } from "./state.ts";

/** Dependencies of plans. */
export interface AlertDeps {
  readonly store: Store;
  readonly making: () => Making;
}

/** Signals of one group of a rule, in order. */
export interface GroupSignals extends Group {
  readonly rule: Rule;
  readonly signals: AlertSignal[];
  /** True if one of them is a bad outcome. */
  hasBad: boolean;
}

/** Instance with the rule that it belongs to. */
interface Changing {
  readonly rule: Rule;
  readonly instance: AlertInstance;
}

/** Changes a team's instances and incidents, and collects the rows. */
export class AlertSession {
  readonly #deps: AlertDeps;
  readonly #team: TeamId;
  readonly #alerts: TeamAlerts;
  readonly #making: Making;
  readonly #changed = new Map<string, AlertInstance | null>();
  /** Incidents that were read or changed, by id. */
  readonly #incidents = new Map<string, Incident>();
  readonly #rows: CommitRows;
  /** Runs whose close an instance counts. */
  readonly counted = new Set<RunId>();
  /** Numbers of instances after the changes. */
  readonly counts: AlertCounts;

  constructor(deps: AlertDeps, team: TeamId, alerts: TeamAlerts) {
    this.#deps = deps;
    this.#team = team;
    this.#alerts = alerts;
    this.#making = deps.making();
    this.#rows = new CommitRows(deps.store, team);
    this.counts = new AlertCounts(alerts.state);
  }

  /** Changed instances by rule and group; null for a removed one. */
  get changed(): ReadonlyMap<string, AlertInstance | null> {
    return this.#changed;
  }

  /** Returns the instance of a group, of any version of its rule; null for none. */
  find(rule: string, text: string): AlertInstance | null {
    const name = instanceName(rule, text);
    const changed = this.#changed.get(name);
    return changed === undefined ? this.#alerts.instances.get(name) ?? null : changed;
  }

  /** Returns the rows of all changes. */
  rows(): Promise<ChangedRows> {
    return this.#rows.all(this.#alerts.state, this.counts.state);
  }

  /**
   * Counts the signals of a group.
   *
   * @returns false if too many groups of the rule fire, so that this one shares another's incident
   */
  async count({ rule, signals, text, group }: GroupSignals): Promise<boolean> {
    const stored = await this.#current(rule, text);
    const isNew = stored === null;
    const before = stored ?? newInstance(rule, { text, group });
    let instance = before;
    let isPaused = false;
    const isInRow = thresholdsOf(rule.settings) !== null;
    for (const signal of signals) {
      const after = withSignal(instance, rule, signal);
      if (after === instance) continue;
      instance = after;
      isPaused = signal.outcome === "paused";
      if (isInRow && signal.run !== null) this.counted.add(signal.run);
    }
    if (instance === before) return true;
    const bad = signals.filter((signal) => outcomeFor(rule, signal) === "bad");
    const knownFrom = Math.min(before.knownFrom, ...bad.map(({ at }) => at));
    instance = { ...instance, knownFrom };
    if (this.#isOneTooMany(rule, instance)) {
      if (!isNew) this.#remove(before);
      return false;
    }
    await this.#settle({ rule, instance }, isNew ? null : before, bad, isPaused);
    return true;
  }

  #isOneTooMany(rule: Rule, instance: AlertInstance): boolean {
    return !hasPlace(instance) && instance.text !== OTHER_GROUP &&
      this.counts.firing(rule.slug) >= FIRING_GROUPS_MAX &&
      stateOf(instance, rule).isFiring;
  }

  /**
   * Looks at a group whose row is due.
   *
   * @param at time of the row, unix milliseconds; null if there is none
   */
  async look(slug: string, text: string, at: number | null): Promise<void> {
    const stored = this.find(slug, text);
    // What the commit has no room for is looked at again.
    if (stored !== null && !this.#rows.hasRoom) {
      return this.#rows.fileDue(slug, text, at ?? this.#making.nowMs);
    }
    if (at !== null) this.#rows.removeDue(slug, text, at);
    if (stored === null) return;
    const before = at !== null && stored.dueAt === at ? { ...stored, dueAt: null } : stored;
    const rule = this.#ruleOf(slug);
    if (rule === null || !isOfRule(before, rule)) return await this.end(before, "rule");
    if (before.isPending) {
      return await this.#settle({ rule, instance: before }, stored, [], false);
    }
    const incident = await this.#incidentOf(before);
    const end = groupEndOf(rule, before);
    if (end !== null && end.at <= this.#making.nowMs) {
      return await this.end(before, end.by, end.at);
    }
    if (incident !== null) this.#repeat(rule, incident);
    this.#keep({ rule, instance: before }, stored);
  }

  /** Changes an incident that is not resolved as a user asks. */
  changeByHand({ what, note, made }: IncidentChange, incident: Incident): void {
    const { config } = this.#alerts;
    if (what === "acknowledged") {
      const known = acknowledged(incident, note, made, config, this.#making);
      return this.#write(known, incident);
    }
    const { at, by } = made;
    this.#write(resolved(incident, "hand", at, config, this.#making, { by, note }), incident);
    const instance = this.find(incident.rule, incident.groupText);
    if (instance === null || instance.incident !== incident.id) return;
    const rule = this.#ruleOf(incident.rule);
    if (rule === null || !isOfRule(instance, rule)) return this.#remove(instance);
    // What is counted so far opens no other incident.
    const resolvedCount = stateOf(instance, rule).count;
    this.#keep({ rule, instance: { ...instance, incident: null, resolvedCount } }, instance);
  }

  /** Sends the message of an open incident again if it is time, or if it was held back. */
  #repeat(rule: Rule, incident: Incident): void {
    const { nowMs } = this.#making;
    if (isSilencedNow(incident, this.#alerts.config, nowMs)) return;
    const repeatAt = repeatDueAt(rule.settings, incident);
    const isDue = repeatAt !== null && repeatAt <= nowMs;
    const isHeldBack = incident.isHeldBack && incident.state === "open";
    if (!isDue && !isHeldBack) return;
    this.#write(announce(incident, rule, this.#alerts.config, this.#making), incident);
  }

  /** Ends an instance with its incident. */
  async end(instance: AlertInstance, by: ResolvedBy, at = this.#making.nowMs): Promise<void> {
    const incident = await this.#incidentOf(instance);
    if (incident !== null) {
      this.#write(resolved(incident, by, at, this.#alerts.config, this.#making), incident);
    }
    this.#remove(instance);
  }

  /** Changes the incident of an instance as its outcomes require, if the commit has room. */
  async #settle(
    { rule, instance }: Changing,
    before: AlertInstance | null,
    added: readonly AlertSignal[],
    isPaused: boolean,
  ): Promise<void> {
    const [old, now] = [before === null ? null : stateOf(before, rule), stateOf(instance, rule)];
    const isSame = old !== null && old.isFiring === now.isFiring && old.count === now.count &&
      old.runs.every((run, n) => run === now.runs[n]) && !instance.isPending;
    if (isSame || !now.isFiring && instance.incident === null) {
      const reset = now.isFiring ? instance : { ...instance, resolvedCount: 0, isPending: false };
      return this.#keep({ rule, instance: reset }, before);
    }
    if (!this.#rows.hasRoom) {
      return this.#keep({ rule, instance: { ...instance, isPending: true } }, before);
    }
    const incident = await this.#incidentOf(instance);
    const { store } = this.#deps;
    const error = now.isFiring ? await newestError(store, this.#team, added, now) : undefined;
    const { instance: after, notified } = settle(instance, incident, {
      ...this.#making,
      ...{ rule, recipients: this.#alerts.config, isPaused },
      ...error === undefined ? {} : { error },
    });
    if (notified !== null) this.#write(notified, incident);
    // Also runs of the incident that are not among its newest.
    const { incident: id } = after;
    if (id !== null) {
      for (const { run } of added) if (run !== null) this.#rows.name(run, id);
    }
    this.#keep({ rule, instance: after }, before);
  }

  /** Returns the instance of a rule's current version; ends that of another version. */
  async #current(rule: Rule, text: string): Promise<AlertInstance | null> {
    const stored = this.find(rule.slug, text);
    if (stored === null || isOfRule(stored, rule)) return stored;
    await this.end(stored, "rule");
    return null;
  }

  #ruleOf(slug: string): Rule | null {
    return this.#alerts.config.rules.find((rule) => rule.slug === slug) ?? null;
  }

  async #incidentOf({ incident: id }: AlertInstance): Promise<Incident | null> {
    if (id === null) return null;
    const known = this.#incidents.get(id);
    if (known !== undefined) return known;
    const incident = await readIncident(this.#deps.store, this.#team, id);
    if (incident !== null) this.#incidents.set(id, incident);
    return incident;
  }

  #write({ incident, deliveries }: Notified, before: Incident | null): void {
    this.#incidents.set(incident.id, incident);
    this.#rows.write(incident, before, deliveries);
  }

  /** Stores an instance with its row in the work queue, or removes it if it is `ok`. */
  #keep({ rule, instance }: Changing, before: AlertInstance | null): void {
    if (!isKept(instance, rule)) {
      if (before !== null) this.#remove(before);
      return;
    }
    const next = this.#nextDueAt(rule, instance);
    // A later deadline moves no row: the look at the earlier row files it.
    const isFiled = instance.dueAt !== null && (next === null || instance.dueAt <= next);
    const dueAt = isFiled ? instance.dueAt : next;
    const { rule: slug, text } = instance;
    if (before?.dueAt !== dueAt) {
      if (before !== null && before.dueAt !== null) this.#rows.removeDue(slug, text, before.dueAt);
      if (dueAt !== null) this.#rows.fileDue(slug, text, dueAt);
    }
    const kept: AlertInstance = { ...instance, dueAt };
    this.counts.change(slug, this.find(slug, text), kept);
    this.#changed.set(instanceName(slug, text), kept);
    this.#rows.setInstance(kept);
  }

  #nextDueAt(rule: Rule, instance: AlertInstance): number | null {
    const { nowMs } = this.#making;
    const { dueAt, incident: id, isPending } = instance;
    if (isPending) return nowMs;
    const incident = id === null ? null : this.#incidents.get(id);
    // Without a change of the incident, its row is filed already.
    return incident === undefined ? dueAt : groupDueAt(rule, instance, incident, nowMs);
  }

  #remove(instance: AlertInstance): void {
    const { rule: slug, text, dueAt } = instance;
    if (dueAt !== null) this.#rows.removeDue(slug, text, dueAt);
    this.counts.change(slug, this.find(slug, text), null);
    this.#changed.set(instanceName(slug, text), null);
    this.#rows.removeInstance(instance);
  }
}
