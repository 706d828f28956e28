/** The bars that every attack is held against. */
import { quantile } from "../../../bench/stats.ts";
import { number } from "../../../tools/table.ts";
import type { Attacked } from "./attacking.ts";
import type { Calls, Noticed } from "./victim.ts";
import { PROBES } from "./victim.ts";

/** What must hold while one team attacks. The last two are of the second team's work behind a call. */
export const BARS = {
  rssMb: 600,
  heartbeatP99Ms: 250,
  listMaxMs: 1_000,
  finalCostMaxMs: 5_000,
  erasureMaxMs: 10_000,
} as const;

/** What was seen during an attack. */
export interface Seen {
  readonly attacked: Attacked;
  readonly noticed: Noticed;
  /** The largest of the samples. */
  readonly rssMb: number;
  /** How the process ended by itself; null while it lives. */
  readonly ended: string | null;
  /** Whether `/healthz` answers at the end. */
  readonly isHealthy: boolean;
}

/** Names each bar that was missed; none when the attack was held off. */
export function judge({ attacked, noticed, rssMb, ended, isHealthy }: Seen): string[] {
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

/** A bar in milliseconds; without any call it is missed. */
function below(what: string, ms: number, bar: number): readonly [boolean, string] {
  return [ms < bar, `${what} ${number(ms)} ms`];
}

/** The second team is within its plan, so each of its calls must be taken. */
function unanswered(name: string, { statuses }: Calls): readonly [boolean, string] {
  const refused = Object.entries(statuses).filter(([status]) => !/^2/.test(status));
  const text = refused.map(([status, count]) => `${count} × ${status}`).join(", ");
  return [refused.length === 0, `${name} of the second team: ${text}`];
}

/** The line of an attack. */
export function lineOf({ attacked, noticed, rssMb }: Seen): string {
  const { heartbeats, lists, costs, erasures } = noticed;
  const sent = Object.entries(attacked.counts)
    .map(([what, count]) => `${number(count)} × ${what}`).join(", ");
  const ms = (calls: Calls, part: number) => number(quantile(calls.ms, part));
  return `attacker ${sent}; RSS ${number(rssMb)} MB; ` +
    `${number(heartbeats.ms.length)} heartbeats p50 ${ms(heartbeats, 0.5)}, ` +
    `p99 ${ms(heartbeats, 0.99)}, max ${ms(heartbeats, 1)} ms; ` +
    `${lists.ms.length} lists p99 ${ms(lists, 0.99)}, max ${ms(lists, 1)} ms; ` +
    `final cost max ${ms(costs, 1)} ms; erasure max ${ms(erasures, 1)} ms; ` +
    `5xx ${serverErrorsOf(noticed)}`;
}

/** Answers of 500 and more, and calls without an answer, of the second team. */
export function serverErrorsOf(noticed: Noticed): number {
  return PROBES.flatMap((name) => Object.entries(noticed[name].statuses))
    .filter(([status]) => !/^[234]/.test(status))
    .reduce((sum, [, count]) => sum + count, 0);
}
