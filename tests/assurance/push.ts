/** `deno task assure push [FOLDER…]`: runs the tests that are too slow for `deno task test`. */
import { PUSH, runTests, testsIn } from "../run.ts";
import type { AssuranceOptions } from "./assurance.ts";

/** Runs the tests in the given folders of `tests/push/`, or all. */
export async function run({ parts }: AssuranceOptions): Promise<boolean> {
  const folders = parts.length > 0 ? parts.map((name) => `${PUSH}/${name}`) : [PUSH];
  return await runTests(folders.flatMap(testsIn)) === 0;
}
