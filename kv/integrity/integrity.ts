/**
 * The integrity check: recomputes derived data from the parts of all runs and reports differences.
 *
 * It only reads, so it can run next to a service. Concurrent changes cannot be compared: a team
 * whose runs changed during the check is checked again, and finally reported as `busy`.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { verifyRun } from "./verify_run.ts";
import { readDueWork, TeamSums } from "./verify_team.ts";
import { type Findings, type Mismatch, MISMATCHES_MAX, NONE } from "./findings.ts";
import { decodePending, parsePendingName } from "../writer/group.ts";
import { keyParts, keys } from "../base/keys.ts";
import { ledgerOf, type RunRef } from "../runs/heads.ts";
import { eachRow, getMany, getValue, listRows, namesBelow, type Store } from "../store.ts";
import { DAY_MS } from "../../domain/core/time.ts";
import type { SweepReport } from "../../domain/retention/retention.ts";
import { chunksOf } from "../base/blob.ts";
import { GET_MANY_KEYS_MAX } from "../base/limits.ts";
import { groupsOf } from "../base/reads.ts";
import { numbersFrom } from "../runs/batches.ts";
import type { StagedMark } from "../runs/staging.ts";

/** Runs verified concurrently. */
const RUNS_AT_ONCE = 16;

/** Maximum attempts for a team that changes meanwhile, and milliseconds between them. */
const BUSY = { attemptsMax: 3, pauseMs: 1_000 } as const;

/** Result of verifying a team. */
export interface TeamIntegrity {
  readonly team: TeamId;
  /** `busy` if the team was not compared because its runs changed in each attempt. */
  readonly state: "exact" | "different" | "busy";
  readonly runs: number;
  readonly events: number;
  /** Number of differences; 0 if the team was not compared. */
  readonly differences: number;
}

/** Result of verifying a store. */
export interface IntegrityReport {
  /** Number of runs of all teams. */
  readonly runs: number;
  /** Number of events of all teams. */
  readonly events: number;
  readonly teams: readonly TeamIntegrity[];
  /** The first 100 differences. */
  readonly differences: readonly (Mismatch & { readonly team: TeamId })[];
  /** Number of all differences. */
  readonly differenceCount: number;
}

/** Options of a check. */
export interface IntegrityOptions {
  /** The only team to verify; all teams by default. */
  readonly team?: TeamId;
  /** Milliseconds between two attempts for a busy team. */
  readonly pauseMs?: number;
  /** Called after each run. */
  readonly onRun?: () => void;
}

/**
 * Verifies a store.
 *
 * @throws {StorageUnavailable} when the store cannot be read
 */
export async function verifyStore(
  store: Store,
  options: IntegrityOptions = {},
): Promise<IntegrityReport> {
  const { team, pauseMs = BUSY.pauseMs, onRun = () => {} } = options;
  let selected: ReadonlySet<TeamId> | null = team === undefined ? null : new Set([team]);
  const verified = new Map<TeamId, TeamSums>();
  for (let attempt = 1; attempt <= BUSY.attemptsMax && selected?.size !== 0; attempt++) {
    if (attempt > 1) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const before = await readState(store);
    const teams = await sumTeams(store, selected, onRun);
    const after = await readState(store);
    for (const sums of teams) {
      const { team } = sums;
      sums.isBusy = before.pending.has(team) || after.pending.has(team) ||
        before.versions.get(team) !== after.versions.get(team);
      verified.set(team, sums);
    }
    selected = new Set(teams.filter(({ isBusy }) => isBusy).map(({ team }) => team));
  }
  return reportOf([...verified.values()].sort((a, b) => a.team < b.team ? -1 : 1));
}

function reportOf(verified: readonly TeamSums[]): IntegrityReport {
  const teams = verified.map(({ team, isBusy, runs, events, findings }): TeamIntegrity => {
    const { count } = findings;
    if (isBusy) return { team, state: "busy", runs, events, differences: 0 };
    return { team, state: count === 0 ? "exact" : "different", runs, events, differences: count };
  });
  const compared = verified.filter(({ isBusy }) => !isBusy);
  const differences = compared.flatMap(({ team, findings }) =>
    findings.mismatches.map((mismatch) => ({ team, ...mismatch }))
  );
  return {
    runs: teams.reduce((sum, { runs }) => sum + runs, 0),
    events: teams.reduce((sum, { events }) => sum + events, 0),
    teams,
    differences: differences.slice(0, MISMATCHES_MAX),
    differenceCount: teams.reduce((sum, { differences }) => sum + differences, 0),
  };
}

/**
 * Reads versions and marks that change with a team's runs: each change leaves a mark and ends in a new
 * version.
 */
