/** `deno task assure push` and `assure long`: run the tests that are too slow for `deno task test`. */
import { runTests, SLOW, testsIn } from "../run.ts";
import type { Assurance } from "./assurance.ts";

/** Creates the harness that runs the tests in the given folders of a folder, or all. */
function runnerOf(folder: string): Assurance {
  return async ({ parts }) => {
    const folders = parts.length > 0 ? parts.map((name) => `${folder}/${name}`) : [folder];
    return await runTests(folders.flatMap(testsIn)) === 0;
  };
}

export const run: Assurance = runnerOf(SLOW.push);

export const long = { run: runnerOf(SLOW.long) };
