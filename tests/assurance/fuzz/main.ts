/**
 * `deno task assure fuzz`: sends hostile input. No 5xx, no response later than a second, nothing
 * stored from a refused request, and no memory growth.
 */
import { print, say } from "../../../bench/report.ts";
import { number, table } from "../../../tools/table.ts";
import type { AssuranceOptions } from "../assurance.ts";
import { fuzz, growthOf, type Outcome } from "./fuzz.ts";
import { Service } from "./service.ts";

/**
 * Prints the progress, and the broken promises after the first `reported` ones; returns their
 * number.
 */
function progress({ counts, seconds, rssMb }: Outcome, reported: number): number {
  const { requests, worstMs, brokenCount } = counts;
  say(
    `${number(requests)} requests, ${number(requests / seconds)} a second, ` +
      `worst ${number(worstMs)} ms, ${number(rssMb.at(-1) ?? null)} MB, ${brokenCount} broken`,
  );
  for (const broken of counts.broken.slice(reported)) say(`BROKEN ${broken}`);
  return counts.broken.length;
}

function statusTable({ counts }: Outcome): string {
  const statuses = [...new Set([...counts.statuses.values()].flatMap((row) => [...row.keys()]))]
    .sort();
  const rows = [...counts.statuses].map(([kind, row]) => [
    kind,
    ...statuses.map((status) => number(row.get(status) ?? 0)),
  ]);
  return table(["requests", ...statuses], rows);
}

function report(outcome: Outcome, seed: string): void {
  const { counts, rssMb } = outcome;
  print(statusTable(outcome));
  print(`seed ${seed}, ${number(counts.requests)} requests in ${number(outcome.seconds)} s`);
  print(`worst answer ${number(counts.worstMs)} ms`);
  print(
    `memory ${number(rssMb[0] ?? null)} MB at first, ${number(Math.max(...rssMb))} MB at most; ` +
      `last third over first third ${number(growthOf(rssMb), 2)}`,
  );
  for (const broken of counts.broken) print(`BROKEN ${broken}`);
  print(`${counts.brokenCount} promises broken`);
}

export async function run({ count, seed }: AssuranceOptions): Promise<boolean> {
  say(`seed ${seed}`);
  const folder = await Deno.makeTempDir({ prefix: "runledger-fuzz-" });
  try {
    await using service = await Service.start(folder);
    let reported = 0;
    const outcome = await fuzz(service, count, seed, (now) => reported = progress(now, reported));
    const code = await service.stop();
    if (code !== 0) outcome.counts.blame(`The service ended with ${code}`);
    report(outcome, seed);
    return outcome.counts.brokenCount === 0;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
