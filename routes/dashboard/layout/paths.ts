/** Where pages are. */

/** The first page, below which all others are. */
export const DASHBOARD = "/dashboard";

/** Where one signs in. */
export const SIGN_IN = `${DASHBOARD}/sign-in`;

/** The list of runs. */
export const RUNS = `${DASHBOARD}/runs`;

/** Calls that were rejected. */
export const REFUSALS = `${DASHBOARD}/refusals`;

/** The list of agents. */
export const AGENTS = `${DASHBOARD}/agents`;

/** What was spent. */
export const SPEND = `${DASHBOARD}/spend`;

/** The rate card. */
export const RATE_CARD = `${DASHBOARD}/rate-card`;

/** How much of the plan is used. */
export const USAGE = `${DASHBOARD}/usage`;

/** Keys and ping tokens. */
export const KEYS = `${DASHBOARD}/keys`;

/** The reader's own team. */
export const TEAM = `${DASHBOARD}/team`;

/** All teams, for the operator. */
export const TEAMS = `${DASHBOARD}/teams`;

/** The audit log. */
export const AUDIT = `${DASHBOARD}/audit`;

/** The page of a run. */
export function runPath(id: string): string {
  return `${RUNS}/${encodeURIComponent(id)}`;
}

/** The page of an agent. */
export function agentPath(slug: string): string {
  return `${AGENTS}/${encodeURIComponent(slug)}`;
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
