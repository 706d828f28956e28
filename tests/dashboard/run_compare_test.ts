/** Comparing two runs, and walking through the list that a run was opened from. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { aFinish, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { signedIn, textOf } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";

const call = (n: number, ms: number, data: Record<string, unknown> = {}) =>
  anEvent(n, {
    type: "tool_call",
    ts: at(ms),
    data: { name: `step-${n % 10}`, latency_ms: 100, ...data },
  });

/** Sends a run of three or four steps; the last one may fail. */
async function sendRun(
  h: Harness,
  n: number,
  { status, feature = "refunds", agent = "crew" }: {
    readonly status: string;
    readonly feature?: string;
    readonly agent?: string;
  },
): Promise<void> {
  const started_at = at(n * 60_000);
  await h.post("/v1/runs", aRun(n, { started_at, feature, agent }));
  const ms = n * 60_000;
  const last = status === "success"
    ? [call(n * 10 + 3, ms + 30)]
    : [call(n * 10 + 3, ms + 30, { error: "gone", latency_ms: 900 }), call(n * 10 + 4, ms + 40)];
  const steps = [call(n * 10 + 1, ms + 10), call(n * 10 + 2, ms + 20), ...last];
  await h.post(`/v1/runs/${runId(n)}/events`, { events: steps });
  const finished_at = at(ms + (status === "success" ? 1_000 : 5_000));
  await h.post(`/v1/runs/${runId(n)}/finish`, aFinish({ status, finished_at }));
}

Harness.test("a failed run is compared with the last success of its agent and feature before it", async (h) => {
  h.nowMs += 3_600_000;
  await sendRun(h, 1, { status: "success" });
  await sendRun(h, 2, { status: "success", feature: "other" });
  await sendRun(h, 3, { status: "failed" });
  await sendRun(h, 4, { status: "success" });
  await h.worker.idle();
  const reader = await signedIn(h);
  const run = (await reader.get(`/dashboard/runs/${runId(3)}`)).text;
  assertMatch(run, new RegExp(`href="/dashboard/runs/${runId(3)}/compare">`));
  await sendRun(h, 5, { agent: "unlucky", status: "failed" });
  await h.worker.idle();
  const unlucky = (await reader.get(`/dashboard/runs/${runId(5)}`)).text;
  assert(unlucky.includes("Show in timeline"));
  assert(!unlucky.includes("/compare"), "there is no success to compare with");
  const { text } = await reader.get(`/dashboard/runs/${runId(3)}/compare`);
  assert(text.includes(`href="/dashboard/runs/${runId(1)}"`), "the success before, same feature");
  const content = textOf(text);
  for (
    const pattern of [
      /Same agent and feature\. The first 2 of 4 steps are equal\./,
      /2 equal steps/,
      /First difference, step 3: failed in A, 9\.0× slower/,
      /3 Failed step-3 gone 900 ms Tool call step-3 100 ms failed in A, 9\.0× slower/,
      /4 Tool call step-4 100 ms no such step only in A/,
      /A, step 3 \{ .*"error": "gone" \} B, step 3 \{ "name": "step-3", "latency_ms": 100 \}/,
      /Duration 5 s 1 s \+4 s/,
      /Tool calls 4 3 \+1/,
      /Failed steps 1 0 \+1/,
    ]
  ) assertMatch(content, pattern);
  assertMatch(content, /Steps in order Only 2 differences/);
  const brief = await reader.get(`/dashboard/runs/${runId(3)}/compare?with=${runId(1)}&only=diff`);
  const rows = [...brief.text.matchAll(/<tr><td class="num">(\d+)<\/td>/g)].map(([, n]) => n);
  assertEquals(rows, ["3", "4"], "only the steps that differ, with their numbers");
  const swapped = await reader.get(`/dashboard/runs/${runId(1)}/compare?with=${runId(3)}`);
  assertMatch(textOf(swapped.text), /Duration 1 s 5 s −4 s/);
});

Harness.test("a comparison without another run says so, and unknown runs are not found", async (h) => {
  h.nowMs += 3_600_000;
  await sendRun(h, 1, { status: "failed" });
  await h.worker.idle();
  const reader = await signedIn(h);
  const path = `/dashboard/runs/${runId(1)}/compare`;
  assertMatch(await reader.words(path), /No run of crew succeeded before this one/);
  for (const other of [runId(9), "nothing"]) {
    const { status, text } = await reader.get(`${path}?with=${other}`);
    assertEquals(status, 200);
    assertMatch(textOf(text), /This team has no run with that id/);
  }
  assertEquals((await reader.get(`/dashboard/runs/${runId(9)}/compare`)).status, 404);
  const { key } = await h.addTeam("business");
  const other = await signedIn(h, key);
  assertEquals((await other.get(path)).status, 404, "another team's run");
});

