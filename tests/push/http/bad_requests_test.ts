/**
 * Every bad request of `bad_requests/` against one running service: it gets the contract's refusal
 * immediately, and no byte of the store changes.
 */
import { assert, assertEquals } from "@std/assert";
import type { ErrorCode } from "../../../domain/core/errors.ts";
import { BODY_DEADLINE_MS } from "../../../domain/core/limits.ts";
import { SCOPES } from "../../../domain/teams/credentials.ts";
import { ENDPOINTS } from "../../../routes/api/endpoints.ts";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../../support/builders/requests.ts";
import { type Answer, Harness } from "../../support/harness/harness.ts";
import { operator, OPERATOR_KEY } from "../../support/harness/operator.ts";
import { CARD, PRICE } from "../../support/builders/rate_cards.ts";
import { REPRICE } from "../../support/builders/reprice.ts";
import { bodyOf, type CredentialName, readRows, type Row } from "../../http/bad_requests/rows.ts";

const ROWS_MIN = 300;
/** Minimum of rows of a route that needs a credential, beside those of {@link credentialRows}. */
const ROWS_OF_ROUTE_MIN = 1;
/** An answer within these milliseconds did not wait for anything. */
const ANSWER_MS_MAX = BODY_DEADLINE_MS / 2;
/** Agents of the plan `free` (decision 39). */
const FREE_AGENTS_MAX = 10;
/** Characters not allowed in a message: it must stay on one line of a terminal or a log. */
const NOT_ONE_LINE = /[\p{Cc}\p{Zl}\p{Zp}]/u;

type Secrets = Readonly<Record<CredentialName, string | null>>;

/** Stores the data that the rows conflict with. */
async function seed(h: Harness): Promise<Secrets> {
  const stored: [path: string, body: unknown, key?: string][] = [
    ["/v1/runs", aRun(1)],
    [`/v1/runs/${runId(1)}/events`, { events: [anEvent(1)] }],
    ["/v1/runs", aRun(2)],
    [`/v1/runs/${runId(2)}/finish`, aFinish()],
    ["/v1/heartbeats", aHeartbeat(3, { started_at: at() })],
    ["/v1/heartbeats", aHeartbeat(4, { started_at: at(), status: "start" })],
    [`/v1/runs/${runId(6)}/finish`, aFinish()],
  ];
  const other = (await h.addTeam("team")).key;
  stored.push(["/v1/runs", aRun(5), other]);
  const full = (await h.addTeam("free")).key;
  for (let n = 1; n <= FREE_AGENTS_MAX; n++) {
    stored.push(["/v1/runs", aRun(6 + n, { agent: `agent ${n}` }), full]);
  }
  for (const [path, body, key = h.key] of stored) {
    assertEquals((await h.post(path, body, { key })).status, 202, path);
  }
  return { ...await addCredentials(h), other, full, operator: OPERATOR_KEY };
}

async function addCredentials(h: Harness): Promise<Omit<Secrets, "other" | "full" | "operator">> {
  const created = (await h.post("/v1/keys", { kind: "api_key", name: "to revoke" })).json;
  assertEquals((await h.request("DELETE", `/v1/keys/${created.id}`)).status, 200);
  return {
    none: null,
    revoked: created.secret,
    unknown: `apk_eu_${"9".repeat(32)}`,
    us: `apk_us_${"a".repeat(32)}`,
    token: await h.addKey({ kind: "ping_token", agent: "nightly" }),
    ingest: await h.addKey({ kind: "api_key", scopes: ["ingest"] }),
    read: await h.addKey({ kind: "api_key", scopes: ["read"] }),
  };
}

/** Checks the contract's form of a response, whatever its code. */
function checkForm(row: Row, answer: Answer): void {
  const { status, headers } = answer;
  assertEquals(status, row.status, answer.text);
  assertEquals(headers.get("retry-after"), null);
  assertEquals(headers.get("www-authenticate"), status === 401 ? "Bearer" : null);
  assertEquals(headers.has("allow"), status === 405);
}

/** Returns the code, message and field of an envelope. */
function checkEnvelope(row: Row, answer: Answer): void {
  assertEquals(answer.headers.get("content-type"), "application/json");
  if (row.method === "HEAD") return assertEquals(answer.text, "");
  const { error, message, field, ...more } = answer.json;
  assertEquals({ error, field, more }, { error: row.error, field: row.field, more: {} }, message);
  checkMessage(message);
  if (row.batch?.at !== undefined && row.error !== "batch_too_large") {
    assert(message.includes(`events[${row.batch.at}]`), `no index in "${message}"`);
  }
}

/** One line of text: the code, then the message (decisions, section 3). */
function checkPing(row: Row, { headers, text }: Answer): void {
  assert(headers.get("content-type")?.startsWith("text/plain"), "not text/plain");
  assertEquals(headers.get("x-error-code"), row.error);
  assertEquals(headers.get("cache-control"), "no-store");
  if (row.method === "HEAD") return assertEquals(text, "");
  const [, code, message = ""] = /^(\S+) (.*)\n$/su.exec(text) ?? [];
  assertEquals(code, row.error, text);
  checkMessage(message);
  assert(row.field === undefined || message.includes(row.field), `no field in "${message}"`);
}

