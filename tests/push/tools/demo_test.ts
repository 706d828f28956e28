import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { DAY_MS, type DemoRun, demoRuns } from "../../../tools/demo/runs.ts";
import { demo } from "../../../tools/demo/demo.ts";
import { signedIn, textOf } from "../../support/harness/dashboard.ts";
import { Harness, KEY, NOON } from "../../support/harness/harness.ts";
import { Recorder, runTask, runTaskWith } from "../../support/harness/tools.ts";

/** Each event, and each distinct opening, finish and heartbeat: the stored parts of a run. */
function thingsIn(run: DemoRun): Set<string> {
  return new Set(
    run.calls.flatMap(({ path, body }) =>
      Array.isArray(body.events)
        ? body.events.map((event: { id: string }) => event.id)
        : [`${path} ${JSON.stringify(body)}`]
    ),
  );
}

function countThings(runs: readonly DemoRun[]): number {
  return runs.reduce((sum, run) => sum + thingsIn(run).size, 0);
}

function runOf(story: string): DemoRun {
  const run = demoRuns(1, NOON, "eu").findLast((run) => run.story === story);
  if (run === undefined) throw new RangeError(`The demo has no run of the story "${story}"`);
  return run;
}

Deno.test("the demo fills a server; decision 35: the same instant again changes nothing", async () => {
  await using h = await Harness.open();
  const args = ["--url", h.url, "--key", h.key];
  const runs = demoRuns(1, NOON, "eu");
  const first = new Recorder();
  assertEquals(await demo(args, first, NOON), 0);
  assertEquals(first.failures, []);
  assertEquals(await h.usage(), countThings(runs));
  const events = runs.flatMap((run) => [...thingsIn(run)]).filter((thing) => /^evt_/.test(thing));
  assertEquals(first.count("accepted"), events.length);
  assertEquals(first.count("events"), first.count("accepted") + first.count("duplicates"));
  assertEquals(first.count("replays"), 2);
  for (const { id, agent } of runs) {
    assertEquals((await h.get(`/v1/runs/${id}?events_limit=1`)).json.agent, agent);
  }

  const before = await h.dump();
  const second = new Recorder();
  assertEquals(await demo(args, second, NOON), 0);
  assertEquals(second.count("accepted"), 0);
  assertEquals(second.count("duplicates"), first.count("events"));
  const others = runs.flatMap(({ calls }) => calls).filter(({ body }) => !("events" in body));
  assertEquals(second.count("replays"), others.length);
  assertEquals(await h.dump(), before);
});

Deno.test("a later demo adds what happened since, counts nothing twice, and closes the running runs", async () => {
  await using h = await Harness.open();
  const args = ["--url", h.url, "--key", h.key];
  const laterMs = NOON + DAY_MS / 3;
  assertEquals(await demo(args, new Recorder(), NOON), 0);
  const { id } = runOf("running");
  assertEquals((await h.get(`/v1/runs/${id}`)).json.status, "running");
  h.nowMs = laterMs;
  const later = new Recorder();
  assertEquals(await demo(args, later, laterMs), 0);
  assertEquals(await h.usage(), countThings(demoRuns(1, laterMs, "eu")));
  assertEquals((await h.get(`/v1/runs/${id}`)).json.status, "success");
  const current = demoRuns(1, NOON, "eu").flatMap((run) => [...thingsIn(run)])
    .filter((thing) => thing.startsWith("evt_"));
  assertEquals(later.count("duplicates") - later.count("accepted") > 0, true);
  assertEquals(later.count("duplicates") >= current.length, true);
});

