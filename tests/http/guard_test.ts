/** Budgets and pauses, the questions whether a run may start, and the verdicts on acknowledgements. */
import { assertEquals, assertMatch } from "@std/assert";
import { reprice } from "../support/builders/reprice.ts";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const ACME = { scope: { customer_id: "acme" }, period: "month", limit_usd: 200, mode: "hard" };

function put(h: Harness, path: string, body: unknown, key = h.key): Promise<Answer> {
  return h.request("PUT", `/v1/${path}`, { key, body });
}

/** Reports runs of a customer that cost so much each. */
async function spend(h: Harness, costs: readonly string[], fields = {}): Promise<void> {
  for (const cost of costs) {
    const { status } = await h.post(
      "/v1/heartbeats",
      `{"agent":"nightly","customer_id":"acme","cost_usd":${cost},${
        JSON.stringify(fields).slice(1)
      }`.replace(",}", "}"),
    );
    assertEquals(status, 202);
  }
  await h.worker.idle();
  // Instances other than the one that counts the spend read it again after a second.
  h.nowMs += 1_001;
}

function check(h: Harness, body: unknown, key = h.key): Promise<Answer> {
  return h.post("/v1/guard/check", body, { key });
}

/** Sends a request until its acknowledgement has a verdict: spend is read in the background. */
async function verdict(send: () => Promise<Answer>): Promise<string> {
  for (;;) {
    const { status, headers, text } = await send();
    assertEquals(status === 200 || status === 202, true, text);
    const guard = headers.get("runledger-guard");
    if (guard !== null) return guard;
  }
}

Harness.test("budgets (1): without any, every form of the question is allowed", async (h) => {
  const all = { customer_ref: "acme", agent: "a", function: "f", environment: "prod" };
  for (const body of ["", "[]", " [ ] ", "{}", all, { unknown: 1, agent: null }]) {
    const { status, json } = await check(h, body);
    assertEquals(status, 200);
    const { checked_at, stale_as_of, ...rest } = json;
    assertEquals([checked_at, stale_as_of], [at(), at()]);
    assertEquals(rest, {
      decision: "allow",
      blocked_by: [],
      guard_check_id: null,
      active: true,
      inactive_reason: null,
      rules: [],
    });
  }
  for (const body of ["[1]", "7", { agent: 7 }, { customer_ref: "" }]) {
    assertEquals((await check(h, body)).status, 400, JSON.stringify(body));
  }
  // Names of the other calls: as unknown fields they would allow what is blocked.
  for (const [field, name] of [["customer_id", "customer_ref"], ["feature", "function"]] as const) {
    const { status, json } = await check(h, { [field]: "acme" });
    assertEquals([status, json.field], [400, field]);
    assertMatch(json.message, new RegExp(`"${name}"`));
  }
  assertEquals((await h.get("/v1/guard/check?agent=a")).text, "allow\n");
});

Harness.test("budgets (2): are stored with their spend, and a misspelt field is refused by name", async (h) => {
  const first = await put(h, "budgets/acme-month", ACME);
  const { spend: spent, ...rest } = first.json;
  assertEquals(spent, {
    spent_usd: 0,
    remaining_usd: 200,
    state: "ok",
    would_have_blocked: false,
    unpriced_calls: 0,
    resets_at: "2026-12-01T00:00:00.000Z",
  });
  assertEquals([rest.warn_at, rest.enabled, rest.limit_usd], [[0.8], true, 200]);
  for (
    const [body, field] of [
      [{ ...ACME, treshold: 1 }, "treshold"],
      [{ ...ACME, scope: { agent: "a", customer_id: "b" } }, "scope"],
      [{ ...ACME, scope: { agents: "a" } }, "agents"],
      [{ ...ACME, scope: { each: "model" } }, "scope"],
      [{ ...ACME, limit_usd: 0 }, "limit_usd"],
      [{ ...ACME, warn_at: [1] }, "warn_at"],
      [{ ...ACME, warn_at: [] }, "warn_at"],
      [{ ...ACME, mode: "strict" }, "mode"],
      [{ ...ACME, period: "run" }, "scope"],
    ] as const
  ) {
    const { status, json } = await put(h, "budgets/bad", body);
    assertEquals([status, json.field], [400, field], json.message);
  }
  assertEquals((await put(h, "budgets/run", { ...ACME, period: "run", scope: {} })).status, 202);
  const reader = await h.addKey({ kind: "api_key", scopes: ["ingest", "read"] });
  assertEquals((await put(h, "budgets/other", ACME, reader)).status, 403);
  assertEquals((await h.get("/v1/budgets", { key: reader })).json.budgets.length, 2);
});

