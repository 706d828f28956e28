/**
 * The contract of the store of incidents. Methods reject with `StorageUnavailable` when the store
 * fails.
 *
 * @module
 */
import type { IncidentState, Severity } from "../channels/message.ts";
import type { RunId } from "../core/ids.ts";
import type { PageBounds } from "../core/query.ts";
import type { MadeBy, Team } from "../teams/team.ts";
import type { Incident } from "./incident.ts";
import type { RuleOverflow } from "./rule.ts";

/** A query for incidents, latest first. */
export interface IncidentsQuery extends PageBounds<IncidentPlace> {
  /** State; `open` includes no acknowledged one; null for all. */
  readonly state: IncidentState | "unresolved" | null;
  /** Slug of the rule; null for all. */
  readonly rule: string | null;
  /** Agent; null for all. */
  readonly agent: string | null;
  /** Severity; null for all. */
  readonly severity: Severity | null;
  /** Earliest opening, inclusive, unix milliseconds. */
  readonly fromMs: number;
  /** Latest opening, exclusive, unix milliseconds. */
  readonly toMs: number;
}

/** Position of an incident in lists. */
export interface IncidentPlace {
  /** Opening, unix milliseconds. */
  readonly at: number;
  /** Identifier. */
  readonly id: string;
}

/** A page of incidents, latest first. */
export interface IncidentPage {
  /** Incidents, in order. */
  readonly incidents: readonly Incident[];
  /** Position before which the next page starts; null at the end. */
  readonly next: IncidentPlace | null;
}

/** Incidents per page. */
export const INCIDENTS_PER_PAGE = { default: 100, max: 500 } as const;

/** Numbers of a team's incidents that are not resolved, by severity. */
export type OpenIncidents = Readonly<Record<Severity, number>>;

/** Reads incidents, and changes them by hand. */
export interface IncidentStore {
  /** Returns a page. */
  list(team: Team, query: IncidentsQuery): Promise<IncidentPage>;
  /** Reads an incident; null if there is none. */
  read(team: Team, id: string): Promise<Incident | null>;
  /** Returns the numbers of incidents that are not resolved. */
  openCounts(team: Team): Promise<OpenIncidents>;
  /** Returns the rules of which groups share one incident, by slug. */
  overflows(team: Team): Promise<ReadonlyMap<string, RuleOverflow>>;
  /** Returns the incidents that a run belongs to, oldest first. */
  ofRun(team: Team, run: RunId): Promise<readonly string[]>;
  /** Acknowledges an incident; changes nothing if it is acknowledged or resolved. */
  acknowledge(team: Team, id: string, note: string | null, made: MadeBy): Promise<Incident | null>;
  /** Resolves an incident; changes nothing if it is resolved. */
  resolve(team: Team, id: string, note: string | null, made: MadeBy): Promise<Incident | null>;
}
