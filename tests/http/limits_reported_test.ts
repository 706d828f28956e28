/** Limits that trim, page, flag or time out: the report at the limit and one beyond it. */
import { runStoreOf, writerOver } from "../support/harness/stores.ts";
import { assert, assertEquals } from "@std/assert";
import * as limits from "../../domain/core/limits.ts";
import type { RunStore } from "../../domain/runs/run_store.ts";
import { BACK_ENDS } from "../../kv/base/limits.ts";
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  at,
  events,
  runId,
} from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

const RUN = `/v1/runs/${runId(1)}`;
const faces = (count: number) => "\u{1f600}".repeat(count);

Harness.test("NOTE_CHARS_MAX: R7: a ping's note at the limit is kept, beyond it cut and reported", async (h) => {
  const ping = (n: number, metadata: string) =>
    h.get(`/v1/ping?${new URLSearchParams({ agent: "a", id: runId(n), metadata })}`);
  const most = faces(limits.NOTE_CHARS_MAX);
  assertEquals((await ping(1, most)).headers.get("runledger-dropped"), null);
  assertEquals((await h.get(RUN)).json.note, most);
  const over = await ping(2, `${most}x`);
  assertEquals([over.status, over.headers.get("runledger-dropped")], [200, "metadata=1"]);
  const cut = (await h.get(`/v1/runs/${runId(2)}`)).json;
  assertEquals([cut.note, cut.flags], [most, ["truncated"]]);
});

Harness.test("LABEL_CHARS_MAX, GOAL_CHARS_MAX: R7: a text at its limit is kept, beyond it cut and reported", async (h) => {
  const label = faces(limits.LABEL_CHARS_MAX), goal = faces(limits.GOAL_CHARS_MAX);
  const most = { customer_id: label, feature: label, goal };
  const accepted = await h.post("/v1/runs", aRun(1, most));
  assertEquals([accepted.status, accepted.headers.get("runledger-dropped")], [202, null]);
  const beyond = { customer_id: `${label}x`, feature: `${label}x`, goal: `${goal}x` };
  const cut = await h.post("/v1/runs", aRun(2, beyond));
  const actual = "customer_id=1, feature=1, goal=1";
  assertEquals([cut.status, cut.headers.get("runledger-dropped")], [202, actual]);
  for (const [n, flags] of [[1, []], [2, ["truncated"]]] as const) {
    const run = (await h.get(`/v1/runs/${runId(n)}`)).json;
    assertEquals([run.customer_id, run.feature, run.goal], [label, label, goal]);
    assertEquals(run.flags, flags);
  }
});

Harness.test("SCORES_MAX, SCORE_NAME_CHARS_MAX: R6: the first scores with names that fit are kept", async (h) => {
  const name = faces(limits.SCORE_NAME_CHARS_MAX);
  const many = Array.from({ length: limits.SCORES_MAX }, (_, n) => [`score ${n}`, n]);
  const input = { [`${name}x`]: 1, [name]: true, ...Object.fromEntries(many) };
  const answer = await h.post(`${RUN}/finish`, aFinish({ scores: input }));
  assertEquals([answer.status, answer.headers.get("runledger-dropped")], [202, "scores=2"]);
  const { scores, flags } = (await h.get(RUN)).json;
  assertEquals(scores.length, limits.SCORES_MAX);
  assertEquals([scores[0].name, scores.at(-1).name], [name, `score ${limits.SCORES_MAX - 2}`]);
  assertEquals(flags, ["dropped_fields", "no_opening"]);
});

Harness.test("IDLE_TIMEOUT_SECONDS: R9: a value at either bound is accepted, beyond it dropped and reported", async (h) => {
  const { min, max } = limits.IDLE_TIMEOUT_SECONDS;
  for (const [n, seconds] of [min, max, min - 1, max + 1].entries()) {
    const answer = await h.post("/v1/runs", aRun(n, { idle_timeout_seconds: seconds }));
    const actual = n < 2 ? null : "idle_timeout_seconds=1";
    assertEquals([answer.status, answer.headers.get("runledger-dropped")], [202, actual]);
  }
});

Harness.test("KEY_NAME_CHARS_MAX: a key's name at the limit is listed, beyond it refused", async (h) => {
  const name = faces(limits.KEY_NAME_CHARS_MAX);
  const before = await h.dump();
  const refused = await h.post("/v1/keys", { kind: "api_key", name: `${name}x` });
  const { error, field } = refused.json;
  assertEquals([refused.status, error, field], [400, "invalid_field", "name"]);
  assertEquals(await h.dump(), before);
  assertEquals((await h.post("/v1/keys", { kind: "api_key", name })).status, 201);
  const listed: { readonly name: string }[] = (await h.get("/v1/keys")).json.keys;
  assert(listed.some((key) => key.name === name));
});

Harness.test("CLOCK_SKEW_MS_MAX: decision 31: a clock off by 60 s is not flagged, by a millisecond more it is", async (h) => {
  const skews = [limits.CLOCK_SKEW_MS_MAX, limits.CLOCK_SKEW_MS_MAX + 1];
  for (const [i, skew] of skews.flatMap((ms) => [ms, -ms]).entries()) {
    assertEquals((await h.post("/v1/runs", aRun(1 + i, { started_at: at(skew) }))).status, 202);
    const { clock_skew_ms } = (await h.get(`/v1/runs/${runId(1 + i)}`)).json;
    assertEquals(clock_skew_ms, i < 2 ? undefined : skew);
  }
});

