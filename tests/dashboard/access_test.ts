/** Access to the dashboard: every page and form, requested with every kind of session. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { SCOPES } from "../../domain/teams/credentials.ts";
import type { Route } from "../../routes/http/context.ts";
import { aRun, runId } from "../support/builders/requests.ts";
import {
  dashboardRoutes,
  type Reader,
  signedIn,
  submit,
  textOf,
} from "../support/harness/dashboard.ts";
import { aTeam, operator, OPERATOR_KEY } from "../support/harness/operator.ts";
import { PRICE } from "../support/builders/rate_cards.ts";
import { type HostileWorld, openHostileWorld } from "../push/browser/hostile_world.ts";
import { PAGES } from "../push/browser/pages.ts";

type Guarded = Route & { readonly access: NonNullable<Route["access"]> };

/** Returns the routes that require a session. */
function guarded(): Guarded[] {
  return dashboardRoutes().flatMap((route) =>
    route.access === null ? [] : [{ ...route, access: route.access }]
  );
}

/** Names that never existed, by the path prefix before them. */
const NOBODY: Readonly<Record<string, string>> = {
  "/dashboard/runs/": runId(8),
  "/dashboard/agents/": "nobody",
  "/dashboard/teams/": "t_never",
};

/** Fills names into the path of a route. */
function pathOf({ path }: Route, names: Readonly<Record<string, string>>): string {
  const begin = path.slice(0, path.indexOf(":"));
  const name = names[begin] ?? "nothing";
  return path.replace(/:[a-z_]+/g, encodeURIComponent(name));
}

function ask(reader: Reader, route: Route, names = NOBODY) {
  const path = pathOf(route, names);
  return route.method === "GET" ? reader.get(path) : reader.send(path);
}

/** True unless the route signs out, which would end the session used for the other routes. */
const isLasting = ({ path }: Route) => !path.endsWith("/sign-out");

operator.test("without a session, also with an API key, every page redirects to sign-in, and no form changes anything", async (h) => {
  const before = await h.dump();
  for (const route of guarded()) {
    const path = pathOf(route, NOBODY);
    const answers = route.method === "GET"
      ? [null, h.key].map((key) => h.get(path, { key, redirect: "manual" }))
      : [submit(h, path, {})];
    for (const { status, headers } of await Promise.all(answers)) {
      assertEquals(status, 303, path);
      assertMatch(headers.get("location") ?? "", /^\/dashboard\/sign-in\?next=/);
    }
  }
  assertEquals(await h.dump(), before);
});

operator.test("each page requires its scope, and the operator's key opens only operator pages", async (h) => {
  const read = await signedIn(h, await h.addKey({ kind: "api_key", scopes: ["read"] }));
  const all = await signedIn(h, await h.addKey({ kind: "api_key", scopes: SCOPES }));
  const operator = await signedIn(h, OPERATOR_KEY);
  for (const route of guarded().filter(isLasting)) {
    const { scope, operator: isOperators } = route.access;
    const name = `${route.method} ${route.path}`;
    const status = async (reader: Reader) => (await ask(reader, route)).status;
    assertEquals(await status(read) === 403, scope !== "read", `${name} with read`);
    assertEquals(await status(all) === 403, scope === null, `${name} with all scopes`);
    assertEquals(await status(operator) === 403, !isOperators, `${name} with the operator's key`);
  }
});

operator.test("a form without fields is refused, and no handler throws", async (h) => {
  const readers = [await signedIn(h), await signedIn(h, OPERATOR_KEY)];
  for (const route of guarded().filter(isLasting)) {
    for (const reader of readers) {
      const { status } = await ask(reader, route);
      assert(status < 500, `${route.method} ${route.path}: ${status}`);
    }
  }
  assert(!h.log.some((line) => line.includes('"failure"')));
});

