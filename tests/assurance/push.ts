/** `deno task assure push` and `assure long`: run the tests that are too slow for `deno task test`. */
import { runTests, SLOW, testsIn } from "../run.ts";
import type { Assurance } from "./assurance.ts";

/** Isolates at a time: one more than cores, because many of these tests wait for processes. */
const JOBS = navigator.hardwareConcurrency + 1;

/** Creates the harness that runs the tests in the given folders of a folder, or all. */
function runnerOf(folder: string): Assurance {
  return async ({ parts }) => {
    const folders = parts.length > 0 ? parts.map((name) => `${folder}/${name}`) : [folder];
    return await runTests(folders.flatMap(testsIn), [], JOBS) === 0;
  };
}

/** Runs `tests/push/`. */
export const run: Assurance = runnerOf(SLOW.push);

/** Runs `tests/long/`. */
export const long = { run: runnerOf(SLOW.long) };
