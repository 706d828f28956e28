/** Tests which changes of a run's summary are outcomes of its agent. */
import { assertEquals } from "@std/assert";
import type { RunId } from "../../../../domain/core/ids.ts";
import { outcomeOf } from "../../../../domain/monitors/monitor.ts";
import type { RunSummary } from "../../../../domain/runs/summary.ts";

const RUN = "run_eu_00000000000000000000000000000001" as RunId;

/** The fields of a summary that an outcome depends on; null for a run without an opening. */
function summary(status: string | null, receivedAt = 9, agent = "a"): RunSummary {
  const labels = { agent, customer: null, feature: null, status };
  const opened = status !== null;
  return {
    contribution: opened ? { labels } : null,
    times: opened ? { startedAt: 1, receivedAt } : null,
  } as unknown as RunSummary;
}

Deno.test("outcome: a close is an outcome at its arrival, unless it is cancelled", () => {
  const kindOf = (status: string) => outcomeOf(null, summary(status), RUN)?.kind ?? null;
  assertEquals(["success", "failed", "timeout", "cancelled", "running"].map(kindOf), [
    ...["good", "bad", "bad", null, null],
  ]);
  assertEquals(outcomeOf(summary("running"), summary("success", 7), RUN), {
    ...{ at: 7, key: `${RUN} good`, kind: "good", run: RUN, value: null, detail: null },
  });
});

Deno.test("outcome: only a change of the outcome, its arrival or the agent is one", () => {
  assertEquals(outcomeOf(summary("success"), summary("success"), RUN), null);
  assertEquals(outcomeOf(summary("failed"), summary("failed", 12), RUN)?.at, 12);
  assertEquals(outcomeOf(summary("failed"), summary("timeout"), RUN), null);
  assertEquals(outcomeOf(summary("timeout"), summary("success"), RUN)?.kind, "good");
  assertEquals(outcomeOf(summary("timeout"), summary("running"), RUN), null);
  assertEquals(outcomeOf(summary(null), summary("failed"), RUN)?.kind, "bad");
  assertEquals(outcomeOf(summary("failed", 9, "b"), summary("failed"), RUN)?.kind, "bad");
  assertEquals(outcomeOf(null, summary(null), RUN), null);
});
