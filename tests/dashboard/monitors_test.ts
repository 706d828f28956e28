/** Monitors on pages: the board of agents, the panel of one, its forms, and the overview. */
import { fixture } from "../support/harness/fixture.ts";
import { gzipSync } from "node:zlib";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { aHeartbeat, aRun } from "../support/builders/requests.ts";
import { hrefsOf, type Reader, rowsOf, signedIn, textOf } from "../support/harness/dashboard.ts";
import { Harness, NOON } from "../support/harness/harness.ts";

const AGENTS = "/dashboard/agents";
const HOUR_MS = 3_600_000;
const HOURLY = { kind: "every", every_seconds: "1h", grace_seconds: "30m" };

/** Maximum bytes of a page as sent. */
const PAGE_BYTES_MAX = 60_000;

let runs = 0;

/** Sends a complete run of an agent, and waits until its monitor has seen it. */
async function report(h: Harness, agent: string, status = "ok") {
  assertEquals((await h.post("/v1/heartbeats", aHeartbeat(++runs, { agent, status }))).status, 202);
  await h.worker.idle();
}

/** Creates or changes a monitor by the form of its agent's page. */
async function put(h: Harness, agent: string, fields: Record<string, string> = HOURLY) {
  const path = `${AGENTS}/${agent}/monitor`;
  const sent = await (await signedIn(h)).send(path, { enabled: "true", ...fields });
  assertEquals([sent.status, sent.headers.get("location")], [
    303,
    `${AGENTS}/${agent}?tab=monitor&done=saved`,
  ]);
}

/** Moves the time, and looks at what is due. */
async function pass(h: Harness, ms: number) {
  h.nowMs += ms;
  await h.work.idle();
}

/** Opens a service whose clock the test moves in steps, which are no absences. */
function open(options: Parameters<typeof Harness.open>[0] = {}) {
  return Harness.open({ ...options, clockGapMaxMs: Infinity });
}

/** Opens a service with one agent in each state: `down`, `late`, `up`, `paused`, `new`, `none`. */
async function openBoard(): Promise<Harness> {
  const h = await open();
  h.nowMs = NOON - 2 * HOUR_MS;
  for (const agent of ["up", "paused", "late", "down", "none"]) await report(h, agent);
  await h.post("/v1/runs", aRun(++runs, { agent: "new" }));
  await h.worker.idle();
  for (const agent of ["late", "down", "new"]) await put(h, agent);
  await put(h, "up", { kind: "cron", cron: "30 2 * * *", tz: "Europe/Berlin" });
  await put(h, "paused");
  const paused = await (await signedIn(h)).send(`${AGENTS}/paused/monitor/pause`, { length: "24" });
  assertEquals(paused.status, 303);
  await pass(h, 40 * 60_000);
  await report(h, "late");
  await pass(h, 80 * 60_000);
  return h;
}

async function page(reader: Reader, path: string): Promise<string> {
  const { status, text } = await reader.get(path);
  assertEquals(status, 200, text);
  return text;
}

/** Declares tests of a service with one agent in each state. */
const board = { test: fixture(() => openBoard()) };

board.test("the board lists agents that are down, then late ones, then the others, with their deadlines", async (h) => {
  const text = await page(await signedIn(h), AGENTS);
  const rows = rowsOf(text);
  assertEquals(rows.map((row) => row.split(" ")[0]), [
    "down",
    "late",
    "up",
    "paused",
    "new",
    "none",
  ]);
  assertMatch(
    rows[0]!,
    /^down Every hour, grace 30 min Down for 30 min: no run came 30 days: down on 1 day \(Nov 21\) 2 h ago today 11:00 , 1 h ago – 1 0% – – –$/,
  );
  assertMatch(
    rows[1]!,
    /^late Every hour, grace 30 min Late for 20 min .* today 11:40 , 20 min ago/,
  );
  assertMatch(
    rows[2]!,
    /^up At 02:30 \(Europe\/Berlin\), grace .* Up 30 days: no trouble .* Nov 22, 01:30 , in 13 h/,
  );
  assertMatch(rows[3]!, /^paused Every hour, grace 30 min Paused until Nov 22, 10:00 /);
  assertMatch(
    rows[4]!,
    /^new Every hour, grace 30 min New no run yet 30 days: nothing was expected .* 1 running/,
  );
  assertMatch(rows[5]!, /^none No monitor 2 h ago – – 1 0% – – –$/);
  assertMatch(
    textOf(text),
    /Agents 6 agents, 1 down, 1 late, 1 running Name contains Order Trouble first By slug Archived agents Hidden Shown Apply All 6 Down 1 Late 1 Up 1 Paused 1 New 1 No monitor 1 /,
  );
});