Deno.test("the demo's special runs end the same as in any other order: joined once, with all their events", async () => {
  await using h = await Harness.open();
  await demo(["--url", h.url, "--key", h.key], new Recorder(), NOON);
  for (const story of ["out of order", "delivered twice"]) {
    const run = runOf(story);
    const stored = (await h.get(`/v1/runs/${run.id}`)).json;
    const ids = [...thingsIn(run)].filter((thing) => thing.startsWith("evt_")).sort();
    assertEquals(stored.events.map(({ id }: { id: string }) => id).sort(), ids);
    assertEquals([stored.status, stored.usage.events, stored.flags], ["success", ids.length, []]);
    const times = stored.events.map(({ ts }: { ts: string }) => ts);
    assertEquals(times, [...times].sort());
    assertEquals(stored.duration_ms, (run.endMs ?? 0) - run.startMs);
  }
  const closed = (await h.get(`/v1/runs/${runOf("started, then closed").id}`)).json;
  assertEquals([closed.kind, closed.status], ["heartbeat", "success"]);
  assertEquals(closed.customer_id, "acme");
  const lost = (await h.get(`/v1/runs/${runOf("never came back").id}`)).json;
  assertEquals([lost.kind, lost.status, lost.finished_at], ["heartbeat", "running", null]);
  const unknown = (await h.get(`/v1/runs/${runOf("unknown model").id}`)).json;
  assertEquals(unknown.cost.unpriced_models.includes("atlas-70b-preview"), true);
});

Deno.test("the summary names a long run, a running one, one that failed today and the special ones", async () => {
  await using h = await Harness.open();
  const recorder = new Recorder();
  await demo(["--url", h.url, "--key", h.key], recorder, NOON);
  const runs = demoRuns(1, NOON, "eu");
  assertStringIncludes(recorder.lines[0] ?? "", `${runs.length} runs`);
  assertStringIncludes(recorder.lines[0] ?? "", "from 2026-11-14 to 2026-11-21T1");
  const text = recorder.lines.join("\n");
  for (const story of ["failed", "running", "out of order"]) {
    assertStringIncludes(text, runOf(story).id);
  }
  const displayed = recorder.lines.filter((line) => line.includes("curl "));
  const ids = displayed.map((line) => /run_eu_[0-9a-f]{32}/.exec(line)?.[0]);
  const read = await Promise.all(ids.map((id) => h.get(`/v1/runs/${id}`)));
  assertEquals(read.map(({ status }) => status), ids.map(() => 200));
  for (const id of ids) assertStringIncludes(text, `${h.url}/dashboard/runs/${id}\n`);
  const statuses = read.slice(0, 3).map(({ json }) => json.status);
  assertEquals(statuses, ["success", "running", "failed"]);
  assertStringIncludes(read[2]?.json.started_at, "2026-11-21T");
  // Any key except the well-known one stays out of the output.
  assertEquals(text.includes(KEY), false);
});

Deno.test("decision 5: the demo runs in the region of its key", async () => {
  await using us = await Harness.open({ region: "us" });
  const recorder = new Recorder();
  assertEquals(await demo(["--url", us.url, "--key", us.key], recorder, NOON), 0);
  const [first] = demoRuns(1, NOON, "us");
  assertEquals((await us.get(`/v1/runs/${first?.id}`)).status, 200);
});

Deno.test("decision 39: a refusal in the middle stops the demo with one line", async () => {
  await using h = await Harness.open({ tier: "free" });
  for (let n = 0; n < 9; n++) await h.post("/v1/heartbeats", { agent: `agent ${n}` });
  const recorder = new Recorder();
  assertEquals(await demo(["--url", h.url, "--key", h.key], recorder, NOON), 1);
  assertEquals(recorder.failures.length, 1);
  assertStringIncludes(recorder.failures[0] ?? "", "agent_cap_reached");
  assertEquals(recorder.lines, []);
});

Deno.test("invalid options end the demo with 2 before anything is sent", async () => {
  await using h = await Harness.open();
  for (const args of [["--seed", "x"], ["--seed", "-1"], ["--sed"], ["more"]]) {
    const recorder = new Recorder();
    assertEquals(await demo([...args, `--url=${h.url}`, `--key=${h.key}`], recorder, NOON), 2);
    assertEquals([recorder.failures.length, recorder.lines.length], [1, 0]);
  }
  assertEquals(await h.usage(), 0);
});

