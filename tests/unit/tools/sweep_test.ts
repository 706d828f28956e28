/** `deno task sweep`: its output, its changes, and its exit codes. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { nightOf } from "../../../domain/retention/retention.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { keys } from "../../../kv/base/keys.ts";
import { sweep } from "../../../tools/sweep.ts";
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  events,
  runId,
} from "../../support/builders/requests.ts";
import { Harness, NOON } from "../../support/harness/harness.ts";
import { Recorder, runTask } from "../../support/harness/tools.ts";

const DAY_MS = 86_400_000;

/** A run for each retention class of the plan `business`, and one that stays, as of `nowMs`. */
async function fillOld(h: Harness, nowMs = NOON): Promise<void> {
  const daysAgo = (days: number) => h.nowMs = nowMs - days * DAY_MS;
  daysAgo(401);
  await h.post("/v1/heartbeats", aHeartbeat(1));
  daysAgo(91);
  await h.post("/v1/runs", aRun(2));
  await h.post(`/v1/runs/${runId(2)}/events`, { events: events(1, 3) });
  await h.post(`/v1/runs/${runId(2)}/finish`, aFinish({ output: { answer: 42 } }));
  daysAgo(31);
  await h.post("/v1/runs", aRun(3));
  await h.request("DELETE", `/v1/runs/${runId(3)}`);
  daysAgo(8);
  await h.post(`/v1/runs/${runId(4)}/events`, { events: [anEvent(4)] });
  daysAgo(0);
  await h.post("/v1/runs", aRun(5));
  await h.post(`/v1/runs/${runId(5)}/events`, { events: [anEvent(5)] });
  await h.worker.idle();
  // Usage is counted meanwhile, which changes rows.
  await h.work.idle(["back"]);
}

/** The tool's output for a team filled by {@link fillOld}. */
function linesOf(h: Harness): string[] {
  return [
    `${h.team.id} (business):`,
    "  tombstone, kept 30 days: 1 id free again",
    "  orphan, kept 7 days: 1 event, 1 run without an opening",
    "  payload, kept 90 days: payload of 1 run, 3 events",
    "  record, kept 400 days: record of 1 run",
  ];
}

const ALL =
  "payload of 1 run, 4 events, record of 1 run, 1 run without an opening, 1 id free again";

const JUDGED = "Ages as of 2026-11-21T12:00:00.000Z, by this machine's clock.";

async function run(h: Harness, ...args: string[]) {
  const io = new Recorder();
  const code = await sweep([`--kv=${h.path}`, ...args], io, () => h.nowMs);
  return { code, lines: io.lines, failures: io.failures };
}

/** The same while the service is stopped. */
async function runAlone(h: Harness, ...args: string[]) {
  let result: Awaited<ReturnType<typeof run>> | undefined;
  await h.restart(async () => void (result = await run(h, ...args)));
  assert(result !== undefined);
  return result;
}

Harness.test("sweep --dry-run: reports removals by team and retention class, and changes no byte", async (h) => {
  await fillOld(h);
  const { team } = await h.addTeam("free");
  const before = await h.dump();
  const { code, lines, failures } = await run(h, "--dry-run");
  assertEquals([code, failures], [0, []]);
  assertEquals(lines[0], JUDGED);
  assertEquals(
    lines.slice(1).toSorted(),
    [...linesOf(h), `${team.id} (free): nothing is due`, `A sweep would remove: ${ALL}.`]
      .toSorted(),
  );
  assertEquals(lines.at(-1), `A sweep would remove: ${ALL}.`);
  assertEquals(await h.dump(), before);
});

Harness.test("sweep: with the service stopped it removes exactly what --dry-run reported, and verify is exact", async (h) => {
  await fillOld(h);
  const { code, lines, failures } = await runAlone(h);
  assertEquals([code, failures], [0, []]);
  assertEquals(lines, [JUDGED, ...linesOf(h), `Swept: ${ALL}.`]);
  const payload = await Promise.all([1, 2, 4, 5].map(async (n) => {
    const { status, json } = await h.get(`/v1/runs/${runId(n)}`);
    return [status, json.payload, json.events?.length];
  }));
  const deleted = [404, undefined, undefined];
  assertEquals(payload, [deleted, [200, "removed", 0], deleted, [200, undefined, 1]]);
  assertEquals((await h.post("/v1/runs", aRun(3))).status, 202);
  await h.worker.idle();
  assertEquals((await verifyStore(h.store)).differences, []);
  assertEquals((await run(h, "--dry-run")).lines.at(-1), "A sweep would change nothing.");
});

