/**
 * The audit log: who changed what in a team and when, written in the same commit as the change.
 * Entries are never removed and never contain a secret.
 *
 * @module
 */
import { OPERATOR } from "./credentials.ts";
import { CONFIG_KINDS, type TeamId } from "../core/ids.ts";
import { type PageBounds, Query } from "../core/query.ts";

/** Actions besides those that all configured objects have. */
const OTHER_ACTIONS = [
  "channel.broken",
  "channel.rotated",
  "channel.tested",
  "credential.created",
  "credential.revoked",
  "credential.rotated",
  "customer.deleted",
  "delivery.resent",
  "incident.acknowledged",
  "incident.resolved",
  "monitor.deleted",
  "monitor.paused",
  "monitor.put",
  "monitor.resumed",
  "rate.deleted",
  "rate.put",
  "reprice.started",
  "run.deleted",
  "team.changed",
  "team.created",
  "team.resumed",
  "team.suspended",
] as const;

/** Logged actions, as `object.verb`. */
export const AUDIT_ACTIONS = [
  "agent.changed",
  ...[
    ...OTHER_ACTIONS,
    ...CONFIG_KINDS.flatMap((kind) => [`${kind}.deleted`, `${kind}.put`] as const),
  ].sort(),
] as const;

/** One of {@link AUDIT_ACTIONS}. */
export type AuditAction = typeof AUDIT_ACTIONS[number];

/** Actor of changes made by the settings at startup. */
export const SETTINGS_ACTOR = "settings";

/** Actor of changes that the service makes by itself. */
export const SERVICE_ACTOR = "service";

/** JSON value in the details of an entry. */
export type AuditValue =
  | string
  | number
  | boolean
  | null
  | readonly AuditValue[]
  | { readonly [name: string]: AuditValue };

/** One logged change. */
export interface AuditEntry {
  /** Time of the change, unix milliseconds by the clock of the process that made it. */
  readonly at: number;
  /** Changed team. */
  readonly team: TeamId;
  /** Identifier of the credential that made the change, `operator`, {@link SETTINGS_ACTOR} or {@link SERVICE_ACTOR}. */
  readonly actor: string;
  /** Action. */
  readonly action: AuditAction;
  /** Identifier of the changed object. */
  readonly target: string;
  /** Changed values under the names that responses use; never a secret. */
  readonly details: { readonly [name: string]: AuditValue };
}

/** Returns the logs that contain an entry: the team's, and the operator's if the operator made the change. */
export function logsOf({ team, actor }: AuditEntry): readonly TeamId[] {
  return actor === OPERATOR.credentialId ? [team, OPERATOR.team.id] : [team];
}

/** Position in a log; the name distinguishes entries of the same millisecond. */
export interface AuditPlace {
  /** Time of the entry, unix milliseconds. */
  readonly at: number;
  /** Name of the entry. */
  readonly name: string;
}

/** Query for a page of entries. */
export interface AuditQuery extends PageBounds<AuditPlace> {
  /** Start of the range, inclusive, unix milliseconds. */
  readonly from: number;
  /** End of the range, exclusive, unix milliseconds; `Infinity` for up to now. */
  readonly to: number;
}

/** Entry as read, with the name of its actor. */
export interface ReadAuditEntry extends AuditEntry {
  /** Name of the credential that made the change; null if it has none. */
  readonly actorName: string | null;
}

/** Page of a log, newest first. */
export interface AuditPage {
  /** Entries of the page. */
  readonly entries: readonly ReadAuditEntry[];
  /** Position after which the next page starts; null at the end. */
  readonly next: AuditPlace | null;
}

/**
 * Returns the difference between two states for the details of an entry; null without a difference.
 *
 * @param before names and values as in responses
 */
export function differenceOf(
  before: Readonly<Record<string, AuditValue>>,
  after: Readonly<Record<string, AuditValue>>,
): AuditEntry["details"] | null {
  const names = Object.keys(after)
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  if (names.length === 0) return null;
  const pick = (state: Readonly<Record<string, AuditValue>>) =>
    Object.fromEntries(names.map((name) => [name, state[name] ?? null]));
  return { before: pick(before), after: pick(after) };
}

/** Parses the query of `GET /v1/audit`. */
export function parseAuditQuery(
  text: string,
  placeOf: (cursor: string) => AuditPlace | null,
): AuditQuery {
  const query = new Query(text);
  return { ...query.page(placeOf), ...query.range() };
}