board.test("the board is filtered by state, sorted by slug, and says when a state has no agent", async (h) => {
  const reader = await signedIn(h);
  const names = async (query: string) =>
    rowsOf(await page(reader, AGENTS + query)).map((row) => row.split(" ")[0]);
  for (const state of ["down", "late", "up", "paused", "new", "none"]) {
    assertEquals(await names(`?state=${state}`), [state]);
  }
  const bySlug = ["down", "late", "new", "none", "paused", "up"];
  assertEquals(await names("?sort=agent"), bySlug);
  await h.request("PATCH", "/v1/agents/down", { body: { archived: true } });
  assertEquals(await names(""), ["late", "up", "paused", "new", "none"]);
  assertMatch(
    await reader.words(`${AGENTS}?state=down`),
    /No agent is in the state “Down” Show all/,
  );
  assertEquals((await names("?archived=true")).length, 6);
  for (const query of ["?state=asleep", "?sort=cost", "?cursor=x"]) {
    assertEquals((await reader.get(AGENTS + query)).status, 400, query);
  }
});

board.test("the board finds agents by a part of their names, in the state that is chosen", async (h) => {
  const reader = await signedIn(h);
  const names = async (query: string) =>
    rowsOf(await page(reader, `${AGENTS}${query}`)).map((row) => row.split(" ")[0]);
  assertEquals(await names("?q=N"), ["down", "new", "none"]);
  assertEquals(await names("?q=n&state=down"), ["down"]);
  assertEquals((await names("?q=")).length, 6);
  assertMatch(await reader.words(`${AGENTS}?q=xyz`), /No agent’s name contains “xyz”/);
});

board.test("agents by slug are found by their names and states too", async (h) => {
  const reader = await signedIn(h);
  const names = async (query: string) =>
    rowsOf(await page(reader, AGENTS + query)).map((row) => row.split(" ")[0]);
  assertEquals(await names("?sort=agent&q=N"), ["down", "new", "none"]);
  assertEquals(await names("?sort=agent&state=late"), ["late"]);
});

/** Declares tests of a service whose clock the test moves in steps. */
const stepped = { test: fixture(() => open()) };

stepped.test("an agent with an open incident is never just up, on the board and on its page", async (h) => {
  for (let n = 0; n < 3; n++) await report(h, "flaky", "fail");
  await report(h, "well");
  await put(h, "flaky", { ...HOURLY, failure_threshold: "5" });
  await put(h, "well");
  const reader = await signedIn(h);
  const text = await page(reader, AGENTS);
  const [first = "", second = ""] = rowsOf(text);
  assertMatch(first, /^flaky Every hour, grace 30 min 1 open incident 30 days: /);
  assertMatch(second, /^well Every hour, grace 30 min Up 30 days: /);
  assertMatch(textOf(text), /2 agents, 1 with an open incident, 0 running .* Incident 1 Up 1 /);
  assertEquals(rowsOf(await page(reader, `${AGENTS}?state=incident`)).length, 1);
  for (const tab of ["", "?tab=monitor"]) {
    assertMatch(await reader.words(`${AGENTS}/flaky${tab}`), / 1 open incident /);
  }
});