Harness.test("sweep: it also runs in a night that is swept, or that a killed process just began", async (h) => {
  const night = nightOf(NOON);
  const report = () => h.store.reader.get<Record<string, unknown>>(keys.sweep(night));
  assertEquals((await runAlone(h)).lines.at(-1), "Nothing was due.");
  const { value } = await report();
  assertEquals(value?.finishedAt, NOON);
  const started = { ...value, finishedAt: null, counts: { ...value?.counts ?? {}, payloads: 7 } };
  await h.store.writer.commit({ sets: [{ key: keys.sweep(night), value: started }] });
  await fillOld(h);
  assertEquals((await runAlone(h)).lines.at(-1), `Swept: ${ALL}.`);
  // The report covers the entire night.
  const after = (await report()).value;
  assertEquals(after?.finishedAt, NOON);
  assertEquals((after?.counts as Record<string, number>).payloads, 8);
});

Harness.test("sweep: an unreadable run is counted and kept, the others are removed, exit code 1", async (h) => {
  await fillOld(h);
  const key = keys.opening(h.team.id, runId(2) as RunId);
  const broken = Uint8Array.of(1, 0, 255);
  await h.store.writer.commit({ sets: [{ key, value: broken }] });
  const { code, lines } = await runAlone(h);
  assertEquals(code, 1, lines.join("\n"));
  assert(lines.includes("  payload, kept 90 days: 1 run not readable"), lines.join("\n"));
  assert(lines.includes("  record, kept 400 days: record of 1 run"), lines.join("\n"));
  assertEquals((await h.store.reader.get(key)).value, broken);
});

Harness.test("sweep --reports: one row per night, also next to the running service", async (h) => {
  const none = await run(h, "--reports");
  assertEquals([none.code, none.lines.length], [0, 1]);
  assertStringIncludes(none.lines[0] ?? "", "02:00 UTC");
  await fillOld(h);
  await h.sweep.sweepNow();
  const report = (await h.store.reader.get<object>(keys.sweep(nightOf(NOON)))).value;
  h.nowMs += DAY_MS;
  const started = { ...report, night: nightOf(h.nowMs), finishedAt: null, toldAt: h.nowMs };
  await h.store.writer.commit({ sets: [{ key: keys.sweep(started.night), value: started }] });
  const before = await h.dump();
  const table = (await run(h, "--reports")).lines.join("\n").split("\n");
  assertEquals(table.length, 4);
  assertMatch(table[0] ?? "", /night .*took .*payloads .*events .*records .*orphans .*ids freed/);
  assertMatch(table[2] ?? "", /2026-11-22 .*under way/);
  assertMatch(
    table[3] ?? "",
    /2026-11-21 \|.*\| 0\.0 s +\| +1 \| +1 \| +4 \| +1 \| +1 \| +1 \| +0 \|$/m,
  );
  h.nowMs += 61_000;
  assertMatch((await run(h, "--reports")).lines.join("\n"), /2026-11-22 .*broken off/);
  assertEquals(await h.dump(), before);
});

Deno.test("sweep: as a task, next to the running service and with it stopped", async () => {
  await using h = await Harness.open({ onDisk: true });
  await fillOld(h, Date.now());
  const dry = await runTask("sweep", `--kv=${h.path}`, "--dry-run");
  assertEquals([dry.code, dry.stderr], [0, ""]);
  const [judged = "", ...rest] = dry.stdout.split("\n");
  assertMatch(judged, /^Ages as of \d{4}-.*Z, by this machine's clock\.$/);
  assertEquals(rest, [...linesOf(h), `A sweep would remove: ${ALL}.`, ""]);
  const refused = await runTask("sweep", `--kv=${h.path}`);
  assertEquals([refused.code, refused.stdout], [3, ""]);
  assertMatch(refused.stderr, /^[^\n]*02:00 UTC[^\n]*\n$/);
  // The service keeps writing to its file.
  assertEquals((await h.post("/v1/heartbeats", { agent: "after" })).status, 202);
  await h.restart(async () => {
    const swept = await runTask("sweep", `--kv=${h.path}`);
    assertEquals([swept.code, swept.stderr], [0, ""]);
    assertStringIncludes(swept.stdout, `Swept: ${ALL}.`);
  });
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).status, 404);
});
