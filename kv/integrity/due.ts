/**
 * Verifies that each run and each monitor that waits has a row that says when to look at it.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { type Monitor, MONITOR_STATES } from "../../domain/monitors/monitor.ts";
import { OUTCOMES_MAX } from "../../domain/outcomes/outcome.ts";
import { idleDeadlineOf } from "../../domain/runs/idle.ts";
import { isDead } from "../../domain/runs/stages.ts";
import { keyParts, keys } from "../base/keys.ts";
import { type ReadHead, readHead, type SummarizedHead } from "../runs/heads.ts";
import { eachRow, namesBelow, type Store } from "../store.ts";
import { pendingName } from "../writer/pending_mark.ts";
import type { TeamCheck } from "./findings.ts";

/** Rows of all teams that say when to look at an object. */
export interface Due {
  /** Number of runs with a deadline, by team; rows of closed runs may be among them. */
  readonly deadlines: ReadonlyMap<TeamId, number>;
  /** Monitors, by team and agent. */
  readonly monitors: ReadonlySet<string>;
  /** Names of runs whose work waits. */
  readonly runs: ReadonlySet<string>;
}

/** Reads what is due. Read it after the runs: a retry moves a row on. */
export async function readDue(store: Store): Promise<Due> {
  const deadlines = new Map<TeamId, number>();
  const monitors = new Set<string>();
  const runs = new Set<string>();
  for await (const { key } of eachRow(store, { prefix: keys.work() })) {
    const { kind, team, name } = keyParts.work(key);
    if (kind === "idle") deadlines.set(team, (deadlines.get(team) ?? 0) + 1);
    if (kind === "monitor") monitors.add(`${team} ${name}`);
    if (kind === "run") runs.add(pendingName(team, name as RunId));
  }
  return { deadlines, monitors, runs };
}

/** Returns whether a run is open and will be idle, so that the work queue must have a row of it. */
export function hasIdleDeadline({ ledger, head: { parts } }: SummarizedHead): boolean {
  return parts.closing === null && idleDeadlineOf(parts.opening, ledger) !== null;
}

/** Returns whether a run awaits its checks or failed, and its work is not given up. */
export function hasWork({ summary, failure }: Pick<ReadHead, "summary" | "failure">): boolean {
  return failure === null ? summary?.awaitsChecks === true : !isDead(failure);
}

/**
 * Finds runs that wait in vain. A run is read again: its work may have ended meanwhile.
 *
 * @param waiting runs that had work
 */
export async function verifyWork(
  { store, team, findings }: TeamCheck,
  waiting: readonly RunId[],
  due: Due,
): Promise<void> {
  for (const id of waiting) {
    if (due.runs.has(pendingName(team, id))) continue;
    if (!hasWork(await readHead({ store, team, id }))) continue;
    findings.note(`work of ${id}`, "a row of its due time", "none");
  }
}

/**
 * Verifies the monitors of a team: each is of an agent, with its row in the work queue, and no flip is
 * left of a deleted one. Their states are not recomputed: they depend on outcomes of runs that may be
 * deleted.
 *
 * @param agents slugs of the team's agents, also of archived ones
 */
export async function verifyMonitors(
  { store, team, findings }: TeamCheck,
  agents: ReadonlySet<string>,
  due: Due,
): Promise<void> {
  const monitors = new Set<string>();
  for await (const { key, value } of eachRow<Monitor>(store, { prefix: keys.monitors(team) })) {
    const agent = keyParts.name(key);
    const what = `monitor of agent ${agent}`;
    monitors.add(agent);
    if (!agents.has(agent)) findings.presence(what, false, true);
    if (!isReadable(value, agent)) findings.note(what, "readable", "not readable");
    // The loop postpones a row whose look failed, so the row may be later than the monitor says.
    else if (value.dueAt !== null) {
      findings.presence(`due row of ${what}`, true, due.monitors.has(`${team} ${agent}`));
    }
  }
  for await (const key of namesBelow(store, keys.teamFlips(team), 1)) {
    const agent = keyParts.name(key);
    if (!monitors.has(agent)) findings.presence(`flips of agent ${agent}`, false, true);
  }
}

function isReadable(monitor: Partial<Monitor> | null, agent: string): monitor is Monitor {
  const { state, outcomes, dueAt } = monitor ?? {};
  return monitor?.agent === agent && MONITOR_STATES.some((each) => each === state) &&
    Array.isArray(outcomes?.kept) && outcomes.kept.length <= OUTCOMES_MAX + 1 &&
    (dueAt === null || Number.isSafeInteger(dueAt));
}
