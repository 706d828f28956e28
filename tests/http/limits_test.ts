/**
 * Limits that refuse: a request at the limit is stored completely, one beyond it is refused and
 * leaves nothing. Limits that trim, page or report are in `limits_reported_test.ts`.
 */
import { assert, assertEquals } from "@std/assert";
import type { ErrorCode } from "../../domain/core/errors.ts";
import * as limits from "../../domain/core/limits.ts";
import { aHeartbeat, anEvent, aRun, events, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

/** One limit of one field. */
interface Edge {
  readonly limit: keyof typeof limits;
  readonly what: string;
  /** The request that carries a value. */
  readonly send: (value: unknown) => readonly [method: string, path: string, body?: unknown];
  /** The last accepted value and the first refused one. */
  readonly most: unknown;
  readonly beyond: unknown;
  readonly error: ErrorCode;
  readonly field?: string;
  /** The record's field with the value, which must be the one sent or `shown`. */
  readonly read: (run: RunJson) => unknown;
  readonly shown?: unknown;
}

// deno-lint-ignore no-explicit-any -- tests inspect any response
type RunJson = any;

const RUN = `/v1/runs/${runId(1)}`;

/** Characters of two UTF-16 units each: limits count code points. */
const faces = (count: number) => "\u{1f600}".repeat(count);
const withMember = (body: unknown, member: string) =>
  `${JSON.stringify(body).slice(0, -1)},${member}}`;

/** A batch above 1 MiB with this many `{`, `[` and `:` outside of texts. */
function batchOfStructure(count: number): string {
  const batch = JSON.stringify({ events: [anEvent(1)], text: "{[:", more: [] });
  const used = batch.replaceAll(/"[^"]*"/g, "").replaceAll(/[^{[:]/g, "").length;
  const more = Array(count - used).fill("{}").join();
  return batch.replace('"more":[]', `"more":[${more}]`).padEnd(limits.WHOLE_BODY_BYTES_MAX + 1);
}

const toRuns = (field: string): Edge["send"] => (value) => [
  "POST",
  "/v1/runs",
  aRun(1, { [field]: value }),
];
const toHeartbeats = (field: string): Edge["send"] => (value) => [
  "POST",
  "/v1/heartbeats",
  aHeartbeat(1, { [field]: value }),
];
const toEvents = (event: (value: unknown) => unknown): Edge["send"] => (value) => [
  "POST",
  `${RUN}/events`,
  { events: [anEvent(1), event(value)] },
];
const inPing = (field: string): Edge["send"] => (value) => [
  "GET",
  `/v1/ping?id=${runId(1)}&${new URLSearchParams({ agent: "a", [field]: String(value) })}`,
];

/** Limits of a text field, all alike. */
function textEdges(
  limit: Edge["limit"],
  max: number,
  places:
    readonly (readonly [what: string, field: string, send: Edge["send"], read: Edge["read"]])[],
): Edge[] {
  return places.map(([what, field, send, read]) => {
    const values = { most: faces(max), beyond: faces(max + 1) };
    return { limit, what, field, send, read, ...values, error: "invalid_field" };
  });
}

/** The limit of a number field at one of its ends. */
function numberEdge(
  limit: Edge["limit"],
  [what, field]: readonly [what: string, field: string],
  send: (field: string) => Edge["send"],
  [most, beyond]: readonly [number, number],
  read: Edge["read"],
): Edge {
  const named = `${what} ${field} of ${most}`;
  const values = { most, beyond, error: "invalid_field" } as const;
  return { limit, what: named, field, send: send(field), read, ...values };
}

const costMax = limits.COST_USD_MAX;
const costOf = (run: RunJson) => run.cost_usd;

const EDGES: readonly Edge[] = [
  {
    limit: "EVENTS_PER_BATCH_MAX",
    what: "events in a batch",
    send: (count) => ["POST", `${RUN}/events`, { events: events(1, Number(count)) }],
    most: limits.EVENTS_PER_BATCH_MAX,
    beyond: limits.EVENTS_PER_BATCH_MAX + 1,
    error: "batch_too_large",
    field: "events",
    read: (run) => run.usage.events,
  },
  {
    limit: "BODY_BYTES_MAX",
    what: "bytes of a body",
    // White space counts as well, because it must be read.
    send: (bytes) => ["POST", "/v1/runs", JSON.stringify(aRun(1)).padEnd(Number(bytes))],
    most: limits.BODY_BYTES_MAX,
    beyond: limits.BODY_BYTES_MAX + 1,
    error: "payload_too_large",
    read: (run) => run.id,
    shown: runId(1),
  },
  {
    limit: "EVENTS_BODY_BYTES_MAX",
    what: "bytes of a batch of events",
    send: (bytes) => [
      "POST",
      `${RUN}/events`,
      JSON.stringify({ events: [anEvent(1)] }).padEnd(Number(bytes)),
    ],
    most: limits.EVENTS_BODY_BYTES_MAX,
    beyond: limits.EVENTS_BODY_BYTES_MAX + 1,
    error: "payload_too_large",
    read: (run) => run.usage.events,
    shown: 1,
  },
  {
    limit: "BATCH_STRUCTURE_MAX",
    what: "characters of structure in a large batch",
    send: (count) => ["POST", `${RUN}/events`, batchOfStructure(Number(count))],
    most: limits.BATCH_STRUCTURE_MAX,
    beyond: limits.BATCH_STRUCTURE_MAX + 1,
    error: "payload_too_large",
    read: (run) => run.usage.events,
    shown: 1,
  },
  ...textEdges("AGENT_CHARS_MAX", limits.AGENT_CHARS_MAX, [
    ["a run's agent", "agent", toRuns("agent"), (run) => run.agent],
    ["a heartbeat's agent", "agent", toHeartbeats("agent"), (run) => run.agent],
    ["a ping's agent", "agent", inPing("agent"), (run) => run.agent],
  ]),
  ...textEdges("EVENT_TYPE_CHARS_MAX", limits.EVENT_TYPE_CHARS_MAX, [
    ["an event's type", "type", toEvents((type) => anEvent(2, { type })), (r) => r.events[1].type],
  ]),
  ...([[costMax, costMax + 0.000001], [0, -1e-12]] as const).flatMap((ends) => [
    numberEdge("COST_USD_MAX", ["a heartbeat's", "cost_usd"], toHeartbeats, ends, costOf),
    numberEdge("COST_USD_MAX", ["a ping's", "cost_usd"], inPing, ends, costOf),
  ]),
];

/** The code and the field of a refusal; on ping the message names the field. */
function refusalOf({ status, headers, text }: Answer, field: string | undefined) {
  const code = headers.get("x-error-code");
  if (code !== null) return [status, code, field && text.includes(`"${field}"`) ? field : ""];
  const { error, field: named } = JSON.parse(text);
  return [status, error, named];
}

for (const edge of EDGES) {
  const { limit, what, send, most, beyond, error, field, read, shown = most } = edge;
  Harness.test(`${limit}: ${what} at the limit is stored, beyond it refused`, async (h) => {
    const before = await h.dump();
    const [method, path, body] = send(beyond);
    const refused = await h.request(method, path, { body });
    const status = error === "payload_too_large" ? 413 : 400;
    assertEquals(refusalOf(refused, field), [status, error, field]);
    assertEquals(await h.dump(), before);

    const [, goodPath, goodBody] = send(most);
    // The same id as the refused one: had anything been stored, this would be a replay.
    const accepted = await h.request(method, goodPath, { body: goodBody });
    assertEquals(accepted.status, method === "GET" ? 200 : 202, accepted.text);
    assertEquals(accepted.headers.get("idempotent-replayed"), null);
    const run = (await h.get(RUN)).json;
    assertEquals(read(run), shown);
  });
}

Harness.test("decision 34: integers from 0 to 2^53 - 1 are tokens and durations, however written", async (h) => {
  const most = String(Number.MAX_SAFE_INTEGER);
  const fields = ["input_tokens", "output_tokens", "cached_input_tokens", "duration_ms"];
  let n = 0;
  for (const [text, value] of [["0", 0], ["-0", 0], ["1.0", 1], ["1e3", 1000], [most, +most]]) {
    const members = fields.map((field) => `"${field}":${text}`).join();
    const body = withMember(aHeartbeat(++n), members);
    assertEquals((await h.post("/v1/heartbeats", body)).status, 202, String(text));
    const { usage, duration_ms } = (await h.get(`/v1/runs/${runId(n)}`)).json;
    const { input_tokens, output_tokens, cached_input_tokens } = usage;
    const read = [input_tokens, output_tokens, cached_input_tokens, duration_ms];
    assertEquals(read, Array(4).fill(value), String(text));
  }
});

/** Limits with tests of their own, by what they limit. */
const ELSEWHERE = `
reports      METADATA_KEY_CHARS_MAX METADATA_VALUE_CHARS_MAX NOTE_CHARS_MAX GOAL_CHARS_MAX
             LABEL_CHARS_MAX SCORES_MAX SCORE_NAME_CHARS_MAX IDLE_TIMEOUT_SECONDS KEY_NAME_CHARS_MAX
             CLOCK_SKEW_MS_MAX RUN_MODELS_MAX EVENTS_PER_PAGE EVENTS_PAGE_BYTES_MAX
             STORAGE_DEADLINE_MS
processes    BODY_DEADLINE_MS DRAIN_MS_MAX
rates        RATE_USD_PER_MILLION_MAX RATE_TIERS_MAX RATE_NOTE_CHARS_MAX RATE_ROWS_MAX RATES_PER_PAGE
requests     CONTROL_RATE_FACTOR RATE_TEAMS_MAX BYTES_BURST_SECONDS DASHBOARD_RESERVE
             ENTERPRISE_CONTROL_FACTOR READ_TOKEN
teams        ADMIN_PER_PAGE OVERLAP_HOURS TEAM_NAME_CHARS_MAX EMAIL_CHARS_MAX OWN_RATE_MAX
             OWN_LIMIT_MAX
runs         TOOL_NAME_CHARS_MAX ADDED_SCORES_MAX SCORE_SOURCE_CHARS_MAX CHILDREN_MAX DESCENDANTS
             AGENT_NOTES_CHARS_MAX ARCHIVED_AGENTS_MAX
feeds        CHANGES_PAGE_CHARS_MAX CHANGES_PER_PAGE CHANGES_WAIT_SECONDS_MAX SPEND_DEADLINE_MS
             FINAL_WAIT_SECONDS LISTENERS_MAX LIVE_BATCH_CHARS_MAX LIVE_BUFFER_BYTES_MAX
             LIVE_CHANGES_LAG_MAX LIVE_KEEP_ALIVE_MS
pings        RID_CHARS_MAX DERIVED_START_MS_MAX
pages        SESSION SESSIONS_PER_KEY_MAX FORM_BYTES_MAX
refusals     REFUSAL_LIMITS REFUSAL_CHARS_MAX
payloads     WHOLE_BODY_BYTES_MAX EVENT_BYTES_MAX OUTPUT_BYTES_MAX JSON_DEPTH_MAX PREVIEW_CHARS_MAX
             USAGE_FIELD_BYTES_MAX`;

Deno.test("every limit of the service is tested here or listed as tested elsewhere", () => {
  const listed = ELSEWHERE.match(/[A-Z][A-Z_]+/g) ?? [];
  const covered = new Set<string>([...EDGES.map(({ limit }) => limit), ...listed]);
  assertEquals(Object.keys(limits).filter((name) => !covered.has(name)), []);
  assert(covered.size <= Object.keys(limits).length, "a limit that does not exist is covered");
});
