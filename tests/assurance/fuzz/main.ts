/**
 * `deno task assure fuzz`: hostile input for as long as wanted. No 5xx, no answer later than a second,
 * nothing stored of what is refused, and no more memory in the end than in the beginning.
 */
import { print, say } from "../../../bench/report.ts";
import { number, table } from "../../../tools/table.ts";
import type { AssuranceOptions } from "../assurance.ts";
import { fuzz, growthOf, type Outcome } from "./fuzz.ts";
import { Service } from "./service.ts";

/** Writes how far it is, and what was broken since `told` was written. */
function progress({ tally, seconds, rssMb }: Outcome, told: number): number {
  const { requests, worstMs, brokenCount } = tally;
  say(
    `${number(requests)} requests, ${number(requests / seconds)} a second, ` +
      `worst ${number(worstMs)} ms, ${number(rssMb.at(-1) ?? null)} MB, ${brokenCount} broken`,
  );
  for (const broken of tally.broken.slice(told)) say(`BROKEN ${broken}`);
  return tally.broken.length;
}

/** How often each kind of request was answered how. */
function statusTable({ tally }: Outcome): string {
  const statuses = [...new Set([...tally.statuses.values()].flatMap((row) => [...row.keys()]))]
    .sort();
  const rows = [...tally.statuses].map(([kind, row]) => [
    kind,
    ...statuses.map((status) => number(row.get(status) ?? 0)),
  ]);
  return table(["requests", ...statuses], rows);
}

function report(outcome: Outcome, seed: string): void {
  const { tally, rssMb } = outcome;
  print(statusTable(outcome));
  print(`seed ${seed}, ${number(tally.requests)} requests in ${number(outcome.seconds)} s`);
  print(`worst answer ${number(tally.worstMs)} ms`);
  print(
    `memory ${number(rssMb[0] ?? null)} MB at first, ${number(Math.max(...rssMb))} MB at most; ` +
      `last third over first third ${number(growthOf(rssMb), 2)}`,
  );
  for (const broken of tally.broken) print(`BROKEN ${broken}`);
  print(`${tally.brokenCount} promises broken`);
}

/** Sends so many requests to a service of its own. */
export async function run({ count, seed }: AssuranceOptions): Promise<boolean> {
  say(`seed ${seed}`);
  const folder = await Deno.makeTempDir({ prefix: "runledger-fuzz-" });
  try {
    await using service = await Service.start(folder);
    let told = 0;
    const outcome = await fuzz(service, count, seed, (now) => told = progress(now, told));
    const code = await service.stop();
    if (code !== 0) outcome.tally.blame(`The service ended with ${code}`);
    report(outcome, seed);
    return outcome.tally.brokenCount === 0;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
