/** The request log: one line per request with its outcome and no request text. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type ErrorCode, StorageUnavailable } from "../../domain/core/errors.ts";
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  at,
  eventId,
  runId,
} from "../support/builders/requests.ts";
import { Harness, KEY, type RequestOptions } from "../support/harness/harness.ts";
import { ask, get } from "../support/harness/raw_socket.ts";

const PLANTED = "planted_secret";
const UNKNOWN = `apk_eu_${"f".repeat(32)}`;
const HEX = "0123456789abcdef".repeat(2);

/** A request and its expected log line. */
type Case = readonly [
  request: string,
  status: number,
  error: ErrorCode | undefined,
  options?: RequestOptions & {
    /** Set if the line's route is not the request's method and path. */
    readonly route?: string | null;
    readonly stranger?: true;
  },
];

/** One parsed line. */
interface Line {
  readonly at: string;
  readonly id: string;
  readonly team: string | null;
  readonly route: string | null;
  readonly status: number;
  readonly ms: number;
  readonly error?: ErrorCode;
  readonly failure?: string;
  readonly client?: string;
}

const RUN = `/v1/runs/${runId(1)}`, OF_RUN = "/v1/runs/:id";
const full = aRun(1, { customer_id: PLANTED, feature: PLANTED, metadata: { [PLANTED]: PLANTED } });
const batch = { events: [anEvent(1, { type: PLANTED, data: { [PLANTED]: PLANTED } })] };
const finish = aFinish({ output: { [PLANTED]: PLANTED }, scores: { [PLANTED]: 1 } });
const beat = aHeartbeat(2, { agent: PLANTED, model: PLANTED, started_at: at() });
const PING = `/v1/ping?agent=${PLANTED}&metadata=${PLANTED}`;
const stranger = { key: null, stranger: true } as const;

const SUCCESSES: readonly Case[] = [
  ["POST /v1/runs", 202, undefined, { body: full }],
  ["POST /v1/runs", 200, undefined, { body: full }],
  [`POST ${RUN}/events`, 202, undefined, { body: batch, route: `POST ${OF_RUN}/events` }],
  [`POST ${RUN}/finish`, 202, undefined, { body: finish, route: `POST ${OF_RUN}/finish` }],
  [`POST ${RUN}/finish`, 200, undefined, { body: finish, route: `POST ${OF_RUN}/finish` }],
  ["POST /v1/heartbeats", 202, undefined, { body: beat }],
  [`GET ${PING}`, 200, undefined, { route: "GET /v1/ping" }],
  [`GET ${PING}&key=${KEY}`, 200, undefined, { key: null, route: "GET /v1/ping" }],
  [`HEAD ${PING}&id=${runId(3)}`, 200, undefined, { route: "GET /v1/ping" }],
  [`GET ${RUN}?events_limit=7`, 200, undefined, { route: `GET ${OF_RUN}` }],
  ["POST /v1/keys", 201, undefined, { body: { kind: "api_key", name: PLANTED } }],
  ["GET /v1/keys", 200, undefined],
  ["GET /healthz", 200, undefined, stranger],
  ["GET /readyz", 200, undefined, stranger],
  ["OPTIONS /v1/runs", 204, undefined, stranger],
];

