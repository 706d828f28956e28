/**
 * The table of pages. They read through the same ports as the API, and each URL says all that its page
 * shows.
 */
import type { Requirement } from "../../domain/teams/credentials.ts";
import type { AppDeps, Handle, Route } from "../http/context.ts";
import type { Exports } from "../api/exports/exports.ts";
import { sessionStillWorks } from "../http/session.ts";
import type { Waiting } from "../http/long_polls.ts";
import { showAudit } from "./audit/list.tsx";
import { sendAsset } from "./layout/assets.ts";
import {
  AGENTS,
  AUDIT,
  DASHBOARD,
  KEYS,
  RATE_CARD,
  REFUSALS,
  RUNS,
  SIGN_IN,
  SPEND,
  TEAM,
  TEAMS,
  USAGE,
} from "./layout/paths.ts";
import { seeOther } from "./layout/reply.tsx";
import { showOverview } from "./overview/overview.tsx";
import { showAgent } from "./agents/agent.tsx";
import { changeAgent } from "./agents/form.tsx";
import { showAgents } from "./agents/list.tsx";
import { backToKey, makeKey, revokeKey, rotateKey } from "./keys/change.tsx";
import { showNewKey } from "./keys/form.tsx";
import { showKeys } from "./keys/list.tsx";
import { backToTeam, changeTeam, makeTeamKey, serveTeam } from "./teams/change.tsx";
import { makeTeam, showNewTeam } from "./teams/create.tsx";
import { showTeams } from "./teams/list.tsx";
import { showTeam } from "./teams/one.tsx";
import { showOwnTeam } from "./teams/own.tsx";
import { sendDeletion } from "./run/delete_run.tsx";
import { showRuns } from "./runs/list.tsx";
import { showRawRun, showRun } from "./run/run.tsx";
import { showRateCard } from "./rate_card/card_page.tsx";
import { askDeleteRate, deleteRatePage } from "./rate_card/delete_page.tsx";
import { showJob } from "./rate_card/job_page.tsx";
import { showMatch } from "./rate_card/match_page.tsx";
import { showRateForm, storeRate } from "./rate_card/form.tsx";
import { MATCH, NEW_RATE, REPRICE } from "./rate_card/paths.ts";
import { beginRepricePage, showReprices } from "./rate_card/reprice_page.tsx";
import { showRefusals } from "./refusals/page.tsx";
import { sendSpendCsv } from "./spend/csv.ts";
import { showSpend } from "./spend/page.tsx";
import { showSignIn, signIn, signOut } from "./sign_in.tsx";
import { showUsage } from "./usage/usage.tsx";
import { key, keyOrOperator, OPERATOR_ONLY } from "../http/access.ts";

/** What pages and the API have in common, so that its bounds hold for both together. */
export interface Shared {
  /** Those who wait. */
  readonly waiting: Waiting;
  /** Makes the handler of an export. */
  readonly exported: Exports;
}

/** Every page, with what it asks of whoever signed in. */
export function pageTable(deps: AppDeps, { waiting, exported }: Shared): Route[] {
  return [
    page("GET", "/", null, () => seeOther(DASHBOARD)),
    page("GET", `${DASHBOARD}/assets/:name`, null, sendAsset),
    page("GET", SIGN_IN, null, showSignIn(deps)),
    page("POST", SIGN_IN, null, signIn(deps)),
    page("POST", `${DASHBOARD}/sign-out`, ANYBODY, signOut(deps)),
    page("GET", DASHBOARD, ANYBODY, showOverview(deps)),
    page("GET", USAGE, key("read"), showUsage(deps)),
    page("GET", AGENTS, key("read"), showAgents(deps)),
    page("GET", `${AGENTS}/:slug`, key("read"), showAgent(deps)),
    page("POST", `${AGENTS}/:slug`, key("admin"), changeAgent(deps)),
    page("GET", KEYS, key("admin"), showKeys(deps)),
    page("POST", KEYS, key("admin"), makeKey(deps)),
    page("GET", `${KEYS}/new`, key("admin"), showNewKey),
    page("POST", `${KEYS}/:id/rotate`, key("admin"), rotateKey(deps)),
    page("GET", `${KEYS}/:id/rotate`, key("admin"), backToKey),
    page("POST", `${KEYS}/:id/revoke`, key("admin"), revokeKey(deps)),
    page("GET", TEAM, key("read"), showOwnTeam(deps)),
    page("GET", AUDIT, keyOrOperator("admin"), showAudit(deps)),
    page("GET", TEAMS, OPERATOR_ONLY, showTeams(deps)),
    page("POST", TEAMS, OPERATOR_ONLY, makeTeam(deps)),
    page("GET", `${TEAMS}/new`, OPERATOR_ONLY, showNewTeam),
    page("GET", `${TEAMS}/:id`, OPERATOR_ONLY, showTeam(deps)),
    page("POST", `${TEAMS}/:id`, OPERATOR_ONLY, changeTeam(deps)),
    page("POST", `${TEAMS}/:id/suspend`, OPERATOR_ONLY, serveTeam(deps, true)),
    page("POST", `${TEAMS}/:id/resume`, OPERATOR_ONLY, serveTeam(deps, false)),
    page("POST", `${TEAMS}/:id/keys`, OPERATOR_ONLY, makeTeamKey(deps)),
    page("GET", `${TEAMS}/:id/keys`, OPERATOR_ONLY, backToTeam),
    page("GET", `${RUNS}`, key("read"), showRuns(deps, waiting)),
    page("GET", `${RUNS}.csv`, key("read"), exported("csv", sessionStillWorks)),
    page("GET", `${RUNS}.ndjson`, key("read"), exported("ndjson", sessionStillWorks)),
    page("GET", `${RUNS}/:id`, key("read"), showRun(deps)),
    page("GET", `${RUNS}/:id/raw`, key("read"), showRawRun(deps)),
    page("POST", `${RUNS}/:id/delete`, key("admin"), sendDeletion(deps)),
    page("GET", REFUSALS, key("read"), showRefusals(deps)),
    page("GET", SPEND, key("read"), showSpend(deps)),
    page("GET", `${SPEND}.csv`, key("read"), sendSpendCsv(deps)),
    page("GET", RATE_CARD, key("admin"), showRateCard(deps)),
    page("POST", RATE_CARD, key("admin"), storeRate(deps)),
    page("GET", MATCH, key("admin"), showMatch(deps)),
    page("GET", NEW_RATE, key("admin"), showRateForm(deps)),
    page("GET", `${RATE_CARD}/rows/:id/delete`, key("admin"), askDeleteRate(deps)),
    page("POST", `${RATE_CARD}/rows/:id/delete`, key("admin"), deleteRatePage(deps)),
    page("GET", REPRICE, key("admin"), showReprices(deps)),
    page("POST", REPRICE, key("admin"), beginRepricePage(deps)),
    page("GET", `${REPRICE}/:id`, key("admin"), showJob(deps)),
  ];
}

/** Whoever may sign in. */
const ANYBODY = keyOrOperator("read");

function page(
  method: Route["method"],
  path: string,
  requires: Requirement | null,
  handler: Handle,
): Route {
  return { method, path, requires, handler };
}
