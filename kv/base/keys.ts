/**
 * All keys of the store.
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
import type { ConfigKind, EventId, RunId, ScoreId, TeamId } from "../../domain/core/ids.ts";
import type { NoticeName } from "../../domain/teams/quota.ts";
import type { Api } from "../../runtime/rate_limit.ts";
import type { PendingLane } from "../../domain/runs/stages.ts";
import type { RollupKind } from "../../domain/spend/rollup.ts";
import type { RetentionClass } from "../../domain/retention/retention.ts";
import { monotonicFactory } from "@std/ulid";

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

/** Functions that build keys, or ranges of keys. */
type KeyBuilders = Readonly<
  Record<string, (...parts: never[]) => Deno.KvKey | Deno.KvKey[] | Deno.KvListSelector>
>;

/** Selects the keys of a prefix after a part; all of them if it is null. */
function after(prefix: Deno.KvKey, part: Deno.KvKeyPart | null): Deno.KvListSelector {
  return part === null ? { prefix } : { prefix, start: [...prefix, part, LAST] };
}

/** Sorts after every other key part. */
const LAST = true;

/** Selects the keys of a prefix from one part (inclusive) to another (exclusive). */
function between(prefix: Deno.KvKey, from: Deno.KvKeyPart, to: Deno.KvKeyPart) {
  return { start: [...prefix, from], end: [...prefix, to] };
}

/** Selects the keys of a prefix between two parts, inclusive. */
function through(prefix: Deno.KvKey, from: Deno.KvKeyPart, to: Deno.KvKeyPart) {
  return { start: [...prefix, from], end: [...prefix, to, LAST] };
}

/** Returns the builder of the keys of a family that has these parts in this order. */
function family<Parts extends readonly Deno.KvKeyPart[]>(name: string) {
  return (...parts: Parts): Deno.KvKey => [name, ...parts];
}