Harness.test("budgets (3): a hard one blocks from its limit on, to the picodollar", async (h) => {
  await put(h, "budgets/acme-month", ACME);
  await spend(h, ["199.999999999999"]);
  const under = await check(h, { customer_ref: "acme" });
  assertEquals([under.json.decision, under.json.rules[0].state], ["allow", "warn"]);
  assertMatch(under.text, /"spent_usd":199.999999999999,"remaining_usd":1e-12,/);
  await spend(h, ["0.000000000001"]);
  const { json } = await check(h, { customer_ref: "acme", agent: "any" });
  const { id } = (await h.get("/v1/budgets/acme-month")).json;
  assertEquals([json.decision, json.blocked_by], ["block", [id]]);
  assertMatch(json.guard_check_id, /^gck_eu_[0-9a-f]{32}$/);
  const { resets_at, ...rule } = json.rules[0];
  assertEquals(rule, {
    id,
    name: "acme-month",
    kind: "budget",
    mode: "hard",
    scope: { customer_id: "acme" },
    group: null,
    period: "month",
    limit_usd: 200,
    spent_usd: 200,
    remaining_usd: 0,
    state: "block",
    would_have_blocked: false,
    unpriced_calls: 0,
    reason: null,
  });
  assertEquals(resets_at, "2026-12-01T00:00:00.000Z");
  for (const body of [{}, { customer_ref: "other" }, { agent: "acme" }]) {
    assertEquals((await check(h, body)).json.decision, "allow");
  }
  await h.refusals.flush();
  const { latest, counts } = (await h.get("/v1/refusals")).json;
  assertEquals(counts.map(({ code, count }: Record<string, unknown>) => [code, count]), [[
    "guard_blocked",
    1,
  ]]);
  assertMatch(
    latest[0].message,
    /^acme-month 200 of 200 US dollars are spent this month, until 2026-12-01T00:00:00.000Z$/,
  );
});

Harness.test("budgets (4): the spend is that of the spend page, also after repricing and a deletion", async (h) => {
  await put(h, "budgets/acme-month", ACME);
  await put(h, "budgets/each", { ...ACME, scope: { each: "customer" }, mode: "soft" });
  await spend(h, ["150.000000000001", "50"]);
  await h.post("/v1/heartbeats", aHeartbeat(1, { customer_id: "acme", cost_usd: 25.5 }));
  await h.worker.idle();
  h.nowMs += 1_001;
  const spentUsd = async () => {
    const page = await h.get("/v1/spend?group_by=customer&from=2026-11-01&to=2026-11-30");
    const check = await h.post("/v1/guard/check", { customer_ref: "acme" });
    const budget = await h.get("/v1/budgets/acme-month");
    const each = await h.get("/v1/budgets/each");
    const texts = [/"cost_usd":([\d.]+)/, /"spent_usd":([\d.]+)/, /"spent_usd":([\d.]+)/];
    return [page, check, budget, each].map(({ text }, i) =>
      (texts[i] ?? texts[1]!).exec(text)?.[1]
    );
  };
  assertEquals(await spentUsd(), Array(4).fill("225.500000000001"));
  const call = { model: "atlas-70b", input_tokens: 1_000_000 };
  await h.post("/v1/heartbeats", aHeartbeat(2, { customer_id: "acme", ...call }));
  for (const [usd, total] of [[3, "228.500000000001"], [1.5, "227.000000000001"]] as const) {
    const price = { model: call.model, input_usd_per_million: usd, output_usd_per_million: 0 };
    await h.request("PUT", "/v1/rate-card", { body: price });
    await h.worker.idle();
    await reprice(h, { model: call.model });
    await h.worker.idle();
    h.nowMs += 1_001;
    assertEquals(await spentUsd(), Array(4).fill(total.replace(/\.0+$/, "")));
  }
  assertEquals((await h.request("DELETE", `/v1/runs/${runId(1)}`)).status, 200);
  await h.worker.idle();
  h.nowMs += 1_001;
  assertEquals(await spentUsd(), Array(4).fill("201.500000000001"));
  const { json } = await h.get("/v1/budgets");
  assertEquals(
    json.budgets.map(({ slug, spend, groups }: Record<string, unknown>) => [
      slug,
      spend === null,
      (groups as { name: string }[] | null)?.map(({ name }) => name) ?? null,
    ]),
    [["acme-month", false, null], ["each", true, ["acme"]]],
  );
});

