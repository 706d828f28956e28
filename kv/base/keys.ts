/**
 * All keys of the store; teams, credentials and agents are in `team_keys.ts`.
 *
 * Keys of rows written by each request begin with the run's id, which begins with its time: inserts
 * are then adjacent, which is ten times faster than spreading them over teams. The team follows the
 * id directly, so that no read can reach another team's data.
 *
 * @module
 */
import { VERSION } from "../../domain/core/version.ts";
import type { JobKind } from "../../domain/core/jobs.ts";
import { type Lane, WORK_KINDS, type WorkKind } from "../../domain/work/work.ts";
import type { EventId, RunId, ScoreId, TeamId } from "../../domain/core/ids.ts";
import type { NoticeName } from "../../domain/teams/quota.ts";
import type { Api } from "../../runtime/rate_limit.ts";
import type { PendingLane } from "../../domain/runs/stages.ts";
import type { RollupKind } from "../../domain/spend/rollup.ts";
import type { RetentionClass } from "../../domain/retention/retention.ts";
import { between, family, type KeyBuilders, teamKeys, through } from "./team_keys.ts";

/** Dimensions of the run index. */
export type RunIndexKind =
  | "agent"
  | "customer"
  | "feature"
  | "model"
  | "parent"
  | "status"
  | "kind"
  | "cost"
  | "has";

/**
 * Number of the stored format. Each change of a stored shape raises it (R21);
 * `tests/unit/kv/shapes_test.ts` notices one.
 */
export const LEDGER_FORMAT = 5;

/** First row of a ledger. */
export interface LedgerFormat {
  /** The {@link LEDGER_FORMAT} of all rows; `importing` until an import has ended. */
  readonly format: number | "importing";
  /** Version of the service that created the ledger. */
  readonly version: string;
}

/** Row of a ledger that this version creates. */
export const OWN_FORMAT: LedgerFormat = { format: LEDGER_FORMAT, version: VERSION };

/** Parts of a roll-up's key: the name is that of a group of the kind. */
type RollupParts = [team: TeamId, kind: RollupKind, day: string, name: string];

/** First part of the keys of blocks. */
export const BLOCK_FAMILY = "block";

