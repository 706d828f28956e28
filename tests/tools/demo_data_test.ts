import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { judgeId } from "../../domain/run/ids.ts";
import { EVENTS_PER_BATCH_MAX, WHOLE_BODY_BYTES_MAX } from "../../domain/limits.ts";
import { FINISH_STATUSES } from "../../domain/run/run.ts";
import { parseInstant } from "../../domain/time.ts";
import { DAY_MS, type DemoRun, demoRuns } from "../../tools/demo_data.ts";
import { jsonBytes } from "../../tools/wire.ts";
import { NOON } from "../support/harness.ts";

/** What the demo's bodies have in common, as far as these tests look. */
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

Deno.test("the same seed and day give the same requests, byte for byte", () => {
  const first = JSON.stringify(demoRuns(1, MIDNIGHT, "eu"));
  assertEquals(JSON.stringify(demoRuns(1, MIDNIGHT, "eu")), first);
  assertNotEquals(JSON.stringify(demoRuns(2, MIDNIGHT, "eu")), first);
});

Deno.test("any week has 200 runs, and a week begun a day later shares all but one day", () => {
  for (const seed of [1, 2]) {
    const weeks = Array.from({ length: 8 }, (_, i) => demoRuns(seed, MIDNIGHT + i * DAY_MS, "eu"));
    assertEquals(weeks.map((week) => week.length), Array(8).fill(200));
    const [first = [], second = []] = weeks;
    const later = new Set(second.map((run) => JSON.stringify(run)));
    const kept = first.filter((run) => run.startMs >= MIDNIGHT - 6 * DAY_MS);
    assert(kept.length > 150);
    assertEquals(kept.filter((run) => !later.has(JSON.stringify(run))), []);
  }
});

Deno.test("every id is valid and stands for one thing, in the region asked for", () => {
  for (const region of ["eu", "us"] as const) {
    const runs = demoRuns(1, MIDNIGHT, region);
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

Deno.test("every instant lies in the week, events between start and end of their run", () => {
  for (const run of demoRuns(1, MIDNIGHT, "eu")) {
    const end = run.endMs ?? run.startMs;
    assert(run.startMs >= MIDNIGHT - 7 * DAY_MS && end < MIDNIGHT);
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

Deno.test("spec, Limits: every batch and body fits", () => {
  for (const body of bodies(demoRuns(1, MIDNIGHT, "eu"))) {
    assert((body.events?.length ?? 1) >= 1);
    assert((body.events?.length ?? 0) <= EVENTS_PER_BATCH_MAX);
    assert(jsonBytes(body) < WHOLE_BODY_BYTES_MAX);
  }
});

Deno.test("a week shows every status, customer labels, goals, scores, parents and caches", () => {
  for (const seed of [1, 2, 3]) {
    const runs = demoRuns(seed, MIDNIGHT, "eu");
    const sent = bodies(runs);
    const finishes = sent.filter((body) => body.finished_at !== undefined && !body.agent);
    assertEquals(
      [...new Set(finishes.map(({ status }) => status))].sort(),
      [...FINISH_STATUSES].sort(),
    );
    const beats = sent.filter(({ agent }) => agent === "nightly-report");
    const said = [...new Set(beats.map(({ status }) => status))].sort();
    assertEquals(said, ["fail", "ok", "start", "timeout"]);
    const agents = [...new Set(runs.map(({ agent }) => agent))].sort();
    assertEquals(agents, ["issue-triage", "nightly-report", "research"]);
    const optional = ["goal", "parent_run_id", "customer_id", "feature", "metadata", "scores"];
    for (const field of optional) assert(sent.some((body) => field in body), field);
    const parents = sent.flatMap(({ parent_run_id }) => parent_run_id ?? []);
    assert(parents.every((id) => runs.some((run) => run.id === id)));
  }
});

Deno.test("a week has model calls of several providers, cached tokens, failures and a model without a price", () => {
  for (const seed of [1, 2, 3]) {
    const events = eventsOf(demoRuns(seed, MIDNIGHT, "eu"));
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
  const runs = demoRuns(1, MIDNIGHT, "eu");
  const pathsOf = (story: string) =>
    runs.find((run) => run.story === story)?.calls.map(({ path }) => path.split("/").at(-1));
  assertEquals(pathsOf("out of order"), ["finish", "events", "events", "runs", "events"]);
  const twice = ["runs", "runs", "events", "events", "finish", "finish"];
  assertEquals(pathsOf("delivered twice"), twice);
  assertEquals(pathsOf("started, then closed"), ["heartbeats", "heartbeats"]);
});
