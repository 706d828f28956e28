/**
 * Mutants: bugs that are planted one at a time in a copy of the project.
 *
 * A mutant is a patch in this folder. The lines before its diff say what it does wrong (`What:`) and
 * which test files are asked (`Asked:`); they are files that every push runs.
 */
import { type Mutant, parsePatch } from "./patch.ts";

const FOLDER = new URL(".", import.meta.url).pathname;
const ROOT = new URL("../../../", import.meta.url).pathname;

/** Milliseconds that tests are given: some bugs make one wait for what never comes. */
const TEST_MS_MAX = 45_000;

/** Runs a program to its end, or until it took too long. */
async function run(cwd: string, program: string, ...args: string[]) {
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args,
    cwd,
    env: { NO_COLOR: "1" },
    signal: AbortSignal.timeout(TEST_MS_MAX),
  }).output();
  const decoder = new TextDecoder();
  return { success, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

/** Copies every file that belongs to the project, as it is now. */
export async function copyProject(to: string): Promise<void> {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { text } = await run(ROOT, "git", ...args);
  for (const path of text.split("\0").filter((name) => name !== "")) {
    const target = `${to}/${path}`;
    await Deno.mkdir(target.slice(0, target.lastIndexOf("/")), { recursive: true });
    // A file that is deleted and not yet committed is not part of it any more.
    await Deno.copyFile(ROOT + path, target).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }
}

/** The mutants in this folder, by name. */
export async function allMutants(): Promise<Mutant[]> {
  const mutants: Mutant[] = [];
  for await (const { name } of Deno.readDir(FOLDER)) {
    if (!name.endsWith(".patch")) continue;
    mutants.push(parsePatch(name, await Deno.readTextFile(FOLDER + name)));
  }
  return mutants.sort((a, b) => a.name < b.name ? -1 : 1);
}

/** Whether a mutant can be planted in the project as it is. */
export async function fits({ name }: Mutant): Promise<boolean> {
  return (await run(ROOT, "git", "apply", "--check", `${FOLDER}${name}.patch`)).success;
}

/** Plants a mutant and runs the tests it asks; returns the name of a test that failed, or null. */
export async function caughtBy(copy: string, { name, asked }: Mutant): Promise<string | null> {
  const patch = `${FOLDER}${name}.patch`;
  const planted = await run(copy, "git", "apply", patch);
  if (!planted.success) throw new Error(`${name} does not fit: ${planted.text.trim()}`);
  try {
    const args = [
      "test",
      "--frozen",
      "--lock=tests/packages/development.lock",
      "--no-prompt",
      "-A",
      "--no-check",
      "--fail-fast",
      ...asked,
    ];
    const { success, text } = await run(copy, Deno.execPath(), ...args);
    if (success) return null;
    const failed = text.split("\n").find((line) => line.includes("... FAILED"));
    // One that waits in vain is the last that was begun.
    const last = text.split("\n").findLast((line) => line.includes(" ..."));
    return (failed ?? last)?.replace(/ \.\.\..*$/, "").trim() ?? "a test file that could not run";
  } finally {
    await run(copy, "git", "apply", "--reverse", patch);
  }
}
