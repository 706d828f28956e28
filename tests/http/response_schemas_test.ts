/** Every read of every shape of run matches the OpenAPI document exactly. */
import { assert, assertEquals } from "@std/assert";
import { parse } from "csv-parse";
import { GROUPINGS } from "../../domain/spend/spend_query.ts";
import { EXPORT_COLUMNS } from "../../routes/api/exports/exports.ts";
import { LIVE_EVENTS } from "../../domain/feed/changes.ts";
import { schemaName } from "../support/oracles/openapi_document.ts";
import { aFinish, anEvent, runId } from "../support/builders/requests.ts";
import type { Harness } from "../support/harness/harness.ts";
import { Listener } from "../support/harness/live.ts";
import { closed, describedApi, judgeBy } from "../support/oracles/openapi.ts";
import { openWithOperator, operator, OPERATOR_KEY } from "../support/harness/operator.ts";
import { putPrice, reprice } from "../support/builders/reprice.ts";
import { storeShapes } from "../support/builders/run_shapes.ts";

const DAY_MS = 86_400_000;

const document = describedApi();
const judge = judgeBy(closed(document));

/** Path of a read's response schema in the document. */
function at(template: string, status: number, type: string): string[] {
  return ["paths", template, "get", "responses", String(status), "content", type];
}

/** Reads and fails unless the response matches the document. */
async function read(h: Harness, template: string, path: string, key = h.key) {
  const answer = await h.get(path, { key });
  const { status, headers } = answer;
  const described = document.paths[template]?.get?.responses[status];
  assert(described !== undefined, `${path}: ${status} ${answer.text}`);
  const type = headers.get("content-type")?.split(";")[0] ?? "";
  const position = described.$ref === undefined
    ? at(template, status, type)
    : ["components", "responses", schemaName(described.$ref), "content", type];
  const value = type === "application/json" ? answer.json : answer.text;
  assertEquals(
    judge([...position, "schema"], value),
    null,
    `${path} ${answer.text.slice(0, 2_000)}`,
  );
  return answer;
}

/** Reads all pages of a list. */
async function readPages(h: Harness, template: string, query: string): Promise<void> {
  let cursor: string | null = null;
  do {
    const next: string = cursor === null ? "" : `&cursor=${cursor}`;
    cursor = (await read(h, template, `${template}?${query}${next}`)).json.cursor;
  } while (cursor !== null);
}

async function readRuns(h: Harness, names: ReadonlyMap<string, string>, t: Deno.TestContext) {
  for (const [id, name] of names) {
    await t.step(name, async () => {
      const path = `/v1/runs/${id}`;
      const { json } = await read(h, "/v1/runs/{id}", path);
      const first = await read(h, "/v1/runs/{id}", `${path}?events_limit=1`);
      if (first.status === 200 && first.json.events_cursor !== null) {
        const query = `events_limit=1&events_cursor=${first.json.events_cursor}`;
        await read(h, "/v1/runs/{id}", `${path}?${query}`);
        await read(h, "/v1/runs/{id}/cost", `${path}/cost?${query}`);
      }
      const cost = await read(h, "/v1/runs/{id}/cost", `${path}/cost`);
      assertEquals(cost.json.cost_usd, json.cost_usd);
    });
  }
}

/** Reads everything that aggregates or lists runs, and the team's settings. */
async function readLists(h: Harness): Promise<void> {
  await readPages(h, "/v1/runs", "limit=7");
  await readPages(h, "/v1/runs", "limit=3&has=orphan");
  await readPages(h, "/v1/agents", "limit=1&archived=true&sort=agent");
  await readPages(h, "/v1/monitors", "limit=1");
  await readPages(h, "/v1/incidents", "limit=1");
  await readPages(h, "/v1/deliveries", "limit=1");
  for (const { id } of (await h.get("/v1/incidents")).json.incidents) {
    await read(h, "/v1/incidents/{id}", `/v1/incidents/${id}`);
  }
  await readPages(h, "/v1/keys", "limit=1");
  await readPages(h, "/v1/audit", "limit=2");
  await readPages(h, "/v1/rate-card", "limit=1000");
  for (const grouping of GROUPINGS) {
    await read(h, "/v1/spend", `/v1/spend?group_by=${grouping}&customer_id=acme`);
    await read(h, "/v1/spend", `/v1/spend?group_by=${grouping}`);
  }
  for (const agent of ["researcher", "nightly", "writer"]) {
    await read(h, "/v1/agents/{slug}", `/v1/agents/${agent}`);
    const [monitor, flips] = [`/v1/agents/${agent}/monitor`, `/v1/agents/${agent}/flips`];
    await read(h, "/v1/agents/{slug}/monitor", monitor);
    await read(h, "/v1/agents/{slug}/flips", flips);
  }
  for (const path of ["/v1/spend/unpriced", "/v1/usage", "/v1/rate-card/reprice"]) {
    await read(h, path, path);
  }
  await read(h, "/v1/rate-card/match", `/v1/rate-card/match?model=gpt-4o`);
  await read(h, "/v1/rate-card/match", `/v1/rate-card/match?model=none`);
  await read(h, "/v1/teams", "/v1/teams?limit=1", OPERATOR_KEY);
  await read(h, "/v1/teams/{id}", `/v1/teams/${h.team.id}`, OPERATOR_KEY);
  await read(h, "/v1/audit", "/v1/audit", OPERATOR_KEY);
  for (const path of ["/healthz", "/readyz"]) await read(h, path, path);
}