Harness.test("guard: pauses block with their reason until their end, or until they are deleted", async (h) => {
  const body = { agent: "nightly", reason: "Provider down", until: at(60_000) };
  for (
    const [sent, field] of [
      [{ ...body, feature: "f" }, "feature"],
      [{ ...body, until: at(-1) }, "until"],
      [{ agent: "nightly" }, "reason"],
      [{ agent: "nightly", reason: "" }, "reason"],
    ] as const
  ) assertEquals((await put(h, "pauses/down", sent)).json.field, field);
  const { status, json: pause } = await put(h, "pauses/down", body);
  assertEquals(status, 202);
  assertMatch(pause.id, /^gps_eu_/);
  const { json } = await check(h, { agent: "nightly" });
  assertEquals([json.decision, json.blocked_by, json.rules[0].reason], [
    "block",
    [pause.id],
    "Provider down",
  ]);
  assertEquals((await check(h, { agent: "other" })).json.decision, "allow");
  assertEquals((await check(h, {})).json.decision, "allow");
  const shell = await h.get("/v1/guard/check?agent=nightly");
  assertEquals([shell.status, shell.text], [
    423,
    `block down Paused until ${at(60_000)}: Provider down\n`,
  ]);
  const beat = () => h.post("/v1/heartbeats", { agent: "nightly" });
  assertEquals(await verdict(beat), `block;rule="${pause.id}"`);
  h.nowMs += 60_000;
  assertEquals((await check(h, { agent: "nightly" })).json.decision, "allow");
  assertEquals(await verdict(beat), "allow");
  await put(h, "pauses/all", { reason: "Stop" });
  assertEquals((await check(h, {})).json.decision, "block");
  await h.request("DELETE", "/v1/pauses/all");
  assertEquals((await check(h, {})).json.decision, "allow");
});

Harness.test("budgets (5): one of runs says block from the batch on that passes its limit", async (h) => {
  await put(h, "budgets/loop", { scope: {}, period: "run", limit_usd: 1, mode: "hard" });
  const { id } = (await h.get("/v1/budgets/loop")).json;
  await h.post("/v1/runs", aRun(1));
  const call = (n: number) =>
    h.post(`/v1/runs/${runId(1)}/events`, {
      events: [anEvent(n, { type: "llm_call", data: { model: "gpt-4o", input_tokens: 100_000 } })],
    });
  const verdicts = [];
  for (let n = 1; n <= 6; n++) {
    const { status, headers } = await call(n);
    assertEquals(status, 202);
    verdicts.push(headers.get("runledger-guard"));
  }
  assertEquals(verdicts.slice(3), [
    `block;rule="${id}";spent=1;limit=1;age=0`,
    `block;rule="${id}";spent=1.25;limit=1;age=0`,
    `block;rule="${id}";spent=1.5;limit=1;age=0`,
  ]);
  assertEquals(verdicts.slice(0, 3), ["allow", "allow", "allow"]);
  const finish = () => h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  assertMatch(await verdict(finish), /^block;/);
  assertMatch(await verdict(() => h.post("/v1/runs", aRun(1))), /^block;/);
  assertEquals(await verdict(() => h.post("/v1/runs", aRun(2))), "allow");
  assertEquals((await check(h, { agent: "researcher" })).json.rules, []);
  // An opening does not hide what came before it, nor does one that is repeated after a restart.
  const data = { model: "gpt-4o", input_tokens: 400_000 };
  const events = [anEvent(1, { type: "llm_call", data })];
  await h.post(`/v1/runs/${runId(3)}/events`, { events });
  assertMatch(await verdict(() => h.post("/v1/runs", aRun(3))), /^block;/);
  await h.restart();
  // A process learns of the budgets by a question, or by a commit of the team's runs.
  await check(h, {});
  assertMatch(await verdict(() => h.post("/v1/runs", aRun(3))), /^block;/);
});

