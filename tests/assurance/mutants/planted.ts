// deno-lint-ignore-file no-console -- a task for people: one line for each bug
/**
 * Plants bugs, one at a time, in a copy of the project, and says which test caught each.
 *
 * Usage: deno task planted [NAME…]
 *
 * A bug is a patch in this folder. The lines before its diff say what it does wrong (`What:`) and which
 * test files are asked (`Asked:`); they are files that every push runs.
 */
import { parsePatch, type Planted } from "./patch.ts";

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
async function copyProject(to: string): Promise<void> {
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

/** The bugs in this folder, by name. */
export async function plantedBugs(): Promise<Planted[]> {
  const bugs: Planted[] = [];
  for await (const { name } of Deno.readDir(FOLDER)) {
    if (!name.endsWith(".patch")) continue;
    bugs.push(parsePatch(name, await Deno.readTextFile(FOLDER + name)));
  }
  return bugs.sort((a, b) => a.name < b.name ? -1 : 1);
}

/** Whether a bug can be planted in the project as it is. */
export async function fits({ name }: Planted): Promise<boolean> {
  return (await run(ROOT, "git", "apply", "--check", `${FOLDER}${name}.patch`)).success;
}

/** Plants a bug and runs the tests it asks; answers the name of a test that failed, or null. */
async function caughtBy(copy: string, { name, asked }: Planted): Promise<string | null> {
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

async function main(names: readonly string[]): Promise<boolean> {
  const all = await plantedBugs();
  const wanted = names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
  const copy = await Deno.makeTempDir({ prefix: "runledger-planted-" });
  let caught = 0;
  try {
    await copyProject(copy);
    for (const bug of wanted) {
      const startedMs = performance.now();
      const test = await caughtBy(copy, bug);
      const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
      if (test !== null) caught++;
      console.log(`${test === null ? "MISSED" : "caught"} ${bug.name} (${seconds} s): ${bug.what}`);
      if (test !== null) console.log(`       by "${test}"`);
    }
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
  console.log(`${caught} of ${wanted.length} planted bugs were caught`);
  return caught === wanted.length;
}

if (import.meta.main) Deno.exit(await main(Deno.args) ? 0 : 1);