Harness.test("RUN_MODELS_MAX: the maximum of models is named, and one more is merged with the remainder", async (h) => {
  const call = (n: number) => {
    const model = `model ${String(n).padStart(3, "0")}`;
    return anEvent(n, { type: "llm_call", data: { model, input_tokens: 1 } });
  };
  const most = Array.from({ length: limits.RUN_MODELS_MAX }, (_, i) => call(i + 1));
  const named = most.map(({ data }) => (data as unknown as { model: string }).model);
  await h.post(`${RUN}/events`, { events: most });
  assertEquals((await h.get(RUN)).json.cost.unpriced_models, named);
  const one = await h.post(`${RUN}/events`, { events: [call(most.length + 1)] });
  assertEquals(one.json, { accepted: 1, duplicates: 0 });
  const { cost, usage } = (await h.get(RUN)).json;
  assertEquals(cost.unpriced_models, ["(other models)", ...named]);
  assertEquals(usage.input_tokens, most.length + 1);
});

Harness.test("EVENTS_PER_PAGE: 50 events by default, 1,000 on request, and further pages by cursor", async (h) => {
  const { default: usual, max } = limits.EVENTS_PER_PAGE;
  assertEquals([usual, max], [50, 1_000]);
  const most = limits.EVENTS_PER_BATCH_MAX;
  for (let from = 1; from <= max + 1; from += most) {
    const batch = events(from, Math.min(from + most - 1, max + 1));
    assertEquals((await h.post(`${RUN}/events`, { events: batch })).status, 202);
  }
  assertEquals((await h.get(RUN)).json.events.length, usual);
  const page = (await h.get(`${RUN}?events_limit=${max}`)).json;
  assertEquals(page.events.length, max);
  const remainder = (await h.get(`${RUN}?events_limit=1&events_cursor=${page.events_cursor}`)).json;
  assertEquals([remainder.events.length, remainder.events_cursor], [1, null]);
  for (const limit of [0, max + 1]) {
    const refused = await h.get(`${RUN}?events_limit=${limit}`);
    const { error, field } = refused.json;
    assertEquals([refused.status, error, field], [400, "invalid_field", "events_limit"]);
  }
});

Harness.test("EVENTS_PAGE_BYTES_MAX: a page of large events ends early, and the cursor returns all events once", async (h) => {
  // Three bytes per character: a limit in characters would allow three times as much.
  const large = "€".repeat((limits.EVENT_BYTES_MAX - 1_000) / 3);
  const count = Math.ceil(3 * limits.EVENTS_PAGE_BYTES_MAX / limits.EVENT_BYTES_MAX);
  for (let n = 1; n <= count; n++) {
    const event = anEvent(n, { data: { message: large } });
    assertEquals((await h.post(`${RUN}/events`, { events: [event] })).status, 202);
  }
  const seen: string[] = [];
  let cursor: string | null = null, pages = 0;
  do {
    const query: string = cursor === null ? "" : `&events_cursor=${cursor}`;
    const { json } = await h.get(`${RUN}?events_limit=1000${query}`);
    const bytes = new TextEncoder().encode(JSON.stringify(json.events)).length;
    assert(bytes <= limits.EVENTS_PAGE_BYTES_MAX, `${bytes} bytes`);
    seen.push(...json.events.map((event: { readonly id: string }) => event.id));
    cursor = json.events_cursor;
    pages++;
  } while (cursor !== null && pages < count);
  assert(pages > 1);
  assertEquals(seen, events(1, count).map(({ id }) => id));
});

Deno.test("STORAGE_DEADLINE_MS: a store that does not answer is 503 with Retry-After after the deadline", async () => {
  const { promise: silence, resolve: speak } = Promise.withResolvers<Deno.KvCommitResult>();
  const operation = new Proxy({} as Deno.AtomicOperation, {
    get: (_, name) => name === "commit" ? () => silence : () => operation,
  });
  const kv = { atomic: () => operation } as Deno.Kv;
  const silent = (): RunStore => {
    const { reader, deadlines } = h.store;
    const writer = writerOver(kv, reader, BACK_ENDS.embedded, deadlines);
    return runStoreOf({ ...h.store, writer });
  };
  const runs: RunStore = {
    open: (...args) => silent().open(...args),
    append: (...args) => silent().append(...args),
    finish: (...args) => silent().finish(...args),
    heartbeat: (...args) => silent().heartbeat(...args),
    ping: (...args) => silent().ping(...args),
    find: (...args) => silent().find(...args),
  };
  await using h: Harness = await Harness.open({
    deps: { runs },
    deadlineMs: limits.STORAGE_DEADLINE_MS,
  });
  const startedMs = performance.now();
  const answers = await Promise.all([
    h.post("/v1/runs", aRun(1)),
    h.post(`${RUN}/events`, { events: [anEvent(1)] }),
    h.post(`/v1/runs/${runId(2)}/finish`, { status: "success", finished_at: at() }),
    h.post("/v1/heartbeats", aHeartbeat(3)),
  ]);
  const ms = performance.now() - startedMs;
  assert(ms >= limits.STORAGE_DEADLINE_MS - 1 && ms < 5 * limits.STORAGE_DEADLINE_MS, `${ms} ms`);
  for (const { status, json, headers } of answers) {
    assertEquals([status, json.error], [503, "storage_unavailable"]);
    const wait = Number(headers.get("retry-after"));
    assert(Number.isInteger(wait) && wait >= 1 && wait <= 5, `Retry-After ${wait}`);
  }
  speak({ ok: true, versionstamp: "" });
});
