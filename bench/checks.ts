/**
 * Compares CPU microseconds a run without checks and with ten that judge it, alternating on one
 * machine. The work after the answer counts.
 */
import { number, table } from "../tools/table.ts";
import { type Call, inTurn, measure, type Measured } from "./load.ts";
import { type Bar, type BenchOptions, print } from "./report.ts";
import { keyOf } from "./service.ts";
import { type Side, startCheckout, startThisCheckout } from "./sides.ts";
import { median, ratios } from "./stats.ts";

const CONNECTIONS = 32;

/** Calls, and how many of them a run needs. A heartbeat opens and closes a run. */
const LOADS: readonly [call: Call, callsPerRun: number][] = [["open", 1], ["heartbeat", 1], [
  "run",
  3,
]];

/** Maximum ratio of the CPU time with ten checks to that without any. */
const RATIO_MAX = 1.15;

/** Ten checks of the usual kinds; all judge each run. */
const EXPRESSIONS = [
  "cost_usd < 0.50",
  "duration_ms < 600000",
  "usage.input_tokens + usage.output_tokens < 100000",
  "usage.llm_calls <= 20",
  "usage.errors == 0",
  "size(unpriced) == 0",
  'status == "success"',
  'agent != "" && customer_id != "globex"',
  '!("quality" in scores) || scores.quality >= 0.5',
  'kind == "heartbeat" || cost_usd < 10 && usage.events < 5000',
] as const;

async function putChecks({ url }: Side): Promise<void> {
  for (const [n, expression] of EXPRESSIONS.entries()) {
    const response = await fetch(`${url}/v1/checks/check-${n}`, {
      method: "PUT",
      headers: { Authorization: `Bearer ${keyOf(1)}` },
      body: JSON.stringify({ expression }),
    });
    const text = await response.text();
    if (response.status !== 202) throw new Error(`${expression}: ${text}`);
  }
}

/** Compares a service with checks with one without, which may be of another checkout. */
export async function bench(
  { folder, rounds = 12, seconds = 1, rest: [other] }: BenchOptions,
): Promise<Bar[]> {
  const file = `${folder}/none.kv`;
  await using none =
    await (other === undefined ? startThisCheckout(file) : startCheckout(other, file));
  await using ten = await startThisCheckout(`${folder}/ten.kv`);
  await putChecks(ten);
  const rows: string[][] = [];
  const bars: Bar[] = [];
  for (const [call, calls] of LOADS) {
    const load = { call, connections: CONNECTIONS, seconds };
    const measured = await inTurn(call, rounds, {
      none: () => measure(none, load),
      ten: () => measure(ten, load),
    });
    const usOf = (all: readonly Measured[]) => all.map(({ cpuUs }) => (cpuUs ?? NaN) * calls);
    const [without, withTen] = [usOf(measured.none), usOf(measured.ten)];
    const ratio = median(ratios(withTen, without));
    const medians = [number(median(without), 1), number(median(withTen), 1)];
    rows.push([call, ...medians, number(ratio, 3)]);
    bars.push({
      name: `CPU of ${call} with 10 checks`,
      bar: `<= ${RATIO_MAX} times that without`,
      measured: number(ratio, 3),
      met: ratio <= RATIO_MAX,
    });
  }
  print(table(["load", "no checks, µs a run", "10 checks, µs a run", "ratio"], rows));
  return bars;
}
