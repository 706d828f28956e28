/** A process that stores monitors and looks at them, without the rest of a service. */
import type { Absence, ClockTurn, DueHandler, DueRow } from "../../../domain/clock/due.ts";
import type { AgentStore } from "../../../domain/agents/agents.ts";
import type { Flip, MonitorSettings } from "../../../domain/monitors/monitor.ts";
import type { MonitorStore } from "../../../domain/monitors/store.ts";
import type { ProcessingStore } from "../../../domain/runs/processing.ts";
import type { RunStore } from "../../../domain/runs/store.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { createAgentStore } from "../../../kv/agents/agents.ts";
import { KnownAgents } from "../../../kv/agents/known_agents.ts";
import { TIMERS } from "../../../runtime/deadlines.ts";
import { keyParts } from "../../../kv/base/keys.ts";
import { createArchiveCommit } from "../../../kv/monitors/archive.ts";
import { createMonitorLooks } from "../../../kv/monitors/looks.ts";
import { createMonitorStore } from "../../../kv/monitors/store.ts";
import { findOpenRuns } from "../../../kv/run_list/open_runs.ts";
import type { Store } from "../../../kv/store.ts";
import { RunUpdater } from "../../../kv/summaries/run_updater.ts";
import { processAll, run, runsOf, TEAM } from "../builders/stored_runs.ts";
import { NOON } from "./harness.ts";
import { processingOf } from "./stores.ts";

/** Settings of an agent that is expected each hour, with 10 minutes of grace. */
export const HOURLY: MonitorSettings = {
  schedule: { everySeconds: 3_600 },
  graceSeconds: 600,
  maxRuntimeSeconds: null,
  failureThreshold: 1,
  recoveryThreshold: 1,
  enabled: true,
};

/** Milliseconds. */
export const MINUTE = 60_000, HOUR = 3_600_000;

/** One process on a store, with its own caches. */
export class MonitorProcess {
  readonly monitors: MonitorStore;
  readonly looks: DueHandler;
  readonly agents: AgentStore;
  readonly runs: RunStore;
  readonly updater: RunUpdater;
  readonly pipeline: ProcessingStore;

  constructor(readonly store: Store) {
    this.updater = new RunUpdater(store, null);
    this.monitors = createMonitorStore({
      store,
      changes: this.updater,
      region: "eu",
      environment: { random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)) },
    });
    this.looks = createMonitorLooks({
      store,
      changes: this.updater,
      findOpenRuns: (...args) => findOpenRuns(store, ...args),
    });
    const known = new KnownAgents(store.memory, TIMERS.now);
    this.agents = createAgentStore(store, known, createArchiveCommit(store, this.updater));
    this.runs = runsOf(store);
    this.pipeline = processingOf(store, () => NOON, this.updater);
  }

  /** Puts a monitor at a time. */
  async put(settings: MonitorSettings = HOURLY, atMs = NOON, agent = "a", team: Team = TEAM) {
    const stored = await this.monitors.put(team, agent, settings, null, { by: "key_1", at: atMs });
    if (!stored?.ok) throw new Error(`Not stored: ${stored?.problem.message}`);
    return stored.value;
  }

  /** Opens and finishes a run at a time; it is not processed yet. */
  async close(
    n: number,
    atMs: number,
    status: "success" | "failed" | "cancelled" = "success",
    agent = "a",
  ): Promise<void> {
    await this.runs.open(TEAM, { id: run(n), agent, startedAt: atMs }, atMs);
    await this.runs.finish(TEAM, run(n), { status, finishedAt: atMs }, atMs);
  }

  /** Processes all pending runs. */
  work(): Promise<void> {
    return processAll(this.store, this.pipeline);
  }

  /** Looks at everything that is due at a time. */
  async look(nowMs: number, absences: readonly Absence[] = []): Promise<void> {
    await this.lookAt(await this.due(nowMs), nowMs, absences);
  }

  /** Looks at rows at a time. */
  async lookAt(
    rows: readonly DueRow[],
    nowMs: number,
    absences: readonly Absence[] = [],
  ): Promise<void> {
    const turn: ClockTurn = { nowMs, absences, summarizedToMs: nowMs };
    const teams = Map.groupBy(rows, ({ team }) => team);
    for (const rows of teams.values()) await this.looks.look(rows, turn);
  }

  /** Returns the rows of the due index up to a time. */
  async due(toMs = Number.MAX_SAFE_INTEGER): Promise<DueRow[]> {
    const range = { start: ["due"], end: ["due", toMs, true] };
    return await Array.fromAsync(
      this.store.reader.list<number>(range),
      ({ key, value }) => ({ ...keyParts.due(key), failures: value }),
    );
  }

  /** Returns an agent's flips, oldest first: instant after noon in minutes, states, reason. */
  async flips(agent = "a"): Promise<string[]> {
    const flips = await this.monitors.flips(TEAM, agent, {
      fromMs: 0,
      toMs: Number.MAX_SAFE_INTEGER,
      limit: 100,
      after: null,
    });
    return flips.flips.toReversed().map(textOf);
  }

  /** Returns an agent's monitor. */
  async read(agent = "a") {
    return (await this.monitors.read(TEAM, agent))?.monitor ?? null;
  }
}

function textOf({ at, from, to, reason }: Flip): string {
  return `${(at - NOON) / MINUTE} ${from ?? "none"}>${to} ${reason}`;
}
