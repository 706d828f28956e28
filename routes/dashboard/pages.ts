/**
 * The table of pages. They read through the same ports as the API, and each URL says all that its page
 * shows.
 */
import type { Requirement } from "../../domain/teams/credentials.ts";
import type { Handle, Route } from "../http/context.ts";
import { exportRuns } from "../api/exports/exports.ts";
import type { ExportFormat } from "../api/exports/formats.ts";
import { isSessionStillLive } from "../http/session.ts";
import type { HandlerDeps } from "../http/admission.ts";
import { showAudit } from "./audit_log/page.tsx";
import { sendAsset } from "./layout/assets.ts";
import {
  AGENTS_PATH,
  AUDIT_LOG_PATH,
  DASHBOARD_PATH,
  KEYS_PATH,
  RATE_CARD_PATH,
  REFUSALS_PATH,
  RUNS_PATH,
  SIGN_IN,
  SPEND_PATH,
  TEAM_PATH,
  TEAMS_PATH,
  USAGE_PATH,
} from "./layout/paths.ts";
import { seeOther } from "./layout/reply.tsx";
import { showOverview } from "./overview/page.tsx";
import { showAgent } from "./agents/agent.tsx";
import { submitAgentChange } from "./agents/form.tsx";
import { showAgents } from "./agents/page.tsx";
import { backToKey, makeKey, submitRevokeKey, submitRotateKey } from "./keys/submit.tsx";
import { showNewKey } from "./keys/form.tsx";
import { showKeys } from "./keys/page.tsx";
import { backToTeam, makeTeamKey, serveTeam, submitTeamChange } from "./teams/submit.tsx";
import { makeTeam, showNewTeam } from "./teams/new_team_page.tsx";
import { showTeams } from "./teams/page.tsx";
import { showTeam } from "./teams/team_page.tsx";
import { showOwnTeam } from "./team/page.tsx";
import { sendDeletion } from "./run/delete_run.tsx";
import { showRuns } from "./runs/page.tsx";
import { showRawRun, showRun } from "./run/page.tsx";
import { showRateCard } from "./rate_card/page.tsx";
import { askDeleteRate, deleteRatePage } from "./rate_card/delete_page.tsx";
import { showJob } from "./rate_card/job_page.tsx";
import { showMatch } from "./rate_card/match_page.tsx";
import { showRateForm, storeRate } from "./rate_card/rate_form.tsx";
import { MATCH, NEW_RATE, REPRICE } from "./rate_card/paths.ts";
import { beginRepricePage, showReprices } from "./rate_card/reprice_page.tsx";
import { showRefusals } from "./refusals/page.tsx";
import { sendSpendCsv } from "./spend/csv.ts";
import { showSpend } from "./spend/page.tsx";
import { showSignIn, signIn, signOut } from "./sign_in/page.tsx";
import { showUsage } from "./usage/page.tsx";
import { OPERATOR_ONLY, teamKey, teamKeyOrOperator } from "../http/access.ts";