const REFUSALS: readonly Case[] = [
  ["POST /v1/runs", 400, "invalid_id", { body: aRun(1, { id: PLANTED }) }],
  ["POST /v1/runs", 400, "unknown_region", { body: aRun(1, { id: runId(1, "xx") }) }],
  ["POST /v1/runs", 400, "missing_field", { body: { id: runId(1), [PLANTED]: PLANTED } }],
  ["POST /v1/runs", 400, "invalid_field", { body: aRun(1, { started_at: PLANTED }) }],
  ["POST /v1/runs", 400, "invalid_json", { body: `{"a":${PLANTED}` }],
  ["POST /v1/runs", 409, "id_conflict", { body: aRun(1, { agent: PLANTED }) }],
  ["POST /v1/runs", 413, "payload_too_large", { body: `"${PLANTED.repeat(160_000)}"` }],
  ["POST /v1/runs", 415, "unsupported_encoding", {
    body: PLANTED,
    headers: { "Content-Encoding": PLANTED },
  }],
  [`POST ${RUN}/events`, 400, "batch_too_large", {
    body: { events: Array(51).fill(PLANTED) },
    route: `POST ${OF_RUN}/events`,
  }],
  [`POST /v1/runs/${PLANTED}/finish`, 400, "invalid_id", {
    body: finish,
    route: `POST ${OF_RUN}/finish`,
  }],
  [`GET /v1/ping?status=${PLANTED}&agent=a`, 400, "invalid_field", { route: "GET /v1/ping" }],
  [`GET ${PING}&%FF${PLANTED}=1`, 400, "invalid_field", { route: "GET /v1/ping" }],
  [`GET ${RUN}?events_cursor=${PLANTED}`, 400, "invalid_field", { route: `GET ${OF_RUN}` }],
  [`GET /v1/runs/${runId(9)}`, 404, "not_found", { route: `GET ${OF_RUN}` }],
  [`DELETE /v1/keys/${PLANTED}`, 404, "not_found", { route: "DELETE /v1/keys/:id" }],
  [`GET /${PLANTED}?${PLANTED}`, 404, "not_found", { ...stranger, route: null }],
  [`GET ${RUN}/${PLANTED}`, 404, "not_found", { ...stranger, route: null }],
  [`PUT ${RUN}?${PLANTED}`, 405, "method_not_allowed", { ...stranger, route: `PUT ${OF_RUN}` }],
  ["POST /v1/runs", 401, "invalid_credential", { ...stranger, body: full }],
  ["POST /v1/runs", 401, "invalid_credential", { ...stranger, key: UNKNOWN, body: full }],
  ["POST /v1/runs", 401, "invalid_credential", { ...stranger, key: PLANTED, body: full }],
  ["GET /v1/keys", 401, "invalid_credential", {
    ...stranger,
    headers: { Authorization: `Basic ${btoa(`${PLANTED}:${PLANTED}`)}` },
  }],
  ["GET /v1/keys", 401, "region_mismatch", { ...stranger, key: `apk_us_${HEX}` }],
  [`GET ${PING}&key=${PLANTED}`, 401, "invalid_credential", { ...stranger, route: "GET /v1/ping" }],
];

/** Asserts that no line contains any body, query, credential or id of a request. */
function assertNothingSent(h: Harness, ...more: string[]): void {
  const ids = [1, 2, 3, 9].map((n) => runId(n));
  const secrets = [PLANTED, btoa(PLANTED).slice(0, 16), "apk_", "ping_eu_", "Bearer", ...more];
  for (const text of [...secrets, ...ids, eventId(1), HEX, "events_limit", "?"]) {
    const line = h.log.find((line) => line.includes(text));
    assertEquals(line, undefined, `${text} was sent and is in the log`);
  }
}

async function lineOf(h: Harness, [request, , , options = {}]: Case): Promise<Line> {
  const [method = "", path = ""] = request.split(" ");
  const before = h.log.length;
  const answer = await h.request(method, path, options);
  const added = h.log.slice(before);
  assertEquals(added.length, 1, `${request}: ${added.length} lines`);
  const [text = ""] = added;
  assert(!text.includes("\n"));
  const line: Line = JSON.parse(text);
  assertEquals(line.id, answer.headers.get("x-request-id"));
  assertEquals(line.status, answer.status);
  return line;
}

async function check(h: Harness, item: Case): Promise<void> {
  const [request, status, error, { route = request, stranger } = {}] = item;
  const { at: time, id, ms, ...rest } = await lineOf(h, item);
  const team = stranger ? null : h.team.id;
  const client = status === 401 ? { client: "127.0.0.1" } : {};
  assertEquals(rest, { team, route, status, ...(error && { error }), ...client }, request);
  assertEquals(time, at());
  assertMatch(id, /^[0-9a-f]+-\d+$/);
  assert(typeof ms === "number" && ms >= 0 && ms < 60_000);
}