Harness.test("previous and next walk through the list that a run was opened from", async (h) => {
  h.nowMs += 3_600_000;
  for (const n of [1, 2, 3, 4]) {
    await sendRun(h, n, { status: n === 2 ? "success" : "failed" });
  }
  await h.worker.idle();
  const reader = await signedIn(h);
  const neighbours = async (n: number, query: string) => {
    const { text } = await reader.get(`/dashboard/runs/${runId(n)}${query}`);
    return ["prev", "next"].map((rel) =>
      new RegExp(`rel="${rel}" href="/dashboard/runs/(run_eu_[0-9a-f]{32})\\?list=status`)
        .exec(text)?.[1] ?? null
    );
  };
  const list = "?list=status%3Dfailed";
  assertEquals(await neighbours(3, list), [runId(4), runId(1)]);
  assertEquals(await neighbours(4, list), [null, runId(3)]);
  assertEquals(await neighbours(1, list), [runId(3), null]);
  assertEquals(await neighbours(3, ""), [null, null]);
  const ofAll = (await reader.get(`/dashboard/runs/${runId(3)}?list=`)).text;
  assertMatch(ofAll, /rel="(?:prev|next)" href="\/dashboard\/runs\/run_eu_[0-9a-f]{32}\?list="/);
  const { text: second } = await reader.get(`/dashboard/runs/${runId(3)}${list}`);
  assertMatch(textOf(second), /Runs \S+ 2 of 3 Previous Next/);
  // Next leads on to the next page of the list, whose first run it is.
  const short = "?list=status%3Dfailed%26limit%3D2";
  const { text: last } = await reader.get(`/dashboard/runs/${runId(3)}${short}`);
  assertMatch(textOf(last), /2 of 2\+ Previous Next/);
  const [, onward = ""] = /rel="next" href="([^"]*)"/.exec(last) ?? [];
  const { text: third } = await reader.get(onward.replaceAll("&amp;", "&"));
  assertMatch(textOf(third), /1 of 1 on the page Previous Next/);
  // The list that the browser names as the page before counts too.
  const { text } = await h.get(`/dashboard/runs/${runId(3)}`, {
    key: null,
    headers: { Cookie: reader.cookie, Referer: `${h.url}/dashboard/runs?status=failed&live=1` },
  });
  assertMatch(text, /<a href="\/dashboard\/runs\?status=failed">Failed<\/a>/);
  const { status } = await reader.get(`/dashboard/runs/${runId(3)}?list=status%3Dnone`);
  assertEquals(status, 200, "a malformed list is ignored");
});

Harness.test("a comparison walks into child runs, matched by agent and order", async (h) => {
  h.nowMs += 3_600_000;
  for (const n of [1, 4]) {
    const isBad = n === 4;
    const status = isBad ? "failed" : "success";
    await sendRun(h, n, { status: "success" });
    for (const child of [1, 2]) {
      const id = n * 100 + child;
      const started_at = at(n * 60_000 + 40 + child);
      const parent_run_id = runId(n);
      await h.post("/v1/runs", aRun(id, { started_at, agent: "helper", parent_run_id }));
      const error = isBad && child === 2 ? { error: "502 again" } : { result: "found" };
      const event = call(id * 10 + 5, n * 60_000 + 50, { args: { q: 1 }, ...error });
      await h.post(`/v1/runs/${runId(id)}/events`, { events: [event] });
      const finished_at = at(n * 60_000 + 900);
      const body = aFinish({ finished_at, status: child === 2 ? status : "success" });
      await h.post(`/v1/runs/${runId(id)}/finish`, body);
    }
  }
  await h.worker.idle();
  const reader = await signedIn(h);
  const { text } = await reader.get(`/dashboard/runs/${runId(4)}/compare?with=${runId(1)}`);
  const content = textOf(text);
  assertMatch(content, /The first 6 of 7 steps are equal\./);
  assertMatch(content, /First difference, step 7 of helper: failed in A/);
  assertMatch(content, /Failed step-5 502 100 ms/);
  const href = `/dashboard/runs/${runId(4)}?event=[^"]*in=${runId(402)}#step`;
  assertMatch(text, new RegExp(href.replace("?", "\\?")));
  const marked = [...text.matchAll(/<mark>\s*([^<]*?)\s*<\/mark>/g)].map(([, line]) => line);
  assertEquals(marked, [
    "&quot;error&quot;: &quot;502 again&quot;",
    "&quot;result&quot;: &quot;found&quot;",
  ]);
});

Harness.test("a child run that fails without a failing step is a difference itself", async (h) => {
  h.nowMs += 3_600_000;
  for (const n of [1, 4]) {
    await sendRun(h, n, { status: "success" });
    const [started_at, parent_run_id] = [at(n * 60_000 + 40), runId(n)];
    await h.post("/v1/runs", aRun(n * 100, { started_at, agent: "helper", parent_run_id }));
    const status = n === 4 ? "failed" : "success";
    const body = aFinish({ finished_at: at(n * 60_000 + 900), status });
    await h.post(`/v1/runs/${runId(n * 100)}/finish`, body);
  }
  await h.worker.idle();
  const reader = await signedIn(h);
  const { text } = await reader.get(`/dashboard/runs/${runId(4)}/compare?with=${runId(1)}`);
  assertMatch(textOf(text), /First difference, step 4: failed in A/);
});
