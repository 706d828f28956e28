/**
 * Queries for incidents, and their places in lists.
 *
 * @module
 */
import type { IncidentState, Severity } from "../channels/message.ts";
import type { PageBounds } from "../core/query.ts";

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

/** Incidents per page. */
export const INCIDENTS_PER_PAGE = { default: 100, max: 500 } as const;

/** Numbers of a team's incidents that are not resolved, by severity. */
export type OpenIncidents = Readonly<Record<Severity, number>>;
