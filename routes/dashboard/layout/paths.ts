/** Paths that pages link to. */
import type { ConfigKind } from "../../../domain/core/ids.ts";

/** The overview; the other pages are below it. */
export const DASHBOARD_PATH = "/dashboard";

/** The sign-in form. */
export const SIGN_IN = `${DASHBOARD_PATH}/sign-in`;

/** Form that loads sample runs. */
export const SAMPLES_PATH = `${DASHBOARD_PATH}/samples`;

export const RUNS_PATH = `${DASHBOARD_PATH}/runs`;

/** Rejected calls. */
export const REFUSALS_PATH = `${DASHBOARD_PATH}/refusals`;

export const AGENTS_PATH = `${DASHBOARD_PATH}/agents`;

export const ALERTS_PATH = `${DASHBOARD_PATH}/alerts`;

/** Search of runs, agents, customers and pages. */
export const SEARCH_PATH = `${DASHBOARD_PATH}/search`;

/** Form of the theme and the time zone. */
export const VIEW_PATH = `${DASHBOARD_PATH}/view`;

export const SPEND_PATH = `${DASHBOARD_PATH}/spend`;

export const RATE_CARD_PATH = `${DASHBOARD_PATH}/rate-card`;

/** The team's plan and the usage of it. */
export const PLAN_PATH = `${DASHBOARD_PATH}/plan`;

/** Lines that connect the instrumentations of agents. */
export const CONNECT_PATH = `${DASHBOARD_PATH}/connect`;

/** Keys and ping tokens. */
export const KEYS_PATH = `${DASHBOARD_PATH}/keys`;

/** All teams, for the operator. */
export const TEAMS_PATH = `${DASHBOARD_PATH}/teams`;

export const AUDIT_LOG_PATH = `${DASHBOARD_PATH}/audit`;

/** The API reference. */
export const REFERENCE_PATH = "/docs";

/** Returns whether a path is a page or below it. */
export function isWithin(path: string, page: string): boolean {
  return path === page || (page !== DASHBOARD_PATH && path.startsWith(`${page}/`));
}

/** Paths of pages that a form may redirect to, in characters that a header may contain. */
const OWN_PAGE = /^\/dashboard(?:[/?][\x21-\x5b\x5d-\x7e]*)?$/;

/** Returns a path that a form names if it is one of a page's, else the overview. */
export function ownPage(path: string | null | undefined): string {
  return path !== null && path !== undefined && OWN_PAGE.test(path) ? path : DASHBOARD_PATH;
}

/** Returns the paths of the objects of a list, and of their forms. */
export function pathsBelow<Form extends string = never>(list: string) {
  return (name: string, form: Form | "" = "") => `${list}/${encodeURIComponent(name)}${form}`;
}

/** Path of a run's page. */
export const runPath = pathsBelow(RUNS_PATH);

/** Path of an agent's page. */
export const agentPath = pathsBelow(AGENTS_PATH);

/** Path of the page of one key, optionally with the form that confirms a change. */
export function keyPath(id: string, confirm: "rotate" | "revoke" | null = null): string {
  return KEYS_PATH + queryText([["confirm", confirm], ["id", id]]);
}

/** Path of the form for a new credential. */
export function newKeyPath(kind: "api_key" | "ping_token", agent: string | null = null): string {
  return `${KEYS_PATH}/new${queryText([["kind", kind], ["agent", agent]])}`;
}

/** Path of the operator's page of one team. */
export const teamPath = pathsBelow(TEAMS_PATH);

/**
 * Builds the query of a link. Skips pairs without a value; returns an empty string if none is left.
 */
export function queryText(pairs: Iterable<readonly [string, string | number | null | undefined]>) {
  const query = new URLSearchParams();
  for (const [name, value] of pairs) {
    if (value !== null && value !== undefined && value !== "") query.append(name, String(value));
  }
  return query.size === 0 ? "" : `?${query}`;
}

/** Areas that have lists of configured objects; the other lists are areas of their own. */
const AREAS: Partial<Readonly<Record<ConfigKind, string>>> = {
  budget: SPEND_PATH,
  channel: ALERTS_PATH,
  pause: SPEND_PATH,
  rule: ALERTS_PATH,
  silence: ALERTS_PATH,
};

/** Returns the path of the list of a kind of configured objects. */
export function objectsPath(kind: ConfigKind): string {
  return `${AREAS[kind] ?? DASHBOARD_PATH}/${kind}s`;
}

export const CHECKS_PATH = objectsPath("check");

/** Path of a check, or of one of its forms. */
export const checkPath = pathsBelow<"/edit" | "/delete">(CHECKS_PATH);

export const BUDGETS_PATH = objectsPath("budget");

export const PAUSES_PATH = objectsPath("pause");

export const JUDGES_PATH = objectsPath("judge");

export const judgePath = pathsBelow(JUDGES_PATH);
