/** A process that stores monitors and evaluates them. */
import type { Absence, Work, WorkHandler, WorkTime } from "../../../domain/work/work.ts";
import type { Flip, MonitorSettings } from "../../../domain/monitors/monitor.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { type AgentStore, createAgentStore } from "../../../kv/agents/agents.ts";
import { KnownAgents } from "../../../kv/agents/known_agents.ts";
import { TIMERS } from "../../../runtime/deadlines.ts";
import {
  createArchiveCommit,
  createMonitorStore,
  type MonitorStore,
} from "../../../kv/monitors/store.ts";
import { createMonitorWork } from "../../../kv/monitors/monitor_work.ts";
import type { Store } from "../../../kv/store.ts";
import { run, TEAM } from "../builders/stored_runs.ts";
import { NOON } from "./harness.ts";
import { StoreProcess } from "./store_process.ts";
import { overStore } from "./temp_store.ts";

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

export class MonitorProcess extends StoreProcess {
  static readonly test = overStore<MonitorProcess>((store) => new MonitorProcess(store));

  readonly monitors: MonitorStore;
  readonly handler: WorkHandler;
  readonly agents: AgentStore;

  constructor(store: Store) {
    super(store);
    this.monitors = createMonitorStore({
      store,
      changes: this.updater,
      region: "eu",
      environment: this.environment,
    });
    this.handler = createMonitorWork({ store, changes: this.updater });
    const known = new KnownAgents(store.memory, TIMERS.now);
    this.agents = createAgentStore(store, known, createArchiveCommit(store, this.updater));
  }

  async put(settings: MonitorSettings = HOURLY, atMs = NOON, agent = "a", team: Team = TEAM) {
    const stored = await this.monitors.put(team, agent, settings, null, { by: "key_1", at: atMs });
    if (stored === null) throw new Error(`There is no agent ${agent}`);
    return stored;
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

  /** Evaluates everything that is due at a time. */
  async evaluateDue(nowMs: number, absences: readonly Absence[] = []): Promise<void> {
    await this.evaluate(await this.due(nowMs), nowMs, absences);
  }

  /** Evaluates the monitors of rows at a time. */
  async evaluate(
    rows: readonly Work[],
    nowMs: number,
    absences: readonly Absence[] = [],
  ): Promise<void> {
    const turn: WorkTime = { nowMs, absences, summarizedToMs: nowMs };
    const teams = Map.groupBy(rows, ({ team }) => team);
    for (const rows of teams.values()) {
      await this.handler.handle(rows, turn, new AbortController().signal);
    }
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

  async read(agent = "a") {
    return (await this.monitors.read(TEAM, agent))?.monitor ?? null;
  }
}

function textOf({ at, from, to, reason }: Flip): string {
  return `${(at - NOON) / MINUTE} ${from ?? "none"}>${to} ${reason}`;
}
