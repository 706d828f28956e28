/** Judges on pages: cost against the cap, the share that passed, dry runs, and results on runs. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { ANSWER_PROBLEMS } from "../../domain/judges/answer.ts";
import { reasonText } from "../../routes/dashboard/judges/results.tsx";
import { fieldsOf, hrefsOf, signedIn, textOf } from "../support/harness/dashboard.ts";
import { answer } from "../support/fakes/receiver.ts";
import { judged } from "../support/fakes/model_server.ts";
import { Harness } from "../support/harness/harness.ts";
import { BODY, JudgeHarness } from "../support/harness/judges.ts";

const JUDGES = "/dashboard/judges";

Deno.test("judges: the list and the page show cost, share and model; a run shows the reasoning", async () => {
  await using j = await JudgeHarness.open({ description: "Answers well" });
  const run = await j.run();
  const reader = await signedIn(j.h);
  const list = textOf((await reader.get(JUDGES)).text);
  assertMatch(
    list,
    /helpful Answers well all runs local\/judge-model \$0\.0001 of \$1\.0000 .*100% Works/,
  );
  const { text } = await reader.get(`${JUDGES}/helpful`);
  assertMatch(textOf(text), /State Works Cost today \$0\.0001 of \$1\.0000 .*Passed 100%/);
  const scored = hrefsOf(text).find((path) => path.includes("min_score")) ?? "";
  assert((await reader.get(scored)).text.includes(run), "the link lists the run");
  const page = textOf((await reader.get(`/dashboard/runs/${run}`)).text);
  assertMatch(
    page,
    /Judges passed helpful 5 worth 5 passed judge-model .*\$0\.0001 Open the judge/,
  );
  const before = (await j.read("/v1/judges/helpful")).version;
  assertEquals((await reader.send(JUDGES, fieldsOf(text, JUDGES))).status, 303);
  assertEquals((await j.read("/v1/judges/helpful")).version, before, "saving it changes nothing");
});

Deno.test("judges: a dry run says what it may cost, and calls the model with consent alone", async () => {
  await using j = await JudgeHarness.open({ enabled: false });
  await j.run();
  const reader = await signedIn(j.h);
  const runs = hrefsOf((await reader.get("/dashboard/runs")).text).map(decodeURIComponent);
  assert(runs.some((path) => path.includes("min_score=judge:helpful=0.5")), "offered as a filter");
  const fields = fieldsOf((await reader.get(`${JUDGES}/helpful`)).text, JUDGES);
  const trial = `${JUDGES}/new/judge/trial`;
  const asked = await reader.send(trial, fields);
  assertMatch(
    textOf(asked.text),
    /1 call for at most \$0\.\d+ ?; \$1\.0000 are left today\. Nothing was sent/,
  );
  assertEquals([asked.status, j.server.requests.length], [200, 0]);
  const paid = textOf((await reader.send(trial, [...fields, ["paid", "true"]])).text);
  assertMatch(paid, /It cost \$0\.0001 ?; .*No result is stored.* passed 5 worth 5 \$0\.0001/);
  assertEquals(j.server.requests.length, 1);
  const wrong = fields.map((
    [name, value],
  ): [string, string] => [name, name === "connection" ? "other" : value]);
  const refused = await reader.send(trial, wrong);
  assertMatch(textOf(refused.text), /Connection: must name a connection of this server/);
  assertEquals(refused.status, 400);
});

Deno.test("judges: a blocked one says why and what to do, and a form creates one", async () => {
  await using j = await JudgeHarness.open();
  j.server.behavior = answer(401, {}, "{}");
  const run = await j.run();
  const reader = await signedIn(j.h);
  assertMatch(
    textOf((await reader.get(JUDGES)).text),
    /Blocked .*The provider refuses the key\. The operator/,
  );
  const page = textOf((await reader.get(`/dashboard/runs/${run}`)).text);
  assertMatch(
    page,
    /not judged yet helpful The provider refuses the key\. .*10 minutes; saving it/,
  );
  assert(!/judged soon|The call is repeated/.test(page), page);
  const form = fieldsOf((await reader.get(`${JUDGES}/new/judge`)).text, JUDGES);
  // The only connection is chosen.
  const values: Record<string, string> = { slug: "polite", model: "judge-model", scale: "boolean" };
  const sent = form.map(([name, value]): [string, string] => [name, values[name] ?? value]);
  const { status, text } = await reader.send(JUDGES, sent);
  assertEquals(status, 303, textOf(text));
  assertEquals((await j.read("/v1/judges/polite")).result, { type: "boolean" });
});

Deno.test("judges: one that cannot call says why and what to do, in the list and on its page", async () => {
  await using j = await JudgeHarness.open({ daily_usd: 0.003, max_output_tokens: 16 });
  const reader = await signedIn(j.h);
  const shows = async (state: RegExp, reason: string | null) => {
    for (const path of [JUDGES, `${JUDGES}/helpful`]) {
      assertMatch(textOf((await reader.get(path)).text), state);
    }
    const { judges: [judge] } = await j.read("/v1/judges");
    assertEquals([judge.blocked_reason, judge.blocked_since === null], [
      reason,
      reason !== "budget",
    ]);
  };
  j.server.behavior = judged(5, { prompt: 1_600, completion: 10 });
  await j.run();
  await shows(/Works/, null);
  await j.run();
  await shows(
    /Cap used up The cap of the day was used up\. Raise it, .* after midnight UTC\./,
    "budget",
  );
  await j.put("/v1/judges/helpful", { ...BODY, daily_usd: 0 });
  await shows(
    /Too dear One call can cost more than .*Raise the cap, .*its runs are skipped\./,
    "too_dear",
  );
  const { own } = await j.read("/v1/rate-card");
  for (const { id } of own) await j.h.request("DELETE", `/v1/rate-card/${id}`);
  await shows(
    /No price The model has no price on the rate card\. Add one\. .*skipped\./,
    "unpriced",
  );
  await j.loseConnection();
  const lacks = /RUNLEDGER_LLM of this service lacks “gone”\. The operator adds it .* runs wait\./;
  await shows(new RegExp(`No connection ${lacks.source}`), "no_connection");
  const waiting = await j.run();
  const page = textOf((await reader.get(`/dashboard/runs/${waiting}`)).text);
  assertMatch(page, lacks);
  assert(!page.includes("judged soon"), page);
});

Deno.test("judges: each reason says what to do, also of an answer that cannot be used", async () => {
  const reasons = [
    ...Object.keys(ANSWER_PROBLEMS),
    "no_key",
    "http_429",
    "http_404",
    "unreachable",
  ];
  for (const reason of reasons) assert(!reasonText(reason).includes("answered with"), reason);
  assertMatch(reasonText("http_503"), /answered with http_503\. Wait, or read its log\./);
  assertMatch(reasonText("http_400"), /answered with http_400\. Check that it takes chat/);
  await using j = await JudgeHarness.open();
  j.server.behavior = judged(7);
  const run = await j.run();
  const page = textOf((await (await signedIn(j.h)).get(`/dashboard/runs/${run}`)).text);
  assertMatch(page, /helpful The value was not on the scale of the judge\. Say in the rubric how/);
});

Deno.test("judges: the form says what to set while there is no connection", async () => {
  const call = () => Promise.resolve({ kind: "unsent" } as const);
  await using h = await Harness.open({ models: { connections: [], call } });
  const { text } = await (await signedIn(h)).get(`${JUDGES}/new/judge`);
  assertMatch(textOf(text), /No connection to a model is set\. The operator sets RUNLEDGER_LLM/);
});
