/** Rate headers when several instances share a team's bucket (decisions 36, 37). */
import { Memory } from "../../../runtime/memory.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createRequestLimits } from "../../../runtime/rate_limit.ts";
import { openStore } from "../../../kv/open.ts";
import { RateSlices } from "../../../kv/teams/rate_slices.ts";
import { FakeTimers } from "../../support/fakes/fake_timers.ts";
import { Harness, NOON } from "../../support/harness/harness.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { Process } from "../../support/harness/process.ts";
import { inFolder } from "../../support/harness/temp_store.ts";

/** A free team's service on a shared KV with a round trip, on the real clock. */
async function openRemote(delayMs: number) {
  const server = await KvServer.start();
  const h = await Harness.open({
    tier: "free",
    kv: server.url(),
    rateClock: () => performance.now(),
  });
  server.knobs.delayMs = delayMs;
  return {
    h,
    async [Symbol.asyncDispose]() {
      server.knobs.delayMs = 0;
      await h[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** A service of a free team, and another instance that shares its buckets. */
async function open() {
  const shared = await openStore(":memory:", new Memory());
  const timers = new FakeTimers();
  const [here, there] = [0, 1].map(() => new RateSlices(shared, timers, NOON));
  if (here === undefined || there === undefined) throw new Error("An instance is missing");
  const [limits, others] = [here, there]
    .map((slices) => createRequestLimits(timers.now, (api) => slices.bucketsFor(api)));
  const h = await Harness.open({ tier: "free", deps: { limits: limits! } });
  const idle = () => Promise.all([here.idle(), there.idle()]);
  return {
    h,
    timers,
    idle,
    /** Sends requests to the other instance until this many are admitted. */
    async askThere(count: number) {
      for (let n = 0; n < count; n++) {
        const batch = others!.ingest.bucketOf(h.team, timers.nowMs)?.take(timers.nowMs);
        assertEquals(batch, true);
        await idle();
      }
    },
    async [Symbol.asyncDispose]() {
      await h[Symbol.asyncDispose]();
      for (const slices of [here, there]) await slices.stop();
      await shared.close();
    },
  };
}

Deno.test("shared: the header fields report this instance's state, and a refusal its Retry-After", async () => {
  await using t = await open();
  const sendRequest = async () => {
    const { status, headers, text } = await t.h.get("/v1/ping?agent=a");
    await t.idle();
    const reported = [headers.get("ratelimit-policy"), headers.get("ratelimit")];
    return { status, rate: reported, wait: headers.get("retry-after"), text };
  };
  const policy = '"ingest";q=200;w=2';
  await t.askThere(180);
  // Nothing is leased yet, and the slice needs no lease.
  assertEquals((await sendRequest()).rate, [policy, '"ingest";r=199;t=1']);
  for (let n = 0; n < 9; n++) assertEquals((await sendRequest()).status, 200);
  assertEquals((await sendRequest()).rate, [policy, '"ingest";r=9;t=1']);
  for (let n = 0; n < 9; n++) assertEquals((await sendRequest()).status, 200);
  const refused = await sendRequest();
  assertEquals([refused.status, refused.wait, refused.rate[1]], [429, "1", '"ingest";r=0;t=1']);
  assertMatch(refused.text, /100 requests\/s with bursts of 200: retry after 1 s\n$/);
  t.timers.advance(1_000);
  assertEquals((await sendRequest()).status, 200);
});

for (const delayMs of [0, 90]) {
  const over = `over ${delayMs} ms`;

  Deno.test(`shared KV: a burst passes as on a file, ${over}`, async () => {
    await using t = await openRemote(delayMs);
    const startedMs = performance.now();
    // Malformed requests spend a token and nothing else.
    const answers = await Promise.all(
      Array.from({ length: 320 }, () => t.h.post("/v1/heartbeats", "{")),
    );
    const seconds = (performance.now() - startedMs) / 1_000;
    const admitted = answers.filter(({ status }) => status === 400).length;
    assert(admitted >= 200 && admitted <= 200 + 100 * seconds, `${admitted} in ${seconds} s`);
    assertEquals(answers.filter(({ status }) => status === 429).length, 320 - admitted);
  });

  Deno.test(`shared KV: first calls of a fresh team are not refused, ${over}`, async () => {
    await using t = await openRemote(delayMs);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => [
        t.h.post("/v1/heartbeats", { agent: `agent-${n}` }),
        t.h.post("/v1/heartbeats", { agent: `agent-${n}` }),
        t.h.post("/v1/heartbeats", { agent: `agent-${n}` }),
      ]).flat(),
    );
    assertEquals(answers.filter(({ status }) => status === 429).length, 0);
  });
}

inFolder.test("one process on a file keeps its buckets in memory", async (folder) => {
  const settings = {
    RUNLEDGER_KV: `${folder}/test.kv`,
    RUNLEDGER_KEY: `apk_eu_${"5e".repeat(16)}`,
    RUNLEDGER_TIER: "free",
  };
  await using process = await Process.start(settings);
  const headers = { Authorization: `Bearer ${settings.RUNLEDGER_KEY}` };
  for (const path of ["/v1/ping?agent=a", "/v1/keys"]) {
    for (let n = 0; n < 60; n++) await (await fetch(process.url + path, { headers })).text();
  }
  await process.stop();
  const store = await openStore(settings.RUNLEDGER_KV, new Memory());
  const rows = await Array.fromAsync(store.reader.list({ prefix: [] }), ({ key }) => key[0]);
  await store.close();
  assertEquals([rows.includes("agent"), rows.includes("rate_bucket")], [true, false]);
});
