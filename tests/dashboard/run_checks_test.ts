/** Results of checks, and the stages after the end, on a run's page. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { CheckResult } from "../../domain/runs/check_result.ts";
import type { RunRecord } from "../../domain/runs/record.ts";
import type { StageProgress, StageState } from "../../domain/runs/stages.ts";
import { CheckResults } from "../../routes/dashboard/run/facts.tsx";
import { Stages } from "../../routes/dashboard/run/results.tsx";
import { hrefsOf, textOf } from "../support/harness/dashboard.ts";
import { NOON } from "../support/harness/harness.ts";

function aResult(check: string, result: Partial<CheckResult>): CheckResult {
  const { status = "pass" } = result;
  return {
    check,
    id: `chk_eu_${check}`,
    version: 3,
    severity: "fail",
    status,
    got: "cost_usd = 0.61",
    message: null,
    at: NOON,
    revision: 0,
    ...result,
  };
}

/** Renders the results of a run whose stage of checks is in a state. */
function render(checks: readonly CheckResult[], state: StageState = "done"): string {
  const run = {
    checks,
    judges: [],
    cost: { state: "final" },
    processing: [
      { stage: "cost", state: "done", attempts: 1, at: NOON },
      { stage: "checks", state, attempts: 0, at: NOON },
    ],
  } as unknown as RunRecord;
  const checkIds = new Set(checks.map(({ id }) => id).filter((id) => !id.endsWith("deleted")));
  return CheckResults({ run, checkIds, obstacles: new Map() })?.toString() ?? "";
}

const RESULTS = [
  aResult("a-pass", {}),
  aResult("b-skipped", {
    status: "skipped",
    got: null,
    message: "The run has no output",
    reason: "no_output",
  }),
  aResult("c-error", { status: "error", message: "No key answer", reason: "no_such_key" }),
  aResult("d-warn", { status: "fail", severity: "warn", message: "It is slow" }),
  aResult("e-fail", { status: "fail", message: "It costs too much" }),
  aResult("f-pass", {}),
];

Deno.test("a run's page shows each result, failures and errors first", () => {
  const html = render(RESULTS);
  assertEquals(hrefsOf(html).map((path) => path.split("/").at(-1)), [
    "d-warn",
    "e-fail",
    "c-error",
    "b-skipped",
    "a-pass",
    "f-pass",
  ]);
  const text = textOf(html);
  assertMatch(
    text,
    /^Checks failed d-warn It is slow got cost_usd = 0\.61 failed warn version 3, Open the check/,
  );
  assertMatch(text, /not decided c-error No key answer got/);
  assertMatch(text, /skipped b-skipped The run has no output skipped version 3/);
  assertMatch(text, /passed f-pass got cost_usd = 0\.61 passed version 3, Open the check$/);
  assert(!text.includes("running"));
});

Deno.test("a run without checks shows none, and a run that is judged shows that", () => {
  assertEquals([render([]), render([], "skipped")], ["", ""]);
  for (const state of ["pending", "retrying"] as const) {
    assertEquals(textOf(render([], state)), "Checks running");
    assertMatch(textOf(render(RESULTS, state)), /^Checks running again failed d-warn/);
  }
});

Deno.test("checks of a run: a result whose check was deleted has no link", () => {
  const html = render([
    aResult("kept", { status: "fail" }),
    aResult("deleted", { status: "fail" }),
  ]);
  assertEquals(hrefsOf(html), ["/dashboard/checks/kept"]);
  assertMatch(textOf(html), /failed deleted .* version 3, deleted since$/);
});

Deno.test("stages are shown until all are done, with attempts and the last error", () => {
  const stagesOf = (...processing: readonly Partial<StageProgress>[]) => {
    const run = { id: "run_eu_1", processing } as unknown as RunRecord;
    return textOf((Stages({ run }) || "").toString());
  };
  const at = NOON;
  const done = { stage: "cost", state: "done", attempts: 1, at } as const;
  assertEquals(stagesOf(done, { stage: "checks", state: "skipped", at }), "");
  const failed = { stage: "checks", attempts: 3, at, error: "Error: no <disk>" } as const;
  assertMatch(
    stagesOf(done, { ...failed, state: "retrying" }),
    /checks failed since [^,]* , attempt 3: Error: no <disk>; next attempt [^,]*$/,
  );
  const dead = stagesOf(done, { ...failed, state: "dead" });
  assertMatch(
    dead,
    /checks failed for good since .* once its cause is fixed: deno task jobs --redrive=run_eu_1$/,
  );
  const first = stagesOf({ stage: "cost", state: "pending", attempts: 0, at }, failed);
  assertMatch(first, /^Processing cost waiting since [^,]*$/);
});