function checkMessage(message: unknown): void {
  assert(typeof message === "string" && message.length >= 10, `says nothing: "${message}"`);
  assert(!NOT_ONE_LINE.test(message), `not one line: ${JSON.stringify(message)}`);
  assert(message.length < 600, `${message.length} characters are no message`);
  assert(message.isWellFormed(), "not well-formed");
}

async function run(h: Harness, secrets: Secrets, row: Row): Promise<void> {
  const { method, path, headers = {} } = row;
  const key = row.key === undefined ? h.key : secrets[row.key];
  const startedMs = performance.now();
  const answer = await h.request(method, path, { key, headers, body: bodyOf(row) });
  const ms = performance.now() - startedMs;
  assert(ms < ANSWER_MS_MAX, `took ${ms} ms`);
  checkForm(row, answer);
  if (/^\/v1\/ping(\?|$)/.test(path)) checkPing(row, answer);
  else checkEnvelope(row, answer);
}

/** Runs rows in sequence; returns every deviation, not only the first. */
async function deviations(h: Harness, secrets: Secrets, rows: readonly Row[]): Promise<string[]> {
  const results: string[] = [];
  const before = (await h.dump()).join("\n");
  for (const row of rows) {
    try {
      await run(h, secrets, row);
    } catch (error) {
      results.push(`${row.name}: ${error instanceof Error ? error.message : error}`);
    }
  }
  if ((await h.dump()).join("\n") !== before) results.push("one of them changed the store");
  return results;
}

/** Returns a row of each credential that a route refuses, by the table of access. */
function credentialRows(): Row[] {
  return ENDPOINTS.flatMap(({ method, path, access }) => {
    if (access === null) return [];
    const { scope, pingTokens, operator } = access;
    const refused = [
      ...(["none", "revoked", "unknown"] as const).map((key) => [key, "invalid_credential"]),
      ["us", "region_mismatch"],
      ...pingTokens || scope === "any" ? [] : [["token", "scope_violation"]],
      ...SCOPES.filter((name) => name !== "admin" && name !== scope && scope !== "any")
        .map((name) => [name, "forbidden"]),
      ...operator ? [] : [["operator", "forbidden"]],
    ] as [CredentialName, ErrorCode][];
    return refused.map(([key, error]): Row => ({
      ...{ name: `${method} ${path}: ${key}`, method, path: path.replaceAll(/:\w+/g, "x") },
      ...{ key, status: error === "forbidden" ? 403 : 401, error },
    }));
  });
}

/** Routes with fewer logged refusals than required. */
function neglected({ log }: Harness): string[] {
  const refused = Map.groupBy(log.map((line) => JSON.parse(line)), ({ route }) => route);
  return ENDPOINTS
    .filter(({ access }) => access !== null)
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route) => (refused.get(route)?.length ?? 0) < ROWS_OF_ROUTE_MIN);
}

operator.test(
  "decisions, section 2: every bad request is refused as named and changes no byte of the store",
  async (h, t) => {
    const secrets = await seed(h);
    h.log.length = 0;
    for (const [file, rows] of readRows()) {
      await t.step(file, async () => assertEquals(await deviations(h, secrets, rows), []));
    }
    await t.step("every route is covered", () => assertEquals(neglected(h), []));
    await t.step("credentials", async () => {
      assertEquals(await deviations(h, secrets, credentialRows()), []);
    });
    await t.step("the same service still accepts good requests", async () => {
      assertEquals((await h.post("/v1/runs", aRun(1))).status, 200);
      assertEquals((await h.post("/v1/runs", aRun(100))).status, 202);
      assertEquals((await h.get("/v1/ping?agent=nightly", { key: secrets.token })).status, 200);
      assertEquals((await h.get(`/v1/runs/${runId(100)}`)).json.status, "running");
    });
  },
);

Deno.test("there are many rows of bad requests, each with a unique name", () => {
  const names = [...readRows().values()].flat().map(({ name }) => name);
  assert(names.length >= ROWS_MIN, `only ${names.length} rows`);
  assertEquals(names.length, new Set(names).size);
});

Harness.test("a row differs from a good request only as named: the good requests are accepted", async (h) => {
  await seed(h);
  const good: [path: string, body: unknown][] = [
    ["/v1/runs", aRun(100)],
    [`/v1/runs/${runId(1)}/events`, bodyOf({ batch: { size: 50 } } as Row)],
    [`/v1/runs/${runId(1)}/finish`, aFinish()],
    ["/v1/heartbeats", aHeartbeat(101)],
  ];
  for (const [path, body] of good) assertEquals((await h.post(path, body)).status, 202, path);
  assertEquals((await h.request("PUT", CARD, { body: PRICE })).status, 202);
  const dryRun = { model: PRICE.model, dry_run: true };
  assertEquals((await h.post(REPRICE, dryRun)).status, 202);
  const reads = `${CARD}?limit=1&source=default ${CARD}/match?model=gpt-4o /v1/usage?month=2026-11
    /v1/spend?from=2025-10-18&to=2026-11-21&group_by=agent&status=success /v1/spend/unpriced
    /v1/runs?limit=1&kind=run&has=late&min_cost_usd=0.25&from=2026-01-31&to=2026-01-31T12:00:00Z&q=run_eu
    /v1/agents?sort=agent&limit=1 /v1/agents/nightly /v1/runs/${runId(1)}/cost?events_limit=1`;
  for (const path of reads.split(/\s+/)) assertEquals((await h.get(path)).status, 200, path);
});
