/**
 * All keys of the store; teams, credentials and agents are in `team_keys.ts` and `agent_keys.ts`.
 *
 * Keys of rows written by each request begin with the run's id, which begins with its time: inserts
 * are then adjacent, which is ten times faster than spreading them over teams. The team follows the
 * id directly, so that no read can reach another team's data.
 *
 * @module
 */
import type { EventId, RunId, ScoreId, TeamId } from "../../domain/core/ids.ts";
import type { Api } from "../../domain/teams/rate_limit.ts";
import type { PendingLane } from "../../domain/runs/processing.ts";
import type { RollupKind } from "../../domain/spend/rollup.ts";
import type { ExpiryEntry, RetentionClass } from "../../domain/retention/retention.ts";
import { agentKeys } from "./agent_keys.ts";
import { teamKeys } from "./team_keys.ts";

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

/** Types of jobs that teams request. */
export type JobType = "deletion" | "reprice";

/** Version of the stored format; incremented when earlier versions could not read the rows. */
export const LEDGER_FORMAT = 1;

/** Builders of keys; each reads like a path. */
export const keys = {
  ...agentKeys,
  ...teamKeys,
  /** The {@link LEDGER_FORMAT} that the ledger was created in. */
  format: (): Deno.KvKey => ["format"],
  /** The head of one run: small rows only, so that many runs fit in one read. */
  run: (team: TeamId, run: RunId): Deno.KvKey => ["run", run, team],
  /** Heads of all teams' runs, from one team's run to all runs with the last id. */
  runRange: (team: TeamId, first: RunId, last: RunId): Deno.KvListSelector => ({
    start: ["run", first, team],
    // `true` sorts after every other key part.
    end: ["run", last, true],
  }),
  /** The opening, written once. */
  opening: (team: TeamId, run: RunId): Deno.KvKey => ["run", run, team, "opening"],
  /** The close, written once. */
  closing: (team: TeamId, run: RunId): Deno.KvKey => ["run", run, team, "closing"],
  /** The head of the event ledger; the one key of a run that changes. */
  ledger: (team: TeamId, run: RunId): Deno.KvKey => ["run", run, team, "ledger"],
  pages: (team: TeamId, run: RunId): Deno.KvKey => ["events", run, team, "page"],
  /** The first `count` sealed pages of the ledger. */
  firstPages: (team: TeamId, run: RunId, count: number): Deno.KvListSelector => ({
    prefix: keys.pages(team, run),
    end: keys.page(team, run, count),
  }),
  /** Directory of the sealed pages. */
  directory: (team: TeamId, run: RunId): Deno.KvKey => ["events", run, team, "directory"],
  /** Directory row of some consecutive sealed pages. */
  directoryRow: (team: TeamId, run: RunId, row: number): Deno.KvKey => [
    ...keys.directory(team, run),
    row,
  ],
  /** Ids of events that are on no page. */
  eventIds: (team: TeamId, run: RunId): Deno.KvKey => ["events", run, team, "id"],
  /** The id of an event that is on no page, written once. */
  eventId: (team: TeamId, run: RunId, id: Uint8Array): Deno.KvKey => [
    ...keys.eventIds(team, run),
    id,
  ],
  /** A sealed page, written once. */
  page: (team: TeamId, run: RunId, page: number): Deno.KvKey => ["events", run, team, "page", page],
  /** A batch of events, written once. */
  batch: (team: TeamId, run: RunId, batch: number): Deno.KvKey => [
    "events",
    run,
    team,
    "batch",
    batch,
  ],
  /** Prices of a batch after a repricing. */
  prices: (team: TeamId, run: RunId, batch: number): Deno.KvKey => [
    "events",
    run,
    team,
    "prices",
    batch,
  ],
  /** Totals of a run's removed batches. */
  removedTotals: (team: TeamId, run: RunId): Deno.KvKey => ["events", run, team, "removed"],
  scores: (team: TeamId, run: RunId): Deno.KvKey => ["events", run, team, "score"],
  /** A score that was added to a run, written once. */
  score: (team: TeamId, run: RunId, id: ScoreId | EventId): Deno.KvKey => [
    ...keys.scores(team, run),
    id,
  ],
  /** Price of a heartbeat after a repricing. */
  price: (team: TeamId, run: RunId): Deno.KvKey => ["run", run, team, "price"],
  summary: (team: TeamId, run: RunId): Deno.KvKey => ["run", run, team, "summary"],
  chunks: (team: TeamId, run: RunId): Deno.KvKey => ["chunk", run, team],
  /** A further chunk of a value too large for one key. */
  chunk: (team: TeamId, run: RunId, blob: string, chunk: number): Deno.KvKey => [
    ...keys.chunks(team, run),
    blob,
    chunk,
  ],
  pendingLane: (lane: PendingLane): Deno.KvKey => ["dirty", lane],
  pending: (lane: PendingLane, name: string): Deno.KvKey => ["dirty", lane, name],
  /**
   * Changes with every change of a team's roll-ups, so that one check protects all of them. Its
   * value is the number of the team's latest change in the feed.
   */
  rollupVersion: (team: TeamId): Deno.KvKey => ["rollup_version", team],
  /** Changes with every change of a roll-up of that UTC day: unchanged, so are its roll-ups. */
  rollupDay: (team: TeamId, day: string): Deno.KvKey => ["rollup_day", team, day],
  /** Roll-up versions between two days, inclusive. */
  rollupDays: (team: TeamId, fromDay: string, toDay: string): Deno.KvListSelector => ({
    start: ["rollup_day", team, fromDay],
    end: ["rollup_day", team, toDay, true],
  }),
  changes: (team: TeamId): Deno.KvKey => ["change", team],
  /** Changes of the feed after a number. */
  changesAfter: (team: TeamId, number: number): Deno.KvListSelector => ({
    // `true` sorts after every other key part.
    start: ["change", team, number, true],
    end: ["change", team, true],
  }),
  /** The latest change of a run, or its deletion. */
  change: (team: TeamId, number: number, run: RunId): Deno.KvKey => ["change", team, number, run],
  /** All waiting stages, by due time. */
  dueStages: (): Deno.KvKey => ["due_stage"],
  /** A run whose next stage waits until `atMs`, unix milliseconds. */
  dueStage: (atMs: number, team: TeamId, run: RunId): Deno.KvKey => ["due_stage", atMs, team, run],
  /** All runs with a dead stage: one that used up its attempts. */
  deadStages: (): Deno.KvKey => ["dead_stage"],
  deadStagesOf: (team: TeamId): Deno.KvKey => ["dead_stage", team],
  deadStage: (team: TeamId, run: RunId): Deno.KvKey => ["dead_stage", team, run],
  processing: (team: TeamId, run: RunId): Deno.KvKey => ["run", run, team, "processing"],
  /** All runs of one index name, such as an agent or a model, by their start. */
  runsBy: (team: TeamId, kind: RunIndexKind, name: string): Deno.KvKey => [
    ...keys.teamRunsBy(team),
    kind,
    name,
  ],
  /** Runs of a name from `fromMs` up to `before`, exclusive; `run` may be text between two ids. */
  runsFrom: (
    team: TeamId,
    kind: RunIndexKind,
    name: string,
    fromMs: number,
    before: { readonly at: number; readonly run: string },
  ): Deno.KvListSelector => ({
    start: ["run_by", team, kind, name, fromMs],
    end: ["run_by", team, kind, name, before.at, before.run],
  }),
  /** All index rows of a team's runs. */
  teamRunsBy: (team: TeamId): Deno.KvKey => ["run_by", team],
  /** All runs of the names from `fromName` up to `endName`, exclusive. */
  runsOfNames: (
    team: TeamId,
    kind: RunIndexKind,
    fromName: string,
    endName: string,
  ): Deno.KvListSelector => ({
    start: ["run_by", team, kind, fromName],
    end: ["run_by", team, kind, endName],
  }),
  /** Index row of one run, by its start. */
  runBy: (
    team: TeamId,
    kind: RunIndexKind,
    name: string,
    startedAt: number,
    run: RunId,
  ): Deno.KvKey => ["run_by", team, kind, name, startedAt, run],
  /** Runs whose retention check is due before an instant, oldest first; after the row `after`. */
  expiries: (
    team: TeamId,
    horizon: RetentionClass,
    beforeMs: number,
    after: Deno.KvKey | null,
  ): Deno.KvListSelector => ({
    // `true` sorts after every other key part.
    start: after === null ? ["expiry", team, horizon] : [...after, true],
    end: ["expiry", team, horizon, beforeMs],
  }),
  /** Expiry row of a run, by the arrival of the data that decides its class. */
  expiry: (team: TeamId, { horizon, since }: ExpiryEntry, run: RunId): Deno.KvKey => [
    "expiry",
    team,
    horizon,
    since,
    run,
  ],
  /** Totals of removed runs, by roll-up. */
  removedRollup: (team: TeamId, kind: RollupKind, day: string, name: string): Deno.KvKey => [
    ...keys.removedRollups(team, kind),
    day,
    name,
  ],
  /** Totals of removed runs in all roll-ups of a team, or of one kind. */
  removedRollups: (team: TeamId, kind?: RollupKind): Deno.KvKey =>
    kind === undefined ? ["removed_rollup", team] : ["removed_rollup", team, kind],
  /** Totals of an agent's removed runs. */
  removedAgent: (team: TeamId, slug: string): Deno.KvKey => ["removed_agent", team, slug],
  removedAgents: (team: TeamId): Deno.KvKey => ["removed_agent", team],
  /** Counted events of a month, `YYYY-MM`, that were removed. A sum counter. */
  removedUsage: (team: TeamId, month: string): Deno.KvKey => ["removed_usage", team, month],
  removedUsages: (team: TeamId): Deno.KvKey => ["removed_usage", team],
  /** All removed runs whose events are still being removed. */
  purges: (): Deno.KvKey => ["purge"],
  /** A removed run whose events are still being removed. */
  purge: (team: TeamId, run: RunId): Deno.KvKey => ["purge", team, run],
  purgesOf: (team: TeamId): Deno.KvKey => ["purge", team],
  /** Changes with every new job of a team; also the prefix of all its jobs. */
  jobs: (type: JobType, team: TeamId): Deno.KvKey => [type, team],
  job: (type: JobType, team: TeamId, id: string): Deno.KvKey => [type, team, id],
  /** All active jobs, or those of a team. */
  activeJobs: (type: JobType, ...team: readonly TeamId[]): Deno.KvKey => [
    `active_${type}`,
    ...team,
  ],
  activeJob: (type: JobType, team: TeamId, id: string): Deno.KvKey => [`active_${type}`, team, id],
  /** Number of items of one type that a deletion job has deleted. A sum counter. */
  deletionCount: (team: TeamId, id: string, what: string): Deno.KvKey => [
    "deletion_count",
    team,
    id,
    what,
  ],
  /** Prefix of everything stored for a run's events. */
  events: (team: TeamId, run: RunId): Deno.KvKey => ["events", run, team],
  /** Time at which the last sweep judged ages, unix milliseconds. */
  sweepClock: (): Deno.KvKey => ["sweep_clock"],
  /** All sweep reports, by night. */
  sweeps: (): Deno.KvKey => ["sweep"],
  /** The report of a night's sweep, `YYYY-MM-DD`. */
  sweep: (night: string): Deno.KvKey => ["sweep", night],
  /** Events counted in a month, `YYYY-MM`. A sum counter: never check it. */
  usage: (team: TeamId, month: string): Deno.KvKey => ["usage", team, month],
  notices: (team: TeamId, month: string): Deno.KvKey => ["notice", team, month],
  /** A quota notice of a month; each percentage has at most one. */
  notice: (team: TeamId, month: string, percent: number): Deno.KvKey => [
    ...keys.notices(team, month),
    percent,
  ],
  /** All notices that were not delivered yet. */
  openNotices: (): Deno.KvKey => ["open_notice"],
  openNotice: (team: TeamId, month: string, percent: number): Deno.KvKey => [
    "open_notice",
    team,
    month,
    percent,
  ],
  /** Roll-ups of a kind between two days, inclusive: `true` sorts after every name. */
  rollups: (team: TeamId, kind: RollupKind, fromDay: string, toDay: string) => ({
    start: ["rollup", team, kind, fromDay] as Deno.KvKey,
    end: ["rollup", team, kind, toDay, true] as Deno.KvKey,
  }),
  /** A roll-up of a UTC day, `YYYY-MM-DD`. */
  rollup: (team: TeamId, kind: RollupKind, day: string, name: string): Deno.KvKey => [
    "rollup",
    team,
    kind,
    day,
    name,
  ],
  /**
   * Prefix of a team's own rate card rows; the key itself holds their number. Every write of a row
   * checks and sets it, so that its version is the version of the card.
   */
  rates: (team: TeamId): Deno.KvKey => ["rate", team],
  /** An own row of the rate card, by the hash of its identifying fields. */
  rate: (team: TeamId, name: Uint8Array): Deno.KvKey => ["rate", team, name],
  /** A team's request-rate bucket, from which instances lease slices. */
  rateBucket: (team: TeamId, api: Api): Deno.KvKey => ["rate_bucket", team, api],
  runs: (): Deno.KvKey => ["run"],
  pendingMarks: (): Deno.KvKey => ["dirty"],
  rollupVersions: (): Deno.KvKey => ["rollup_version"],
  teamRollups: (team: TeamId): Deno.KvKey => ["rollup", team],
  teamUsage: (team: TeamId): Deno.KvKey => ["usage", team],
  /** Prefixes of keys whose second part is the team. */
  ofTeams: (): Deno.KvKey[] => [["team"], ["rollup"], ["usage"], ["agent"]],
} as const;
