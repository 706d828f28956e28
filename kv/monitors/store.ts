/**
 * Stores monitors: changes by users, and reads. The monitor of an agent is paused when the agent is
 * archived, and resumes when it is restored.
 *
 * @module
 */
import { deletedSignals } from "../../domain/alerts/signal_sources.ts";
import { versionConflict } from "../../domain/config/objects.ts";
import { type TeamId, uuid7Hex } from "../../domain/core/ids.ts";
import {
  addOutcomes,
  changeSettings,
  createMonitor,
  type Monitor,
  type MonitorChange,
  type MonitorPause,
  type MonitorSettings,
  nextDueAt,
  pauseMonitor,
  resumeMonitor,
} from "../../domain/monitors/monitor.ts";
import type { Outcome } from "../../domain/outcomes/window.ts";
import type { FlipsQuery, MonitorRecord, MonitorsQuery } from "../../domain/monitors/row.ts";
import { MONITORS } from "../../domain/monitors/body.ts";
import { proposeSettings } from "../../domain/monitors/proposal.ts";
import { type AuditEntry, type AuditValue, differenceOf } from "../../domain/teams/audit_log.ts";
import type { MadeBy, Team } from "../../domain/teams/team.ts";
import { keys } from "../base/keys.ts";
import { getEntry, getValue, listRows, type Store } from "../store.ts";
import { monitorRow } from "../agents/agents.ts";
import { type ObjectDeps, type TeamChanges, type TeamPlan, teamSet } from "../team/team_rows.ts";
import { auditRows } from "../teams/audit_log.ts";
import {
  andThen,
  dueKeyOf,
  type MonitorRows,
  NO_ROWS,
  readAgents,
  rowsOfChanges,
  type StoredAgentRows,
} from "./rows.ts";
import { latestOutcomes } from "./outcomes.ts";
import { listMonitors, readFlips, readFlipsOf, readMonitor } from "./reads.ts";
import { formatInstantOrNull } from "../../domain/core/time.ts";
import type { AgentPlan, CommitArchive } from "../agents/rows.ts";
import { LOST, untilCommittedInTime } from "../base/retry.ts";

/** Flips that one commit of a deletion removes. */
const FLIPS_PER_COMMIT = 400;

/** Result of a `PUT`; `replayed` if nothing differs. */
interface PutMonitor {
  readonly kind: "stored" | "replayed";
  readonly record: MonitorRecord;
}

/** The change of an agent's monitor that a call makes. */
interface Change<Result> {
  readonly change: MonitorChange;
  readonly result: (record: MonitorRecord) => Result;
  readonly action: "monitor.put" | "monitor.paused" | "monitor.resumed";
  readonly details: AuditEntry["details"];
}

/** Store of monitors. */
export type MonitorStore = ReturnType<typeof createMonitorStore>;

/**
 * Creates the store. Each method that takes an agent returns null if the team has none with it.
 * Methods reject with `StorageUnavailable` when the store fails.
 */
