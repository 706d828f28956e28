/** `deno task assure mutants`: plants each mutant, and reports the test that caught it. */
import type { Io } from "../../../tools/command.ts";
import type { AssuranceOptions } from "../assurance.ts";
import { allMutants, caughtBy, copyProject } from "./mutants.ts";

/** Plants the selected mutants, or all. */
export async function run({ parts, list }: AssuranceOptions, io: Io): Promise<boolean> {
  const all = await allMutants();
  const selected = parts.length === 0 ? all : all.filter(({ name }) => parts.includes(name));
  if (list) {
    selected.forEach(({ name, what }) => io.out(`${name}: ${what}`));
    return true;
  }
  const copy = await Deno.makeTempDir({ prefix: "runledger-mutants-" });
  let caught = 0;
  try {
    await copyProject(copy);
    for (const mutant of selected) {
      const startedMs = performance.now();
      const test = await caughtBy(copy, mutant);
      const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
      if (test !== null) caught++;
      const verdict = test === null ? "MISSED" : "caught";
      io.out(`${verdict} ${mutant.name} (${seconds} s): ${mutant.what}`);
      if (test !== null) io.out(`       by "${test}"`);
    }
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
  io.out(`${caught} of ${selected.length} mutants were caught`);
  return caught === selected.length && selected.length > 0;
}
