/**
 * Faults of the clock: jumps, and dates where calendars are irregular. Moves the service's own
 * clock.
 */
import { assert, assertEquals } from "@std/assert";
import { createRequestLimits } from "../../../runtime/rate_limit.ts";
import { TIERS } from "../../../domain/teams/plans.ts";
import { dayOf, monthOf } from "../../../domain/core/time.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../../support/builders/requests.ts";
import { type Answer, Harness, NOON } from "../../support/harness/harness.ts";
import { MONTH, NoticesHarness } from "../../support/harness/notices.ts";
import { number } from "./fault.ts";

const HOUR_MS = 3_600_000, DAY_MS = 86_400_000;

export const CLOCKS: Record<string, readonly number[]> = {
  "back 1 h and forward again": [NOON, NOON - HOUR_MS, NOON],
  "forward 40 d and back again": [NOON, NOON + 40 * DAY_MS, NOON],
  "over a leap day": [
    Date.UTC(2028, 1, 29) - 1,
    Date.UTC(2028, 1, 29),
    Date.UTC(2028, 2, 1) - 1,
    Date.UTC(2028, 2, 1),
  ],
  "over the end of a month and back": [
    Date.UTC(2026, 11, 1) - 1,
    Date.UTC(2026, 11, 1),
    Date.UTC(2026, 11, 1) - 1,
  ],
};

/** Runs and heartbeats of each kind at each time. */
const EACH = 5;

interface Expected {
  readonly months: Map<string, number>;
  readonly days: Map<string, number>;
  readonly ids: Set<string>;
  /** Calls with a client's id, to be resent. */
  readonly calls: [path: string, body: unknown][];
}

/** Writes at each time, resends everything after a restart, and checks every count. */
export async function clockMoves(times: readonly number[]): Promise<string> {
  await using h = await Harness.open({ tier: "enterprise" });
  const expected: Expected = { months: new Map(), days: new Map(), ids: new Set(), calls: [] };
  for (const [step, nowMs] of times.entries()) {
    h.nowMs = nowMs;
    for (let n = 0; n < EACH; n++) await writeRound(h, step * 1_000 + n, expected);
  }
  await check(h, expected);
  await h.restart();
  for (const [path, body] of expected.calls) {
    const { status, headers, json } = await h.post(path, body);
    if (path.endsWith("/events")) assertEquals(json.accepted, 0, path);
    else assertEquals([status, headers.get("idempotent-replayed")], [200, "true"], path);
  }
  await check(h, expected);
  const counted = [...expected.months].map(([month, count]) => `${number(count)} in ${month}`);
  const runs = [...expected.days.values()].reduce((sum, count) => sum + count, 0);
  return `${number(runs)} runs on ${expected.days.size} days, counted ${counted.join(" and ")}, ` +
    "each once, exact";
}

/** Writes a complete run, a heartbeat with a generated id, and a run that ends at the next time. */
async function writeRound(h: Harness, n: number, expected: Expected): Promise<void> {
  const { nowMs } = h;
  const [month, day, now] = [monthOf(nowMs), dayOf(nowMs), new Date(nowMs).toISOString()];
  const write = async (path: string, body: unknown, things: number, runs = 0) => {
    const answer = await h.post(path, body);
    assertEquals(answer.status, 202, answer.text);
    expected.months.set(month, (expected.months.get(month) ?? 0) + things);
    expected.days.set(day, (expected.days.get(day) ?? 0) + runs);
    return answer;
  };
  const sendKnown = async (...args: Parameters<typeof write>) => {
    expected.calls.push([args[0], args[1]]);
    return await write(...args);
  };
  const [complete, started, earlier] = [runId(n), runId(n + 100), runId(n + 100 - 1_000)];
  const events = [anEvent(1, { ts: now }), anEvent(2, { ts: now }), anEvent(1, { ts: now })];
  await sendKnown("/v1/runs", aRun(n, { started_at: now }), 1, 1);
  await sendKnown(`/v1/runs/${complete}/events`, { events }, 2);
  await sendKnown(`/v1/runs/${complete}/finish`, aFinish({ finished_at: now }), 1);
  await sendKnown("/v1/heartbeats", aHeartbeat(n, { id: started, status: "start" }), 1, 1);
  if (n >= 1_000) {
    const end = await sendKnown(
      "/v1/heartbeats",
      aHeartbeat(n, { id: earlier, status: "fail" }),
      1,
    );
    assert(end.json.duration_ms >= 0, end.text);
  }
  checkMinted(await write("/v1/heartbeats", { agent: "nightly" }, 1, 1), now, expected);
}

