/**
 * `deno task test [FILE | FOLDER | OPTION]…`: runs tests, by default all but those in
 * `tests/push/` and `tests/long/`, which `deno task assure push` and `assure long` run.
 *
 * An isolate spends most of a second on loading the service, more than a usual test file needs for
 * its tests. So each isolate runs several files.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { processIo } from "../tools/command.ts";

const ROOT = new URL("../", import.meta.url).pathname;

/** Folders of the tests that run with a push only, and by hand only. */
export const SLOW = { push: `${ROOT}tests/push`, long: `${ROOT}tests/long` } as const;

/** Isolates that all tests are divided among: enough for several cores to end at about one time. */
const ISOLATES = 12;

/** Minimum test files of one isolate, if there are as many. */
const FILES_MIN = 8;

/** The gates check types, so that tests do not. */
const COMMAND = [
  "test",
  "--frozen",
  "--lock=tests/packages/development.lock",
  "--no-prompt",
  "--no-check",
  "-A",
  "--parallel",
];

/** Isolates at a time: one more than cores, because some tests wait for processes and timers. */
const JOBS = navigator.hardwareConcurrency + 1;

/** Runs test files; returns the exit code. */
export async function runTests(files: string[], options: string[] = []): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "tests-" });
  try {
    const child = new Deno.Command(Deno.execPath(), {
      args: [...COMMAND, ...options, ...modulesOf(files, folder)],
      cwd: ROOT,
      env: { DENO_JOBS: String(JOBS) },
    }).spawn();
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      Deno.addSignalListener(signal, () => child.kill("SIGTERM"));
    }
    return (await child.status).code;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Returns the test files below a folder, sorted; a file is its own. */
export function testsIn(path: string): string[] {
  if (Deno.statSync(path).isFile) return [path];
  return [...Deno.readDirSync(path)].flatMap(({ name, isDirectory }) => {
    if (isDirectory) return testsIn(`${path}/${name}`);
    return name.endsWith("_test.ts") ? [`${path}/${name}`] : [];
  }).sort();
}

/** Writes a module for each isolate, which imports its files; returns the modules. */
function modulesOf(files: readonly string[], folder: string): string[] {
  const size = Math.max(FILES_MIN, Math.ceil(files.length / ISOLATES));
  const count = Math.ceil(files.length / size);
  return Array.from({ length: count }, (_, n) => {
    const module = `${folder}/tests_${n + 1}.ts`;
    const imports = files.slice(n * size, (n + 1) * size).map((file) => `import "file://${file}";`);
    Deno.writeTextFileSync(module, imports.join("\n"));
    return module;
  });
}

async function main(args: readonly string[]): Promise<number> {
  const options = args.filter((arg) => arg.startsWith("-"));
  const paths = args.filter((arg) => !arg.startsWith("-")).map((path) => resolve(path));
  const missing = paths.filter((path) => !existsSync(path));
  if (missing.length > 0) {
    processIo().fail(`No such file: ${missing.join(", ")}. Write options as --filter=TEXT`);
    return 2;
  }
  const all = () =>
    testsIn(`${ROOT}tests`).filter((file) =>
      !Object.values(SLOW).some((folder) => file.startsWith(`${folder}/`))
    );
  return await runTests(paths.length > 0 ? paths.flatMap(testsIn) : all(), options);
}

if (import.meta.main) Deno.exit(await main(Deno.args));
