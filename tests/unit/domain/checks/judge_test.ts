/** Facts by which a closed run is judged. */
import { assert, assertEquals } from "@std/assert";
import { appliesToAgent } from "../../../../domain/agents/agents.ts";
import { CHECKS_PER_RUN_MAX, type CheckSettings } from "../../../../domain/checks/check.ts";
import { compile } from "../../../../domain/checks/compile.ts";
import {
  checksOf,
  type ClosedRun,
  judge,
  type JudgingCheck,
  neededFacts,
} from "../../../../domain/checks/apply_checks.ts";
import type { RunId } from "../../../../domain/core/ids.ts";
import { placeInSample } from "../../../../kv/checks/check_runs.ts";
import { aCheck } from "../../../support/builders/checks.ts";
import { runId } from "../../../support/builders/requests.ts";
import { PATTERNS } from "../../../support/builders/patterns.ts";

function closedRun(fields: Partial<ClosedRun> = {}, isClosed = true, isOpened = true): ClosedRun {
  const labels = { agent: "billing-eu", feature: null, status: "success" };
  const summary = {
    seen: { closing: isClosed },
    revision: 3,
    contribution: isOpened ? { labels } : null,
    listed: { kind: "run" },
  } as unknown as ClosedRun["summary"];
  return {
    id: runId(1) as RunId,
    summary,
    payload: "whole",
    hasOutput: true,
    isOutputCut: false,
    ...fields,
  };
}

function checkOf(
  slug: string | null,
  expression = "true",
  fields: Partial<CheckSettings> = {},
): JudgingCheck {
  const program = compile(expression, PATTERNS);
  const settings = aCheck(expression, fields);
  return { slug, id: `chk_eu_${slug}`, version: 2, settings, program };
}

const slugsOf = (run: ClosedRun, checks: readonly JudgingCheck[]) =>
  checksOf(run, checks, placeInSample).map(({ slug }) => slug);

Deno.test("checks: a closed run with its opening is judged by the checks that its labels fit", () => {
  const checks = [
    checkOf("all"),
    checkOf("agent", "true", { agents: ["billing-*"] }),
    checkOf("other-agent", "true", { agents: ["billing"] }),
    checkOf("feature", "true", { features: ["chat"] }),
    checkOf("kind", "true", { kinds: ["heartbeat"] }),
    checkOf("status", "true", { statuses: ["failed"] }),
  ];
  assertEquals(slugsOf(closedRun(), checks), ["all", "agent"]);
  assertEquals(slugsOf(closedRun({}, false), checks), []);
  assertEquals(slugsOf(closedRun({}, true, false), checks), []);
});

Deno.test("checks: a run is judged by the first 50 by slug", () => {
  const checks = Array.from({ length: CHECKS_PER_RUN_MAX + 1 }, (_, n) => checkOf(`c${100 + n}`));
  assertEquals(slugsOf(closedRun(), checks), checks.slice(0, -1).map(({ slug }) => slug));
});

Deno.test("checks: the sample depends on the slug and on the run; without a slug each run is judged", () => {
  // Computed by another program.
  const places: [slug: string, run: string, place: number][] = [
    ["cheap-enough", runId(1), 0.053845876909968955],
    ["fast-enough", runId(1), 0.4337281464692697],
    ["cheap-enough", runId(2), 0.4942568445966744],
  ];
  for (const [slug, id, place] of places) {
    const run = closedRun({ id: id as RunId });
    assertEquals(placeInSample(slug, id as RunId), place);
    assertEquals(slugsOf(run, [checkOf(slug, "true", { sample: place })]), []);
    assertEquals(slugsOf(run, [checkOf(slug, "true", { sample: place + 1e-9 })]), [slug]);
    assertEquals(slugsOf(run, [checkOf(null, "true", { sample: 1e-9 })]), [null]);
  }
});

Deno.test("checks: a check that lacks the payload or the output is skipped, and needs no facts", () => {
  const check = checkOf("a", "output.answer == 42 || cost_usd < 1");
  const statuses = [closedRun({ hasOutput: false }), closedRun({ payload: "removed" })]
    .map((run) => {
      assertEquals([...neededFacts(run, [check])], []);
      const { status, got, reason } = judge(run, check, {}, new Map(), 7);
      return [status, got, reason];
    });
  assertEquals(statuses, [["skipped", null, "no_output"], ["skipped", null, "payload_removed"]]);
});

Deno.test("checks: a check whose values could not be read is an error, whatever it says", () => {
  const check = checkOf("a", "true || size(tools) > 0", { severity: "warn" });
  const missing = new Map([["tools", "too_many_events"]] as const);
  const { message, ...result } = judge(closedRun(), check, {}, missing, 7);
  assert(message?.includes("tools"));
  assertEquals(result, {
    ...{ check: "a", id: "chk_eu_a", version: 2, severity: "warn" },
    ...{ status: "error", got: null, reason: "too_many_events", at: 7, revision: 3 },
  });
});

Deno.test("agents: only a pattern that names judges applies to their calls", () => {
  for (const patterns of [[], ["*"], ["bot", "*"]]) {
    assertEquals(appliesToAgent(patterns, "judge:x"), false);
    assertEquals(appliesToAgent(patterns, "bot"), true);
  }
  assertEquals(appliesToAgent(["*", "judge:*"], "judge:x"), true);
  assertEquals(appliesToAgent(["judge:x"], "judge:x"), true);
  assertEquals(appliesToAgent(["judge:y"], "judge:x"), false);
});
