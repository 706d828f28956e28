/**
 * Verifies a team: derives its rows from its runs, and compares them with the stored ones.
 *
 * Results of checks are not made again: which version of a check judged a run, and when, is stored with
 * them alone. States of monitors are not recomputed either: they depend on outcomes of runs that may be
 * deleted.
 *
 * @module
 */
import {
  addActivities,
  addAgentRun,
  type AgentActivity,
  agentRunOf,
} from "../../domain/agents/agents.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { addCounts } from "../../domain/core/sums.ts";
import type { Monitor } from "../../domain/monitors/monitor.ts";
import { MONITOR_STATES } from "../../domain/monitors/row.ts";
import { OUTCOMES_MAX } from "../../domain/outcomes/window.ts";
import { CHECK_STATUSES } from "../../domain/runs/check_result.ts";
import { idleDeadlineOf } from "../../domain/runs/idle.ts";
import { isDead } from "../../domain/runs/stages.ts";
import { contributionsOf, type RollupRow } from "../../domain/spend/rollup.ts";
import { decodeMonitor } from "../base/codec_monitors.ts";
import { keyParts, keys } from "../base/keys.ts";
import { ALL_AGENTS, type DayRow, PASSES_MAX, placeOf } from "../checks/day_counts.ts";
import { failureKeys } from "../checks/results.ts";
import { readConfig } from "../config/objects.ts";
import { eachOrderRow, type Order } from "../index/entries.ts";
import { indexEntries } from "../run_list/run_index.ts";
import { type ReadHead, readHead } from "../runs/heads.ts";
import { decodeRollup, rollupKey } from "../spend/rollups.ts";
import { countOf, eachRow, getMany, namesBelow, type Store } from "../store.ts";
import { pendingName } from "../writer/group.ts";
import { Findings, NONE, type TeamCheck } from "./findings.ts";
import { verifyDeliveries, verifyIncidents } from "./verify_incidents.ts";
import type { VerifiedRun } from "./verify_run.ts";
import { labelOf, Sums } from "./verify_sums.ts";

/** Rows of all teams that say when there is work. */
export interface DueWork {
  /** Number of runs with a deadline, by team; rows of closed runs may be among them. */
  readonly deadlines: ReadonlyMap<TeamId, number>;
  /** Monitors, by team and agent. */
  readonly monitors: ReadonlySet<string>;
  /** Names of runs whose work waits. */
  readonly runs: ReadonlySet<string>;
}

/** Reads the work queue. Read it after the runs: a retry moves a row on. */
export async function readDueWork(store: Store): Promise<DueWork> {
  const deadlines = new Map<TeamId, number>();
  const monitors = new Set<string>();
  const runs = new Set<string>();
  for await (const { key } of eachRow(store, { prefix: keys.work() })) {
    const { kind, team, name } = keyParts.work(key);
    if (kind === "idle") count(deadlines, team);
    if (kind === "monitor") monitors.add(`${team} ${name}`);
    if (kind === "run") runs.add(pendingName(team, name as RunId));
  }
  return { deadlines, monitors, runs };
}

/** Counts of the results of checks of a day, and arrivals of runs that passed. */
type DayCounts = { readonly [Name in keyof DayRow]-?: Readonly<Record<string, readonly number[]>> };

/** Rows derived from a team's runs. Of runs it holds only the ids of those with work. */
export class TeamSums implements TeamCheck {
  runs = 0;
  events = 0;
  /** True if its runs changed meanwhile, so that the rows cannot be compared. */
  isBusy = false;
  readonly findings: Findings = new Findings();
  readonly #rollups: Sums<RollupRow>;
  readonly #agents: Sums<AgentActivity>;
  readonly #usage: Sums<number>;
  readonly #results: Sums<DayCounts>;
  /** Checks of the configuration: counts of others may be left in a row, or not. */
  #checks: ReadonlySet<string> = new Set();
  #failures = 0;
  readonly #indexed = new Map<string, number>();
  #inFeed = 0;
  /** Open runs that will be idle. */
  #deadlines = 0;
  /** Runs that have work. */
  readonly #waiting: RunId[] = [];

