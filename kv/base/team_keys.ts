/**
 * Keys of teams, their credentials, agents and audit logs; part of `keys` in `keys.ts`.
 *
 * @module
 */
import type { ConfigKind } from "../../domain/config/objects.ts";
import type { TeamId } from "../../domain/core/ids.ts";

/** Functions that build keys, or ranges of keys. */
export type KeyBuilders = Readonly<
  Record<string, (...parts: never[]) => Deno.KvKey | Deno.KvKey[] | Deno.KvListSelector>
>;

/** Selects the keys of a prefix after a part; all of them if it is null. */
function after(prefix: Deno.KvKey, part: Deno.KvKeyPart | null): Deno.KvListSelector {
  return part === null ? { prefix } : { prefix, start: [...prefix, part, LAST] };
}

/** Sorts after every other key part. */
const LAST = true;

/** Selects the keys of a prefix from one part (inclusive) to another (exclusive). */
export function between(prefix: Deno.KvKey, from: Deno.KvKeyPart, to: Deno.KvKeyPart) {
  return { start: [...prefix, from], end: [...prefix, to] };
}

/** Selects the keys of a prefix between two parts, inclusive. */
export function through(prefix: Deno.KvKey, from: Deno.KvKeyPart, to: Deno.KvKeyPart) {
  return { start: [...prefix, from], end: [...prefix, to, LAST] };
}

/** Returns the builder of the keys of a family that has these parts in this order. */
export function family<Parts extends readonly Deno.KvKeyPart[]>(name: string) {
  return (...parts: Parts): Deno.KvKey => [name, ...parts];
}

/** Builders of these keys; each reads like a path. */
export const teamKeys = {
  /** A credential by the SHA-256 of its secret: the only key read before the team is known. */
  credential: (hash: Uint8Array) => ["credential", hash],
  /** The hash of one of a team's credentials. */
  teamCredential: (team: TeamId, id: string) => ["team_credential", team, id],
  /** Credentials of a team after an id; from the first one if it is null. */
  teamCredentialsAfter: (team: TeamId, id: string | null) => after(["team_credential", team], id),
  /** Time of a credential's last recorded use. */
  credentialUse: (team: TeamId, id: string) => ["credential_use", team, id],
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
  /** All monitors of a team. */
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
} satisfies KeyBuilders;
