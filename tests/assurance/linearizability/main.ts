/**
 * `deno task assure linearizability`: races 32 clients and explains every history, or prints one
 * that cannot be explained.
 */
import { createProgress, type Io } from "../../../tools/command.ts";
import { type AssuranceOptions, commandOf } from "../assurance.ts";
import type { Operation } from "./calls.ts";
import type { Finding } from "./clients.ts";
import { race } from "./race.ts";

const MEGABYTE = 1_048_576;

/** Prints the operations that contradict each other, then the complete history of their run. */
function report({ why, operations, run, history }: Finding, io: Io): void {
  io.out(`Run ${run} cannot be explained: ${why}`);
  operations.forEach((operation) => io.out(lineOf(operation)));
  io.out("Complete history of the run, in the order of the responses:");
  history.forEach((operation) => io.out(lineOf(operation)));
}

export function lineOf({ call, beginMs, endMs, outcome }: Operation): string {
  const { by, ...content } = call;
  return `  ${beginMs.toFixed(3)} to ${endMs.toFixed(3)} ms, call ${by} ${textOf(content)}\n` +
    `    ${textOf(outcome)}`;
}

/** Formats JSON with short ids, and maps as lists. */
function textOf(value: unknown): string {
  const text = JSON.stringify(value, (_, part) => part instanceof Map ? [...part] : part);
  return text.replace(/evt_eu_0+(?=[0-9a-f])/g, "evt_");
}

/** Races the clients; keeps the ledger of a history that cannot be explained. */
export async function run(options: AssuranceOptions, io: Io): Promise<boolean> {
  const { count: operations, seed } = options;
  io.out(commandOf("linearizability", options));
  const folder = await Deno.makeTempDir({ prefix: "runledger-" });
  const startedMs = performance.now();
  let maxBytes = 0;
  const { done, kills, finding } = await (async () => {
    using progress = createProgress(io.screen, "operations", operations);
    let remaining = operations;
    const onOperation = () => {
      // Resent calls exceed the requested number.
      if (remaining-- > 0) progress.step();
      if (remaining % 1_000 === 0) maxBytes = Math.max(maxBytes, Deno.memoryUsage().rss);
    };
    return await race(folder, { operations, seed, onOperation });
  })();
  if (finding !== null) {
    report(finding, io);
    io.out(`The ledger is in ${folder}; seed ${seed}`);
    return false;
  }
  await Deno.remove(folder, { recursive: true });
  const seconds = (performance.now() - startedMs) / 1_000;
  io.out(`${done.operations} operations on ${done.runs} runs explained, across ${kills} kills`);
  io.out(`${done.unknown} were in doubt at first`);
  io.out(`usage, spend and verification are exact: ${JSON.stringify(done.totals)}`);
  io.out(`${seconds.toFixed(0)} s, ${(maxBytes / MEGABYTE).toFixed(0)} MB at most`);
  return true;
}
