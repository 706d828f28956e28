/** The stages of a run follow from its summary, its results, its incidents and its failure. */
import { ERROR_CHARS_MAX, RETRIES } from "../../../../domain/work/work.ts";
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { CheckResult } from "../../../../domain/runs/check_result.ts";
import { EMPTY_LEDGER } from "../../../../domain/runs/ledger.ts";
import type { Closing, Opening } from "../../../../domain/runs/run.ts";
import {
  failureAfter,
  isDead,
  nextTryAt,
  type ProcessedRun,
  processingOf,
  type RunFailure,
  STAGES,
} from "../../../../domain/runs/stages.ts";
import { type RunSummary, summarize } from "../../../../domain/runs/summary.ts";

const opening = { kind: "run", agent: "a", startedAt: 1, receivedAt: 2 } as unknown as Opening;
const closing = { status: "success", finishedAt: 3, receivedAt: 40 } as unknown as Closing;

const HEAD = {
  parts: { opening, closing },
  totals: EMPTY_LEDGER.totals,
  batchCount: 0,
  ages: EMPTY_LEDGER,
  repricings: 0,
  repriced: undefined,
};

/** A closed run whose cost was final at 70. */
function runOf(
  summary: Partial<RunSummary> | null = {},
  more: Partial<ProcessedRun> = {},
): ProcessedRun {
  const current = { ...summarize(HEAD, null), finalAt: 70 };
  const stored = summary === null ? null : { ...current, ...summary };
  return { ...HEAD, summary: stored, failure: null, incidents: [], checks: [], ...more };
}

/** Stages as name, state, attempts and time. */
function textsOf(run: ProcessedRun): string[] {
  return processingOf(run).map(({ stage, state, attempts, at }) =>
    `${stage} ${state} ${attempts} ${at}`
  );
}

function failureOf(work: RunFailure["work"], tries: number): RunFailure {
  return { work, tries, at: 500, error: "TypeError: no answer" };
}

const FINAL = [
  "cost done 1 70",
  "checks skipped 0 70",
  "alerts skipped 0 70",
  "judge skipped 0 70",
];
const WAITING = STAGES.map((stage) => `${stage} pending 0 40`);

/** Returns the final stages with others in their places. */
function finalWith(...others: string[]): string[] {
  return FINAL.map((text) =>
    others.find((other) => other[0] === text[0] && other[1] === text[1]) ?? text
  );
}

Deno.test("stages: an open run has none, and those of a closed one wait for its cost", () => {
  assertEquals(textsOf(runOf(null, { parts: { opening, closing: null } })), []);
  assertEquals(textsOf(runOf(null)), WAITING);
  // A late batch: its cost is pending again, and the others with it.
  const checks = [{ at: 71 } as CheckResult];
  assertEquals(textsOf(runOf({}, { batchCount: 1, checks, incidents: ["inc_1"] })), WAITING);
});

Deno.test("stages: once the cost is final, a stage is done if there is something that it did", () => {
  assertEquals(textsOf(runOf()), FINAL);
  const checks = [{ at: 71 }, { at: 75 }, { at: 72 }] as CheckResult[];
  assertEquals(textsOf(runOf({}, { checks })), finalWith("checks done 1 75"));
  assertEquals(textsOf(runOf({ isCounted: true })), finalWith("alerts done 1 70"));
  assertEquals(textsOf(runOf({}, { incidents: ["inc_1"] })), finalWith("alerts done 1 70"));
});

Deno.test("stages: checks that judge later are pending, also with the results of a former revision", () => {
  const awaiting = { awaitsChecks: true } as const;
  assertEquals(textsOf(runOf(awaiting)), finalWith("checks pending 0 70"));
  const checks = [{ at: 60 } as CheckResult];
  assertEquals(textsOf(runOf(awaiting, { checks })), finalWith("checks pending 0 70"));
});

Deno.test("stages: a failure shows in the stage that failed, with its error", () => {
  const shown = (work: RunFailure["work"], tries: number) => {
    const failure = failureOf(work, tries);
    return textsOf(
      work === "cost" ? runOf(null, { failure }) : runOf({ awaitsChecks: true }, { failure }),
    );
  };
  const [, ...others] = WAITING;
  assertEquals(shown("cost", 3), ["cost retrying 3 500", ...others]);
  assertEquals(shown("cost", 8), ["cost dead 8 500", ...others]);
  assertEquals(shown("cost", 0), ["cost pending 0 500", ...others]);
  assertEquals(shown("checks", 7), finalWith("checks retrying 7 500"));
  assertEquals(shown("checks", 9), finalWith("checks dead 9 500"));
  const failure = failureOf("checks", 1);
  const [, stage] = processingOf(runOf({ awaitsChecks: true }, { failure }));
  assertEquals(stage?.error, "TypeError: no answer");
});

Deno.test("stages: a failure that is over does not show", () => {
  assertEquals(textsOf(runOf({}, { failure: failureOf("cost", 8) })), FINAL);
  assertEquals(textsOf(runOf({}, { failure: failureOf("checks", 8) })), FINAL);
  assertEquals(textsOf(runOf(null, { failure: failureOf("checks", 8) })), WAITING);
});

Deno.test("failures: each one doubles the backoff, and the last allowed attempt gives up", () => {
  let failure: RunFailure | null = null;
  for (let tries = 1; tries < RETRIES.run.triesMax; tries++) {
    failure = failureAfter(failure, "checks", new TypeError("no answer"), 100);
    assertEquals(failure, { work: "checks", tries, at: 100, error: "TypeError: no answer" });
    assertEquals(nextTryAt(failure), 100 + RETRIES.run.firstMs * 2 ** (tries - 1));
    assertEquals(isDead(failure), false);
  }
  failure = failureAfter(failure, "checks", "just text", 100);
  assertEquals([failure.tries, failure.error, isDead(failure)], [8, "just text", true]);
  // Other work has tries of its own, and a retry by hand is due at once.
  assertEquals(failureAfter(failure, "cost", "x", 200).tries, 1);
  assertEquals(nextTryAt({ ...failure, tries: 0, at: 900 }), 900);
});

Deno.test("failures: an error's text is shortened, and any thrown value is reported", () => {
  const thrown = fc.oneof(fc.string({ maxLength: 2_000 }), fc.integer(), fc.constantFrom(null, {}));
  fc.assert(fc.property(thrown, (thrown) => {
    const { error } = failureAfter(null, "checks", thrown, 1);
    assertEquals(error, String(thrown).slice(0, ERROR_CHARS_MAX));
  }));
  const { error } = failureAfter(null, "cost", new Error("x".repeat(9_999)), 1);
  assertEquals(error.length, ERROR_CHARS_MAX);
});