Harness.test("guard: acknowledgements show the worst budget; ping tokens only the spend of their agent", async (h) => {
  await put(h, "budgets/acme-month", { ...ACME, mode: "soft", limit_usd: 10 });
  await put(h, "budgets/observed", { ...ACME, mode: "observe", limit_usd: 1 });
  await spend(h, ["8.0009"]);
  const { id } = (await h.get("/v1/budgets/acme-month")).json;
  const beat = () => h.post("/v1/heartbeats", aHeartbeat(2, { customer_id: "acme" }));
  assertEquals(await verdict(beat), `warn;rule="${id}";spent=8;limit=10;age=0`);
  assertEquals((await h.get("/v1/budgets/observed")).json.spend.would_have_blocked, true);
  assertEquals((await h.get("/v1/budgets/observed")).json.spend.state, "ok");
  assertEquals(await verdict(() => h.post("/v1/heartbeats", aHeartbeat(3))), "allow");
  await put(h, "budgets/team", { scope: {}, period: "day", limit_usd: 8, mode: "hard" });
  await put(h, "budgets/agent", { scope: { agent: "nightly" }, period: "day", limit_usd: 9 });
  const token = await h.addKey({ kind: "ping_token", agent: "nightly" });
  const team = (await h.get("/v1/budgets/team")).json.id;
  const ping = () => h.get("/v1/ping", { key: token });
  assertEquals(await verdict(ping), `block;rule="${team}"`);
  const shell = await h.get("/v1/guard/check", { key: token });
  assertEquals([shell.status, shell.text], [423, "block team A budget of the team is used up\n"]);
  assertEquals((await h.get("/v1/guard/check?agent=other", { key: token })).status, 401);
  assertEquals((await check(h, {}, token)).status, 401);
});

Harness.test("budgets (9): periods roll over at midnight, on Monday and on the first of the month", async (h) => {
  for (const period of ["day", "week", "month"]) {
    await put(h, `budgets/${period}`, { scope: {}, period, limit_usd: 5, mode: "hard" });
  }
  await spend(h, ["5"]);
  const states = async () => {
    const { rules } = (await check(h, {})).json;
    return Object.fromEntries(
      rules.map((rule: Record<string, string>) => [rule.name, [rule.spent_usd, rule.resets_at]]),
    );
  };
  const midnight = (date: string) => `${date}T00:00:00.000Z`;
  assertEquals(await states(), {
    day: [5, midnight("2026-11-22")],
    week: [5, midnight("2026-11-23")],
    month: [5, midnight("2026-12-01")],
  });
  for (
    const [time, day, week, month] of [
      ["2026-11-21T23:59:59.999Z", 5, 5, 5],
      ["2026-11-22T00:00:00.000Z", 0, 5, 5],
      ["2026-11-23T00:00:00.000Z", 0, 0, 5],
      ["2026-11-30T23:59:59.999Z", 0, 0, 5],
      ["2026-12-01T00:00:00.000Z", 0, 0, 0],
    ] as const
  ) {
    h.nowMs = Date.parse(time);
    const spent = await states();
    assertEquals([spent.day[0], spent.week[0], spent.month[0]], [day, week, month], time);
  }
});

