/** Pings without an id: the end closes the run that a `start` opened (R23). */
import { assertEquals, assertNotEquals } from "@std/assert";
import { aFinish, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";
import { KvServer } from "../support/fakes/kv_server.ts";

const HOUR_MS = 3_600_000;

/** Pings, and returns the id of the run. */
async function ping(h: Harness, query: string): Promise<string> {
  const { status, headers, text } = await h.get(`/v1/ping?${query}`);
  assertEquals(status, 200, text);
  return headers.get("x-run-id") ?? "";
}

async function runOf(h: Harness, id: string): Promise<Answer["json"]> {
  return (await h.get(`/v1/runs/${id}`)).json;
}

/** Statuses of an agent's runs, sorted. */
async function statusesOf(h: Harness, agent: string): Promise<string[]> {
  const { runs } = (await h.getFinal(`/v1/runs?limit=100&agent=${agent}`)).json;
  return runs.map(({ status }: Answer["json"]) => status).sort();
}

Harness.test("R23: the end closes the newest open start of its agent, and counts from it", async (h) => {
  const first = await ping(h, "agent=a&status=start&metadata=begun");
  h.nowMs += 60_000;
  const second = await ping(h, "agent=a&status=start");
  const other = await ping(h, "agent=b&status=start");
  h.nowMs += 60_000;
  assertEquals(await ping(h, "agent=a&exit_code=3"), second);
  h.nowMs += 60_000;
  assertEquals(await ping(h, "agent=a&status=timeout"), first);
  const [one, two] = [await runOf(h, first), await runOf(h, second)];
  assertEquals([one.status, one.duration_ms, one.note], ["timeout", 180_000, "begun"]);
  assertEquals([two.status, two.duration_ms], ["failed", 60_000]);
  // Now none is open: a complete run, as without any start.
  const alone = await runOf(h, await ping(h, "agent=a&exit_code=1"));
  assertEquals([alone.status, alone.duration_ms], ["failed", 0]);
  assertEquals((await runOf(h, other)).status, "running");
  assertEquals(await statusesOf(h, "a"), ["failed", "failed", "timeout"]);
  assertEquals(await h.usage(), 6);
});

Harness.test("R23: only a start within 24 hours, without an id, and not ended otherwise is closed", async (h) => {
  const old = await ping(h, "agent=old&status=start");
  h.nowMs += 24 * HOUR_MS + 1;
  assertNotEquals(await ping(h, "agent=old"), old);
  assertEquals((await runOf(h, old)).status, "running");

  await ping(h, `agent=named&status=start&id=${runId(1)}`);
  assertNotEquals(await ping(h, "agent=named"), runId(1));
  await h.post("/v1/heartbeats", { agent: "named", status: "start" });
  assertNotEquals(await ping(h, "agent=named"), runId(1));
  assertEquals(await statusesOf(h, "named"), ["running", "running", "success", "success"]);

  const open = await ping(h, "agent=ended&status=start");
  h.nowMs++;
  const finished = await ping(h, "agent=ended&status=start");
  h.nowMs++;
  const pinged = await ping(h, "agent=ended&status=start");
  h.nowMs++;
  const deleted = await ping(h, "agent=ended&status=start");
  await h.post(`/v1/runs/${finished}/finish`, aFinish({ status: "cancelled" }));
  await ping(h, `agent=ended&id=${pinged}&status=fail`);
  assertEquals((await h.request("DELETE", `/v1/runs/${deleted}`)).status, 200);
  assertEquals(await ping(h, "agent=ended"), open);
  assertEquals(await statusesOf(h, "ended"), ["cancelled", "failed", "success"]);
  // Their agent's row names none of them.
  const [row, ...others] = (await h.dump()).filter((row) => row.includes('"open_pings"'));
  assertEquals([row?.includes('"ended"'), row?.includes("run_"), others.length], [true, false, 1]);
});

Harness.test("R23: an end closes the open run with any start of its own, and the run keeps its start", async (h) => {
  const started = await ping(h, `agent=a&status=start&started_at=${at(-9_000)}`);
  assertEquals(await ping(h, `agent=a&started_at=${at(-8_000)}&exit_code=1`), started);
  assertEquals((await runOf(h, started)).duration_ms, 9_000);
  const alone = await ping(h, `agent=a&started_at=${at(-8_000)}&exit_code=1`);
  assertEquals((await runOf(h, alone)).duration_ms, 8_000);
});

Harness.test("R23: starts of one rid that race open one run, and ends that race close it once", async (h) => {
  const race = async (query: string) =>
    new Set(await Promise.all(Array.from({ length: 10 }, () => ping(h, `agent=a&rid=1&${query}`))));
  const starts = await race("status=start");
  assertEquals(starts.size, 1);
  assertEquals(await race("exit_code=1"), starts);
  assertEquals(await statusesOf(h, "a"), ["failed"]);
  assertEquals(await h.usage(), 2);
});

Harness.test("R23: a retry of a complete run with rid is a repetition, for 24 hours", async (h) => {
  const sent = await ping(h, "agent=a&rid=1&exit_code=1");
  h.nowMs += 24 * HOUR_MS;
  const again = await h.get("/v1/ping?agent=a&rid=1&exit_code=1");
  assertEquals(again.headers.get("x-run-id"), sent);
  assertEquals(again.headers.get("idempotent-replayed"), "true");
  assertEquals(await h.usage(), 1);
  h.nowMs++;
  assertNotEquals(await ping(h, "agent=a&rid=1&exit_code=1"), sent);
});

Harness.test("R23: an open start is found behind many that ended otherwise, and stays one of 100", async (h) => {
  const ids = [];
  for (let n = 0; n < 13; n++) ids.push(await ping(h, "agent=a&status=start"));
  const [open, ...ended] = ids;
  for (const id of ended) await ping(h, `agent=a&id=${id}`);
  assertEquals(await ping(h, "agent=a&exit_code=1"), open);

  const [oldest, next] = [
    await ping(h, "agent=b&status=start"),
    await ping(h, "agent=b&status=start"),
  ];
  // Ended ones never displace open ones; newer open ones do.
  await Promise.all(Array.from({ length: 100 }, (_, n) => ping(h, `agent=b&rid=${n}`)));
  const newer = await Promise.all(
    Array.from({ length: 99 }, () => ping(h, "agent=b&status=start")),
  );
  const ends = await Promise.all(newer.map(() => ping(h, "agent=b")));
  assertEquals(ends.sort(), newer.sort());
  assertEquals(await ping(h, "agent=b"), next);
  assertNotEquals(await ping(h, "agent=b"), oldest);
});

Harness.test("R23: with rid the end closes the start of the same rid, and both can be repeated", async (h) => {
  const start = async (rid: string) => {
    h.nowMs++;
    return await ping(h, `agent=a&status=start&rid=${rid}`);
  };
  const [one, two] = [await start("job 1/ü".replaceAll(" ", "%20")), await start("2")];
  assertEquals(await start("2"), two);
  assertEquals(await ping(h, "agent=a&exit_code=1&rid=job+1/%C3%BC"), one);
  assertEquals(await ping(h, "agent=a&exit_code=1&rid=job+1/%C3%BC"), one);
  const again = await h.get("/v1/ping?agent=a&exit_code=2&rid=job+1/%C3%BC");
  assertEquals(again.headers.get("idempotent-replayed"), "true");
  assertEquals((await runOf(h, one)).status, "failed");
  // The same rid of another agent is another run.
  assertNotEquals(await ping(h, "agent=b&rid=2"), two);
  assertEquals((await runOf(h, two)).status, "running");
  // An end without rid closes the newest one, whatever its rid.
  assertEquals(await ping(h, "agent=a"), two);
  assertEquals(await h.usage(), 5);
});

Harness.test("R23: a rid that is used again never hides an outcome", async (h) => {
  const first = await ping(h, "agent=a&status=start&rid=host");
  await ping(h, "agent=a&exit_code=0&rid=host");
  // Its start was lost: the failure is a run of its own, not a repetition of the success.
  const failed = await runOf(h, await ping(h, "agent=a&exit_code=1&rid=host"));
  assertEquals([failed.status, failed.id === first], ["failed", false]);
  const second = await ping(h, "agent=a&status=start&rid=host");
  assertNotEquals(second, first);
  assertEquals(await ping(h, "agent=a&exit_code=1&rid=host"), second);
  h.nowMs += 24 * HOUR_MS + 1;
  assertNotEquals(await ping(h, "agent=a&exit_code=1&rid=host"), second);
  assertEquals(await statusesOf(h, "a"), ["failed", "failed", "failed", "success"]);
});

Harness.test("R23: of ends that race for one start, one closes it and the others are runs", async (h) => {
  // The agent is new, too: the starts wait for its first commit.
  const starts = await Promise.all(
    Array.from({ length: 3 }, () => ping(h, "agent=a&status=start")),
  );
  const ends = await Promise.all(Array.from({ length: 8 }, () => ping(h, "agent=a&exit_code=1")));
  assertEquals(new Set(ends).size, 8);
  assertEquals(ends.filter((id) => starts.includes(id)).length, 3);
  assertEquals(await statusesOf(h, "a"), Array(8).fill("failed"));
  assertEquals(await h.usage(), 11);
});

KvServer.test("R23: an instance closes what another one opened, and a restart forgets nothing", async (server) => {
  await using one = await Harness.open({ kv: server.url() });
  await using two = await Harness.open({ kv: server.url() });
  const started = await ping(one, "agent=a&status=start");
  const named = await ping(two, "agent=a&status=start&rid=1");
  await one.restart();
  assertEquals(await ping(one, "agent=a&exit_code=1&rid=1"), named);
  const ends = await Promise.all(
    [one, two, one, two].map((service) => ping(service, "agent=a&exit_code=1")),
  );
  assertEquals(ends.filter((id) => id === started).length, 1);
  assertEquals(new Set(ends).size, 4);
  const both = async (query: string) =>
    await Promise.all(
      [one, two].flatMap((service) => Array.from({ length: 10 }, () => ping(service, query))),
    );
  const starts = await both("agent=b&status=start");
  assertEquals((await both("agent=b&exit_code=1")).sort(), starts.sort());
  assertEquals(new Set(await both("agent=b&rid=1&status=start")).size, 1);
});
