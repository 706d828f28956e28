/** The frame of every benchmark that drives wrk and has a bar: a folder of its own, and a verdict. */
import { endAll, isInstalled } from "./children.ts";
import { say } from "./say.ts";

/**
 * Runs a benchmark in a folder that is gone afterwards, with all it started, and ends the process: with 0
 * when its bars are met, 1 when one is missed, 2 without wrk.
 */
export async function endWithVerdict(main: (folder: string) => Promise<boolean>): Promise<never> {
  if (!await isInstalled("wrk", "--version")) {
    say("wrk is not installed and makes the load: apt install wrk, or brew install wrk");
    Deno.exit(2);
  }
  const folder = await Deno.makeTempDir({ prefix: "runledger-bench-" });
  let met = false;
  try {
    met = await main(folder);
  } finally {
    await endAll();
    await Deno.remove(folder, { recursive: true });
  }
  Deno.exit(met ? 0 : 1);
}
