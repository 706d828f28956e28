/** Access control: every route of the table with every kind of credential. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { SCOPES } from "../../domain/teams/credentials.ts";
import { ENDPOINTS } from "../../routes/api/endpoints.ts";
import type { RouteRule } from "../../routes/http/context.ts";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";
import { operator, OPERATOR_KEY } from "../support/harness/operator.ts";
import { PRICE } from "../support/builders/rate_cards.ts";

const MONITOR = { schedule: { every_seconds: 86_400 } };
const RULE = { kind: "unpriced" };
const CHECK = { expression: "usage.errors == 0" };
const CHANNEL = { type: "webhook", url: "https://hooks.example.org/" };
const JUDGE = {
  connection: "openai",
  model: "gpt-5-mini",
  rubric: "Score {{output}}",
  result: { type: "boolean" },
};
const SILENCE = { match: {}, until: at(3_600_000) };

const BUDGET = { scope: {}, period: "month", limit_usd: 1 };
const PAUSE = { customer_id: "nobody", reason: "test" };

/** Bodies and queries that make a route take effect; other routes get an empty object. */
const SENT: Readonly<Record<string, { readonly body?: unknown; readonly query?: string }>> = {
  "POST /v1/runs": { body: aRun(1) },
  "POST /v1/runs/:id/events": { body: { events: [anEvent(1)] } },
  "POST /v1/runs/:id/finish": { body: aFinish() },
  "POST /v1/heartbeats": { body: aHeartbeat(2, { agent: "nightly" }) },
  "GET /v1/ping": { query: "?agent=nightly" },
  "PUT /v1/agents/:slug/monitor": { body: MONITOR },
  "PUT /v1/rules/:slug": { body: RULE },
  "PUT /v1/checks/:slug": { body: CHECK },
  "PUT /v1/judges/:slug": { body: JUDGE },
  "POST /v1/judges/try": { body: { judge: JUDGE, estimate: true } },
  "POST /v1/checks/try": { body: { check: CHECK } },
  "PUT /v1/channels/:slug": { body: CHANNEL },
  "PUT /v1/silences/:slug": { body: SILENCE },
  "PUT /v1/budgets/:slug": { body: BUDGET },
  "PUT /v1/pauses/:slug": { body: PAUSE },
  "GET /v1/guard/check": { query: "?agent=nightly" },
  "POST /v1/rate-card/reprice": { body: { model: "m", dry_run: true } },
};

/** An unknown name and another team's name, by the path prefix before it. */
type Names = Readonly<Record<string, readonly [never: string, theirs: string]>>;

/** The part of a refusal that is the same for every caller. */
interface Refusal {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly text: string;
}

function named({ method, path }: RouteRule): string {
  return `${method} ${path}`;
}

/** Routes that need a credential. Building the table calls no dependency of the handlers. */
function guarded(): (RouteRule & { readonly access: NonNullable<RouteRule["access"]> })[] {
  return ENDPOINTS.flatMap((route) =>
    route.access === null ? [] : [{ ...route, access: route.access }]
  );
}

/** Returns the path before a name: `/v1/runs/` for `/v1/runs/:id/events`. */
function beginningOf(path: string): string {
  return path.slice(0, path.indexOf(":"));
}

/** Stores one of everything that has a name, for another team. */
async function nameThings(h: Harness): Promise<Names> {
  const { key, team } = await h.addTeam("business");
  const labels = { agent: "theirs", customer_id: "acme" };
  await h.post("/v1/runs", aRun(9, labels), { key });
  await h.request("PUT", "/v1/agents/theirs/monitor", { key, body: MONITOR });
  await h.request("PUT", "/v1/rules/theirs", { key, body: RULE });
  await h.request("PUT", "/v1/checks/theirs", { key, body: CHECK });
  await h.request("PUT", "/v1/judges/theirs", { key, body: JUDGE });
  await h.request("PUT", "/v1/channels/theirs", { key, body: CHANNEL });
  await h.request("PUT", "/v1/silences/theirs", { key, body: SILENCE });
  await h.request("PUT", "/v1/budgets/theirs", { key, body: BUDGET });
  await h.request("PUT", "/v1/pauses/theirs", { key, body: PAUSE });
  await h.request("POST", "/v1/channels/theirs/test", { key });
  const [delivery] = (await h.get("/v1/deliveries", { key })).json.deliveries;
  for (let n = 0; n < 3; n++) {
    await h.post("/v1/heartbeats", { agent: "theirs", status: "fail" }, { key });
    await h.worker.idle();
  }
  const [incident] = (await h.get("/v1/incidents", { key })).json.incidents;
  const created = (await h.post("/v1/keys", { kind: "api_key", name: "theirs" }, { key })).json;
  const rate = (await h.request("PUT", "/v1/rate-card", { key, body: PRICE })).json;
  const dry = { model: PRICE.model, from: at(-60_000), to: at(), dry_run: true };
  const job = await h.post("/v1/rate-card/reprice", dry, { key });
  const deleted = (await h.request("DELETE", "/v1/customers/other", { key })).json;
  for (const { id } of [created, rate, deleted, job.json, delivery, incident]) {
    assert(typeof id === "string");
  }
  return {
    "/v1/runs/": [runId(8), runId(9)],
    "/v1/keys/": [`key_eu_${"0".repeat(32)}`, created.id],
    "/v1/rate-card/": [`rate_${"0".repeat(26)}`, rate.id],
    "/v1/rate-card/reprice/": ["0".repeat(26), job.json.id],
    "/v1/deletions/": ["0".repeat(26), deleted.id],
    "/v1/agents/": ["nobody", "theirs"],
    "/v1/rules/": ["none", "theirs"],
    "/v1/checks/": ["none", "theirs"],
    "/v1/judges/": ["none", "theirs"],
    "/v1/channels/": ["none", "theirs"],
    "/v1/silences/": ["none", "theirs"],
    "/v1/budgets/": ["none", "theirs"],
    "/v1/pauses/": ["none", "theirs"],
    "/v1/incidents/": [`inc_eu_${"0".repeat(32)}`, incident.id],
    "/v1/deliveries/": [`whd_eu_${"0".repeat(32)}`, delivery.id],
    "/v1/customers/": ["nobody", "acme"],
    "/v1/teams/": ["0".repeat(26), team.id],
  };
}