/** Every page, with what it asks of whoever signed in. */
export function pageTable(deps: HandlerDeps): Route[] {
  const exported = (format: ExportFormat): Handle => (c) =>
    exportRuns(format, isSessionStillLive)(c, deps);
  return [
    page("GET", "/", null, () => seeOther(DASHBOARD_PATH)),
    page("GET", `${DASHBOARD_PATH}/assets/:name`, null, sendAsset),
    page("GET", SIGN_IN, null, showSignIn(deps)),
    page("POST", SIGN_IN, null, signIn(deps)),
    page("POST", `${DASHBOARD_PATH}/sign-out`, ANYBODY, signOut(deps)),
    page("GET", DASHBOARD_PATH, ANYBODY, showOverview(deps)),
    page("GET", USAGE_PATH, teamKey("read"), showUsage(deps)),
    page("GET", AGENTS_PATH, teamKey("read"), showAgents(deps)),
    page("GET", `${AGENTS_PATH}/:slug`, teamKey("read"), showAgent(deps)),
    page("POST", `${AGENTS_PATH}/:slug`, teamKey("admin"), submitAgentChange(deps)),
    page("GET", KEYS_PATH, teamKey("admin"), showKeys(deps)),
    page("POST", KEYS_PATH, teamKey("admin"), makeKey(deps)),
    page("GET", `${KEYS_PATH}/new`, teamKey("admin"), showNewKey),
    page("POST", `${KEYS_PATH}/:id/rotate`, teamKey("admin"), submitRotateKey(deps)),
    page("GET", `${KEYS_PATH}/:id/rotate`, teamKey("admin"), backToKey),
    page("POST", `${KEYS_PATH}/:id/revoke`, teamKey("admin"), submitRevokeKey(deps)),
    page("GET", TEAM_PATH, teamKey("read"), showOwnTeam(deps)),
    page("GET", AUDIT_LOG_PATH, teamKeyOrOperator("admin"), showAudit(deps)),
    page("GET", TEAMS_PATH, OPERATOR_ONLY, showTeams(deps)),
    page("POST", TEAMS_PATH, OPERATOR_ONLY, makeTeam(deps)),
    page("GET", `${TEAMS_PATH}/new`, OPERATOR_ONLY, showNewTeam),
    page("GET", `${TEAMS_PATH}/:id`, OPERATOR_ONLY, showTeam(deps)),
    page("POST", `${TEAMS_PATH}/:id`, OPERATOR_ONLY, submitTeamChange(deps)),
    page("POST", `${TEAMS_PATH}/:id/suspend`, OPERATOR_ONLY, serveTeam(deps, true)),
    page("POST", `${TEAMS_PATH}/:id/resume`, OPERATOR_ONLY, serveTeam(deps, false)),
    page("POST", `${TEAMS_PATH}/:id/keys`, OPERATOR_ONLY, makeTeamKey(deps)),
    page("GET", `${TEAMS_PATH}/:id/keys`, OPERATOR_ONLY, backToTeam),
    page("GET", `${RUNS_PATH}`, teamKey("read"), showRuns(deps)),
    page("GET", `${RUNS_PATH}.csv`, teamKey("read"), exported("csv")),
    page(
      "GET",
      `${RUNS_PATH}.ndjson`,
      teamKey("read"),
      exported("ndjson"),
    ),
    page("GET", `${RUNS_PATH}/:id`, teamKey("read"), showRun(deps)),
    page("GET", `${RUNS_PATH}/:id/raw`, teamKey("read"), showRawRun(deps)),
    page("POST", `${RUNS_PATH}/:id/delete`, teamKey("admin"), sendDeletion(deps)),
    page("GET", REFUSALS_PATH, teamKey("read"), showRefusals(deps)),
    page("GET", SPEND_PATH, teamKey("read"), showSpend(deps)),
    page("GET", `${SPEND_PATH}.csv`, teamKey("read"), sendSpendCsv(deps)),
    page("GET", RATE_CARD_PATH, teamKey("admin"), showRateCard(deps)),
    page("POST", RATE_CARD_PATH, teamKey("admin"), storeRate(deps)),
    page("GET", MATCH, teamKey("admin"), showMatch(deps)),
    page("GET", NEW_RATE, teamKey("admin"), showRateForm(deps)),
    page("GET", `${RATE_CARD_PATH}/rows/:id/delete`, teamKey("admin"), askDeleteRate(deps)),
    page("POST", `${RATE_CARD_PATH}/rows/:id/delete`, teamKey("admin"), deleteRatePage(deps)),
    page("GET", REPRICE, teamKey("admin"), showReprices(deps)),
    page("POST", REPRICE, teamKey("admin"), beginRepricePage(deps)),
    page("GET", `${REPRICE}/:id`, teamKey("admin"), showJob(deps)),
  ];
}

/** Whoever may sign in. */
const ANYBODY = teamKeyOrOperator("read");

function page(
  method: Route["method"],
  path: string,
  access: Requirement | null,
  handler: Handle,
): Route {
  return { method, path, access, handler };
}
