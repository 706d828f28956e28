/** `deno task assure linearizability`: races 32 clients and explains every history, or prints one that cannot be. */
import { createProgress, type Io } from "../../../tools/command.ts";
import { type AssuranceOptions, commandOf } from "../assurance.ts";
import type { Operation } from "./calls.ts";
import type { Finding } from "./clients.ts";
import { race } from "./race.ts";

const MEGABYTE = 1_048_576;

/** Prints the operations that cannot all be true, then everything that was done to their run. */
function tell({ why, operations, run, history }: Finding, io: Io): void {
  io.out(`This cannot be explained, of run ${run}: ${why}`);
  operations.forEach((operation) => io.out(lineOf(operation)));
  io.out("Everything that was done to it, in the order of the answers:");
  history.forEach((operation) => io.out(lineOf(operation)));
}

function lineOf({ call, beginMs, endMs, outcome }: Operation): string {
  const { by, ...sent } = call;
  return `  ${beginMs.toFixed(3)} to ${endMs.toFixed(3)} ms, call ${by} ${textOf(sent)}\n` +
    `    ${textOf(outcome)}`;
}

/** JSON, in which ids are short and maps are lists. */
function textOf(value: unknown): string {
  const text = JSON.stringify(value, (_, part) => part instanceof Map ? [...part] : part);
  return text.replace(/evt_eu_0+(?=[0-9a-f])/g, "evt_");
}

/** Races the clients; the ledger of a history that cannot be explained is kept. */
export async function run(options: AssuranceOptions, io: Io): Promise<boolean> {
  const { count: operations, seed } = options;
  io.out(commandOf("linearizability", options));
  const folder = await Deno.makeTempDir({ prefix: "runledger-" });
  const startedMs = performance.now();
  let mostBytes = 0;
  const { done, kills, finding } = await (async () => {
    using progress = createProgress(io.screen, "operations", operations);
    let left = operations;
    const onOperation = () => {
      // Calls in doubt are sent again beyond the number asked for.
      if (left-- > 0) progress.step();
      if (left % 1_000 === 0) mostBytes = Math.max(mostBytes, Deno.memoryUsage().rss);
    };
    return await race(folder, { operations, seed, onOperation });
  })();
  if (finding !== null) {
    tell(finding, io);
    io.out(`The ledger is in ${folder}; seed ${seed}`);
    return false;
  }
  await Deno.remove(folder, { recursive: true });
  const seconds = (performance.now() - startedMs) / 1_000;
  io.out(`${done.operations} operations on ${done.runs} runs explained, through ${kills} kills`);
  io.out(`${done.unknown} were in doubt at first`);
  io.out(`usage, spend and audit are exact: ${JSON.stringify(done.totals)}`);
  io.out(`${seconds.toFixed(0)} s, ${(mostBytes / MEGABYTE).toFixed(0)} MB at most`);
  return true;
}
