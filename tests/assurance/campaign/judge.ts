/** Bars that every attack is measured against. */
import { quantile } from "../../../bench/report.ts";
import { number } from "../../../tools/table.ts";
import type { Attacked } from "./attacking.ts";

/** Kinds of calls of the second team. */
export const PROBES = ["heartbeats", "lists", "costs", "erasures"] as const;

export type ProbeName = typeof PROBES[number];

export interface Calls {
  /** Duration of each call in milliseconds, in order. */
  readonly ms: number[];
  /** Number of responses by status, or under `no answer`. */
  readonly statuses: Record<string, number>;
}

/** Everything that the second team measured. */
export type Noticed = Record<ProbeName, Calls>;

/**
 * Limits that must hold during an attack. The last two concern background work of the second team.
 */
const BARS = {
  rssMb: 600,
  heartbeatP99Ms: 250,
  listMaxMs: 1_000,
  finalCostMaxMs: 5_000,
  erasureMaxMs: 10_000,
} as const;

export interface Measured {
  readonly attacked: Attacked;
  readonly noticed: Noticed;
  readonly rssMb: number;
  /** The unexpected end of the process; null while it runs. */
  readonly ended: string | null;
  readonly isHealthy: boolean;
}

/** Names each missed bar; empty if the service withstood the attack. */
export function judge({ attacked, noticed, rssMb, ended, isHealthy }: Measured): string[] {
  const { heartbeats, lists, costs, erasures } = noticed;
  const checks: readonly (readonly [held: boolean, broken: string])[] = [
    [ended === null, `the process ended: ${ended}`],
    [ended !== null || isHealthy, "/healthz does not answer"],
    [rssMb < BARS.rssMb, `RSS ${number(rssMb)} MB`],
    below("heartbeats p99", quantile(heartbeats.ms, 0.99), BARS.heartbeatP99Ms),
    below("the slowest list", Math.max(...lists.ms), BARS.listMaxMs),
    below("the slowest final cost", Math.max(0, ...costs.ms), BARS.finalCostMaxMs),
    below("the slowest erasure", Math.max(0, ...erasures.ms), BARS.erasureMaxMs),
    ...PROBES.map((name) => unanswered(name, noticed[name])),
    [attacked.counts["500"] === undefined, `${attacked.counts["500"]} times 500 for the attacker`],
    [Object.keys(attacked.counts).length > 0, "the attack did nothing"],
    ...attacked.blames.map((blame) => [false, blame] as const),
  ];
  return checks.filter(([held]) => !held).map(([, broken]) => broken);
}

/** Checks a bar in milliseconds; it is missed if there was no call. */
function below(what: string, ms: number, bar: number): readonly [boolean, string] {
  return [ms < bar, `${what} ${number(ms)} ms`];
}

/** The second team is within its plan, so each of its calls must be accepted. */
function unanswered(name: string, { statuses }: Calls): readonly [boolean, string] {
  const refused = Object.entries(statuses).filter(([status]) => !/^2/.test(status));
  const text = refused.map(([status, count]) => `${count} × ${status}`).join(", ");
  return [refused.length === 0, `${name} of the second team: ${text}`];
}

export function lineOf({ attacked, noticed, rssMb }: Measured): string {
  const { heartbeats, lists, costs, erasures } = noticed;
  const outcomes = Object.entries(attacked.counts)
    .map(([what, count]) => `${number(count)} × ${what}`).join(", ");
  const ms = (calls: Calls, part: number) => number(quantile(calls.ms, part));
  return `attacker ${outcomes}; RSS ${number(rssMb)} MB; ` +
    `${number(heartbeats.ms.length)} heartbeats p50 ${ms(heartbeats, 0.5)}, ` +
    `p99 ${ms(heartbeats, 0.99)}, max ${ms(heartbeats, 1)} ms; ` +
    `${lists.ms.length} lists p99 ${ms(lists, 0.99)}, max ${ms(lists, 1)} ms; ` +
    `final cost max ${ms(costs, 1)} ms; erasure max ${ms(erasures, 1)} ms; ` +
    `5xx ${serverErrorsOf(noticed)}`;
}

/** Counts the second team's 5xx responses and calls without a response. */
function serverErrorsOf(noticed: Noticed): number {
  return PROBES.flatMap((name) => Object.entries(noticed[name].statuses))
    .filter(([status]) => !/^[234]/.test(status))
    .reduce((sum, [, count]) => sum + count, 0);
}