/**
 * Requests a route under a name; reads only refusals to the end, since some responses are endless.
 */
async function requestRoute(
  h: Harness,
  route: RouteRule,
  key: string | null,
  names: Names,
  which: 0 | 1 = 0,
): Promise<Refusal> {
  const { body = {}, query = "" } = SENT[named(route)] ?? {};
  const beginning = beginningOf(route.path);
  const name = names[beginning]?.[which] ?? "";
  const path = route.path.replace(/:\w+/, name) + query;
  const isRead = route.method === "GET" || route.method === "DELETE";
  const response = await fetch(h.url + path, {
    method: route.method,
    headers: key === null ? {} : { Authorization: `Bearer ${key}` },
    ...(isRead ? {} : { body: JSON.stringify(body) }),
  });
  const { status } = response;
  if (status < 300) {
    await response.body?.cancel();
    return { status, headers: [], text: "" };
  }
  const headers = [...response.headers].filter(([each]) =>
    !["x-request-id", "date"].includes(each)
  );
  const text = await response.text();
  return { status, headers, text: name === "" ? text : text.replaceAll(name, "NAME") };
}

function codeOf({ text }: Refusal): string {
  return /"error":"(\w+)"/.exec(text)?.[1] ?? text.split(" ", 1)[0] ?? "";
}

operator.test("every route refuses unknown credentials with the same bytes, and admits those its row names", async (h) => {
  const names = await nameThings(h);
  const revoked = (await h.post("/v1/keys", { kind: "api_key", name: "revoked" })).json;
  await h.request("DELETE", `/v1/keys/${revoked.id}`);
  const keyOf = Object.fromEntries(
    await Promise.all(
      SCOPES.map(async (scope) => [scope, await h.addKey({ kind: "api_key", scopes: [scope] })]),
    ),
  );
  const own = await h.addKey({ kind: "ping_token", agent: "nightly" });
  const others = await h.addKey({ kind: "ping_token", agent: "other" });
  for (const route of guarded()) {
    const what = named(route);
    const { scope, pingTokens, operator } = route.access;
    const attempt = (key: string | null) => requestRoute(h, route, key, names);
    const nobody = await attempt(null);
    assertEquals([nobody.status, codeOf(nobody)], [401, "invalid_credential"], what);
    const strangers = [revoked.secret, `apk_eu_${"9".repeat(32)}`, `opk_eu_${"9".repeat(32)}`];
    for (const key of strangers) assertEquals(await attempt(key), nobody, `${what} ${key}`);
    for (const has of SCOPES) {
      const answer = await attempt(keyOf[has]);
      if (has === scope || scope === "any") {
        assert(![401, 403].includes(answer.status), `${what} with ${has}`);
      } else {assertEquals(
          [answer.status, codeOf(answer)],
          [403, "forbidden"],
          `${what} with ${has}`,
        );}
    }
    const byToken = await attempt(own);
    if (pingTokens) assert(byToken.status < 300, what);
    else assertEquals([byToken.status, codeOf(byToken)], [401, "scope_violation"], what);
    const byOther = await attempt(others);
    if (scope === "any") assert(byOther.status < 300, what);
    else assertEquals([byOther.status, codeOf(byOther)], [401, "scope_violation"], what);
    const byOperator = await attempt(OPERATOR_KEY);
    if (operator) assert(![401, 403].includes(byOperator.status), what);
    else {
      assertEquals([byOperator.status, codeOf(byOperator)], [403, "forbidden"], what);
      assertStringIncludes(byOperator.text, "operator key");
    }
  }
});

operator.test("every route with a name in its path answers for another team's name as for an unknown one", async (h) => {
  const names = await nameThings(h);
  const [, team = ""] = names["/v1/teams/"] ?? [];
  // The caller's own objects may have the same names.
  const theirRows = async () => (await h.dump()).filter((line) => line.includes(team)).length;
  const before = await theirRows();
  const withNames = guarded().filter(({ path, access }) =>
    path.includes(":") && access.scope !== null
  );
  assert(withNames.length > 8);
  for (const route of withNames) {
    const beginning = beginningOf(route.path);
    assert(names[beginning] !== undefined, `say whose names are behind ${beginning}`);
    const [never, theirs] = [
      await requestRoute(h, route, h.key, names, 0),
      await requestRoute(h, route, h.key, names, 1),
    ];
    assertEquals(theirs, never, named(route));
  }
  assertEquals(await theirRows(), before);
});

Harness.test("without an operator key its routes are refused for everyone, whatever is sent", async (h) => {
  const names = { "/v1/teams/": ["0".repeat(26), h.team.id] } as const;
  for (const route of guarded().filter(({ access }) => access.scope === null)) {
    const nobody = await requestRoute(h, route, null, names);
    assertEquals(await requestRoute(h, route, OPERATOR_KEY, names), nobody, named(route));
    const byKey = await requestRoute(h, route, h.key, names);
    assertEquals([byKey.status, codeOf(byKey)], [403, "forbidden"], named(route));
  }
});