/** Checks that a generated id is unique and contains the current time. */
function checkMinted({ json }: Answer, now: string, { ids }: Expected): void {
  const generated: string = json.id;
  assertEquals(
    parseInt(generated.slice("run_eu_".length, "run_eu_".length + 12), 16),
    Date.parse(now),
  );
  assertEquals(json.received_at, now);
  assert(!ids.has(generated), `${generated} was generated twice`);
  ids.add(generated);
}

async function check(h: Harness, expected: Expected): Promise<void> {
  const usage = await h.getFinal("/v1/usage");
  const months: { month: string; used: number }[] = usage.json.months;
  const byName = ([a]: [string, number], [b]: [string, number]) => a < b ? -1 : 1;
  assertEquals(
    months.map(({ month, used }): [string, number] => [month, used]).sort(byName),
    [...expected.months].sort(byName),
  );
  for (const [day, runs] of expected.days) {
    const { json } = await h.get(`/v1/spend?from=${day}&to=${day}`);
    assertEquals([day, json.totals.runs], [day, runs]);
  }
  const { teams, differences } = await verifyStore(h.store, { pauseMs: 0 });
  assertEquals([teams.map(({ state }) => state), differences], [["exact"], []]);
}

/** Exceeds the plan's rate while the clock jumps: the limiter uses a monotonic clock. */
export async function clockAndRate(): Promise<string> {
  const { burst, requestsPerSecond } = TIERS.free;
  const limits = createRequestLimits(() => performance.now());
  await using h = await Harness.open({ tier: "free", deps: { limits } });
  const startMs = performance.now();
  const statuses: number[] = [];
  for (let n = 0; n < 3 * burst; n += EACH) {
    h.nowMs = NOON + (n % 3 - 1) * 40 * DAY_MS;
    const answers = Array.from(
      { length: EACH },
      (_, i) => h.post("/v1/heartbeats", aHeartbeat(n + i)),
    );
    statuses.push(...(await Promise.all(answers)).map(({ status }) => status));
  }
  const seconds = (performance.now() - startMs) / 1_000;
  const allowed = Math.floor(burst + seconds * requestsPerSecond) + 1;
  const accepted = statuses.filter((status) => status === 202).length;
  const refused = statuses.filter((status) => status === 429).length;
  assertEquals(accepted + refused, 3 * burst);
  assert(
    accepted >= burst && accepted <= allowed,
    `${accepted} were accepted, ${allowed} are allowed`,
  );
  return `${accepted} accepted and ${refused} refused with 429 in ${seconds.toFixed(1)} s, ` +
    `${allowed} allowed`;
}

/** Passes 80 % of a month's quota while the clock is in, after and before that month. */
export async function clockAndNotices(): Promise<string> {
  await using b = await NoticesHarness.open();
  await b.count(80_000);
  const loop = b.loop();
  for (const days of [0, -1, 0, 40, 0, -40, 40, 0]) {
    b.nowMs = NOON + days * DAY_MS;
    await b.check(loop);
  }
  assertEquals(b.subjects, [`80 % of its events for ${MONTH}`]);
  return `${b.sink.received.length} e-mail after 7 jumps`;
}
