/** Tests that another team's, revoked and nonexistent objects get the same bytes. */
import { assert, assertEquals } from "@std/assert";
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  aScore,
  runId,
} from "../../support/builders/requests.ts";
import { REFUSED_AFTER_MS } from "../../../routes/http/credential.ts";
import { ALL_SCOPES, Harness } from "../../support/harness/harness.ts";
import { CARD, put } from "../../support/builders/rate_cards.ts";
import { RawSocket } from "../../support/harness/raw_socket.ts";
import { REPRICE } from "../../support/builders/reprice.ts";
import { NEVER } from "./calls.ts";

/** Names of one kind of object; the first never existed. */
type Alike = readonly string[];

/** A run, an agent, a customer and a model of another team, each with a nonexistent one. */
const RUNS: Alike = [runId(8), runId(5)];
const AGENTS: Alike = ["nobody", "theirs"];
const CUSTOMERS: Alike = ["nobody", "acme-1"];
const MODELS: Alike = ["unknown-model", "private-model"];

/** Stores objects of another team; returns its key. */
async function fillOther(h: Harness): Promise<string> {
  const { key } = await h.addTeam("business");
  const labels = { agent: AGENTS[1], customer_id: CUSTOMERS[1] };
  const data = { model: MODELS[1], input_tokens: 1_000, output_tokens: 10 };
  const path = `/v1/runs/${RUNS[1]}`;
  const calls: [path: string, body: unknown][] = [
    ["/v1/runs", aRun(5, labels)],
    [`${path}/events`, { events: [anEvent(1, { type: "llm_call", data }), anEvent(2)] }],
    [`${path}/finish`, aFinish()],
  ];
  for (const [where, body] of calls) assertEquals((await h.post(where, body, { key })).status, 202);
  await h.worker.idle();
  return key;
}

/**
 * Returns the bytes of a response without the parts that are unique to the exchange, or that hash
 * the name.
 */
async function bytesOf(h: Harness, request: string, name: string): Promise<string> {
  using socket = await RawSocket.open(h.url);
  await socket.send(request);
  const answer = await socket.rest();
  return answer.replace(/^(x-request-id|date|etag): .*$/gim, "")
    .replaceAll(name, "NAME");
}

interface Asking {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: readonly string[];
}

function written(h: Harness, path: string, asking: Asking): string {
  const { method = "GET", body, headers = [`Authorization: Bearer ${h.key}`] } = asking;
  const text = body === undefined ? "" : JSON.stringify(body);
  const lines = [`${method} ${path} HTTP/1.1`, "Host: x", "Connection: close", ...headers];
  return [...lines, `Content-Length: ${text.length}`, "", text].join("\r\n");
}

/** Requests all names, and fails unless all responses are equal and have the status. */
async function assertAlike(
  h: Harness,
  status: number,
  names: Alike,
  ask: (name: string) => readonly [path: string, asking?: Asking],
): Promise<void> {
  const answers: string[] = [];
  for (const name of names) {
    const [path, asking = {}] = ask(name);
    answers.push(await bytesOf(h, written(h, path, asking), name));
  }
  const [first = ""] = answers;
  assert(first.startsWith(`HTTP/1.1 ${status} `), `${ask(names[0] ?? "")[0]}: ${first}`);
  for (const [n, answer] of answers.entries()) assertEquals(answer, first, names[n]);
}

Harness.test("decision 32: another team's run, agent or label reads like one that never existed", async (h) => {
  await fillOther(h);
  for (const method of ["GET", "HEAD"]) {
    for (const path of ["", "/cost", "?events_limit=1", "/cost?events_limit=1000"]) {
      await assertAlike(h, 404, RUNS, (run) => [`/v1/runs/${run}${path}`, { method }]);
    }
    await assertAlike(h, 404, AGENTS, (agent) => [`/v1/agents/${agent}`, { method }]);
    for (const group of ["day", "agent", "customer", "model", "status"]) {
      const path = `/v1/spend?group_by=${group}`;
      await assertAlike(h, 200, AGENTS, (agent) => [`${path}&agent=${agent}`, { method }]);
      await assertAlike(h, 200, CUSTOMERS, (c) => [`${path}&customer_id=${c}`, { method }]);
      await assertAlike(h, 200, MODELS, (model) => [`${path}&model=${model}`, { method }]);
    }
    await assertAlike(h, 200, MODELS, (model) => [`/v1/spend/unpriced?model=${model}`, { method }]);
  }
});

Harness.test("decision 32: writes to another team's run id behave as for one that never existed", async (h) => {
  await fillOther(h);
  const body = (fields: object) => ({ method: "POST", body: fields });
  const event = anEvent(1);
  await assertAlike(h, 202, RUNS, (id) => [`/v1/runs/${id}/events`, body({ events: [event] })]);
  await assertAlike(h, 202, RUNS, (id) => ["/v1/runs", body({ ...aRun(0), id })]);
  await assertAlike(h, 202, RUNS, (id) => [`/v1/runs/${id}/finish`, body(aFinish())]);
  await assertAlike(h, 202, RUNS, (id) => [`/v1/runs/${id}/scores`, body(aScore(1))]);
  await assertAlike(h, 409, RUNS, (id) => [`/v1/runs/${id}/scores`, body(aScore(1, { value: 9 }))]);
  await assertAlike(h, 200, RUNS, (id) => ["/v1/heartbeats", body({ ...aRun(0), id })]);
  await assertAlike(h, 409, RUNS, (id) => ["/v1/heartbeats", body({ ...aHeartbeat(0), id })]);
  await assertAlike(h, 200, RUNS, (id) => [`/v1/ping?agent=researcher&id=${id}`]);
  await h.worker.idle();
  await assertAlike(h, 200, RUNS, (id) => [`/v1/runs/${id}`]);
  const patch = { method: "PATCH", body: { name: "x", archived: true } };
  await assertAlike(h, 404, AGENTS, (agent) => [`/v1/agents/${agent}`, patch]);
});

