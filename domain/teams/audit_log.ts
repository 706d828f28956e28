/**
 * The audit log: who changed what of a team and when, in the commit that changed it. Nothing is ever
 * taken out of it, and no secret is ever in it.
 *
 * @module
 */
import { OPERATOR } from "./credentials.ts";
import type { TeamId } from "../core/ids.ts";
import { type Parsed, refuse } from "../core/errors.ts";
import { parseInstant } from "../core/time.ts";
import { type PageQuery, parsePage } from "../core/page.ts";

/** Everything that is logged, in dotted words: first to what. */
export const AUDIT_ACTIONS = [
  "agent.changed",
  "credential.created",
  "credential.revoked",
  "credential.rotated",
  "customer.deleted",
  "rate.deleted",
  "rate.put",
  "reprice.started",
  "run.deleted",
  "team.changed",
  "team.created",
  "team.resumed",
  "team.suspended",
] as const;

/** One of {@link AUDIT_ACTIONS}. */
export type AuditAction = typeof AUDIT_ACTIONS[number];

/** Who it is when the settings of a start change something. */
export const SETTINGS_ACTOR = "settings";

/** A value of the details: what JSON has. */
export type AuditValue =
  | string
  | number
  | boolean
  | null
  | readonly AuditValue[]
  | { readonly [name: string]: AuditValue };

/** One change. */
export interface AuditEntry {
  /** When, unix milliseconds by the clock of the process that did it. */
  readonly at: number;
  /** The team it is about. */
  readonly team: TeamId;
  /** Identifier of the credential that did it, `operator`, or {@link SETTINGS_ACTOR}. */
  readonly actor: string;
  /** What was done. */
  readonly action: AuditAction;
  /** Identifier of what it was done to. */
  readonly target: string;
  /** What changed, under the names that answers have; never a secret. */
  readonly details: { readonly [name: string]: AuditValue };
}

/** In whose logs an entry stands: the team's, and the operator's when the operator did it. */
export function logsOf({ team, actor }: AuditEntry): readonly TeamId[] {
  return actor === OPERATOR.credentialId ? [team, OPERATOR.team.id] : [team];
}

/** A place in a log: entries of one millisecond are told apart by name. */
export interface AuditPlace {
  /** Instant of the entry, unix milliseconds. */
  readonly at: number;
  /** Its name. */
  readonly name: string;
}

/** Which entries are asked for. */
export interface AuditQuery extends PageQuery<AuditPlace> {
  /** First instant, unix milliseconds. */
  readonly from: number;
  /** The instant behind the last, unix milliseconds; `Infinity` for up to now. */
  readonly to: number;
}

/** An entry as it is read: with the name of the credential that did it, null where it has none. */
export interface ReadAuditEntry extends AuditEntry {
  /** Name of the credential. */
  readonly actorName: string | null;
}

/** A page of a log, newest first. */
export interface AuditPage {
  /** The entries. */
  readonly entries: readonly ReadAuditEntry[];
  /** Where the next page starts after; null at the end. */
  readonly next: AuditPlace | null;
}

/** The logs of all teams. */
export interface AuditLogStore {
  /**
   * Reads a page.
   *
   * @param log the team, or the operator's own
   * @throws {StorageUnavailable} when the store fails
   */
  page(log: TeamId, query: AuditQuery): Promise<AuditPage>;
}

/**
 * What is different between two states of something, for the details of an entry; null when nothing is.
 *
 * @param before names and values as answers have them
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

/** Reads the query of `GET /v1/audit`. */
export function parseAuditQuery(
  query: string,
  placeOf: (cursor: string) => AuditPlace | null,
): Parsed<AuditQuery> {
  const page = parsePage(query, placeOf);
  if (!page.ok) return page;
  const from = instantOf(page.value.sent.get("from"), 0);
  if (from === null) return refuseInstant("from");
  const to = instantOf(page.value.sent.get("to"), Infinity);
  if (to === null) return refuseInstant("to");
  if (to < from) return refuse("invalid_field", '"to" must not be before "from"', "to");
  return { ok: true, value: { ...page.value, from, to } };
}

function instantOf(sent: string | undefined, absent: number): number | null {
  return sent === undefined ? absent : parseInstant(sent);
}

function refuseInstant(field: string): Parsed<never> {
  const message = `"${field}" must be an RFC 3339 instant such as 2026-01-31T12:00:00.000Z`;
  return refuse("invalid_field", message, field);
}
