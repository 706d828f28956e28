import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { judgeId } from "../../../domain/core/ids.ts";
import { EVENTS_PER_BATCH_MAX, WHOLE_BODY_BYTES_MAX } from "../../../domain/core/limits.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { parseInstant } from "../../../domain/core/time.ts";
import { DAY_MS, type DemoRun, demoRuns } from "../../../tools/demo/runs.ts";
import { NOON } from "../../support/harness/harness.ts";

/** Common fields of the demo's bodies that these tests use. */
interface Sent {
  readonly id?: string;
  readonly agent?: string;
  readonly status?: string;
  readonly goal?: string;
  readonly parent_run_id?: string;
  readonly customer_id?: string;
  readonly feature?: string;
  readonly metadata?: object;
  readonly scores?: object;
  readonly started_at?: string;
  readonly finished_at?: string;
  readonly events?: readonly SentEvent[];
}

interface SentEvent {
  readonly id: string;
  readonly type: string;
  readonly ts: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const MIDNIGHT = NOON - DAY_MS / 2;

function bodies(runs: readonly DemoRun[]): Sent[] {
  return runs.flatMap(({ calls }) => calls.map(({ body }) => body as Sent));
}

function eventsOf(runs: readonly DemoRun[]): SentEvent[] {
  return bodies(runs).flatMap(({ events }) => events ?? []);
}

Deno.test("the same seed and instant give the same requests, byte for byte", () => {
  const first = JSON.stringify(demoRuns(1, NOON, "eu"));
  assertEquals(JSON.stringify(demoRuns(1, NOON, "eu")), first);
  assertNotEquals(JSON.stringify(demoRuns(2, NOON, "eu")), first);
});

/** Each opening, finish, heartbeat and event: the stored parts of runs. */
function thingsOf(runs: readonly DemoRun[]): Set<string> {
  return new Set(
    runs.flatMap(({ calls }) => calls).flatMap(({ path, body }) =>
      Array.isArray(body.events)
        ? body.events.map((event) => JSON.stringify(event))
        : [path + JSON.stringify(body)]
    ),
  );
}

Deno.test("a later demo has everything of an earlier one since the same days, and more", () => {
  for (const laterMs of [NOON + 60_000, NOON + 7 * 3_600_000, NOON + 3 * DAY_MS]) {
    const earlier = demoRuns(1, NOON, "eu");
    const fromMs = Math.floor(laterMs / DAY_MS) * DAY_MS - 7 * DAY_MS;
    const later = thingsOf(demoRuns(1, laterMs, "eu"));
    const shared = earlier.filter(({ startMs }) => startMs >= fromMs);
    assert(shared.length > 100);
    assertEquals([...thingsOf(shared)].filter((thing) => !later.has(thing)), []);
    assert(later.size > thingsOf(shared).size);
  }
});

Deno.test("at any time of day some run of today failed and one is running, and nothing is in the future", () => {
  for (let minute = 1; minute < 24 * 60; minute += 37) {
    const nowMs = MIDNIGHT + minute * 60_000;
    const runs = demoRuns(1, nowMs, "eu");
    const last = runs.findLast(({ story }) => story === "failed");
    assert((last?.startMs ?? 0) >= MIDNIGHT && (last?.endMs ?? Infinity) <= nowMs, `${minute}`);
    const running = runs.filter(({ story }) => story === "running");
    assert(running.length > 0 && running.every(({ endMs }) => endMs === null), `${minute}`);
    const instants = bodies(runs).flatMap(({ started_at, finished_at, events }) => [
      started_at,
      finished_at,
      ...(events ?? []).map(({ ts }) => ts),
    ]);
    const latest = Math.max(...instants.map((text) => parseInstant(text ?? "") ?? 0));
    assert(latest <= nowMs && latest > nowMs - 15 * 60_000, `${minute}`);
  }
});

Deno.test("each of the seven days before today has its load", () => {
  const runs = demoRuns(1, NOON, "eu");
  for (let day = 1; day <= 7; day++) {
    const fromMs = MIDNIGHT - day * DAY_MS;
    const count = runs.filter(({ startMs }) =>
      startMs >= fromMs && startMs < fromMs + DAY_MS
    ).length;
    assert(count >= 29 && count <= 41, `${count} runs`);
  }
});

Deno.test("every id is valid and unique, in the requested region", () => {
  for (const region of ["eu", "us"] as const) {
    const runs = demoRuns(1, NOON, region);
    const runIds = runs.map(({ id }) => id);
    const eventIds = [...new Set(eventsOf(runs).map(({ id }) => id))];
    assert(runIds.every((id) => judgeId("run", id) === "valid"));
    assert(eventIds.every((id) => judgeId("evt", id) === "valid"));
    assert([...runIds, ...eventIds].every((id) => id.includes(`_${region}_`)));
    assertEquals(new Set(runIds).size, runIds.length);
    const contents = new Set(eventsOf(runs).map((event) => JSON.stringify(event)));
    assertEquals(contents.size, eventIds.length);
  }
});

Deno.test("every instant is in the past, and events are between the start and end of their run", () => {
  for (const run of demoRuns(1, NOON, "eu")) {
    const end = run.endMs ?? NOON;
    assert(run.startMs >= MIDNIGHT - 7 * DAY_MS && end <= NOON);
    assert(end - run.startMs >= 0);
    for (const { ts } of eventsOf([run])) {
      const ms = parseInstant(ts);
      assert(ms !== null && ms >= run.startMs && ms <= end, `${ts} in ${run.id}`);
    }
    for (const { started_at, finished_at } of bodies([run])) {
      if (started_at !== undefined) assertEquals(parseInstant(started_at), run.startMs);
      if (finished_at !== undefined) assertEquals(parseInstant(finished_at), run.endMs);
    }
  }
});

Deno.test("contract 14: every batch and body fits", () => {
  for (const body of bodies(demoRuns(1, NOON, "eu"))) {
    assert((body.events?.length ?? 1) >= 1);
    assert((body.events?.length ?? 0) <= EVENTS_PER_BATCH_MAX);
    assert(new TextEncoder().encode(JSON.stringify(body)).length < WHOLE_BODY_BYTES_MAX);
  }
});

Deno.test("a week shows every status, customer labels, goals, scores, parents and caches", () => {
  for (const seed of [1, 2, 3]) {
    const runs = demoRuns(seed, NOON, "eu");
    const input = bodies(runs);
    const finishes = input.filter((body) => body.finished_at !== undefined && !body.agent);
    assertEquals(
      [...new Set(finishes.map(({ status }) => status))].sort(),
      [...FINISH_STATUSES].sort(),
    );
    const beats = input.filter(({ agent }) => agent === "nightly-report");
    const statuses = [...new Set(beats.map(({ status }) => status))].sort();
    assertEquals(statuses, ["fail", "ok", "start", "timeout"]);
    const agents = [...new Set(runs.map(({ agent }) => agent))].sort();
    assertEquals(agents, ["issue-triage", "nightly-report", "research"]);
    const optional = ["goal", "parent_run_id", "customer_id", "feature", "metadata", "scores"];
    for (const field of optional) assert(input.some((body) => field in body), field);
    const parents = input.flatMap(({ parent_run_id }) => parent_run_id ?? []);
    assert(parents.every((id) => runs.some((run) => run.id === id)));
  }
});

Deno.test("a week has model calls of several providers, cached tokens, failures and a model without a price", () => {
  for (const seed of [1, 2, 3]) {
    const events = eventsOf(demoRuns(seed, NOON, "eu"));
    const calls = events.filter(({ type }) => type === "llm_call").map(({ data }) => data);
    const providers = new Set(calls.map(({ provider }) => provider));
    assertEquals(
      [...providers].sort(),
      ["anthropic", "google", "in-house", "mistral", "openai"],
    );
    const cached = calls.filter(({ cached_input_tokens }) => cached_input_tokens !== undefined);
    assert(cached.length > 0);
    assert(cached.every((call) => Number(call.cached_input_tokens) <= Number(call.input_tokens)));
    assert(events.some(({ type, data }) => type === "tool_call" && data.status === "error"));
    assert(events.some(({ type }) => type === "log"));
  }
});

Deno.test("one run finishes before it opens, one is delivered twice, one heartbeat closes a start", () => {
  const runs = demoRuns(1, NOON, "eu");
  const pathsOf = (story: string) =>
    runs.findLast((run) => run.story === story)?.calls.map(({ path }) => path.split("/").at(-1));
  assertEquals(pathsOf("out of order"), ["finish", "events", "events", "runs", "events"]);
  const twice = ["runs", "runs", "events", "events", "finish", "finish"];
  assertEquals(pathsOf("delivered twice"), twice);
  assertEquals(pathsOf("started, then closed"), ["heartbeats", "heartbeats"]);
});