operator.test("another team's resource is on no page, and not found like one that never existed", async (h) => {
  const { key } = await h.addTeam("business");
  await h.post("/v1/runs", aRun(9, { agent: "theirs" }), { key });
  const created = (await h.post("/v1/keys", { kind: "api_key", name: "theirs" }, { key })).json;
  await h.request("PUT", "/v1/rate-card", { key, body: PRICE });
  const job = await h.post("/v1/rate-card/reprice", { model: PRICE.model, dry_run: true }, { key });
  const ends = new Date(h.nowMs + 3_600_000).toISOString();
  const check = { expression: "usage.errors == 0" };
  await h.request("PUT", "/v1/checks/theirs", { key, body: check });
  await h.request("PUT", "/v1/rules/theirs", { key, body: { kind: "unpriced" } });
  await h.request("PUT", "/v1/silences/theirs", { key, body: { until: ends, match: {} } });
  const channel = { type: "email", to: ["ops@example.com"], enabled: false };
  await h.request("PUT", "/v1/channels/theirs", { key, body: channel });
  await h.worker.idle();
  const reader = await signedIn(h);
  const theirs = {
    ...NOBODY,
    "/dashboard/runs/": runId(9),
    "/dashboard/agents/": "theirs",
    "/dashboard/keys/": created.id,
    "/dashboard/rate-card/reprice/": job.json.id,
    "/dashboard/checks/": "theirs",
    "/dashboard/alerts/rules/": "theirs",
    "/dashboard/alerts/silences/": "theirs",
    "/dashboard/alerts/channels/": "theirs",
  };
  const normalized = (text: string) =>
    textOf(text).replace(/request \S+/, "").replaceAll(runId(8), "").replaceAll(runId(9), "")
      .replaceAll("nobody", "").replaceAll("theirs", "").replaceAll(created.id, "nothing")
      .replaceAll(job.json.id, "nothing");
  const pairs = guarded().filter(isLasting)
    .filter(({ path, access }) => path.includes(":") && access.scope !== null)
    .map((route) =>
      [route.path, () => ask(reader, route), () => ask(reader, route, theirs)] as const
    );
  const keyPage = (id: string) => () => reader.get(`/dashboard/keys?id=${id}`);
  for (
    const [name, never, other] of [
      ...pairs,
      ["keys?id", keyPage("nothing"), keyPage(created.id)] as const,
    ]
  ) {
    const [unknown, foreign] = [await never(), await other()];
    assertEquals(foreign.status, unknown.status, name);
    assertEquals(normalized(foreign.text), normalized(unknown.text), name);
  }
  const owner = await signedIn(h, key);
  let named = 0;
  for (const { method, path, access } of guarded()) {
    if (method !== "GET" || path.includes(":") || access.scope === null) continue;
    for (const query of ["", "?q=their"]) {
      assert(!(await reader.get(`${path}${query}`)).text.includes("theirs"), `${path}${query}`);
      if ((await owner.get(`${path}${query}`)).text.includes("theirs")) named++;
    }
  }
  assert(named > 20, `${named} pages of the other team name it`);
});

operator.test("a suspended team only sees that it is suspended", async (h) => {
  const { id, key } = await aTeam(h);
  const reader = await signedIn(h, key.secret);
  assertEquals((await reader.get("/dashboard")).status, 200);
  await h.request("PATCH", `/v1/teams/${id}`, { key: OPERATOR_KEY, body: { suspended: true } });
  const { status, text } = await reader.get("/dashboard");
  assertEquals(status, 403);
  assertMatch(textOf(text), /This team is suspended and its data is kept/);
});

const HOSTILE =
  `"><img src=x onerror=pwn()>[x](javascript:pwn())'</textarea><script>pwn()</script>`;

/** Opens each page of a role in a world. */
async function pagesOf(world: HostileWorld, reader: Reader, role: "admin" | "operator") {
  const pages: { path: string; text: string }[] = [];
  for (const { path: pathIn, ...page } of PAGES) {
    if (page.role !== role) continue;
    const path = pathIn(world);
    pages.push({ path, text: (await reader.get(path)).text });
  }
  return pages;
}

Deno.test("every page shows texts of clients as text", async () => {
  await using world = await openHostileWorld([HOSTILE]);
  const pages = [
    ...await pagesOf(world, await signedIn(world.h), "admin"),
    ...await pagesOf(world, await signedIn(world.h, OPERATOR_KEY), "operator"),
  ];
  for (const { path, text } of pages) {
    assert(!/<img|<script>|href="javascript:/.test(text), path);
  }
  assert(pages.filter(({ text }) => text.includes("&lt;img src=x onerror=pwn()&gt;")).length > 30);
});