Harness.test("decision 3: every response has one line with id, team, route, status and time, and no request text but the address of a 401", async (h) => {
  for (const item of [...SUCCESSES, ...REFUSALS]) await check(h, item);
  assertNothingSent(h, (await h.post("/v1/keys", { kind: "api_key", name: "x" })).json.secret);
  const ids = h.log.map((line) => JSON.parse(line).id);
  assertEquals(new Set(ids).size, ids.length);
});

Harness.test("a refused ping token and a refused narrow key are logged with their team and without their text", async (h) => {
  const token = await h.addKey({ kind: "ping_token", agent: "nightly" });
  const narrow = await h.addKey({ kind: "api_key", scopes: ["read"] });
  const { team, key } = await h.addTeam("free");
  await check(h, ["POST /v1/heartbeats", 401, "scope_violation", {
    key: token,
    body: { agent: PLANTED },
  }]);
  await check(h, ["POST /v1/runs", 403, "forbidden", { key: narrow, body: full }]);
  for (let n = 1; n <= 10; n++) {
    await h.post("/v1/heartbeats", { agent: `${PLANTED} ${n}` }, { key });
  }
  const line = await lineOf(h, ["POST /v1/heartbeats", 403, "agent_cap_reached", {
    key,
    body: { agent: PLANTED },
  }]);
  assertEquals([line.team, line.error], [team.id, "agent_cap_reached"]);
  assertNothingSent(h, token, narrow, key);
});

Harness.test("a Host that is refused is not in its line", async (h) => {
  await ask(h.url, get(`/${PLANTED}`, `Host: ${PLANTED}/x`));
  const [line = "", ...more] = h.log;
  const { status, route, error } = JSON.parse(line);
  assertEquals([status, route, error, more], [400, null, "invalid_field", []]);
  assertNothingSent(h);
});

/** Sends each write call once; each fails in the store. */
async function sendWrites(h: Harness): Promise<number[]> {
  const answers = [
    await h.post("/v1/runs", full),
    await h.post(`${RUN}/events`, batch),
    await h.post(`${RUN}/finish`, finish),
    await h.post("/v1/heartbeats", beat),
    await h.get(`${PING}&id=${runId(3)}`),
  ];
  return answers.map(({ status }) => status);
}

/** An internal error has its reason in a second line, with the same request id. */
function assertFailureLines(h: Harness, status: number, error: ErrorCode, count: number): void {
  const lines: Line[] = h.log.map((line) => JSON.parse(line));
  const requests = lines.filter(({ failure }) => failure === undefined);
  assertEquals(requests.length, count);
  for (const request of requests) {
    assertEquals([request.status, request.error], [status, error]);
    const reasons = lines.filter(({ id, failure }) => id === request.id && failure !== undefined);
    assertEquals(reasons.length, 1, "a failure without a reason, or with two");
  }
  assertEquals(lines.length, 2 * count);
}

const FAILURES = {
  internal_error: [500, () => {
    throw new TypeError("A part of the program is broken");
  }],
  storage_unavailable: [
    503,
    () => Promise.reject(new StorageUnavailable("Cannot commit: disk is full")),
  ],
} as const;

for (const [error, [status, fail]] of Object.entries(FAILURES)) {
  Deno.test(`${error} is one line plus its reason, both without request text`, async () => {
    const writes = { open: fail, append: fail, finish: fail, heartbeat: fail, ping: fail };
    await using h = await Harness.open({ deps: { runs: { ...writes, find: fail } } });
    assertEquals(await sendWrites(h), Array(5).fill(status));
    assertFailureLines(h, status, error as ErrorCode, 5);
    assertNothingSent(h);
  });
}

Harness.test("a request during shutdown has its line", async (h) => {
  h.draining = true;
  await check(h, ["POST /v1/runs", 503, "shutting_down", { body: full, stranger: true }]);
  await check(h, ["GET /readyz", 503, "shutting_down", stranger]);
  await check(h, ["GET /healthz", 200, undefined, stranger]);
  assertNothingSent(h);
});
