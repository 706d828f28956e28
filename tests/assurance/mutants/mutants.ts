/**
 * Mutants: bugs that are planted one at a time in a copy of the project.
 *
 * A mutant is a patch in this folder. The lines before its diff describe the bug (`What:`) and list
 * the test files to run (`Tests:`), which every push runs too. Each guards a promise of its own:
 * that nothing is lost, doubled or mispriced, that teams are isolated, and that arrival in any order
 * leads to the same. `deno task assure mutants --list` lists them.
 */
const FOLDER = new URL(".", import.meta.url).pathname;
const ROOT = new URL("../../../", import.meta.url).pathname;

/** Maximum milliseconds of the tests: some bugs make a test wait forever. */
const TEST_MS_MAX = 45_000;

/** A mutant, as its patch describes it. */
interface Mutant {
  readonly name: string;
  readonly what: string;
  /** Test files that must fail. */
  readonly tests: readonly string[];
}

/** Parses the lines before the diff. */
function parsePatch(file: string, text: string): Mutant {
  const what = /^What: (.+)$/m.exec(text)?.[1];
  const tests = /^Tests: (.+)$/m.exec(text)?.[1]?.split(" ");
  if (what === undefined || tests === undefined) {
    throw new Error(`${file} needs a line "What: …" and a line "Tests: …" before its diff`);
  }
  return { name: file.replace(/\.patch$/, ""), what, tests };
}

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

/** Copies every file of the project in its current state. */
export async function copyProject(to: string): Promise<void> {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { text } = await run(ROOT, "git", ...args);
  for (const path of text.split("\0").filter((name) => name !== "")) {
    const target = `${to}/${path}`;
    await Deno.mkdir(target.slice(0, target.lastIndexOf("/")), { recursive: true });
    // A deleted file may still be in the index.
    await Deno.copyFile(ROOT + path, target).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }
}

export async function allMutants(): Promise<Mutant[]> {
  const mutants: Mutant[] = [];
  for await (const { name } of Deno.readDir(FOLDER)) {
    if (!name.endsWith(".patch")) continue;
    mutants.push(parsePatch(name, await Deno.readTextFile(FOLDER + name)));
  }
  return mutants.sort((a, b) => a.name < b.name ? -1 : 1);
}

/** Returns true if the mutant's patch applies to the current project. */
export async function fits({ name }: Mutant): Promise<boolean> {
  return (await run(ROOT, "git", "apply", "--check", `${FOLDER}${name}.patch`)).success;
}

/** Plants a mutant and runs its tests; returns the name of a failed test, or null. */
export async function caughtBy(copy: string, { name, tests }: Mutant): Promise<string | null> {
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
      ...tests,
    ];
    const { success, text } = await run(copy, Deno.execPath(), ...args);
    if (success) return null;
    const failed = text.split("\n").find((line) => line.includes("... FAILED"));
    // A test that hangs is the last that was started.
    const last = text.split("\n").findLast((line) => line.includes(" ..."));
    return (failed ?? last)?.replace(/ \.\.\..*$/, "").trim() ?? "a test file that could not run";
  } finally {
    await run(copy, "git", "apply", "--reverse", patch);
  }
}