export function createMonitorStore(deps: ObjectDeps) {
  const { store } = deps;
  return {
    /** Creates or replaces a monitor; null if the team has no such agent. */
    put: (
      team: Team,
      agent: string,
      settings: MonitorSettings,
      version: number | null,
      made: MadeBy,
    ) =>
      change<PutMonitor>(deps, team, agent, made, async (rows) => {
        const { monitor, running } = rows;
        const current = monitor?.version ?? 0;
        if (version !== null && version !== current) {
          return versionConflict(version, current, "the agent has no monitor");
        }
        const stored = (record: MonitorRecord): PutMonitor => ({ kind: "stored", record });
        if (monitor === null) {
          return creation(await created(deps, team, rows, settings, made), stored);
        }
        const changed = changeSettings(monitor, settings, made);
        const replayed = { kind: "replayed", record: { monitor, running } } as const;
        if (changed === null) return replayed;
        const [before, after] = [monitor.settings, settings].map(MONITORS.fieldsOf);
        const details = differenceOf(before!, after!) ?? {};
        return { change: changed, result: stored, action: "monitor.put", details };
      }),
    /** Creates a monitor for an existing agent that has none, as a ping asks for (decision 114). */
    async createMissing(team: Team, agent: string, settings: MonitorSettings, made: MadeBy) {
      // Nearly always there is one, and then the ping does not wait for the team's turn.
      if (await getValue(store, keys.monitor(team.id, agent)) !== null) return;
      await change(deps, team, agent, made, async (rows) => {
        if (rows.monitor !== null) return true;
        return creation(await created(deps, team, rows, settings, made), () => true);
      });
    },
    read: ({ id }: Team, agent: string) => store.reads.run(id, () => readMonitor(store, id, agent)),
    list: ({ id }: Team, query: MonitorsQuery) =>
      store.reads.run(id, () => listMonitors(store, id, query)),
    /** Deletes a monitor and its flips. */
    remove: (team: Team, agent: string, made: MadeBy) => remove(deps, team, agent, made),
    pause: (team: Team, agent: string, pause: MonitorPause, made: MadeBy) =>
      change<MonitorRecord>(deps, team, agent, made, ({ monitor, running, isArchived }) => {
        if (monitor === null) return null;
        // The archive paused it, without an end.
        if (isArchived) return { monitor, running };
        return {
          change: pauseMonitor(monitor, pause, made.at),
          result: (record) => record,
          action: "monitor.paused",
          details: { before: pauseFields(monitor.pause), after: pauseFields(pause) },
        };
      }),
    /** Ends a pause; changes nothing without one. */
    resume: (team: Team, agent: string, made: MadeBy) =>
      change<MonitorRecord>(deps, team, agent, made, ({ monitor, running, isArchived }) => {
        if (monitor === null) return null;
        // The monitor of an archived agent resumes when the agent is restored.
        if (monitor.pause === null || isArchived) return { monitor, running };
        return {
          change: resumeMonitor(monitor, made.at),
          result: (record) => record,
          action: "monitor.resumed",
          details: { before: pauseFields(monitor.pause), after: null },
        };
      }),
    flips: ({ id }: Team, agent: string, query: FlipsQuery) =>
      store.reads.run(id, () => readFlips(store, id, agent, query)),
    /**
     * Returns flips of several agents since an instant, and an absence that began before it, oldest
     * first, at most `max` for each.
     */
    flipsOf: ({ id }: Team, agents: readonly string[], fromMs: number, max: number) =>
      store.reads.run(id, () => readFlipsOf(store, id, agents, fromMs, max)),
    /** Returns the settings that fit the agent's latest runs; null if none do. */
    proposal: ({ id }: Team, agent: string, tz: string) =>
      store.reads.run(id, async () => {
        const outcomes = await latestOutcomes(store, id, agent);
        return proposeSettings(outcomes.map(({ endedAt }) => endedAt), tz);
      }),
  };
}

/**
 * Changes the monitor of an agent; null if the team has no such agent.
 *
 * @param plan returns the change, or the result if nothing changes
 */
function change<Result>(
  { store, changes }: ObjectDeps,
  { id: team }: Team,
  agent: string,
  made: MadeBy,
  plan: (rows: StoredAgentRows) => Planned<Result> | Promise<Planned<Result>>,
): Promise<Result | null> {
  return changes.commitPlan(team, "call", async (): Promise<TeamPlan<Result | null>> => {
    const [rows] = await readAgents(store, team, [agent]);
    if (rows === undefined || !rows.isStored) return { result: null, rows: null };
    const planned = await plan(rows);
    if (!isChange(planned)) return { result: planned, rows: null };
    const { archiveCheck, running, monitor: before } = rows;
    const { action, details, result } = planned;
    const dueAt = nextDueAt(planned.change.monitor, made.at, running);
    const changed = { ...planned.change, monitor: { ...planned.change.monitor, dueAt }, before };
    const written = await rowsOfChanges(store, team, [changed]);
    const audit = auditRows({ at: made.at, team, actor: made.by, action, target: agent, details });
    return {
      result: result({ monitor: changed.monitor, running }),
      rows: { ...written, checks: [archiveCheck], sets: [...written.sets, ...audit] },
    };
  });
}

type Planned<Result> = Change<Result> | Result | null;

function isChange<Result>(planned: Planned<Result>): planned is Change<Result> {
  return typeof planned === "object" && planned !== null && "change" in planned;
}

function creation<Result>(change: MonitorChange, result: Change<Result>["result"]): Change<Result> {
  const details = { before: null, after: MONITORS.fieldsOf(change.monitor.settings) };
  return { change, result, action: "monitor.put", details };
}

/** Creates a monitor that knows the agent's latest outcomes. */
async function created(
  { store, region, environment }: ObjectDeps,
  { id: team }: Team,
  { agent, isArchived }: StoredAgentRows,
  settings: MonitorSettings,
  made: MadeBy,
): Promise<MonitorChange> {
  const outcomes = (await latestOutcomes(store, team, agent)).map(({ outcome }) => outcome);
  // Not those since the call: whether they are summarized already is chance.
  const past = outcomes.filter(({ at }) => at <= made.at);
  const goods = past.filter(({ kind }) => kind === "good");
  const latest = { lastArrivalAt: lastAt(past), lastOkAt: lastAt(goods) };
  const id = `mon_${region}_${uuid7Hex(made.at, environment.random(10))}`;
  const change = andThen(
    createMonitor(agent, id, settings, made, latest),
    (monitor) => addOutcomes(monitor, outcomes),
  );
  if (!isArchived) return change;
  return andThen(change, (monitor) => pauseMonitor(monitor, ARCHIVED_PAUSE, made.at));
}