Deno.test("deno task demo works with the permissions it has", async () => {
  await using h = await Harness.open();
  const { code, stdout, stderr } = await runTask("demo", "--url", h.url, "--key", h.key);
  assertEquals(code, 0, stderr);
  assertMatch(stdout, /^Sent \d+ runs of issue-triage, nightly-report, research/);
  assertMatch(stderr, /^runs .* 10 %[^]*100 % \((\d+)\/\1\)\n$/);
  const id = /failed today\n.*(run_eu_[0-9a-f]{32})/.exec(stdout)?.[1];
  assertEquals((await h.get(`/v1/runs/${id}`)).json.status, "failed");
});

Deno.test("deno task demo exits 1 with one line if the server does not answer or refuses the key", async () => {
  await using h = await Harness.open();
  // The development key, which is the default, is unknown to this server.
  const refused = await runTask("demo", "--url", h.url);
  assertEquals([refused.code, refused.stdout], [1, ""]);
  assertMatch(refused.stderr, /^[^\n]*invalid_credential[^\n]*--key\n$/);
  const absent = await runTask("demo", "--url", "http://127.0.0.1:1");
  assertEquals([absent.code, absent.stdout], [1, ""]);
  assertMatch(
    absent.stderr,
    /^No server at http:\/\/127\.0\.0\.1:1 [^\n]*deno task dev[^\n]*\n$/,
  );
  const named = await runTaskWith({ PORT: "1", HOST: "127.0.0.2" }, "demo");
  assertMatch(named.stderr, /^No server at http:\/\/127\.0\.0\.2:1 /);
  const help = await runTask("demo", "--help");
  assertEquals([help.code, help.stderr], [0, ""]);
  for (const option of ["--url", "--key", "--seed"]) assertStringIncludes(help.stdout, option);
});

Deno.test("the demo creates monitors that show each state, once, and none with a key that may not", async () => {
  await using h = await Harness.open({ absenceMs: Infinity });
  const reader = await h.addKey({ kind: "api_key", scopes: ["ingest", "read"] });
  assertEquals(await demo(["--url", h.url, "--key", reader], new Recorder(), NOON), 0);
  assertEquals((await h.get("/v1/monitors")).json.monitors, []);
  const args = ["--url", h.url, "--key", h.key];
  const states = async () => {
    await h.worker.idle();
    await h.clock.idle();
    const { monitors } = (await h.get("/v1/monitors")).json;
    return monitors.map(({ agent, state }: Record<string, string>) => `${agent} ${state}`);
  };
  assertEquals(await demo(args, new Recorder(), NOON), 0);
  const others = ["issue-triage up", "nightly-report paused"];
  assertEquals(await states(), [...others, "research up"]);
  h.nowMs += 305_000;
  assertEquals(await states(), [...others, "research late"]);
  h.nowMs += 300_000;
  assertEquals(await states(), [...others, "research down"]);
  await h.post("/v1/agents/nightly-report/monitor/resume", {});
  assertEquals(await demo(args, new Recorder(), NOON), 0);
  assertEquals((await states())[1], "nightly-report up", "a later demo changes no monitor");
});

Deno.test("the demo has open incidents, by rules that a later demo leaves as they are", async () => {
  await using h = await Harness.open();
  const args = ["--url", h.url, "--key", h.key];
  const first = new Recorder();
  assertEquals(await demo(args, first, NOON), 0);
  assertStringIncludes(first.lines.join("\n"), "rules       triage-fails, costly-research");
  await h.worker.idle();
  const reader = await signedIn(h);
  const page = textOf((await reader.get("/dashboard/alerts")).text);
  assertMatch(page, /issue-triage (failed|timed out)/);
  assertMatch(page, /A run of research cost/);
  const before = (await h.get("/v1/rules/triage-fails")).json;
  await demo(args, new Recorder(), NOON);
  assertEquals((await h.get("/v1/rules/triage-fails")).json, before);
});