/** Builders of keys; each reads like a path. */
export const keys = {
  /** A credential by the SHA-256 of its secret: the only key read before the team is known. */
  credential: (hash: Uint8Array) => ["credential", hash],
  /** The hash of one of a team's credentials. */
  teamCredential: (team: TeamId, id: string) => ["team_credential", team, id],
  /** Credentials of a team after an id; from the first one if it is null. */
  teamCredentialsAfter: (team: TeamId, id: string | null) => after(["team_credential", team], id),
  /** Time of a credential's last recorded use. */
  credentialUse: (team: TeamId, id: string) => ["credential_use", team, id],
  /** Time at which a product last sent a trace, to the minute. */
  productUse: (team: TeamId, product: string) => ["product_use", team, product],
  /** A dashboard session by the SHA-256 of its token: read before its team is known. */
  session: (hash: Uint8Array) => ["session", hash],
  /** All sessions by credential and start. */
  sessions: () => ["session_by"],
  /** Sessions of one credential, oldest first. */
  sessionsOf: (credential: Uint8Array) => ["session_by", credential],
  /** A session of a credential, by its start. */
  sessionOf: family<[credential: Uint8Array, startedAt: number, hash: Uint8Array]>("session_by"),
  /** Audit log entries from one instant (inclusive) to another (exclusive), unix milliseconds. */
  auditEntries: (log: TeamId, fromMs: number, toMs: number) =>
    between(["audit_log", log], fromMs, toMs),
  /** An audit log entry, by its time. */
  auditEntry: (log: TeamId, atMs: number, name: string) => ["audit_log", log, atMs, name],
  /** Refused calls of a team. */
  refusals: (team: TeamId) => ["refusal", team],
  /** Teams after an id; from the first one if it is null. */
  teamsAfter: (id: string | null) => after(["team"], id),
  teams: () => ["team"],
  team: (team: TeamId) => ["team", team],
  /** The id of the team that the first start created. */
  firstTeam: () => ["first_team"],
  teamAgents: (team: TeamId) => ["agent", team],
  /** An active agent. */
  agent: (team: TeamId, slug: string) => ["agent", team, slug],
  /** Agents under the prefix `below`, after a slug; from the first one if it is null. */
  agentsAfter: (below: Deno.KvKey, slug: string | null) => after(below, slug),
  /** Number of archived agents of a team; also the prefix of all of them. */
  archivedAgents: (team: TeamId) => ["archived_agent", team],
  /** An archived agent; it no longer counts against the limit of agents. */
  archivedAgent: (team: TeamId, slug: string) => ["archived_agent", team, slug],
  /** Activity totals of all agents of a team. */
  agentActivities: (team: TeamId) => ["agent_activity", team],
  /** Activity totals of agents between two slugs, inclusive. */
  agentActivityRange: (team: TeamId, first: string, last: string) =>
    through(["agent_activity", team], first, last),
  /** Activity totals of one agent's runs. */
  agentActivity: (team: TeamId, slug: string) => ["agent_activity", team, slug],
  monitors: (team: TeamId) => ["monitor", team],
  /** The monitor of an agent. */
  monitor: (team: TeamId, slug: string) => ["monitor", team, slug],
  /** Flips of all monitors of a team. */
  teamFlips: (team: TeamId) => ["flip", team],
  /** Flips of an agent's monitor from one instant (inclusive) to another (exclusive). */
  flips: (team: TeamId, slug: string, fromMs: number, toMs: number) =>
    between(["flip", team, slug], fromMs, toMs),
  /** Flips of an agent's monitor at an instant, unix milliseconds. */
  flip: (team: TeamId, slug: string, atMs: number) => ["flip", team, slug, atMs],
  /**
   * Number of the version of all objects that a team configures; also the prefix of all of them. It
   * changes with each of them.
   */
  config: (team: TeamId) => ["config", team],
  /** The version, and all objects of all kinds. `true` sorts after every other key part. */
  configRows: (team: TeamId) => ({ start: ["config", team], end: ["config", team, true] }),
  /** All objects of one kind. */
  configKind: (team: TeamId, kind: ConfigKind) => ["config", team, kind],
  /** An object that a team configures. */
  configObject: (team: TeamId, kind: ConfigKind, slug: string) => ["config", team, kind, slug],
  /** Numbers of a team's alert instances. */
  alertState: (team: TeamId) => ["alert_state", team],
  /** All alert instances of a team, or those of a rule. */
  alerts: (team: TeamId, ...rule: readonly string[]) => ["alert", team, ...rule],
  /** The instance of a rule for a group; none if it is ok. */
  alert: (team: TeamId, rule: string, group: string) => ["alert", team, rule, group],
  incidents: (team: TeamId) => ["incident", team],
  incident: (team: TeamId, id: string) => ["incident", team, id],
  /** All incidents that are not resolved. */
  openIncidents: (team: TeamId) => ["open_incident", team],
  /** Those of all teams. */
  allOpenIncidents: () => ["open_incident"],
  openIncident: (team: TeamId, id: string) => ["open_incident", team, id],
  /** Incidents by their opening, from one instant (inclusive) to another (exclusive). */
  incidentsAt: (team: TeamId, fromMs: number, toMs: number) =>
    between(["incident_at", team], fromMs, toMs),
  incidentAt: (team: TeamId, atMs: number, id: string) => ["incident_at", team, atMs, id],
  deliveries: (team: TeamId) => ["delivery", team],
  delivery: (team: TeamId, id: string) => ["delivery", team, id],
  /** Deliveries by their creation, from one instant (inclusive) to another (exclusive). */
  deliveriesAt: (team: TeamId, fromMs: number, toMs: number) =>
    between(["delivery_at", team], fromMs, toMs),
  deliveryAt: (team: TeamId, atMs: number, id: string) => ["delivery_at", team, atMs, id],
  /** Failed deliveries, in the same order. */
  deadDeliveriesAt: (team: TeamId, fromMs: number, toMs: number) =>
    between(["dead_delivery", team], fromMs, toMs),
  deadDeliveries: (team: TeamId) => ["dead_delivery", team],
  deadDelivery: (team: TeamId, atMs: number, id: string) => ["dead_delivery", team, atMs, id],
  /** Deliveries of all channels that wait for a try. */
  deliveryQueues: () => ["delivery_queue"],
  /** Deliveries of a channel that wait for a try, by its time. */
  deliveryQueue: (team: TeamId, channel: string) => ["delivery_queue", team, channel],
  queuedDelivery: family<[team: TeamId, channel: string, atMs: number, id: string]>(
    "delivery_queue",
  ),
  /** State of a channel's deliveries. It changes with each of them that has not ended. */
  channelHealth: (team: TeamId, channel: string) => ["channel_health", team, channel],
  /** Times of a team's latest tests of channels. */
  channelTests: (team: TeamId) => ["channel_test", team],
  /** Runs of an agent that pings without an id opened. */
  openPings: (team: TeamId, agent: string) => ["open_pings", team, agent],
  /** Number of active agents of a team; every write that adds one checks it. */
  agentCount: (team: TeamId) => ["agent_count", team],
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
  /** A row of the work queue: handle an object at `atMs`, unix milliseconds. */
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
  /** Account of a judge; see `domain/judges/account.ts`. */
  judgeAccount: (team: TeamId, slug: string) => ["judge_account", team, slug],
  /** All jobs of judges for a run. */
  judgeJobs: (team: TeamId, run: RunId) => ["judge_job", run, team],
  /**
   * The job of a judge for a run, or of a trial. It outlives the run until its cost is in the ledger.
   */
  judgeJob: (team: TeamId, run: RunId, name: string) => ["judge_job", run, team, name],
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
  /** Name of the latest commit with a process's receipt; see `kv/writer/group.ts`. */
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

/**
 * Returns a new name, sortable by creation time. No name is a secret: 16 numbers of the system's
 * generator would take nine times as long.
 */
export const newRowName: () => string = monotonicFactory(Math.random);

/** Crockford's base 32: it has no letters that are easily confused with digits. */
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/**
 * Returns a new team id: 26 digits of 5 random bits each. It contains no time and no sequence, so
 * that a team's id cannot be guessed from another's.
 */
export function newTeamId(): TeamId {
  const bytes = crypto.getRandomValues(new Uint8Array(26));
  return Array.from(bytes, (byte) => DIGITS[byte & 31]).join("") as TeamId;
}
