/** `deno task assure judges`: random days of a judge, a month at a time. */
import { say } from "../../../bench/report.ts";
import type { AssuranceOptions } from "../assurance.ts";
import { type DaysReport, playDays } from "./days.ts";

/** Days over one store. */
const DAYS = 25;

export async function run({ count, seed }: AssuranceOptions): Promise<boolean> {
  const all: DaysReport[] = [];
  for (let part = 0; part * DAYS < count; part++) {
    all.push(await playDays(`${seed} ${part}`, Math.min(DAYS, count - part * DAYS)));
  }
  const total = (name: keyof DaysReport) => all.reduce((sum, report) => sum + report[name], 0);
  say(
    `${total("days")} days, ${total("calls")} calls, ${total("deaths")} deaths, ` +
      `${total("lost")} lost answers, ${total("judged")} runs judged, ` +
      `$${total("billedUsd").toFixed(6)} billed: no bill above its cap, each cost once`,
  );
  return true;
}
