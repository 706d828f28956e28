/**
 * The contract of the store of agents.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { AgentPage, AgentRecord, AgentsQuery } from "./agents.ts";
import type { Parsed } from "../core/errors.ts";
import type { AgentPatch } from "./change.ts";
import type { AuditEntry } from "../teams/audit_log.ts";

/** The agents of all teams, and what their runs come to. */
export interface AgentStore {
  /** Reads one; null when the team has none of that slug. */
  read(team: Team, slug: string): Promise<AgentRecord | null>;
  /** Lists a page, or says why not in this order. */
  list(team: Team, query: AgentsQuery): Promise<Parsed<AgentPage>>;
  /**
   * Changes one, or says why not; null when the team has none of that slug.
   *
   * @param made identifier of the credential that does it, and when, for the audit log
   */
  change(
    team: Team,
    slug: string,
    patch: AgentPatch,
    made: Pick<AuditEntry, "at"> & { readonly by: string },
  ): Promise<Parsed<AgentRecord> | null>;
}
