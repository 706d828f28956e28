/** Every page of the dashboard to check in a browser. */
import { CHECK_TEMPLATES } from "../../../domain/checks/templates.ts";
import { DASHBOARD_PATH } from "../../../routes/dashboard/layout/paths.ts";
import { REFERENCE_SCRIPT } from "../../../routes/docs/reference.ts";
import { dashboardRoutes } from "../../support/harness/dashboard.ts";
import type { DemoWorld } from "../../support/builders/demo_world.ts";

/** Role that opens a page. */
export type Role = "anonymous" | "reader" | "admin" | "operator";

/** A page in one state. */
export interface PageUnderTest {
  /** Name of its screenshots. */
  readonly name: string;
  /** Route in the dashboard's table; null for a path without a route. */
  readonly route: string | null;
  readonly path: (world: DemoWorld) => string;
  readonly role: Role;
  /** Expected status, 200 when absent. */
  readonly status?: number;
}

/** All pages, some in several states. */
export const PAGES: readonly PageUnderTest[] = [
  aPage("sign-in", "/sign-in", "/sign-in", "anonymous"),
  { ...aPage("not-found", "/nothing"), route: null, status: 404 },
  aPage("overview", ""),
  aPage("runs", "/runs"),
  aPage("runs-live", "/runs", "/runs?live=1"),
  { ...aPage("runs-refused", "/runs", "/runs?min_cost_usd=much"), status: 400 },
  aRun("run-failed", ({ runs }) => runs.failed),
  aRun("run-long", ({ runs }) => runs.long),
  aRun("run-parent", ({ runs }) => runs.parent),
  aRun("run-unpriced", ({ runs }) => runs.unpriced),
  aRun("run-running", ({ runs }) => runs.running),
  aRun("run-delete", ({ runs }) => `${runs.failed}?confirm=delete`),
  aPage(
    "run-compare",
    "/runs/:id/compare",
    ({ runs }) => `/runs/${runs.failed}/compare?with=${runs.long}`,
  ),
  aPage("run-compare-none", "/runs/:id/compare", ({ runs }) => `/runs/${runs.failed}/compare`),
  aRun("run-filtered", ({ runs }) => `${runs.long}?kind=tool&text=READ`),
  { ...aRun("run-unknown", () => `run_eu_${"0".repeat(32)}`), status: 404 },
  aPage("refusals", "/refusals"),
  aPage("agents", "/agents"),
  aPage("agents-late", "/agents", "/agents?state=late"),
  aPage("agents-by-slug", "/agents", "/agents?sort=agent&archived=true"),
  anAgent("agent-monitor-delete", "?confirm=delete-monitor"),
  anAgent("agent-pause", "?confirm=pause"),
  anAgent("agent", ""),
  anAgent("agent-runs", "?tab=runs"),
  anAgent("agent-monitor", "?tab=monitor"),
  anAgent("agent-settings", "?tab=settings"),
  aPage("spend", "/spend"),
  aPage("spend-by-model", "/spend", "/spend?group_by=model"),
  aPage("spend-by-customer", "/spend", "/spend?group_by=customer"),
  aPage("budgets", "/spend/budgets"),
  aPage("budget", "/spend/budgets/:slug", "/spend/budgets/each-agent"),
  aPage("budget-reader", "/spend/budgets/:slug", "/spend/budgets/acme", "reader"),
  aPage("budget-new", "/spend/budgets/new/budget"),
  aPage("pauses", "/spend/pauses"),
  aPage("pause-new", "/spend/pauses/new/pause"),
  aPage("judges", "/judges"),
  aPage("judge", "/judges/:slug", "/judges/helpful"),
  aPage("judge-new", "/judges/new/judge"),
  aPage("rate-card", "/rate-card"),
  aPage("rate-match", "/rate-card", "/rate-card?model=openai/gpt-4o-2099-01-01"),
  aPage("rate-none", "/rate-card", "/rate-card?model=gpt-4o-2099"),
  aPage("rate-new", "/rate-card/new", "/rate-card/new?model=atlas-70b-preview"),
  aPage(
    "rate-delete",
    "/rate-card/new",
    ({ rateId }) => `/rate-card/new?row=${encodeURIComponent(rateId)}&confirm=delete`,
  ),
  aPage("reprice", "/rate-card/reprice"),
  aPage("reprice-job", "/rate-card/reprice/:id", ({ jobId }) => `/rate-card/reprice/${jobId}`),
  aPage("plan", "/plan"),
  aPage("alerts", "/alerts"),
  aPage("incident", "/alerts/incidents/:id", (w) => `/alerts/incidents/${w.incident}`),
  aPage("incident-history", "/alerts/history", "/alerts/history?state=any"),
  aPage("rules", "/alerts/rules"),
  aPage("rule", "/alerts/rules/:slug", "/alerts/rules/failures"),
  aPage("rule-delete", "/alerts/rules/:slug", "/alerts/rules/missed?confirm=delete"),
  aPage("rule-kinds", "/alerts/rules/new/rule"),
  aPage("rule-new", "/alerts/rules/new/rule", "/alerts/rules/new/rule?kind=spend"),
  aPage("channels", "/alerts/channels"),
  aChannel("channel", ""),
  aChannel("channel-rotate", "?confirm=rotate"),
  aChannel("channel-delete", "?confirm=delete"),
  aPage("channel-types", "/alerts/channels/new/channel"),
  aPage("channel-new", "/alerts/channels/new/channel", "/alerts/channels/new/channel?type=webhook"),
  aPage("pager-new", "/alerts/channels/new/channel", "/alerts/channels/new/channel?type=pagerduty"),
  aPage("deliveries", "/alerts/deliveries"),
  aPage("silences", "/alerts/silences"),
  aPage("silence-new", "/alerts/silences/new/silence"),
  aPage("checks", "/checks"),
  { ...aPage("checks-reader", "/checks"), role: "reader" },
  aPage("check", "/checks/:slug", "/checks/no-errors"),
  aPage("check-delete", "/checks/:slug", "/checks/no-errors?confirm=delete"),
  aPage("check-edit", "/checks/:slug/edit", "/checks/no-errors/edit"),
  aPage("check-new", "/checks/new/check"),
  aPage(
    "check-template",
    "/checks/new/check",
    `/checks/new/check?template=${CHECK_TEMPLATES[0]?.name}`,
  ),
  aPage("search", "/search", "/search?q=issue"),
  aPage("connect", "/connect"),
  aPage("keys", "/keys"),
  aPage("key", "/keys", ({ keyId }) => `/keys?id=${keyId}`),
  aPage("key-revoke", "/keys", ({ keyId }) => `/keys?id=${keyId}&confirm=revoke`),
  aPage("key-rotate", "/keys", ({ keyId }) => `/keys?id=${keyId}&confirm=rotate`),
  aPage("key-new", "/keys/new", "/keys/new?kind=api_key"),
  aPage("token-new", "/keys/new", "/keys/new?kind=ping_token"),
  aPage("audit", "/audit"),
  aPage("operator-audit", "/audit", "/audit", "operator"),
  aPage("teams", "/teams", "/teams", "operator"),
  aPage("team-new", "/teams/new", "/teams/new", "operator"),
  aPage("team-of-operator", "/teams/:id", ({ h }) => `/teams/${h.team.id}`, "operator"),
];

