/**
 * Measures budgets: the wait of questions that 20 of them judge, and CPU of heartbeats with and
 * without them, alternating. The work after the answer counts.
 */
import { number, table } from "../tools/table.ts";
import { call, inTurn, measure, type Measured } from "./load.ts";
import { type Side, startService } from "./process.ts";
import { atMost, type Bar, type BenchOptions, mean95, median, print, ratios } from "./report.ts";
import { AUTHORIZATION } from "./service.ts";

const BUDGETS = 20;

/** Connections of the questions, and of the heartbeats. */
const CONNECTIONS = { guard: 50, heartbeat: 32 } as const;

/** Maximum milliseconds of 99 % of the questions, and ratio of the CPU. */
const MAX = { p99Ms: 20, cpu: 1.03 } as const;

/** Measures both; the CPU bar is missed if its 95 % interval is above it. */
export async function bench({ folder, rounds = 20, seconds = 1 }: BenchOptions): Promise<Bar[]> {
  await using without = await startService(`${folder}/without.kv`);
  await using side = await startService(`${folder}/with.kv`);
  await putBudgets(side);
  const load = { call: "heartbeat", connections: CONNECTIONS.heartbeat, seconds } as const;
  const { none, all } = await inTurn("heartbeat", rounds, {
    none: () => measure([without], load),
    all: () => measure([side], load),
  });
  const cpuUs = ({ cpuUs }: Measured) => cpuUs;
  const cpu = mean95(ratios(all, none, cpuUs));
  const questions = { call: "guard", connections: CONNECTIONS.guard, seconds: 5 } as const;
  const asked = await measure([side], questions);
  print(table(["measurement", "value"], [
    ["heartbeat without budgets, µs", number(median(none.map(cpuUs)), 1)],
    [`heartbeat with ${BUDGETS}, µs`, number(median(all.map(cpuUs)), 1)],
    ["mean ratio, 95 % from, to", cpu.map((value) => number(value, 3)).join(" ")],
    ["question, µs", number(asked.cpuUs, 1)],
    ["questions a second", number(asked.requestsPerSecond)],
    ["question p50, ms", number(asked.p50Ms, 1)],
  ]));
  return [
    atMost("question p99, ms", MAX.p99Ms, asked.p99Ms),
    atMost(`CPU of a heartbeat with ${BUDGETS} budgets, lower end`, MAX.cpu, cpu[1] ?? NaN),
  ];
}

/** Puts budgets that all are about the agent or the customer of the loads. */
async function putBudgets(side: Side): Promise<void> {
  const scopes = [{}, { agent: "nightly" }, { customer_id: "acme" }, { each: "agent" }];
  for (let n = 0; n < BUDGETS; n++) {
    const period = ["day", "week", "month"][n % 3];
    const budget = { scope: scopes[n % 4], period, limit_usd: 9e5, mode: "hard" };
    await call(side, `/v1/budgets/budget-${n}`, budget, AUTHORIZATION, "PUT");
  }
}