async function readState(store: Store) {
  // Reads marks before versions: a run changed between the two reads has a mark or a new version.
  const pending = new Set<TeamId>();
  for await (const { value } of eachRow(store, { prefix: keys.pendingMarks() })) {
    for (const name of decodePending(String(value))) pending.add(parsePendingName(name).team);
  }
  const versions = new Map<TeamId, string>();
  for await (const { key, versionstamp } of eachRow(store, { prefix: keys.rollupVersions() })) {
    versions.set(keyParts.team(key), versionstamp);
  }
  return { versions, pending };
}

/** Totals the runs of teams and compares the totals with the stored rows. */
async function sumTeams(
  store: Store,
  selected: ReadonlySet<TeamId> | null,
  onRun: () => void,
): Promise<TeamSums[]> {
  const teams = new Map<TeamId, TeamSums>();
  const sumsOf = (team: TeamId): TeamSums | null => {
    if (selected !== null && !selected.has(team)) return null;
    const sums = teams.get(team) ?? new TeamSums(store, team);
    teams.set(team, sums);
    return sums;
  };
  // A team without runs is compared too: it must have no roll-ups.
  for (const family of keys.ofTeams()) {
    for await (const key of namesBelow(store, family, 1)) sumsOf(keyParts.team(key));
  }
  let group: RunRef[] = [];
  const verifyGroup = async () => {
    const verified = await Promise.all(group.map(verifyRun));
    for (const [i, { team, id }] of group.entries()) {
      sumsOf(team)?.add(id, verified[i]!);
      onRun();
    }
    group = [];
  };
  for await (const key of namesBelow(store, keys.runs(), 2)) {
    const [, id, team] = key as [string, RunId, TeamId];
    if (sumsOf(team) === null) continue;
    group.push({ store, team, id });
    if (group.length === RUNS_AT_ONCE) await verifyGroup();
  }
  await verifyGroup();
  await verifyChunks(store, (team) => sumsOf(team)?.findings ?? null);
  const due = await readDueWork(store);
  for (const sums of teams.values()) await sums.compare(due);
  return [...teams.values()];
}

/** Finds chunks of runs that nothing names, and staged ones that no sweep has removed. */
export async function verifyChunks(
  store: Store,
  findingsOf: (team: TeamId) => Findings | null,
): Promise<void> {
  for await (const key of namesBelow(store, keys.allChunks(), 2)) {
    const { team, run: id } = keyParts.chunk(key);
    const findings = findingsOf(team);
    if (findings !== null) await findStray({ store, team, id }, findings);
  }
  const options = { limit: 1, reverse: true };
  const [latest] = await listRows<SweepReport>(store, { prefix: keys.sweeps() }, options);
  if (latest === undefined || latest.value.finishedAt === null) return;
  for await (const { key, value } of eachRow<StagedMark>(store, { prefix: keys.allStaged() })) {
    if (value.at >= latest.value.startedAt - DAY_MS) continue;
    const { team, run } = keyParts.chunk(key);
    const staged = `staged at ${new Date(value.at).toISOString()}`;
    findingsOf(team)?.note(`staged chunks of ${run}`, "removed", staged);
  }
}

/**
 * Finds the chunks of a run that nothing names. The reads follow the order in which a write stores
 * and names them, so a write at the same time is no mismatch; nor is a removal.
 */
async function findStray(run: RunRef, findings: Findings): Promise<void> {
  const { store, team, id } = run;
  const stray = new Set<string>();
  for await (const key of namesBelow(store, keys.chunks(team, id), 1)) {
    stray.add(keyParts.blob(key));
  }
  for (const { value } of await listRows<StagedMark>(store, { prefix: keys.stagedOf(team, id) })) {
    for (const [name] of value.blobs) stray.delete(name);
  }
  for await (const name of namedBlobs(run)) stray.delete(name);
  for (const name of stray) {
    const [left] = await listRows(store, { prefix: keys.blob(team, id, name) }, { limit: 1 });
    const isPurged = await getValue(store, keys.purge(team, id)) !== null;
    if (left === undefined || isPurged) continue;
    findings.note(`chunks ${name} of ${id}`, "of a stored value", NONE);
  }
}

/** Yields the names of the blobs that the values of a run consist of. */
async function* namedBlobs({ store, team, id }: RunRef): AsyncGenerator<string> {
  const { removed, batches } = ledgerOf(await getValue(store, keys.ledger(team, id)));
  const values: Deno.KvKey[] = [keys.opening(team, id), keys.closing(team, id)];
  for (const number of numbersFrom(removed, batches)) {
    values.push(keys.batch(team, id, number), keys.prices(team, id, number));
  }
  for (const group of groupsOf(values, GET_MANY_KEYS_MAX)) {
    for (const { value } of await getMany(store, group)) {
      if (value instanceof Uint8Array) yield chunksOf(value).name;
    }
  }
}