/** Builders of keys; each reads like a path. */
export const keys = {
  ...teamKeys,
  /** The {@link LedgerFormat}. */
  format: () => ["format"],
  /** The head of one run: small rows only, so that many runs fit in one read. */
  run: (team: TeamId, run: RunId) => ["run", run, team],
  /** Heads of all teams' runs, from one team's run to all runs with the last id. */
  runRange: (team: TeamId, first: RunId, last: RunId) => ({
    start: ["run", first, team],
    // `true` sorts after every other key part.
    end: ["run", last, true],
  }),
  /** The opening, written once. */
  opening: (team: TeamId, run: RunId) => ["run", run, team, "opening"],
  /** The close, written once. */
  closing: (team: TeamId, run: RunId) => ["run", run, team, "closing"],
  /** The close of a run that was idle; it may no longer count. */
  idle: (team: TeamId, run: RunId) => ["run", run, team, "idle"],
  /** The head of the event ledger; the one key of a run that changes. */
  ledger: (team: TeamId, run: RunId) => ["run", run, team, "ledger"],
  /** The first `count` sealed pages of the ledger. */
  firstPages: (team: TeamId, run: RunId, count: number) => ({
    prefix: ["events", run, team, "page"],
    end: ["events", run, team, "page", count],
  }),
  /** Directory of the sealed pages. */
  directory: (team: TeamId, run: RunId) => ["events", run, team, "directory"],
  /** Directory row of some consecutive sealed pages. */
  directoryRow: (team: TeamId, run: RunId, row: number) => ["events", run, team, "directory", row],
  /** Ids of events that are on no page. */
  eventIds: (team: TeamId, run: RunId) => ["events", run, team, "id"],
  /** The id of an event that is on no page, written once. */
  eventId: (team: TeamId, run: RunId, id: Uint8Array) => ["events", run, team, "id", id],
  /** A sealed page, written once. */
  page: (team: TeamId, run: RunId, page: number) => ["events", run, team, "page", page],
  /** A batch of events, written once. */
  batch: (team: TeamId, run: RunId, batch: number) => ["events", run, team, "batch", batch],
  /** Prices of a batch after a repricing. */
  prices: (team: TeamId, run: RunId, batch: number) => ["events", run, team, "prices", batch],
  /** Totals of a run's removed batches. */
  removedTotals: (team: TeamId, run: RunId) => ["events", run, team, "removed"],
  scores: (team: TeamId, run: RunId) => ["events", run, team, "score"],
  /** A score that was added to a run, written once. */
  score: (team: TeamId, run: RunId, id: ScoreId | EventId) => ["events", run, team, "score", id],
  /** Price of a heartbeat after a repricing. */
  price: (team: TeamId, run: RunId) => ["run", run, team, "price"],
  summary: (team: TeamId, run: RunId) => ["run", run, team, "summary"],
  /** All chunks, by run. */
  allChunks: () => ["chunk"],
  chunks: (team: TeamId, run: RunId) => ["chunk", run, team],
  /** The chunks of one value. */
  blob: (team: TeamId, run: RunId, blob: string) => ["chunk", run, team, blob],
  /** A further chunk of a value too large for one key. */
  chunk: (team: TeamId, run: RunId, blob: string, i: number) => ["chunk", run, team, blob, i],
  /** All writes whose chunks are staged, by run. */
  allStaged: () => ["staged"],
  stagedOf: (team: TeamId, run: RunId) => ["staged", run, team],
  /** The chunks of a write that is not committed yet; see `kv/staging.ts`. */
  staged: (team: TeamId, run: RunId, name: string) => ["staged", run, team, name],
  pendingLane: (lane: PendingLane) => ["dirty", lane],
  pending: (lane: PendingLane, name: string) => ["dirty", lane, name],
  /**
   * Changes with every change of a team's roll-ups, so that one check protects all of them. Its
   * value is the number of the team's latest change in the feed.
   */
  rollupVersion: (team: TeamId) => ["rollup_version", team],
  /**
   * Changes with every change of a roll-up of that UTC day. While it is unchanged, so are those
   * roll-ups.
   */
  rollupDay: (team: TeamId, day: string) => ["rollup_day", team, day],
  /** Roll-up versions between two days, inclusive. */
  rollupDays: (team: TeamId, fromDay: string, toDay: string) =>
    through(["rollup_day", team], fromDay, toDay),
  changes: (team: TeamId) => ["change", team],
  /** The latest change of a run, or its deletion. */
  change: (team: TeamId, number: number, run: RunId) => ["change", team, number, run],
  /** The last turn of the work loop, and its absences. */
  clock: () => ["clock"],
  /** All rows of the work queue, or those of a lane, by time. */
  work: (...lane: readonly Lane[]) => ["work", ...lane],
  /** Rows of a lane up to a time, inclusive, unix milliseconds. */
  workTo: (lane: Lane, toMs: number) => ({
    start: ["work", lane],
    end: ["work", lane, toMs, true],
  }),
  /** A row of the work queue: look at an object at `atMs`, unix milliseconds. */
  workRow: (atMs: number, kind: WorkKind, team: TeamId, name: string) => [
    "work",
    WORK_KINDS[kind].lane,
    atMs,
    kind,
    team,
    name,
  ],
  /** All failures of work. */
  failures: () => ["failed"],
  /** Failures of the work on a team's runs. */
  runFailures: (team: TeamId) => ["failed", team, "run"],
  /** Failure of the work on a run: its projection, or checks that are judged later. */
  runFailure: (team: TeamId, run: RunId) => ["failed", team, "run", run],
  /** Incidents that a run belongs to. */
  runIncidents: (team: TeamId, run: RunId) => ["run", run, team, "incidents"],
  /** Results of checks; see `kv/checks/results.ts`. */
  checkResults: (team: TeamId, run: RunId) => ["run", run, team, "checks"],
  /** All counts of results of a team. */
  checkCountsOf: (team: TeamId) => ["check_stat", team],
  /** Counts of results between two UTC days, inclusive. */
  checkDays: (team: TeamId, fromDay: string, toDay: string) =>
    through(["check_stat", team], fromDay, toDay),
  /** Counts of the results of all checks, for the runs of a UTC day; of an agent, or `""` for all. */
  checkCounts: (team: TeamId, day: string, agent: string) => ["check_stat", team, day, agent],
  /** All failures of a team's checks. */
  checkFailuresOf: (team: TeamId) => ["check_failure", team],
  /** Failures of a check, by its identifier. */
  checkFailures: (team: TeamId, check: string) => ["check_failure", team, check],
  /** A run that failed a check, by the arrival of its close, unix milliseconds. */
  checkFailure: family<[team: TeamId, check: string, atMs: number, run: RunId]>("check_failure"),
  /** All runs of one index name, such as an agent or a model, by their start. */
  runsBy: (team: TeamId, kind: RunIndexKind, name: string) => ["run_by", team, kind, name],
  /** All index rows of a team's runs. */
  teamRunsBy: (team: TeamId) => ["run_by", team],
  /** All runs of the names from `from` up to `end`, exclusive. */
  runsOfNames: (team: TeamId, kind: RunIndexKind, from: string, end: string) =>
    between(["run_by", team, kind], from, end),
  /** Prefix of a team's orders by expiry. */
  expiryOrders: (team: TeamId) => ["expiry", team],
  /** Runs of a retention class, by the arrival of the data that decides the class. */
  expiryOrder: family<[team: TeamId, retention: RetentionClass]>("expiry"),
  /** A run's own row in an order of entries; see `kv/index/`. */
  entry: (order: Deno.KvKey, at: number, run: RunId) => [...order, at, run],
  /** All blocks of the orders below a prefix. */
  blocks: (order: Deno.KvKey) => [BLOCK_FAMILY, ...order],
  /** A block of entries of an order, by the last position it may hold and its number. */
  block: (order: Deno.KvKey, end: number, number: number) => [BLOCK_FAMILY, ...order, end, number],
  /** Totals of removed runs, by roll-up. */
  removedRollup: family<RollupParts>("removed_rollup"),
  /** Totals of removed runs in all roll-ups of a team, or of one kind. */
  removedRollups: (team: TeamId, ...kind: RollupKind[]) => ["removed_rollup", team, ...kind],
  /** Totals of an agent's removed runs. */
  removedAgent: (team: TeamId, slug: string) => ["removed_agent", team, slug],
  removedAgents: (team: TeamId) => ["removed_agent", team],
  /** Counted events of a month, `YYYY-MM`, that were removed. A sum counter. */
  removedUsage: (team: TeamId, month: string) => ["removed_usage", team, month],
  removedUsages: (team: TeamId) => ["removed_usage", team],
  /** All removed runs whose events are still being removed. */
  purges: () => ["purge"],
  /** A removed run whose events are still being removed. */
  purge: (team: TeamId, run: RunId) => ["purge", team, run],
  purgesOf: (team: TeamId) => ["purge", team],
  /** Identifiers of a team's jobs in progress; also the prefix of all its jobs. */
  jobs: (kind: JobKind, team: TeamId) => [kind, team],
  job: (kind: JobKind, team: TeamId, id: string) => [kind, team, id],
  /** Number of items of one type that a deletion job has deleted. A sum counter. */
  deletionCount: (team: TeamId, id: string, what: string) => ["deletion_count", team, id, what],
  /** Prefix of everything stored for a run's events. */
  events: (team: TeamId, run: RunId) => ["events", run, team],
  /** Time at which the last sweep judged ages, unix milliseconds. */
  sweepClock: () => ["sweep_clock"],
  /** All sweep reports, by night. */
  sweeps: () => ["sweep"],
  /** The report of a night's sweep, `YYYY-MM-DD`. */
  sweep: (night: string) => ["sweep", night],
  /** Events counted in a month, `YYYY-MM`. A sum counter: never check it. */
  usage: (team: TeamId, month: string) => ["usage", team, month],
  notices: (team: TeamId, month: string) => ["notice", team, month],
  /** A quota notice of a month; each percentage has at most one. */
  notice: ({ team, month, percent }: NoticeName) => ["notice", team, month, percent],
  /** Roll-ups of a kind between two days, inclusive: `true` sorts after every name. */
  rollups: (team: TeamId, kind: RollupKind, fromDay: string, toDay: string) =>
    through(["rollup", team, kind], fromDay, toDay),
  /** A roll-up of a UTC day, `YYYY-MM-DD`. */
  rollup: family<RollupParts>("rollup"),
  /**
   * Prefix of a team's own rate card rows; the key itself holds their number. Every write of a row
   * checks and sets it, so that its version is the version of the card.
   */
  rates: (team: TeamId) => ["rate", team],
  /** An own row of the rate card, by the hash of its identifying fields. */
  rate: (team: TeamId, name: Uint8Array) => ["rate", team, name],
  /** A team's request-rate bucket, from which instances lease slices. */
  rateBucket: (team: TeamId, api: Api) => ["rate_bucket", team, api],
  /** Set by each renewal of the lease on background work. */
  lease: () => ["lease"],
  /** Written while commits fail, to find out when they succeed again. */
  probe: () => ["probe"],
  receipts: () => ["receipt"],
  /** Name of the latest commit with a process's receipt; see `receipts.ts`. */
  receipt: (process: string, number: number) => ["receipt", process, number],
  runs: () => ["run"],
  pendingMarks: () => ["dirty"],
  rollupVersions: () => ["rollup_version"],
  teamRollups: (team: TeamId) => ["rollup", team],
  teamUsage: (team: TeamId) => ["usage", team],
  /** Prefixes of keys whose second part is the team. */
  ofTeams: (): Deno.KvKey[] => [["team"], ["rollup"], ["usage"], ["agent"]],
} satisfies KeyBuilders;