Harness.test("decision 32: another team's credential, rate and job are like nonexistent ones", async (h) => {
  const key = await fillOther(h);
  const { id: theirs } = (await h.post("/v1/keys", { kind: "api_key", name: "k" }, { key })).json;
  const token = { kind: "ping_token", name: "t", agent: AGENTS[1] };
  const { id: revoked } = (await h.post("/v1/keys", token, { key })).json;
  await h.request("DELETE", `/v1/keys/${revoked}`, { key });
  const method = "DELETE";
  const keys = [NEVER.key, theirs, revoked];
  await assertAlike(h, 404, keys, (id) => [`/v1/keys/${id}`, { method }]);

  const rate = (await put(h, { model: MODELS[1] }, key)).json.id;
  const deleted = (await put(h, { model: "mine" })).json.id;
  await h.request("DELETE", `${CARD}/${deleted}`);
  const rates = [NEVER.rate, rate, deleted];
  await assertAlike(h, 404, rates, (id) => [`${CARD}/${id}`, { method }]);
  await assertAlike(
    h,
    200,
    MODELS,
    (model) => [`${CARD}/match?model=${model}&at=2026-11-21T00:00:00Z`],
  );

  const job = (await h.post(REPRICE, { model: MODELS[1], dry_run: true }, { key })).json.id;
  for (const method of ["GET", "HEAD"]) {
    await assertAlike(h, 404, [NEVER.job, job], (id) => [`${REPRICE}/${id}`, { method }]);
  }
  // Every object still exists for its owner.
  assertEquals((await h.get("/v1/keys", { key })).text.includes(theirs), true);
  assertEquals((await h.get(`${CARD}?source=own`, { key })).text.includes(rate), true);
  assertEquals((await h.get(`${REPRICE}/${job}`, { key })).status, 200);
});

Deno.test("decision 1: an unknown credential is refused after a fixed time", async () => {
  const refused = `apk_eu_${"d".repeat(32)}`;
  await using h = await Harness.open({ refusedSecret: refused });
  const { id, secret } = (await h.post("/v1/keys", { kind: "api_key", name: "k" })).json;
  assertEquals((await h.request("DELETE", `/v1/keys/${id}`)).status, 200);
  for (const key of [secret, refused, `apk_eu_${"9".repeat(32)}`]) {
    const startMs = performance.now();
    assertEquals((await h.get("/v1/keys", { key })).status, 401);
    // Finding a revoked one takes longer than finding none; the duration must not reveal that.
    assert(performance.now() - startMs >= REFUSED_AFTER_MS, "refused immediately");
  }
});

/** Ways to send a credential (decision 3). */
const TRANSPORTS: readonly ((secret: string) => string)[] = [
  (secret) => `Authorization: Bearer ${secret}`,
  (secret) => `Authorization: Basic ${btoa(`${secret}:`)}`,
  (secret) => `X-AgentPing-Key: ${secret}`,
];

Deno.test("decision 1: revoked, unknown, malformed and refused credentials get the same response", async () => {
  const refused = `apk_eu_${"d".repeat(32)}`;
  await using h = await Harness.open({ refusedSecret: refused });
  const { key: other } = await h.addTeam("free", ALL_SCOPES);
  const make = async (body: unknown, key: string) => {
    const { id, secret } = (await h.post("/v1/keys", body, { key })).json;
    assertEquals((await h.request("DELETE", `/v1/keys/${id}`, { key })).status, 200);
    return secret as string;
  };
  const secrets = [
    `apk_eu_${"9".repeat(32)}`,
    `ping_eu_${"9".repeat(32)}`,
    await make({ kind: "api_key", name: "ours" }, h.key),
    await make({ kind: "api_key", name: "theirs" }, other),
    await make({ kind: "ping_token", name: "t", agent: "nightly" }, other),
    refused,
    "nonsense",
    h.key.toUpperCase(),
  ];
  const calls: [path: string, asking: Asking][] = [
    [`/v1/runs/${runId(1)}`, {}],
    [`/v1/runs/${runId(1)}`, { method: "HEAD" }],
    ["/v1/runs", { method: "POST", body: aRun(1) }],
    ["/v1/heartbeats", { method: "POST", body: aHeartbeat(1) }],
    ["/v1/ping?agent=nightly", {}],
    ["/v1/ping?agent=nightly", { method: "HEAD" }],
    ["/v1/keys", { method: "POST", body: { kind: "api_key", name: "x" } }],
    [CARD, { method: "PUT", body: {} }],
  ];
  for (const [path, asking] of calls) {
    for (const transport of TRANSPORTS) {
      await assertAlike(
        h,
        401,
        secrets,
        (secret) => [path, { ...asking, headers: [transport(secret)] }],
      );
    }
  }
  const inQuery = (secret: string) => [`/v1/ping?agent=a&key=${secret}`, { headers: [] }] as const;
  await assertAlike(h, 401, secrets, inQuery);
});
