/** Where pages lead: every link opens, and nobody is offered what they may not do. */
import { assert, assertEquals } from "@std/assert";
import { type Scope, SCOPES } from "../../domain/teams/credentials.ts";
import type { Route } from "../../routes/http/context.ts";
import { dashboardRoutes, signedIn } from "../support/harness/dashboard.ts";
import { type DemoWorld, openDemoWorld } from "../support/builders/demo_world.ts";
import { OPERATOR_KEY } from "../support/harness/operator.ts";

/** Pages that are opened of those of one route that have a parameter. */
const PAGES_OF_A_KIND = 3;

/** Links and forms of a page. */
const LEADS = /<(a|form)\b[^>]*?\s(?:href|action)="([^"]*)"[^>]*>/g;

/** Where a path leads back from that only forms are sent to, and what none of these pages offers. */
const NOT_LINKED = new Set([
  "GET /dashboard/keys/:id/rotate",
  "GET /dashboard/teams/:id/keys",
  // Of a team that is suspended.
  "POST /dashboard/teams/:id/resume",
]);

const routes = dashboardRoutes();

/** The row of the table that a path belongs to. */
function routeOf(method: string, path: string): Route | undefined {
  return routes.find((route) => {
    const pattern = route.path.replaceAll(".", "\\.").replaceAll(/:[a-z]+/g, "[^/]+");
    return route.method === method && new RegExp(`^${pattern}$`).test(path);
  });
}

/** What a page is one of: its route, with each of its parameters. */
function kindsOf({ pathname, searchParams }: URL): string[] {
  const route = routeOf("GET", pathname)?.path ?? pathname;
  return [route, ...Array.from(searchParams.keys(), (name) => `${route}?${name}`)];
}

/** Opens all that one comes to from the first page; answers the routes, also those of forms. */
async function walk({ h }: DemoWorld, key: string): Promise<Set<string>> {
  const reader = await signedIn(h, key);
  const found = new Set<string>();
  const seen = new Map<string, number>();
  const left = [new URL("/dashboard", h.url)];
  const opened = new Set<string>();
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    const path = at.pathname + at.search;
    const kinds = kindsOf(at);
    const isOld = kinds.every((kind) => (seen.get(kind) ?? 0) >= PAGES_OF_A_KIND);
    if (opened.has(path) || isOld) continue;
    opened.add(path);
    for (const kind of kinds) seen.set(kind, (seen.get(kind) ?? 0) + 1);
    const { status, text, headers } = await reader.get(path);
    if (status === 303) left.push(new URL(headers.get("location") ?? "", at));
    else assertEquals(status, 200, path);
    found.add(`GET ${routeOf("GET", at.pathname)?.path ?? at.pathname}`);
    if (!headers.get("content-type")?.startsWith("text/html")) continue;
    for (const [tag, name, lead = ""] of text.matchAll(LEADS)) {
      const to = new URL(lead.replaceAll("&amp;", "&"), at);
      if (to.hash !== "" && to.pathname + to.search === path) {
        assert(text.includes(`id="${to.hash.slice(1)}"`), `${path}: ${lead}`);
      }
      if (name === "form" && tag.includes('method="post"')) found.add(formOf(to, path));
      else if (to.pathname.startsWith("/dashboard")) {
        left.push(new URL(to.pathname + to.search, to));
      }
    }
  }
  return found;
}

function formOf({ pathname }: URL, page: string): string {
  const route = routeOf("POST", pathname);
  assert(route !== undefined, `${page} has a form for ${pathname}`);
  return `POST ${route.path}`;
}

/** What of the table is for whoever has these scopes; null for the operator. */
function tableOf(scopes: readonly Scope[] | null): string[] {
  return routes.filter(({ access }) =>
    access !== null &&
    (scopes === null ? access.operator : access.scope && scopes.includes(access.scope))
  ).map(({ method, path }) => `${method} ${path}`).sort();
}

for (
  const [who, scopes] of [
    ["who may read", ["read"]],
    ["who may do all", SCOPES],
    ["the operator", null],
  ] as const
) {
  Deno.test(`links: ${who} comes to every page and form of theirs, and no other`, async () => {
    await using world = await openDemoWorld();
    const { h } = world;
    const key = scopes === null ? OPERATOR_KEY : await h.addKey({ kind: "api_key", scopes });
    const found = await walk(world, key);
    assertEquals([...found].sort(), tableOf(scopes).filter((route) => !NOT_LINKED.has(route)));
  });
}