/** Readers of the parts of stored keys. Each says which builders' keys it reads. */
export const keyParts = {
  /** Run, team and name of a row in the head of a run. */
  headRow: ([, run, team, row]: Deno.KvKey) => ({
    run: run as RunId,
    team: team as TeamId,
    row: String(row),
  }),
  /** Run and team of a chunk, or of a mark of staged chunks. */
  chunk: ([, run, team]: Deno.KvKey) => ({ run: run as RunId, team: team as TeamId }),
  /** Name of the blob that a chunk belongs to. */
  blob: (key: Deno.KvKey) => String(key[3]),
  /** Team of a key whose second part it is: of `ofTeams`, roll-up versions, purges, failures. */
  team: (key: Deno.KvKey) => key[1] as TeamId,
  /** Run of a key that ends with it: in indexes, the feed, expiry, purges, due runs, failures. */
  run: (key: Deno.KvKey) => key.at(-1) as RunId,
  /**
   * Number before that run: its start in an index, or the number of its change in the feed; of a
   * block, the last position it may hold; of a delivery, its time.
   */
  position: (key: Deno.KvKey) => Number(key.at(-2)),
  /** Last part of the order that an entry or a block belongs to. */
  order: (key: Deno.KvKey) => String(key.at(-3)),
  /** Lane of a row of marks. */
  lane: (key: Deno.KvKey) => String(key[1]),
  /** Number of a block. */
  number: (key: Deno.KvKey) => Number(key.at(-1)),
  /** Time, kind, team and name of a row of the work queue. */
  work: ([, , at, kind, team, name]: Deno.KvKey) => ({
    at: Number(at),
    kind: kind as WorkKind,
    team: team as TeamId,
    name: String(name),
  }),
  /** UTC day of a roll-up, also of one of removed runs. */
  day: (key: Deno.KvKey) => String(key[3]),
  /** Part after the team: an agent's slug, a month, a day's version, a dimension of the index. */
  name: (key: Deno.KvKey) => String(key[2]),
  /** UTC day and agent of a row of counts; an empty agent stands for all. */
  checkDay: ([, , day, agent]: Deno.KvKey) => ({ day: String(day), agent: String(agent) }),
  /** Instant that ends a key, unix milliseconds: of flips. */
  instant: (key: Deno.KvKey) => Number(key.at(-1)),
  /** Id of a job or delivery, name of a mark, or channel of a due row. */
  id: (key: Deno.KvKey) => String(key.at(-1)),
} as const;
