/**
 * The audit: recomputes from the parts of all runs what was made of them, and says where it differs.
 *
 * It only reads, so it can run beside a service. What a service changes meanwhile cannot be compared:
 * a team whose runs changed between start and end is looked at again, and `busy` in the end.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { verifyRun } from "./run.ts";
import { MISMATCHES_MAX, TeamSums } from "./team.ts";
import type { Mismatch } from "./mismatch.ts";
import { decodePending, parsePendingName } from "../writer/pending_mark.ts";
import { keys } from "../base/keys.ts";
import { eachRow, listRows, type Store } from "../store.ts";

/** Runs looked at at once. */
const RUNS_AT_ONCE = 16;

/** How often a team is looked at that changes meanwhile, and milliseconds in between. */
const BUSY = { attemptsMax: 3, pauseMs: 1_000 } as const;

/** Something of a team that is not as its parts say. */
export interface IntegrityDifference extends Mismatch {
  /** The team. */
  readonly team: TeamId;
}

/** What the audit of a team came to. */
export interface TeamIntegrity {
  /** The team. */
  readonly team: TeamId;
  /** Whether it was compared; `busy` when its runs changed each time. */
  readonly state: "exact" | "different" | "busy";
  /** How many runs. */
  readonly runs: number;
  /** How many events. */
  readonly events: number;
  /** How many differences; 0 when it was not compared. */
  readonly differences: number;
}

/** What an audit came to. */
export interface IntegrityReport {
  /** How many runs of all teams. */
  readonly runs: number;
  /** How many events of all teams. */
  readonly events: number;
  /** Each team. */
  readonly teams: readonly TeamIntegrity[];
  /** The first 100 differences. */
  readonly differences: readonly IntegrityDifference[];
  /** How many there are. */
  readonly differenceCount: number;
}

/** How to audit. */
export interface IntegrityOptions {
  /** The one team to audit; all by default. */
  readonly team?: TeamId;
  /** Milliseconds before a busy team is looked at again. */
  readonly pauseMs?: number;
  /** Told after each run. */
  readonly onRun?: () => void;
}

/**
 * Audits a store.
 *
 * @throws {StorageUnavailable} when the store cannot be read
 */
export async function verifyStore(
  store: Store,
  options: IntegrityOptions = {},
): Promise<IntegrityReport> {
  const { team, pauseMs = BUSY.pauseMs, onRun = () => {} } = options;
  let wanted: ReadonlySet<TeamId> | null = team === undefined ? null : new Set([team]);
  const settled = new Map<TeamId, TeamSums>();
  let busy = new Map<TeamId, TeamSums>();
  for (let attempt = 1; attempt <= BUSY.attemptsMax; attempt++) {
    if (attempt > 1) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const before = await readState(store);
    const sums = await sumTeams(store, wanted, onRun);
    const after = await readState(store);
    busy = new Map();
    for (const [team, sum] of sums) {
      const rested = !before.pending.has(team) && !after.pending.has(team) &&
        before.versions.get(team) === after.versions.get(team);
      (rested ? settled : busy).set(team, sum);
    }
    if (busy.size === 0) break;
    wanted = new Set(busy.keys());
  }
  return resultOf(settled, busy);
}

function resultOf(
  settled: ReadonlyMap<TeamId, TeamSums>,
  busy: ReadonlyMap<TeamId, TeamSums>,
): IntegrityReport {
  const all = [...settled, ...busy].sort(([a], [b]) => a < b ? -1 : 1);
  const teams = all.map(([team, { runs, events, count }]): TeamIntegrity => {
    if (busy.has(team)) return { team, state: "busy", runs, events, differences: 0 };
    return { team, state: count === 0 ? "exact" : "different", runs, events, differences: count };
  });
  const differences = [...settled].flatMap(([team, { mismatches }]) =>
    mismatches.map((each) => ({ team, ...each }))
  );
  return {
    runs: teams.reduce((sum, { runs }) => sum + runs, 0),
    events: teams.reduce((sum, { events }) => sum + events, 0),
    teams,
    differences: differences.slice(0, MISMATCHES_MAX),
    differenceCount: teams.reduce((sum, { differences }) => sum + differences, 0),
  };
}

/** What changes with the runs of a team: every change leaves a mark, and ends in a new version. */
interface State {
  readonly versions: ReadonlyMap<TeamId, string>;
  readonly pending: ReadonlySet<TeamId>;
}

async function readState(store: Store): Promise<State> {
  // Marks before versions: a run between the two has its mark or a newer version than before.
  const pending = new Set<TeamId>();
  for await (const { value } of eachRow(store, { prefix: keys.pendingMarks() })) {
    for (const name of decodePending(String(value))) pending.add(parsePendingName(name).team);
  }
  const versions = new Map<TeamId, string>();
  for await (const { key, versionstamp } of eachRow(store, { prefix: keys.rollupVersions() })) {
    versions.set(key[1] as TeamId, versionstamp);
  }
  return { versions, pending };
}

/** Sums up the runs of teams and compares them with what is stored of each. */
async function sumTeams(
  store: Store,
  wanted: ReadonlySet<TeamId> | null,
  onRun: () => void,
): Promise<Map<TeamId, TeamSums>> {
  const teams = new Map<TeamId, TeamSums>();
  const sumsOf = (team: TeamId) => {
    const known = teams.get(team) ?? new TeamSums(team);
    teams.set(team, known);
    return known;
  };
  const isWanted = (team: TeamId) => wanted === null || wanted.has(team);
  // A team without a run is compared too: it must have no roll-ups.
  for (const family of keys.ofTeams()) {
    for await (const key of namesBelow(store, family, 1)) {
      if (isWanted(key[1] as TeamId)) sumsOf(key[1] as TeamId);
    }
  }
  let some: { readonly team: TeamId; readonly id: RunId }[] = [];
  const settle = async () => {
    const audited = await Promise.all(some.map(({ team, id }) => verifyRun(store, team, id)));
    for (const [i, run] of audited.entries()) {
      const { team } = some[i] ?? {};
      if (team !== undefined) sumsOf(team).add(run);
      onRun();
    }
    some = [];
  };
  for await (const key of namesBelow(store, keys.runs(), 2)) {
    const [, id, team] = key as [string, RunId, TeamId];
    if (!isWanted(team)) continue;
    some.push({ team, id });
    if (some.length === RUNS_AT_ONCE) await settle();
  }
  await settle();
  for (const sums of teams.values()) await sums.compare(store);
  return teams;
}

/**
 * The different beginnings of keys below a prefix, so many parts longer than it: one read each, however
 * much there is below.
 */
async function* namesBelow(
  store: Store,
  prefix: Deno.KvKey,
  parts: number,
): AsyncGenerator<Deno.KvKey> {
  // `true` is behind every other part of a key.
  const end = [...prefix, true];
  let start: Deno.KvKey = prefix;
  while (true) {
    const [first] = await listRows(store, { start, end }, { limit: 1 });
    if (first === undefined) return;
    const name = first.key.slice(0, prefix.length + parts);
    yield name;
    start = [...name, true];
  }
}
