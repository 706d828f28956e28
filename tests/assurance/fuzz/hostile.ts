/**
 * Hostile input for as long as wanted: no 5xx, no answer later than a second, nothing stored of what
 * is refused, and no more memory in the end than in the beginning.
 *
 * Usage: deno task hostile [COUNT] [SEED]
 */
import { print, say } from "../../../bench/say.ts";
import { number, table } from "../../../bench/table.ts";
import { besiege, growthOf, type Outcome } from "./besiege.ts";
import { Service } from "./service.ts";

const [count = "1000000", seed = String(Math.floor(Math.random() * 2 ** 32))] = Deno.args;
if (!/^\d+$/.test(count)) {
  say("Usage: deno task hostile [COUNT] [SEED]");
  Deno.exit(2);
}

let told = 0;

function progress({ tally, seconds, rssMb }: Outcome): void {
  const { requests, worstMs, brokenCount } = tally;
  say(
    `${number(requests)} requests, ${number(requests / seconds)} a second, ` +
      `worst ${number(worstMs)} ms, ${number(rssMb.at(-1) ?? null)} MB, ${brokenCount} broken`,
  );
  for (const broken of tally.broken.slice(told)) say(`BROKEN ${broken}`);
  told = tally.broken.length;
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

function report(outcome: Outcome): void {
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

say(`seed ${seed}`);
const folder = await Deno.makeTempDir({ prefix: "runledger-hostile-" });
let broken = 1;
try {
  await using service = await Service.start(folder);
  const outcome = await besiege(service, Number(count), seed, progress);
  const code = await service.stop();
  if (code !== 0) outcome.tally.blame(`The service ended with ${code}`);
  report(outcome);
  broken = outcome.tally.brokenCount;
} finally {
  await Deno.remove(folder, { recursive: true });
}
Deno.exit(broken === 0 ? 0 : 1);
