/** Paths that pages link to. */

/** The overview; the other pages are below it. */
export const DASHBOARD_PATH = "/dashboard";

/** The sign-in form. */
export const SIGN_IN = `${DASHBOARD_PATH}/sign-in`;

export const RUNS_PATH = `${DASHBOARD_PATH}/runs`;

/** Rejected calls. */
export const REFUSALS_PATH = `${DASHBOARD_PATH}/refusals`;

export const AGENTS_PATH = `${DASHBOARD_PATH}/agents`;

export const SPEND_PATH = `${DASHBOARD_PATH}/spend`;

export const RATE_CARD_PATH = `${DASHBOARD_PATH}/rate-card`;

/** Usage of the plan. */
export const USAGE_PATH = `${DASHBOARD_PATH}/usage`;

/** Keys and ping tokens. */
export const KEYS_PATH = `${DASHBOARD_PATH}/keys`;

/** The team of the session. */
export const TEAM_PATH = `${DASHBOARD_PATH}/team`;

/** All teams, for the operator. */
export const TEAMS_PATH = `${DASHBOARD_PATH}/teams`;

/** The audit log. */
export const AUDIT_LOG_PATH = `${DASHBOARD_PATH}/audit`;

/** Path of a run's page. */
export function runPath(id: string): string {
  return `${RUNS_PATH}/${encodeURIComponent(id)}`;
}

/** Path of an agent's page. */
export function agentPath(slug: string): string {
  return `${AGENTS_PATH}/${encodeURIComponent(slug)}`;
}

/**
 * Builds the query of a link. Skips pairs without a value; returns an empty string if none is left.
 */
export function queryText(
  pairs: Iterable<readonly [string, string | number | null | undefined]>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of pairs) {
    if (value !== null && value !== undefined && value !== "") query.append(name, String(value));
  }
  return query.size === 0 ? "" : `?${query}`;
}
