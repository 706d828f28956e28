/** Bodies of judges, and the runs that they choose. */
import { assert, assertEquals } from "@std/assert";
import type { RunId } from "../../../../domain/core/ids.ts";
import { judgesOf } from "../../../../domain/judges/judge.ts";
import { judgeFields, parseJudge } from "../../../../domain/judges/judge_body.ts";
import type { RunSummary } from "../../../../domain/runs/summary.ts";
import { placeInSample } from "../../../../kv/checks/check_runs.ts";
import { storedJudge } from "../../../support/builders/judges.ts";
import { runId } from "../../../support/builders/requests.ts";
import { problemOf } from "../../../support/oracles/problems.ts";

const BODY = {
  connection: "local",
  model: "m",
  rubric: "Score {{output}}",
  result: { type: "score", min: 1, max: 5 },
};

Deno.test("judges: a short body has defaults, and its fields read back as sent", () => {
  const parsed = parseJudge(BODY);
  const { settings, version } = parsed;
  assertEquals(version, null);
  assertEquals(judgeFields(settings), {
    ...BODY,
    pass_at: 0.5,
    agents: ["*"],
    kinds: ["run", "heartbeat"],
    statuses: ["success", "failed", "timeout", "cancelled"],
    features: [],
    sample: 1,
    daily_usd: 1,
    max_output_tokens: 1_024,
    enabled: true,
    description: null,
  });
  const again = parseJudge(judgeFields(settings));
  assertEquals(again.settings, settings);
});

Deno.test("judges: each wrong field is named", () => {
  const wrong: Readonly<Record<string, unknown>> = {
    connection: "https://evil.example",
    model: "",
    rubric: "Be kind",
    result: { type: "score", min: 5, max: 1 },
    pass_at: 2,
    agents: [""],
    statuses: ["running"],
    sample: 0,
    daily_usd: -1,
    max_output_tokens: 1,
    enabled: "yes",
  };
  for (const [field, value] of Object.entries(wrong)) {
    const problem = problemOf(() => parseJudge({ ...BODY, [field]: value }));
    assertEquals([problem?.field, problem?.code], [field, "invalid_field"]);
  }
  for (const result of [{ type: "category" }, { type: "score", min: 1 }, "score", null]) {
    assert(problemOf(() => parseJudge({ ...BODY, result })) !== null);
  }
  for (const field of Object.keys(BODY)) {
    assertEquals(problemOf(() => parseJudge({ ...BODY, [field]: undefined }))?.field, field);
  }
});

const CLOSED_AT = 10_000_000;

function summary(fields: object = {}, labels: object = {}): RunSummary {
  return {
    seen: { closing: true },
    contribution: { labels: { agent: "bot", feature: null, status: "success", ...labels } },
    listed: { kind: "run" },
    shown: { finishedAt: CLOSED_AT },
    times: { receivedAt: CLOSED_AT },
    ...fields,
  } as unknown as RunSummary;
}

Deno.test("judges: closed runs that arrived in time and after the last change are chosen", () => {
  const judges = [storedJudge("a"), { ...storedJudge("b"), updatedAt: CLOSED_AT + 1 }];
  const chosen = (...of: Parameters<typeof summary>) =>
    judgesOf({ id: runId(1) as RunId, summary: summary(...of) }, judges, placeInSample)
      .map(({ judge: { slug }, at }) => ({ slug, at }));
  assertEquals(chosen(), [{ slug: "a", at: CLOSED_AT }]);
  const idle = { seen: { closing: true, closedBy: "idle" } };
  assertEquals(chosen(idle), [{ slug: "a", at: CLOSED_AT + 3_600_000 }]);
  assertEquals(chosen({ seen: { closing: false } }), []);
  assertEquals(chosen({ contribution: null }), []);
  const imported = { shown: { finishedAt: CLOSED_AT - 86_400_001 } };
  assertEquals(chosen(imported), []);
  assertEquals(chosen({}, { agent: "judge:x" }), []);
});

Deno.test("judges: each slug has a sample of its own, as large as its share", () => {
  const judges = ["a", "b"].map((slug) => storedJudge(slug, { sample: 0.2 }));
  const counts = { a: 0, b: 0, both: 0 };
  for (let n = 0; n < 2_000; n++) {
    const slugs = judgesOf({ id: runId(n) as RunId, summary: summary() }, judges, placeInSample)
      .map(({ judge }) => judge.slug as "a" | "b");
    for (const slug of slugs) counts[slug]++;
    if (slugs.length === 2) counts.both++;
  }
  assert(counts.a > 320 && counts.a < 480, `${counts.a}`);
  assert(counts.b > 320 && counts.b < 480, `${counts.b}`);
  assert(counts.both < 130, `${counts.both}`);
});