Deno.test("budgets (8): the guard answers while the rate of ingest is used up", async () => {
  await using h = await Harness.open({ tier: "free", rateClock: () => 0 });
  await put(h, "pauses/all", { reason: "Stop" });
  const bucket = h.limits.ingest.bucketOf(h.team, 0);
  while (bucket?.take(0));
  assertEquals((await h.post("/v1/heartbeats", { agent: "a" })).status, 429);
  const { status, headers, json } = await check(h, {});
  assertEquals([status, json.decision], [200, "block"]);
  assertMatch(headers.get("ratelimit-policy") ?? "", /^"guard";/);
});

Harness.test("guard: what is not counted yet was acknowledged after stale_as_of", async (h) => {
  // Marks of calls that are not counted have the time of the process.
  h.nowMs = Date.now() + 60_000;
  await put(h, "budgets/all", { scope: {}, period: "month", limit_usd: 9 });
  await h.worker.stop();
  const before = Date.now();
  await h.post("/v1/heartbeats", { agent: "a", cost_usd: 1 });
  h.nowMs += 1_001;
  const { stale_as_of, checked_at, rules } = (await check(h, {})).json;
  assertEquals([rules[0].spent_usd, checked_at], [0, new Date(h.nowMs).toISOString()]);
  const asOfMs = Date.parse(stale_as_of);
  assertEquals([asOfMs >= before, asOfMs <= Date.now()], [true, true]);
  await h.restart();
  await h.worker.idle();
  h.nowMs += 1_001;
  const after = (await check(h, {})).json;
  assertEquals([after.rules[0].spent_usd, after.stale_as_of], [1, after.checked_at]);
});

Deno.test("guard: 503 after 500 ms without an answer of the store", async () => {
  const never = new Promise<never>(() => {});
  await using h = await Harness.open({ deps: { guard: { check: () => never } as never } });
  const startMs = performance.now();
  const { status, json, headers } = await check(h, {});
  assertEquals([status, json.error], [503, "storage_unavailable"]);
  assertMatch(headers.get("retry-after") ?? "", /^[1-5]$/);
  assertEquals(performance.now() - startMs >= 450, true);
});

Harness.test("guard: monitors name what blocks their agent; a deleted customer keeps its budget alone", async (h) => {
  for (const agent of ["nightly", "other"]) {
    await h.post("/v1/heartbeats", { agent });
    const body = { schedule: { every_seconds: 86_400 } };
    const { json } = await h.request("PUT", `/v1/agents/${agent}/monitor`, { body });
    assertEquals(json.blocked_by, null);
  }
  await put(h, "pauses/down", { agent: "nightly", reason: "Down" });
  const { id: pause } = (await h.get("/v1/pauses/down")).json;
  const each = { scope: { each: "agent" }, period: "day", limit_usd: 1, mode: "hard" };
  await put(h, "budgets/each", each);
  await put(h, "budgets/acme", ACME);
  await h.post("/v1/heartbeats", { agent: "other", customer_id: "acme", cost_usd: 1 });
  await h.worker.idle();
  h.nowMs += 1_001;
  const { id: budget } = (await h.get("/v1/budgets/each")).json;
  const { monitors } = (await h.get("/v1/monitors")).json;
  assertEquals(
    monitors.map((monitor: Record<string, unknown>) => [monitor.agent, monitor.blocked_by]),
    [["nightly", pause], ["other", budget]],
  );
  assertEquals((await h.get("/v1/agents/nightly/monitor")).json.blocked_by, pause);
  assertEquals((await h.get("/v1/agents/other")).json.monitor.blocked_by, budget);
  const spentOf = async () => (await h.get("/v1/budgets/acme")).json.spend.spent_usd;
  assertEquals(await spentOf(), 1);
  await h.request("DELETE", "/v1/customers/acme");
  await h.worker.idle();
  h.nowMs += 1_001;
  assertEquals(await spentOf(), 0);
  assertEquals((await check(h, { customer_ref: "acme" })).json.decision, "allow");
});