function aPage(
  name: string,
  route: string,
  path: string | ((world: DemoWorld) => string) = route,
  role: Role = "admin",
): PageUnderTest {
  const pathIn = (world: DemoWorld) => typeof path === "string" ? path : path(world);
  return {
    name,
    route: DASHBOARD_PATH + route,
    role,
    path: (world) => DASHBOARD_PATH + pathIn(world),
  };
}

function aChannel(name: string, query: string): PageUnderTest {
  return aPage(name, "/alerts/channels/:slug", `/alerts/channels/ops${query}`);
}

/** A tab of an agent's page. */
function anAgent(name: string, query: string): PageUnderTest {
  const path = ({ agent }: DemoWorld) => `/agents/${encodeURIComponent(agent)}${query}`;
  return aPage(name, "/agents/:slug", path);
}

function aRun(name: string, idOf: (world: DemoWorld) => string): PageUnderTest {
  return aPage(name, "/runs/:id", (world) => `/runs/${idOf(world)}`);
}

/** Routes that respond with a file or a redirect. */
const NO_PAGES = new Set([
  "/",
  REFERENCE_SCRIPT,
  ...[
    "/assets/:name",
    "/runs/:id/raw",
    "/compare",
    "/runs.csv",
    "/runs.ndjson",
    "/spend.csv",
    "/keys/:id/rotate",
    "/alerts/channels/:slug/rotate",
    "/teams/:id/keys",
  ].map((path) => DASHBOARD_PATH + path),
]);

/** Returns the routes of pages from the dashboard's table. */
export function pageRoutes(): string[] {
  return dashboardRoutes()
    .filter(({ method, path }) => method === "GET" && !NO_PAGES.has(path))
    .map(({ path }) => path);
}
