import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  nextStage,
  type Processing,
  type Stage,
  STAGE_ATTEMPTS_MAX,
  STAGE_BACKOFF_MS,
  STAGE_ERROR_CHARS_MAX,
  stageDone,
  stageDueAt,
  stageFailed,
  type StageProgress,
  stageRevived,
  STAGES,
  stagesAfterCost,
} from "../../../../domain/runs/stages.ts";

const ALL: ReadonlySet<Stage> = new Set(["checks", "alerts", "judge"]);

function stageOf({ stages }: Processing, name: Stage): StageProgress | undefined {
  return stages.find(({ stage }) => stage === name);
}

function statesOf({ stages }: Processing): string[] {
  return stages.map(({ state }) => state);
}

Deno.test("stages: once the cost is final, stages without work are skipped and the others wait", () => {
  const none = stagesAfterCost(3, new Set(), 70);
  assertEquals(none.revision, 3);
  assertEquals(none.stages.map(({ stage }) => stage), [...STAGES]);
  assertEquals(statesOf(none), ["done", "skipped", "skipped", "skipped"]);
  assertEquals(nextStage(none), null);
  const subset = stagesAfterCost(1, new Set<Stage>(["judge"]), 70);
  assertEquals(statesOf(subset), ["done", "skipped", "skipped", "pending"]);
  assertEquals(nextStage(subset)?.stage, "judge");
});

Deno.test("stages: the next stage is the first incomplete one, until all are complete", () => {
  let processing = stagesAfterCost(1, ALL, 0);
  for (const stage of ["checks", "alerts", "judge"] as const) {
    assertEquals(nextStage(processing)?.stage, stage);
    processing = stageDone(processing, stage, 5);
    assertEquals([stageOf(processing, stage)?.attempts, stageOf(processing, stage)?.at], [1, 5]);
  }
  assertEquals(nextStage(processing), null);
});

Deno.test("stages: each failure doubles the backoff, and the last allowed attempt gives up", () => {
  let processing = stagesAfterCost(1, ALL, 0);
  for (let attempt = 1; attempt < STAGE_ATTEMPTS_MAX; attempt++) {
    processing = stageFailed(processing, "checks", new TypeError("no answer"), 100);
    const next = nextStage(processing);
    assertEquals([next?.stage, next?.state, next?.attempts], ["checks", "retrying", attempt]);
    assertEquals(next && stageDueAt(next), 100 + STAGE_BACKOFF_MS * 2 ** (attempt - 1));
    assertEquals(next?.error, "TypeError: no answer");
  }
  processing = stageFailed(processing, "checks", "just text", 100);
  assertEquals(nextStage(processing), null);
  const dead = stageOf(processing, "checks");
  assertEquals([dead?.state, dead?.attempts, dead?.error], ["dead", 8, "just text"]);
  // Later stages wait until it is revived.
  assertEquals(statesOf(processing), ["done", "dead", "pending", "pending"]);
  const revived = stageRevived(processing, "checks", 900);
  const next = nextStage(revived);
  assertEquals([next?.stage, next?.attempts, next && stageDueAt(next)], ["checks", 0, 900]);
});

Deno.test("stages: success after failures clears the error", () => {
  const failed = stageFailed(stagesAfterCost(1, ALL, 0), "checks", new Error("x"), 1);
  const done = stageOf(stageDone(failed, "checks", 2), "checks");
  assertEquals([done?.state, done?.attempts, done?.error], ["done", 2, undefined]);
});

Deno.test("stages: an error's text is shortened, and any thrown value is reported", () => {
  const thrown = fc.oneof(fc.string({ maxLength: 2_000 }), fc.integer(), fc.constantFrom(null, {}));
  fc.assert(fc.property(thrown, (thrown) => {
    const failed = stageFailed(stagesAfterCost(1, ALL, 0), "checks", thrown, 1);
    assertEquals(stageOf(failed, "checks")?.error, String(thrown).slice(0, STAGE_ERROR_CHARS_MAX));
  }));
  const long = stageFailed(stagesAfterCost(1, ALL, 0), "judge", new Error("x".repeat(9_999)), 1);
  assertEquals(stageOf(long, "judge")?.error?.length, STAGE_ERROR_CHARS_MAX);
});

Deno.test("stages: changing one stage leaves the others and the revision unchanged", () => {
  const before = stagesAfterCost(7, ALL, 0);
  for (
    const change of [
      stageDone(before, "alerts", 1),
      stageFailed(before, "alerts", "x", 1),
      stageRevived(before, "alerts", 1),
    ]
  ) {
    assertEquals(change.revision, 7);
    for (const name of ["cost", "checks", "judge"] as const) {
      assertEquals(stageOf(change, name), stageOf(before, name));
    }
  }
});
