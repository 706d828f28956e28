/** Paths that pages link to. */

/** The overview; the other pages are below it. */
export const DASHBOARD_PATH = "/dashboard";

/** The form for keys. */
export const SIGN_IN = `${DASHBOARD_PATH}/sign-in`;

/** The list of runs. */
export const RUNS_PATH = `${DASHBOARD_PATH}/runs`;

/** Calls that were rejected. */
export const REFUSALS_PATH = `${DASHBOARD_PATH}/refusals`;

/** The list of agents. */
export const AGENTS_PATH = `${DASHBOARD_PATH}/agents`;

/** Spend. */
export const SPEND_PATH = `${DASHBOARD_PATH}/spend`;

/** The rate card. */
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

/** The page of a run. */
export function runPath(id: string): string {
  return `${RUNS_PATH}/${encodeURIComponent(id)}`;
}

/** The page of an agent. */
export function agentPath(slug: string): string {
  return `${AGENTS_PATH}/${encodeURIComponent(slug)}`;
}

/** Builds the query of a link. Pairs without a value are left out; without any pair it is the empty text. */
export function queryText(
  pairs: Iterable<readonly [string, string | number | null | undefined]>,
): string {
  const sent = new URLSearchParams();
  for (const [name, value] of pairs) {
    if (value !== null && value !== undefined && value !== "") sent.append(name, String(value));
  }
  return sent.size === 0 ? "" : `?${sent}`;
}
