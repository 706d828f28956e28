/** Every error code is provoked once and matches its row of the table (decision 7). */
import { failingRuns } from "../support/fakes/failing_runs.ts";
import { assertEquals, assertMatch } from "@std/assert";
import { type ErrorCode, ERRORS, StorageUnavailable } from "../../domain/core/errors.ts";
import { BODY_BYTES_MAX } from "../../domain/core/limits.ts";
import { aRun, aScore, at, events, runId } from "../support/builders/requests.ts";
import { type Answer, Harness, type HarnessOptions } from "../support/harness/harness.ts";

/** A request that provokes a code, and the field its envelope names. */
interface Provocation {
  readonly options?: HarnessOptions;
  readonly arrange?: (h: Harness) => unknown;
  readonly act: (h: Harness) => Promise<Answer>;
  readonly field?: string;
}

async function fillAgents(h: Harness): Promise<void> {
  for (let n = 0; n < 10; n++) await h.post("/v1/runs", aRun(n, { agent: `agent ${n}` }));
}

const post = (path: string, body: unknown) => (h: Harness) => h.post(path, body);

/** One provocation per code, or the reason why there is none here. */
const PROVOCATIONS: Record<ErrorCode, Provocation | string> = {
  invalid_id: { act: post("/v1/runs", aRun(1, { id: "1" })), field: "id" },
  missing_field: { act: post("/v1/runs", { id: runId(1) }), field: "agent" },
  invalid_field: { act: post("/v1/runs", aRun(1, { started_at: "noon" })), field: "started_at" },
  invalid_json: { act: post("/v1/runs", "{") },
  unknown_region: { act: post("/v1/runs", aRun(1, { id: runId(1, "zz") })), field: "id" },
  batch_too_large: {
    act: post(`/v1/runs/${runId(1)}/events`, { events: events(1, 51) }),
    field: "events",
  },
  invalid_credential: { act: (h) => h.get("/v1/keys", { key: null }) },
  region_mismatch: { act: (h) => h.get("/v1/keys", { key: h.key.replace("_eu_", "_us_") }) },
  scope_violation: {
    act: async (h) =>
      h.get("/v1/keys", { key: await h.addKey({ kind: "ping_token", agent: "nightly" }) }),
  },
  forbidden: {
    act: async (h) =>
      h.get("/v1/keys", { key: await h.addKey({ kind: "api_key", scopes: ["read"] }) }),
  },
  agent_cap_reached: {
    options: { tier: "free" },
    arrange: fillAgents,
    act: post("/v1/runs", aRun(11, { agent: "one too many" })),
    field: "agent",
  },
  score_cap_reached: {
    arrange: async (h) => {
      for (let n = 1; n <= 200; n++) await h.post(`/v1/runs/${runId(1)}/scores`, aScore(n));
    },
    act: post(`/v1/runs/${runId(1)}/scores`, aScore(201)),
  },
  egress_denied: {
    act: (h) => {
      const body = { type: "slack", url: "https://localhost/hook" };
      return h.request("PUT", "/v1/channels/chat", { body });
    },
    field: "url",
  },
  object_cap_reached: {
    arrange: async (h) => {
      const body = { match: {}, until: at(60_000) };
      for (let n = 1; n <= 100; n++) await h.request("PUT", `/v1/silences/s${n}`, { body });
    },
    act: (h) => {
      const body = { match: {}, until: at(60_000) };
      return h.request("PUT", "/v1/silences/one-more", { body });
    },
  },
  not_found: { act: (h) => h.get(`/v1/runs/${runId(1)}`) },
  method_not_allowed: { act: (h) => h.request("PUT", "/v1/runs", { body: aRun(1) }) },
  body_timeout: "takes a client that goes silent",
  id_conflict: {
    arrange: post("/v1/runs", aRun(1)),
    act: post("/v1/runs", aRun(1, { agent: "other" })),
    field: "agent",
  },
  credential_ended: {
    act: async (h) => {
      const { id } = (await h.post("/v1/keys", { kind: "api_key", name: "old" })).json;
      await h.post(`/v1/keys/${id}/rotate`, {});
      return await h.post(`/v1/keys/${id}/rotate`, {});
    },
  },
  version_conflict: {
    arrange: (h) => h.post("/v1/runs", aRun(1)),
    act: (h) => {
      const body = { schedule: { every_seconds: 60 }, version: 1 };
      return h.request("PUT", "/v1/agents/researcher/monitor", { body });
    },
    field: "version",
  },
  payload_too_large: { act: post("/v1/runs", `{"pad":"${"x".repeat(BODY_BYTES_MAX)}"}`) },
  unsupported_encoding: {
    act: (h) => h.post("/v1/runs", aRun(1), { headers: { "Content-Encoding": "br" } }),
  },
  unsupported_media_type: "answers as a status of OTLP, as the tests of traces show",
  guard_blocked: "answers in text, as the tests of the guard show",
  rate_limit: "takes as many requests as a burst holds",
  internal_error: {
    options: { deps: { runs: failingRuns(new Error("a bug")) } },
    act: post("/v1/runs", aRun(1)),
  },
  overloaded: "no load is shed yet",
  storage_unavailable: {
    options: { deps: { runs: failingRuns(new StorageUnavailable("disk gone")) } },
    act: post("/v1/runs", aRun(1)),
  },
  shutting_down: { arrange: (h) => h.draining = true, act: post("/v1/runs", aRun(1)) },
};

for (const [name, provocation] of Object.entries(PROVOCATIONS)) {
  if (typeof provocation === "string") continue;
  const code = name as ErrorCode;
  const { status } = ERRORS[code];
  Deno.test(`decision 7: ${code} is ${status} in the envelope and stores nothing`, async () => {
    const { options, arrange, act, field } = provocation;
    await using h = await Harness.open(options);
    await arrange?.(h);
    const runs = await runKeys(h);
    const usage = await h.usage();
    const answer = await act(h);
    const { error, message, ...rest } = answer.json;
    assertEquals([answer.status, error], [status, code]);
    assertEquals(rest, field === undefined ? {} : { field });
    assertMatch(message, /^[^\n]{10,400}$/);
    assertMatch(answer.headers.get("content-type") ?? "", /^application\/json/);
    assertEquals(answer.headers.get("www-authenticate"), status === 401 ? "Bearer" : null);
    assertEquals([await runKeys(h), await h.usage()], [runs, usage]);
  });
}

/** Keys of everything stored about runs and agents. */
async function runKeys(h: Harness): Promise<string[]> {
  return (await h.dump()).filter((line) => /^\[\s+"(run|agent)/.test(line));
}
