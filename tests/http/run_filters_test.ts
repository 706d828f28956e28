/** The filters of the run list that no index answers, and several values of one filter. */
import { assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, aRun, at, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

/** Returns the numbers of the runs that a query finds, newest first. */
async function matching(h: Harness, query: string): Promise<number[]> {
  const { status, json } = await h.get(`/v1/runs?${query}`);
  assertEquals(status, 200, `${query}: ${JSON.stringify(json)}`);
  return json.runs.map(({ id }: { id: string }) => Number(`0x${id.slice(-8)}`));
}

/** Stores a run that starts `n` seconds before noon, and ends it. */
async function store(
  h: Harness,
  n: number,
  open: Record<string, unknown>,
  finish: Record<string, unknown> = {},
): Promise<void> {
  const started = at(-n * 1_000);
  await h.post("/v1/runs", aRun(n, { started_at: started, ...open }));
  await h.post(`/v1/runs/${runId(n)}/finish`, aFinish({ finished_at: at(), ...finish }));
}

Harness.test("run filters: of several values a run has one, of unwanted ones none", async (h) => {
  await store(h, 1, { agent: "a", customer_id: "acme" });
  await store(h, 2, { agent: "b", customer_id: "globex" }, { status: "failed" });
  await store(h, 3, { agent: "c" }, { status: "timeout" });
  await h.worker.idle();
  assertEquals(await matching(h, "agent=a&agent=c"), [1, 3]);
  assertEquals(await matching(h, "status=failed&status=timeout"), [2, 3]);
  assertEquals(await matching(h, "customer_id=acme&customer_id=(unattributed)"), [1, 3]);
  assertEquals(await matching(h, "not_agent=a&not_agent=b"), [3]);
  assertEquals(await matching(h, "not_status=success&not_customer_id=globex"), [3]);
  assertEquals(await matching(h, "not_customer_id=(unattributed)"), [1, 2]);
  assertEquals(await matching(h, "agent=a&not_agent=a"), []);
});

Harness.test("run filters: models, several of them or none of them", async (h) => {
  for (const [n, model] of [[1, "atlas"], [2, "nova"], [3, "ion"]] as const) {
    await h.post("/v1/heartbeats", aHeartbeat(n, { model, input_tokens: 1, started_at: at(-n) }));
  }
  await h.worker.idle();
  assertEquals(await matching(h, "model=atlas&model=ion"), [1, 3]);
  assertEquals(await matching(h, "not_model=atlas"), [2, 3]);
});

Harness.test("run filters: duration, labels and scores, also those added later", async (h) => {
  const scored = { scores: { helpful: 0.4, safe: true } };
  await store(h, 1, { metadata: { env: "production", tries: 2 } }, scored);
  await store(h, 5, { metadata: { env: "staging" } }, { scores: { helpful: 0.9 } });
  await store(h, 60, {}, { metadata: { env: "production" } });
  await h.post("/v1/runs", aRun(90, { started_at: at(-90_000) }));
  await h.post(`/v1/runs/${runId(60)}/scores`, {
    id: `scr_eu_${"1".padStart(32, "0")}`,
    name: "helpful",
    value: 0.5,
  });
  await h.worker.idle();
  assertEquals(await matching(h, "min_duration_ms=5000"), [5, 60]);
  assertEquals(await matching(h, "min_duration_ms=1000&max_duration_ms=5000"), [1, 5]);
  assertEquals(await matching(h, "metadata=env=production"), [1, 60]);
  assertEquals(await matching(h, "metadata=env%3Dproduction&metadata=env%3Dstaging"), [1, 5, 60]);
  assertEquals(await matching(h, "metadata=env=production&metadata=tries=2"), [1]);
  assertEquals(await matching(h, "not_metadata=env=production"), [5, 90]);
  assertEquals(await matching(h, "max_score=helpful=0.5"), [1, 60]);
  assertEquals(await matching(h, "min_score=helpful=0.5&max_score=helpful=0.8"), [60]);
  assertEquals(await matching(h, "min_score=safe=1"), [1]);
});

Harness.test("run filters: texts are found in goal, output and error, whatever their case", async (h) => {
  await store(h, 1, { goal: "Where is my REFUND?" });
  await store(h, 2, {}, { output: { answer: "refund „sent“", code: "\u00e9" } });
  const ledger = { output: { error: { message: "502 from the ledger" } } };
  await store(h, 3, { goal: "Refund" }, { status: "failed", ...ledger });
  await h.worker.idle();
  assertEquals(await matching(h, "text=refund"), [1, 2, 3]);
  assertEquals(await matching(h, "text=REFUND&status=failed"), [3]);
  assertEquals(await matching(h, "text=%C3%A9"), [2]);
  assertEquals(await matching(h, "error=502"), [3]);
  assertEquals(await matching(h, `text=${runId(2)}`), [2]);
  assertEquals(await matching(h, `text=${runId(2)}&not_status=success`), []);
  assertEquals(await matching(h, "text=00000003"), [3]);
});

Harness.test("run filters: root runs have no parent, or one that is not stored", async (h) => {
  await store(h, 1, {});
  await store(h, 2, { parent_run_id: runId(1) });
  await store(h, 3, { parent_run_id: runId(99) });
  await h.worker.idle();
  assertEquals(await matching(h, "root=true"), [1, 3]);
  assertEquals(await matching(h, "root=false"), [1, 2, 3]);
});

Harness.test("run filters: a run is unusual from twice the median of its agent's runs", async (h) => {
  for (const n of [1, 2, 3, 4, 5]) await store(h, 10 * n, { agent: "a" });
  await store(h, 61, { agent: "a" });
  await store(h, 600, { agent: "seldom" });
  await h.worker.idle();
  // The median of 10, 20, 30, 40, 50 and 61 s is 40 s.
  assertEquals(await matching(h, "unusual=slow"), []);
  await store(h, 81, { agent: "a" });
  await h.worker.idle();
  assertEquals(await matching(h, "unusual=slow"), [81]);
  assertEquals(await matching(h, "unusual=expensive"), []);
});

Harness.test("run filters: a period ends now, and a start replaces it", async (h) => {
  const hours = (n: number) => at(-n * 3_600_000);
  for (const n of [0, 2, 30]) {
    await h.post(
      "/v1/heartbeats",
      aHeartbeat(n + 1, { started_at: hours(n), finished_at: hours(n) }),
    );
  }
  await h.worker.idle();
  assertEquals(await matching(h, "since=1h"), [1]);
  assertEquals(await matching(h, "since=24h"), [1, 3]);
  assertEquals(await matching(h, "since=1h&from=2026-01-01"), [1, 3, 31]);
});

Harness.test("run filters: pages of a search have each run once, and exports have the same runs", async (h) => {
  for (let n = 1; n <= 25; n++) await store(h, n, { goal: n % 2 === 0 ? "even" : "odd" });
  await h.worker.idle();
  const listed: string[] = [];
  let cursor = "";
  for (let pages = 1; pages === 1 || cursor !== ""; pages++) {
    const { json } = await h.get(`/v1/runs?text=even&limit=5${cursor}`);
    listed.push(...json.runs.map(({ id }: { id: string }) => id));
    cursor = json.cursor === null ? "" : `&cursor=${json.cursor}`;
  }
  assertEquals(listed, Array.from({ length: 12 }, (_, i) => runId(2 * i + 2)));
  const csv = (await h.get("/v1/runs.csv?text=even")).text;
  assertEquals(listed.filter((id) => csv.includes(id)), listed);
  assertEquals(csv.includes(runId(1)), false);
});
