/** One cause, one incident (R32): a crew that failed is one incident, in any order of arrival. */
import { assertEquals } from "@std/assert";
import type { RuleSettings } from "../../../../domain/alerts/rule.ts";
import { closeSignals } from "../../../../domain/alerts/signal.ts";
import type { RunId } from "../../../../domain/core/ids.ts";
import type { RunSummary } from "../../../../domain/runs/summary.ts";
import { Random } from "../../../../tools/random.ts";
import { AlertWorld, playDecisions } from "../../../assurance/sim/alert_decisions.ts";
import { THREE_FAILURES } from "../../../support/builders/alert_rules.ts";
import { SEED } from "../../../support/harness/seed.ts";

const ORDERS = 2_000;

/** Groups of rules; the agents of a crew differ, and its customer is the same. */
const GROUPS = [null, "agent", "customer"] as const;

/** A part of a run that arrives. */
interface Part {
  readonly run: number;
  readonly part: "opening" | "closing";
}

/** Returns the fields of a failed run's summary that signals depend on, by the parts that arrived. */
function summaryOf(run: number, parts: ReadonlySet<Part["part"]>, at: number): RunSummary {
  const agent = run % 2 === 0 ? "crew" : "worker";
  const status = parts.has("closing") ? "failed" : "running";
  const isOpened = parts.has("opening");
  return {
    contribution: isOpened ? { labels: { agent, customer: "acme", feature: null, status } } : null,
    times: isOpened ? { startedAt: at, receivedAt: at } : null,
    ...{ seen: {}, shown: { finishedAt: at } },
    ...run > 0 && isOpened ? { parent: `run_${run - 1}` as RunId } : {},
  } as unknown as RunSummary;
}

/** Counts the parts of a crew in some order, of which each run but the first has a parent. */
function incidentsAfter(random: Random, settings: RuleSettings): [number, number[], number] {
  const runs = 2 + random.int(0, 4);
  const parts = Array.from({ length: runs }, (_, run): Part[] => [
    { run, part: "opening" },
    { run, part: "closing" },
  ]).flat();
  const order = parts.map((part) => ({ part, key: random.int(0, 1e9) }))
    .sort((a, b) => a.key - b.key).map(({ part }) => part);
  const world = new AlertWorld(settings);
  const arrived = new Map<number, Set<Part["part"]>>();
  const summaries = new Map<number, RunSummary>();
  for (const { run, part } of order) {
    world.nowMs += 1_000;
    const known = (arrived.get(run) ?? new Set()).add(part);
    arrived.set(run, known);
    const [before, after] = [summaries.get(run) ?? null, summaryOf(run, known, world.nowMs)];
    summaries.set(run, after);
    const signals = closeSignals({ id: `run_${run}` as RunId, before, after, latestAt: null });
    if (signals.length > 0) world.commit({ signals });
  }
  const incidents = [...world.incidents.values()];
  return [incidents.length, incidents.map(({ count }) => count), runs];
}

Deno.test("alerts: a failed crew is one incident in any order of arrival of its runs", () => {
  for (let seed = SEED; seed < SEED + ORDERS; seed++) {
    const random = new Random(`crew ${seed}`);
    const groupBy = GROUPS[random.int(0, GROUPS.length - 1)] ?? null;
    const condition = { kind: "run_failed", statuses: ["failed"], consecutive: 1 } as const;
    const settings = { ...THREE_FAILURES, condition, groupBy };
    assertEquals(
      incidentsAfter(new Random(`crew ${seed}`), settings).slice(0, 2),
      [1, [1]],
      `seed ${seed}`,
    );
    const all = { ...settings, condition: { ...condition, runs: "all" as const } };
    const [, counts, runs] = incidentsAfter(new Random(`crew ${seed}`), all);
    assertEquals(counts.reduce((sum, count) => sum + count, 0), runs, `seed ${seed}`);
  }
});

Deno.test("alerts: what is decided follows from the order of arrival alone", () => {
  for (let seed = SEED; seed < SEED + 200; seed++) playDecisions(seed);
});