Deno.test("a page of the board has 100 agents, and the next one the others", async () => {
  await using h = await open({ tier: "enterprise" });
  for (let n = 0; n < 103; n++) {
    h.nowMs++;
    await h.post("/v1/heartbeats", aHeartbeat(++runs, { agent: `a${100 + n}` }));
  }
  await h.worker.idle();
  await put(h, "a101");
  await put(h, "a150");
  h.nowMs++;
  await report(h, "a101", "fail");
  const reader = await signedIn(h);
  for (const sort of ["state", "agent"]) {
    const first = await page(reader, `${AGENTS}?sort=${sort}`);
    const next = hrefsOf(first, 'rel="next"')[0] ?? "";
    const all = [...rowsOf(first), ...rowsOf(await page(reader, next))];
    assertEquals([rowsOf(first).length, all.length, new Set(all).size], [100, 103, 103]);
    assert(gzipSync(first).length < PAGE_BYTES_MAX);
    const slugs = all.map((row) => row.split(" ")[0]);
    if (sort === "agent") assertEquals(slugs, slugs.toSorted());
    else assertEquals(slugs.slice(0, 4), ["a101", "a150", "a202", "a201"]);
  }
});

stepped.test("without a monitor the board has none of their columns, and offers one that fits", async (h) => {
  h.nowMs = NOON - 9 * HOUR_MS;
  for (let n = 0; n < 9; n++) {
    h.nowMs += HOUR_MS;
    await report(h, "hourly");
    if (n > 3) await report(h, "rare");
  }
  const reader = await signedIn(h);
  const text = await page(reader, AGENTS);
  assert(!/<th[^>]*>(State|30 days|Next expected)/.test(text));
  assertMatch(
    textOf(text),
    /No agent has a monitor hourly Every hour : 8 of the last 8 runs came in this rhythm\./,
  );
  assert(!textOf(text).includes("No monitor"));
  const plain = await page(
    await signedIn(h, await h.addKey({ kind: "api_key", scopes: ["read"] })),
    AGENTS,
  );
  assert(!plain.includes("Create monitor"));
  const [, form = ""] = /<form class="one"([\s\S]*?)<\/form>/.exec(text) ?? [];
  const fields = Object.fromEntries(
    [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
  const created = await reader.send(`${AGENTS}/hourly/monitor`, fields);
  assertEquals([created.status, created.headers.get("location")], [
    303,
    `${AGENTS}/hourly?tab=monitor&done=saved`,
  ]);
  const board = rowsOf(await page(reader, AGENTS));
  assertMatch(board[0]!, /^hourly Every hour, grace 12 min Up /);
  assertMatch(board[1]!, /^rare No monitor /);
});

stepped.test("a monitor of an agent whose last run failed says so from its creation on", async (h) => {
  await report(h, "flaky", "fail");
  await put(h, "flaky");
  const reader = await signedIn(h);
  assertMatch(await reader.words(AGENTS), /flaky Every hour, grace 30 min Up, last run failed/);
  assertMatch(await reader.words(`${AGENTS}/flaky?tab=monitor`), /Up, last run failed 30 days/);
});

board.test("an agent's page shows its monitor: state, deadlines, next five, uptime and history", async (h) => {
  const reader = await signedIn(h);
  const down = await reader.words(`${AGENTS}/down?tab=monitor`);
  assertMatch(
    down,
    /Monitor .*Down for 30 min: no run came .* Since today 11:30 Expected today 11:00 , /,
  );
  assertMatch(down, /Next 5 today 11:00 today 12:00 today 13:00 today 14:00 today 15:00 /);
  assertMatch(down, /Not down, 30 days 75% /);
  assertMatch(
    down,
    /today 11:30 Down : no run came today 11:00 Late : a run was expected today 10:00 Up : monitor created/,
  );
  const late = await reader.words(`${AGENTS}/late?tab=monitor`);
  assertMatch(
    late,
    /Late for 20 min .* Expected today 11:40 , 20 min ago Down after today 12:10 , in 10 min/,
  );
  const paused = await reader.words(`${AGENTS}/paused?tab=monitor`);
  assertMatch(paused, /Paused until Nov 22, 10:00 /);
  assert(!paused.includes("Next 5"));
  await report(h, "down");
  assertMatch(
    await reader.words(`${AGENTS}/down?tab=monitor`),
    /today 12:00 Up : a run succeeded , down for 30 min/,
  );
});

stepped.test("a monitor is created, changed, paused, resumed and deleted on the agent's page", async (h) => {
  await report(h, "a/b c");
  const path = `${AGENTS}/${encodeURIComponent("a/b c")}`;
  const reader = await signedIn(h);
  const send = async (action: string, fields: Record<string, string> = {}) => {
    const { status, headers, text } = await reader.send(`${path}/monitor${action}`, fields);
    assertEquals(status, 303, text);
    return [headers.get("location"), await reader.words(`${path}?tab=monitor`)] as const;
  };
  const cron = { kind: "cron", cron: "0 2 * * 1-5", tz: "Europe/Berlin", every_seconds: "soon" };
  const more = {
    grace_seconds: "2h",
    max_runtime_seconds: "",
    failure_threshold: "2",
    enabled: "true",
  };
  const [to, created] = await send("", { ...cron, ...more });
  assertEquals(to, `${path}?tab=monitor&done=saved`);
  assertMatch(
    created,
    /Schedule At 02:00, Monday through Friday, grace 2 h Cron line 0 2 \* \* 1-5 , Europe\/Berlin /,
  );
  assertMatch(created, /Also down after 2 failures in a row/);
  const text = await page(reader, `${path}?tab=monitor`);
  for (const value of ["0 2 * * 1-5", "Europe/Berlin", "2h"]) {
    assert(text.includes(`value="${value}"`), value);
  }
  assert(text.includes('name="version" value="1"'));
  const [, changed] = await send("", {
    kind: "every",
    every_seconds: "15m",
    version: "1",
    enabled: "true",
  });
  assertMatch(changed, /Schedule Every 15 minutes, grace 3 min /);
  const stale = await reader.send(`${path}/monitor`, {
    kind: "every",
    every_seconds: "1h",
    version: "1",
  });
  assertEquals(stale.status, 409);
  const [, paused] = await send("/pause", { length: "1" });
  assertMatch(paused, /Monitor Resume Delete… Paused until today 13:00 /);
  assertMatch((await send("/pause"))[1], /Paused until the next success/);
  assertMatch((await send("/pause", { length: "resume" }))[1], /Paused until it is resumed/);
  const [, resumed] = await send("/resume");
  assertMatch(resumed, /Up 30 days.* Up : resumed/);
  const [, off] = await send("", { kind: "every", every_seconds: "15m" });
  assertMatch(off, /Paused switched off/);
  const confirm = await reader.words(`${path}?confirm=delete-monitor`);
  assertMatch(confirm, /Delete this monitor\? .* Delete monitor Keep it/);
  const [deleted, none] = await send("/delete");
  assertEquals(deleted, `${path}?tab=monitor&done=deleted`);
  assertMatch(none, /Monitor A monitor notices when a run does not come/);
  const { entries } = (await h.get("/v1/audit")).json;
  assertEquals(
    entries.slice(0, 8).map(({ action }: { action: string }) => action.replace("monitor.", "")),
    ["deleted", "put", "resumed", "paused", "paused", "paused", "put", "put"],
  );
  for (const action of ["/pause", "/resume", "/delete"]) {
    assertEquals((await reader.send(`${path}/monitor${action}`)).status, 404, action);
  }
});

board.test("the overview lists incidents of agents that are down before late ones, and nothing when all is well", async (h) => {
  const reader = await signedIn(h);
  const attention = async () =>
    textOf(
      /<section id="attention"[\s\S]*?<\/section>/.exec(await page(reader, "/dashboard"))?.[0] ??
        "",
    );
  assertMatch(
    await attention(),
    /^Needs attention 2 All agents All failures All alerts down did not run: due 2026-11-21 11:00 UTC \(every hour\), last arrival 2026-11-21 10:00 UTC critical 30 min late is late Expected today 11:40 , goes down today 12:10 \. Every hour\..* 20 min ago$/,
  );
  await report(h, "down");
  await report(h, "late");
  assertMatch(await attention(), / No incident is open, no agent is late, and nothing failed/);
});
