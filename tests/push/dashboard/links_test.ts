/** Links of pages: every link opens, and no session is offered what it may not do. */
import { assert, assertEquals } from "@std/assert";
import { type Scope, SCOPES } from "../../../domain/teams/credentials.ts";
import type { Route } from "../../../routes/http/context.ts";
import { dashboardRoutes, signedIn } from "../../support/harness/dashboard.ts";
import { type DemoWorld, openDemoWorld } from "../../support/builders/demo_world.ts";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import { OPERATOR_KEY } from "../../support/harness/operator.ts";

/** Maximum pages opened per route and parameter. */
const PAGES_OF_A_KIND = 4;

/** Tries to open a page. */
const TRIES = 10;

/** Links and forms of a page. */
const LEADS = /<(a|form|button)\b[^>]*?\s(?:href|action|formaction)="([^"]*)"[^>]*>/g;

/** Redirect targets after forms, and forms that none of these pages offers. */
const NOT_LINKED = new Set([
  "GET /dashboard/keys/:id/rotate",
  "GET /dashboard/alerts/channels/:slug/rotate",
  "GET /dashboard/teams/:id/keys",
  // Only offered for a suspended team.
  "POST /dashboard/teams/:id/resume",
  // Only offered by deno task dev.
  "POST /dashboard/samples",
  // Only offered for a silence that is not current.
  "POST /dashboard/alerts/silences/:slug/delete",
  // Only offered for a message that was given up.
  "POST /dashboard/alerts/deliveries/:id/resend",
]);

const routes = dashboardRoutes();

/** Returns the route that a path belongs to. */
function routeOf(method: string, path: string): Route | undefined {
  return routes.find((route) => {
    const pattern = route.path.replaceAll(".", "\\.").replaceAll(/:[a-z]+/g, "[^/]+");
    return route.method === method && new RegExp(`^${pattern}$`).test(path);
  });
}

/** Classifies a page: its route, with each of its parameters. */
function kindsOf({ pathname, searchParams }: URL): string[] {
  const route = routeOf("GET", pathname)?.path ?? pathname;
  return [route, ...Array.from(searchParams.keys(), (name) => `${route}?${name}`)];
}

/**
 * Follows all links from the first pages; returns the routes reached, including those of forms. Of many
 * runs and agents it opens a few, so those that have all kinds of links are among the first pages.
 */
async function walk({ h }: DemoWorld, key: string, from: readonly string[]): Promise<Set<string>> {
  const reader = await signedIn(h, key);
  const reached = new Set<string>();
  const seen = new Map<string, number>();
  const first = from.map((path) => new URL(path, h.url));
  const queue = [new URL("/dashboard", h.url)];
  const opened = new Set<string>();
  const next = () => first.pop() ?? queue.pop();
  for (let at = next(); at !== undefined; at = next()) {
    const path = at.pathname + at.search;
    const kinds = kindsOf(at);
    const isOld = kinds.every((kind) => (seen.get(kind) ?? 0) >= PAGES_OF_A_KIND);
    if (opened.has(path) || isOld) continue;
    opened.add(path);
    for (const kind of kinds) seen.set(kind, (seen.get(kind) ?? 0) + 1);
    let answer = await reader.get(path);
    // A busy service refuses a page with 503, which asks to repeat it.
    for (let tries = 1; answer.status === 503 && tries < TRIES; tries++) {
      answer = await reader.get(path);
    }
    const { status, text, headers } = answer;
    if (status === 303) queue.push(new URL(headers.get("location") ?? "", at));
    else assertEquals(status, 200, path);
    reached.add(`GET ${routeOf("GET", at.pathname)?.path ?? at.pathname}`);
    if (!headers.get("content-type")?.startsWith("text/html")) continue;
    for (const [tag, name, href = ""] of text.matchAll(LEADS)) {
      const to = new URL(href.replaceAll("&amp;", "&"), at);
      if (to.hash !== "" && to.pathname + to.search === path) {
        assert(text.includes(`id="${to.hash.slice(1)}"`), `${path}: ${href}`);
      }
      // A button of a form that asks leads to a page or a file.
      const asks = name === "button" && routeOf("GET", to.pathname) !== undefined;
      const isForm = name === "button" || tag.includes('method="post"');
      if (isForm && !asks) reached.add(formOf(to, path));
      else if (to.pathname.startsWith("/dashboard")) {
        queue.push(new URL(to.pathname + to.search, to));
      }
    }
  }
  return reached;
}

function formOf({ pathname }: URL, page: string): string {
  const route = routeOf("POST", pathname);
  assert(route !== undefined, `${page} has a form for ${pathname}`);
  return `POST ${route.path}`;
}

/** Returns the routes that a session with these scopes may use; null for the operator. */
function tableOf(scopes: readonly Scope[] | null): string[] {
  return routes.filter(({ access }) =>
    access !== null &&
    (scopes === null ? access.operator : scopes.some((scope) => scope === access.scope))
  ).map(({ method, path }) => `${method} ${path}`).sort();
}

for (
  const [who, scopes] of [
    ["a key with the scope read", ["read"]],
    ["a key with all scopes", SCOPES],
    ["the operator", null],
  ] as const
) {
  Deno.test(`links: ${who} reaches every allowed page and form, and no other`, async () => {
    await using world = await openDemoWorld();
    const { h } = world;
    const key = scopes === null ? OPERATOR_KEY : await h.addKey({ kind: "api_key", scopes });
    // A paused monitor, and one that watches.
    const monitors = ["issue-triage", "nightly-report"]
      .map((agent) => `/dashboard/agents/${agent}?tab=monitor`);
    // A failed run after a success of its agent has a link to their comparison.
    await h.post("/v1/heartbeats", aHeartbeat(9_001, { agent: "backup" }));
    h.nowMs += 60_000;
    await h.post("/v1/heartbeats", aHeartbeat(9_002, { agent: "backup", status: "fail" }));
    await h.worker.idle();
    const runs = [world.runs.failed, runId(9_002)];
    const from = scopes === null ? [] : [...monitors, ...runs.map((id) => `/dashboard/runs/${id}`)];
    const reached = await walk(world, key, from);
    assertEquals([...reached].sort(), tableOf(scopes).filter((route) => !NOT_LINKED.has(route)));
  });
}
