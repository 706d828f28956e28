/** Tests which changes of a run's summary are signals of its agent. */
import { assertEquals } from "@std/assert";
import type { RunId } from "../../../../domain/core/ids.ts";
import { signalOf } from "../../../../domain/monitors/monitor.ts";
import type { RunSummary } from "../../../../domain/runs/summary.ts";

const RUN = "run_eu_00000000000000000000000000000001" as RunId;

/** The fields of a summary that a signal depends on; null for a run without an opening. */
function summary(status: string | null, receivedAt = 9, agent = "a"): RunSummary {
  const labels = { agent, customer: null, feature: null, status };
  const opened = status !== null;
  return {
    contribution: opened ? { labels } : null,
    times: opened ? { startedAt: 1, receivedAt } : null,
  } as unknown as RunSummary;
}

Deno.test("signal: a close is an outcome at its arrival, unless it is cancelled", () => {
  const outcomeOf = (status: string) => signalOf(null, summary(status), RUN)?.outcome ?? null;
  assertEquals(["success", "failed", "timeout", "cancelled", "running"].map(outcomeOf), [
    ...["ok", "fail", "fail", null, null],
  ]);
  assertEquals(signalOf(summary("running"), summary("success", 7), RUN), {
    at: 7,
    run: RUN,
    outcome: "ok",
  });
});

Deno.test("signal: only a change of the outcome or the agent is one", () => {
  assertEquals(signalOf(summary("success"), summary("success", 12), RUN), null);
  assertEquals(signalOf(summary("failed"), summary("timeout"), RUN), null);
  assertEquals(signalOf(summary("timeout"), summary("success"), RUN)?.outcome, "ok");
  assertEquals(signalOf(summary("timeout"), summary("running"), RUN), null);
  assertEquals(signalOf(summary(null), summary("failed"), RUN)?.outcome, "fail");
  assertEquals(signalOf(summary("failed", 9, "b"), summary("failed"), RUN)?.outcome, "fail");
  assertEquals(signalOf(null, summary(null), RUN), null);
});