/** Reads the feed to its end. */
async function readChanges(h: Harness): Promise<number> {
  let changes = 0;
  let query = "limit=5";
  for (;;) {
    const { json } = await read(h, "/v1/changes", `/v1/changes?${query}`);
    changes += json.changes.length;
    if (!json.has_more) return changes;
    query = `limit=5&after=${json.next_cursor}`;
  }
}

/** Exports are lines, which the document describes individually. */
async function readExports(h: Harness): Promise<void> {
  const { text } = await read(h, "/v1/runs.ndjson", "/v1/runs.ndjson");
  const lines = text.trimEnd().split("\n").map((line) => JSON.parse(line));
  const parts = [...at("/v1/runs.ndjson", 200, "application/x-ndjson"), "x-parts"];
  for (const [index, line] of lines.entries()) {
    const part = index === lines.length - 1 ? "last_line" : "line";
    assertEquals(judge([...parts, part], line), null, JSON.stringify(line));
  }
  const table = (await read(h, "/v1/runs.csv", "/v1/runs.csv")).text;
  assertEquals(table.split("\r\n")[0], EXPORT_COLUMNS.join(","));
  const rows: object[] = parse(table, { columns: true });
  assertEquals(rows.length, lines.length - 1);
  for (const row of rows) {
    assertEquals(judge([...at("/v1/runs.csv", 200, "text/csv"), "x-parts", "row"], row), null);
  }
}

async function readAll(h: Harness, names: ReadonlyMap<string, string>, t: Deno.TestContext) {
  await readRuns(h, names, t);
  await t.step("lists and sums", () => readLists(h));
  await t.step("the feed", async () => {
    assert(await readChanges(h) >= names.size - 1);
  });
  await t.step("exports", () => readExports(h));
}

Deno.test("each read of each shape of run matches the OpenAPI document", async (t) => {
  await using h = await openWithOperator({ tier: "team" });
  const old = await storeShapes(h, 1);
  for (const [agent, schedule] of Object.entries(SCHEDULES)) {
    const body = { schedule, max_runtime_seconds: 60 };
    const { status, text } = await h.request("PUT", `/v1/agents/${agent}/monitor`, { body });
    assertEquals(status, 202, text);
  }
  await h.post("/v1/agents/nightly/monitor/pause", { until: "2027-01-01T00:00:00Z" });
  await t.step("as it was stored", (t) => readAll(h, old, t));

  await t.step("repriced", async (t) => {
    await putPrice(h, { tiers: [{ ...TIER, above_input_tokens: 500 }] });
    await putPrice(h, { provider: "in-house", effective_from: "2026-01-01T00:00:00Z", note: "x" });
    await reprice(h, { dry_run: true });
    const { id } = await reprice(h);
    await h.worker.idle();
    await read(h, "/v1/rate-card/reprice/{id}", `/v1/rate-card/reprice/${id}`);
    await readAll(h, old, t);
  });

  await t.step("deleted", async (t) => {
    const [gone = ""] = old.keys();
    assertEquals((await h.request("DELETE", `/v1/runs/${gone}`)).status, 200);
    const { json } = await h.request("DELETE", "/v1/customers/acme");
    await read(h, "/v1/deletions/{id}", `/v1/deletions/${json.id}`);
    assertEquals((await read(h, "/v1/runs/{id}", `/v1/runs/${gone}`)).status, 404);
    assertEquals((await read(h, "/v1/runs/{id}/cost", `/v1/runs/${gone}/cost`)).status, 404);
    await t.step("lists and sums", () => readLists(h));
    await t.step("the feed", async () => void await readChanges(h));
  });

  await t.step("swept", async (t) => {
    h.nowMs += 31 * DAY_MS;
    const late = runId(3);
    await h.post(`/v1/runs/${late}/events`, { events: [anEvent(50)] });
    const now = await storeShapes(h, 500);
    await h.sweep.sweepNow();
    await h.worker.idle();
    assertEquals((await h.get(`/v1/runs/${late}`)).json.payload, "partly_removed");
    const beat = [...old].find(([, name]) => name === "a heartbeat that fails")?.[0];
    assertEquals((await h.get(`/v1/runs/${beat}`)).json.payload, "removed");
    const remaining = [...old].filter(([, name]) => !SWEPT.includes(name)).slice(2);
    await readAll(h, new Map([...remaining, ...now]), t);
  });
});

const SCHEDULES = {
  researcher: { every_seconds: 3_600 },
  nightly: { cron: "0 2 * * *", tz: "Europe/Berlin" },
};

const TIER = { input_usd_per_million: 1, output_usd_per_million: 2 };

/** Shapes without an opening, which expire completely. */
const SWEPT = ["without an opening", "a finish alone", "a score alone"];

operator.test("a live stream's events match the OpenAPI document", async (h) => {
  await using listener = await Listener.open(h.url, h.key);
  const parts = [...at("/v1/live", 200, "text/event-stream"), "x-parts"];
  // `run.judged` needs a model; see `judges_test.ts`.
  const events = LIVE_EVENTS.filter((event) => event !== "run.judged");
  const reports = async (event: string) => {
    const reported = await listener.next();
    assertEquals(reported?.event, event);
    assertEquals(judge([...parts, event], reported?.data), null);
  };
  await h.request("PUT", "/v1/checks/cheap", { key: h.key, body: { expression: "cost_usd < 1" } });
  await h.post("/v1/runs", { id: runId(1), agent: "a", started_at: "2026-11-21T12:00:00Z" });
  // A run that closes before the stream is read may have only its later events.
  await reports("run.opened");
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  for (const event of events.slice(1)) await reports(event);
});
