/** Where pages are. */

/** The first page, below which all others are. */
export const DASHBOARD_PATH = "/dashboard";

/** Where one signs in. */
export const SIGN_IN = `${DASHBOARD_PATH}/sign-in`;

/** The list of runs. */
export const RUNS_PATH = `${DASHBOARD_PATH}/runs`;

/** Calls that were rejected. */
export const REFUSALS_PATH = `${DASHBOARD_PATH}/refusals`;

/** The list of agents. */
export const AGENTS_PATH = `${DASHBOARD_PATH}/agents`;

/** What was spent. */
export const SPEND_PATH = `${DASHBOARD_PATH}/spend`;

/** The rate card. */
export const RATE_CARD_PATH = `${DASHBOARD_PATH}/rate-card`;

/** How much of the plan is used. */
export const USAGE_PATH = `${DASHBOARD_PATH}/usage`;

/** Keys and ping tokens. */
export const KEYS_PATH = `${DASHBOARD_PATH}/keys`;

/** The reader's own team. */
export const TEAM_PATH = `${DASHBOARD_PATH}/team`;

/** All teams, for the operator. */
export const TEAMS_PATH = `${DASHBOARD_PATH}/teams`;

/** The audit log. */
export const AUDIT_LOG_PATH = `${DASHBOARD_PATH}/audit`;

/** The page of a run. */
export function runPath(id: string): string {
  return `${RUNS_PATH}/${encodeURIComponent(id)}`;
}

/** The page of an agent. */
export function agentPath(slug: string): string {
  return `${AGENTS_PATH}/${encodeURIComponent(slug)}`;
}

/** The query of a link: pairs without a value are left out; the empty text where none is left. */
export function queryText(
  pairs: Iterable<readonly [string, string | number | null | undefined]>,
): string {
  const sent = new URLSearchParams();
  for (const [name, value] of pairs) {
    if (value !== null && value !== undefined && value !== "") sent.append(name, String(value));
  }
  return sent.size === 0 ? "" : `?${sent}`;
}