function lastAt(outcomes: readonly Outcome[]): number | null {
  return outcomes.length === 0 ? null : Math.max(...outcomes.map(({ at }) => at));
}

/** Deletes a monitor. Flips that exceed one commit go first, so that a retry removes the rest. */
async function remove(
  { store, changes }: ObjectDeps,
  { id: team }: Team,
  agent: string,
  made: MadeBy,
): Promise<Monitor | null> {
  while (true) {
    const removed = await changes.commitPlan<Monitor | "more" | null>(
      team,
      "call",
      async () => {
        const [rows] = await readAgents(store, team, [agent]);
        const monitor = rows?.monitor ?? null;
        if (monitor === null) return { result: null, rows: null };
        const range = keys.flips(team, agent, 0, Infinity);
        const flips = await listRows(store, range, { limit: FLIPS_PER_COMMIT + 1 });
        const deletes = flips.slice(0, FLIPS_PER_COMMIT).map(({ key }) => key);
        if (flips.length > deletes.length) {
          return { result: "more", rows: { sets: [], deletes } };
        }
        return { result: monitor, rows: removal(monitor, deletes) };
      },
    );
    if (removed !== "more") return removed;
  }

  function removal(monitor: Monitor, flips: readonly Deno.KvKey[]): MonitorRows {
    const { dueAt, settings } = monitor;
    const details = { before: MONITORS.fieldsOf(settings), after: null };
    const entry = { at: made.at, team, actor: made.by, target: agent, details };
    return {
      sets: auditRows({ ...entry, action: "monitor.deleted" }),
      deletes: [...flips, ...dueAt === null ? [] : [dueKeyOf(team, agent, dueAt)]],
      rows: [teamSet(monitorRow(team, agent), null)],
      alerts: { signals: deletedSignals(monitor, made.at) },
    };
  }
}

function pauseFields(pause: MonitorPause | null): AuditValue {
  if (pause === null) return null;
  const { untilMs, isSticky } = pause;
  return { until: formatInstantOrNull(untilMs), sticky: isSticky };
}

/** The pause of an archived agent. */
export const ARCHIVED_PAUSE = { untilMs: null, isSticky: false } as const;

/** Creates the commit of changes that may archive or restore an agent. */
export function createArchiveCommit(store: Store, changes: TeamChanges): CommitArchive {
  return (team, slug, atMs, plan) => {
    const at = { store, changes, team, slug, atMs };
    return untilCommittedInTime("change an agent", store.deadlines, async () => {
      const key = keys.monitor(team, slug);
      const { versionstamp } = await getEntry(store, key);
      if (versionstamp !== null) return await commitWithMonitor(at, plan);
      const { result, write, onCommitted } = await plan();
      if (write === null) return result;
      const checks = [...write.checks ?? [], { key, versionstamp }];
      const version = await store.writer.commit({ ...write, team, checks });
      if (version === null) return LOST;
      onCommitted(version);
      return result;
    });
  };
}

/** An agent that is archived or restored. */
interface Archived {
  readonly store: Store;
  readonly changes: TeamChanges;
  readonly team: TeamId;
  readonly slug: string;
  readonly atMs: number;
}

/** Commits the change of an agent and of its monitor. */
function commitWithMonitor(
  { store, changes, team, slug, atMs }: Archived,
  plan: () => Promise<AgentPlan>,
): Promise<AgentPlan["result"]> {
  return changes.commitPlan(team, "call", async () => {
    const { result, write, archived, onCommitted } = await plan();
    if (write === null) return { result, rows: null };
    const [agent] = await readAgents(store, team, [slug]);
    const before = agent?.monitor ?? null;
    const change = before && changeOf(before, archived, atMs);
    const dueAt = change && nextDueAt(change.monitor, atMs, agent?.running ?? 0);
    const rows = change === null ? NO_ROWS : await rowsOfChanges(store, team, [
      { before, flips: change.flips, monitor: { ...change.monitor, dueAt } },
    ]);
    return {
      result,
      rows: {
        ...rows,
        checks: write.checks ?? [],
        sets: [...rows.sets, ...write.sets ?? []],
        deletes: [...rows.deletes, ...write.deletes ?? []],
      },
      onCommitted,
    };
  });
}

/**
 * Returns the change of a monitor; null for none. A pause that a user made stays, unless it has an
 * end: then the monitor of an archived agent would resume.
 */
function changeOf(monitor: Monitor, archived: boolean, atMs: number): MonitorChange | null {
  const { pause } = monitor;
  const isEndless = pause !== null && pause.untilMs === null;
  if (archived) return isEndless ? null : pauseMonitor(monitor, ARCHIVED_PAUSE, atMs);
  return isEndless && !pause.isSticky ? resumeMonitor(monitor, atMs) : null;
}