  constructor(readonly store: Store, readonly team: TeamId) {
    this.#rollups = new Sums({
      kind: "roll-up",
      prefix: keys.teamRollups(team),
      removed: keys.removedRollups(team),
      decode: ({ key, value }) => decodeRollup(keyParts.day(key), value as Uint8Array),
      combine: (a, b) => ({ ...b, measures: addCounts(a.measures, b.measures) }),
      fieldsOf: ({ measures, group }) => ({ ...measures, group }),
    });
    this.#agents = new Sums({
      kind: "activity of agent",
      prefix: keys.agentActivities(team),
      removed: keys.removedAgents(team),
      decode: ({ value }) => value as AgentActivity,
      combine: addActivities,
      fieldsOf: (activity) => ({ ...activity }),
    });
    this.#usage = new Sums({
      kind: "usage of",
      prefix: keys.teamUsage(team),
      removed: keys.removedUsages(team),
      decode: countOf,
      combine: (a, b) => a + b,
      fieldsOf: (calls): { readonly calls?: number } => calls === 0 ? {} : { calls },
    });
    const existing = (counts: DayCounts["counts"]) =>
      Object.fromEntries(Object.entries(counts).filter(([check]) => this.#checks.has(check)));
    this.#results = new Sums<DayCounts>({
      kind: "counts of checks",
      prefix: keys.checkCountsOf(team),
      decode: ({ value }) => ({ passes: {}, ...value as DayRow }),
      combine: (a, b) => ({
        counts: merged(a.counts, b.counts, (a, b) => a.map((count, i) => count + (b[i] ?? 0))),
        passes: merged(a.passes, b.passes, (a, b) => [Math.max(...a, ...b)]),
      }),
      fieldsOf: ({ counts }) => existing(counts),
      verify: (what, expected, { passes }) => {
        for (const [check, at] of Object.entries(existing(passes))) {
          const [latest = 0] = expected?.passes[check] ?? [];
          const isKept = at.length <= PASSES_MAX && at.every((pass) => pass <= latest);
          if (!isKept) this.findings.note(`passes of ${check} in ${what}`, `to ${latest}`, `${at}`);
        }
      },
    });
  }

  add(id: RunId, { run, summary, usage, events, findings }: VerifiedRun): void {
    const { team } = this;
    this.runs++;
    this.events += events;
    this.findings.add(findings);
    for (const [month, by] of usage) this.#usage.add(month, by);
    if (run === null) return;
    this.#addResults(run, summary);
    if (run.summary?.changes !== undefined) this.#inFeed++;
    const { ledger, head: { parts } } = run;
    if (parts.closing === null && idleDeadlineOf(parts.opening, ledger) !== null) this.#deadlines++;
    if (hasWork(run)) this.#waiting.push(id);
    for (const { order } of indexEntries(team, id, summary)) {
      count(this.#indexed, keyParts.name(order));
    }
    const counted = agentRunOf(id, summary);
    if (counted !== null) {
      this.#agents.add(counted.agent, addAgentRun(null, null, counted));
    }
    for (const row of summary?.contribution ? contributionsOf(summary.contribution) : []) {
      this.#rollups.add(labelOf(rollupKey(team, row)), row);
    }
  }

  #addResults({ id, checks: results }: ReadHead, summary: VerifiedRun["summary"]): void {
    const place = placeOf(summary);
    if (place === null || results.length === 0) return;
    const { day, agent, at } = place;
    this.#failures += failureKeys(this.team, id, { place, results }).size;
    const counts = Object.fromEntries(results.map(({ id, status }) => [
      id,
      CHECK_STATUSES.map((each) => each === status ? 1 : 0),
    ]));
    const passed = results.filter(({ status }) => status === "pass");
    const passes = Object.fromEntries(passed.map(({ id }) => [id, [at]]));
    for (const slug of agent === null ? [ALL_AGENTS] : [ALL_AGENTS, agent]) {
      this.#results.add(`${day} ${slug}`, { counts, passes });
    }
  }

  /** Compares the derived rows with the stored ones. Call it once, after the last run. */
  async compare(due: DueWork): Promise<void> {
    const { team, findings, store } = this;
    const deadlines = due.deadlines.get(team) ?? 0;
    if (deadlines < this.#deadlines) {
      findings.note("deadlines of open runs", `at least ${this.#deadlines}`, `${deadlines}`);
    }
    const { checks } = await readConfig(store, team);
    this.#checks = new Set(checks.map(({ id }) => id ?? ""));
    const named = await this.#agents.addRemoved(this);
    for (const sums of [this.#rollups, this.#usage]) await sums.addRemoved(this);
    for (const sums of [this.#rollups, this.#usage, this.#agents, this.#results]) {
      await sums.compare(this);
    }
    await this.#compareEntries();
    await verifyMonitors(this, await this.#compareAgents(named), due);
    await this.#verifyWork(due);
    await verifyIncidents(this);
    await verifyDeliveries(this);
  }

  /**
   * Compares the number of entries in the index and in the feed, and of failures: those of runs are
   * verified, so others are stray. Deletions in the feed do not count, and entries of expiry stay until
   * they are due.
   */
  async #compareEntries(): Promise<void> {
    const { store, team, findings } = this;
    const indexed = new Map<string, number>();
    for await (const { key, values } of this.#orderRows(keys.teamRunsBy(team))) {
      count(indexed, keyParts.name(key), values.length);
    }
    const [expected, stored] = [this.#indexed, indexed].map((rows) => Object.fromEntries(rows));
    findings.compare("entries of the index", expected!, stored!);
    let runs = 0;
    for await (const { values } of this.#orderRows(keys.changes(team))) {
      runs += values.filter((value) => value === true).length;
    }
    findings.compare("entries of the feed", { runs: this.#inFeed }, { runs });
    for await (const _ of this.#orderRows(keys.expiryOrders(team)));
    let rows = 0;
    for await (const _ of eachRow(store, { prefix: keys.checkFailuresOf(team) })) rows++;
    findings.compare("failures of checks", { rows: this.#failures }, { rows });
  }

  /** Yields the rows of all orders below a prefix, and notes the blocks that no commit writes. */
  async *#orderRows(prefix: Order) {
    for await (const row of eachOrderRow(this.store, prefix)) {
      const { key, values, isDamaged } = row;
      if (isDamaged) {
        const what = `block ${[key[0], ...key.slice(2)].join(" ")}`;
        this.findings.note(what, "entries", values.length === 0 ? NONE : "other bytes");
      }
      yield row;
    }
  }

  /**
   * Compares the numbers of agents; returns the slugs of all, also of archived ones.
   *
   * @param named agents that runs name
   */
  async #compareAgents(named: readonly string[]): Promise<ReadonlySet<string>> {
    const { store, team, findings } = this;
    const slugs = await slugsBelow(store, keys.teamAgents(team));
    const archived = await slugsBelow(store, keys.archivedAgents(team));
    const counts = [keys.agentCount(team), keys.archivedAgents(team)];
    const [active, archive] = await getMany(store, counts);
    const stored = { agents: countOf(active!), archived: archive!.value ?? 0 };
    const expected = { agents: slugs.size, archived: archived.size };
    findings.compare("count of agents", expected, stored);
    for (const slug of slugs.intersection(archived)) {
      findings.note(`agent ${slug}`, "in use or archived", "both");
    }
    const all = slugs.union(archived);
    for (const slug of named) findings.presence(`agent ${slug}`, true, all.has(slug));
    return all;
  }

  /** Finds runs that wait in vain. A run is read again: its work may have ended meanwhile. */
  async #verifyWork(due: DueWork): Promise<void> {
    const { store, team, findings } = this;
    for (const id of this.#waiting) {
      if (due.runs.has(pendingName(team, id))) continue;
      if (!hasWork(await readHead({ store, team, id }))) continue;
      findings.note(`work of ${id}`, "a row of its due time", NONE);
    }
  }
}

/** Returns whether a run awaits its checks or failed, and its work is not given up. */
function hasWork({ summary, failure }: ReadHead): boolean {
  return failure === null ? summary?.awaitsChecks === true : !isDead(failure);
}

/**
 * Verifies the monitors of a team: each is of an agent, with its row in the work queue, and no flip is
 * left of a deleted one.
 *
 * @param agents slugs of the team's agents, also of archived ones
 */
async function verifyMonitors(
  { store, team, findings }: TeamCheck,
  agents: ReadonlySet<string>,
  due: DueWork,
): Promise<void> {
  const monitors = new Set<string>();
  for await (const { key, value } of eachRow(store, { prefix: keys.monitors(team) })) {
    const agent = keyParts.name(key);
    const what = `monitor of agent ${agent}`;
    monitors.add(agent);
    if (!agents.has(agent)) findings.presence(what, false, true);
    const monitor = readable(value, agent);
    if (monitor === null) findings.note(what, "readable", "not readable");
    // The loop postpones a row whose handler failed, so the row may be later than the monitor says.
    else if (monitor.dueAt !== null) {
      findings.presence(`due row of ${what}`, true, due.monitors.has(`${team} ${agent}`));
    }
  }
  for await (const key of namesBelow(store, keys.teamFlips(team), 1)) {
    const agent = keyParts.name(key);
    if (!monitors.has(agent)) findings.presence(`flips of agent ${agent}`, false, true);
  }
}

/** Returns the monitor of a row; null if the row is damaged. */
function readable(value: unknown, agent: string): Monitor | null {
  try {
    const monitor = decodeMonitor(value);
    const { state, outcomes, dueAt }: Partial<Monitor> = monitor ?? {};
    const isReadable = monitor?.agent === agent && MONITOR_STATES.some((each) => each === state) &&
      Array.isArray(outcomes?.kept) && outcomes.kept.length <= OUTCOMES_MAX + 1 &&
      (dueAt === null || Number.isSafeInteger(dueAt));
    return isReadable ? monitor : null;
  } catch {
    return null;
  }
}

function count<Name>(counts: Map<Name, number>, name: Name, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

/** Merges two records; `combine` merges the values that both have. */
function merged<Value>(
  a: Readonly<Record<string, Value>>,
  b: Readonly<Record<string, Value>>,
  combine: (a: Value, b: Value) => Value,
): Record<string, Value> {
  const all = { ...a };
  for (const [name, value] of Object.entries(b)) {
    const other = a[name];
    all[name] = other === undefined ? value : combine(other, value);
  }
  return all;
}

async function slugsBelow(store: Store, prefix: Deno.KvKey): Promise<Set<string>> {
  return new Set(
    await Array.fromAsync(eachRow(store, { prefix }), ({ key }) => keyParts.name(key)),
  );
}
