/** Checks, and what is stored of their results. */
import { assertEquals } from "@std/assert";
import type { CheckSettings } from "../../../domain/checks/check.ts";
import type { CheckResult } from "../../../domain/runs/check_result.ts";
import type { RunSummary } from "../../../domain/runs/summary.ts";
import { decodeResults } from "../../../kv/base/codec_checks.ts";
import { decodeSums } from "../../../kv/base/codec_sums.ts";
import { keys } from "../../../kv/base/keys.ts";
import type { DayRow } from "../../../kv/checks/day_counts.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { getValue, type Store } from "../../../kv/store.ts";
import { run, TEAM } from "./stored_runs.ts";

/** A check of all runs, with the severity `fail`. */
export function aCheck(expression: string, fields: Partial<CheckSettings> = {}): CheckSettings {
  return {
    expression,
    agents: ["*"],
    kinds: ["run", "heartbeat"],
    statuses: ["success", "failed", "timeout", "cancelled"],
    features: [],
    severity: "fail",
    sample: 1,
    enabled: true,
    description: null,
    ...fields,
  };
}

export async function resultsOf(store: Store, n: number): Promise<readonly CheckResult[]> {
  return decodeResults(await getValue(store, keys.checkResults(TEAM.id, run(n))));
}

/** Results of run number `n`, as `check status`. */
export async function outcomesOf(store: Store, n: number): Promise<string[]> {
  return (await resultsOf(store, n)).map(({ check, status }) => `${check} ${status}`);
}

export async function summaryOf(store: Store, n: number): Promise<RunSummary> {
  return decodeSums(await getValue(store, keys.summary(TEAM.id, run(n))) as Uint8Array);
}

/** All counts of the team's checks, as `day agent check: counts`; the agent is `*` for all. */
export async function countsOf(store: Store): Promise<string[]> {
  const rows = store.reader.list<DayRow>({ prefix: keys.checkCountsOf(TEAM.id) });
  const lines = await Array.fromAsync(
    rows,
    ({ key: [, , day, agent], value: { counts } }) =>
      Object.entries(counts).map(([check, numbers]) =>
        `${String(day)} ${String(agent) || "*"} ${check}: ${numbers}`
      ),
  );
  return lines.flat().sort();
}

/** Failures of a check, as numbers of runs by arrival. */
export async function failuresOf(store: Store, check: string): Promise<number[]> {
  const rows = store.reader.list({ prefix: keys.checkFailures(TEAM.id, check) });
  return await Array.fromAsync(rows, ({ key }) => parseInt(String(key.at(-1)).slice(-6), 16));
}

/** Fails unless the integrity check agrees with all rows. */
export async function assertVerified(store: Store): Promise<void> {
  assertEquals((await verifyStore(store, { pauseMs: 0 })).differences, []);
}
