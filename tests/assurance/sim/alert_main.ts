/** `deno task assure sim-alerts`: compares incidents and their messages with a model of alerts. */
import { createProgress, type Io, UsageError } from "../../../tools/command.ts";
import { type AssuranceOptions, commandOf } from "../assurance.ts";
import { playAlertSeed } from "./alert_play.ts";

/** Instances of the service; those of the part `shared`. */
const ALONE = 1, SHARED = 3;

/** Plays sequences with consecutive seeds, starting at the given one. */
export async function run({ count, seed, parts }: AssuranceOptions, io: Io): Promise<boolean> {
  if (!/^\d{1,10}$/.test(seed)) throw new UsageError(`--seed takes an integer: got ${seed}`);
  const first = Number(seed);
  const instances = parts.includes("shared") ? SHARED : ALONE;
  io.out(`${count} sequences from seed ${first}, instances: ${instances}`);
  using progress = createProgress(io.screen, "sequences", count);
  for (let each = first; each < first + count; each++) {
    const failure = await playAlertSeed(each, instances);
    progress.step();
    if (failure === null) continue;
    io.fail(failure);
    io.fail(
      `Again: ${commandOf("sim-alerts", { seed: String(each), count: 1 })} ${parts.join(" ")}`,
    );
    return false;
  }
  return true;
}
