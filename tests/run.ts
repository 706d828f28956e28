/**
 * `deno task test [FILE | FOLDER | OPTION]…`: runs tests, by default all but those in
 * `tests/push/` and `tests/long/`, which `deno task assure push` and `assure long` run.
 *
 * An isolate spends most of a second on loading the service, more than a usual test file needs for
 * its tests. So each isolate runs several files.
 */
import { dirname, relative, resolve } from "node:path";

const ROOT = new URL("../", import.meta.url).pathname;

/** Folders of the tests that run with a push only, and by hand only. */
export const SLOW = { push: `${ROOT}tests/push`, long: `${ROOT}tests/long` } as const;

/** Maximum test files of one isolate. */
const FILES_MAX = 8;

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

/** Runs test files; returns the exit code. */
export async function runTests(files: string[], options: string[] = []): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "tests-" });
  try {
    const child = new Deno.Command(Deno.execPath(), {
      args: [...COMMAND, ...options, ...modulesOf(files, folder)],
      cwd: ROOT,
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
  const modules = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const file of files) {
    const suite = dirname(relative(ROOT, file)).split("/").slice(0, 3).join("_");
    const count = counts.get(suite) ?? 0;
    counts.set(suite, count + 1);
    const module = `${folder}/${suite}_${1 + Math.floor(count / FILES_MAX)}.ts`;
    modules.set(module, `${modules.get(module) ?? ""}import "file://${file}";\n`);
  }
  for (const [module, text] of modules) Deno.writeTextFileSync(module, text);
  return [...modules.keys()];
}

async function main(args: readonly string[]): Promise<number> {
  const options = args.filter((arg) => arg.startsWith("-"));
  const paths = args.filter((arg) => !arg.startsWith("-")).map((path) => resolve(path));
  const all = () =>
    testsIn(`${ROOT}tests`).filter((file) =>
      !Object.values(SLOW).some((folder) => file.startsWith(`${folder}/`))
    );
  return await runTests(paths.length > 0 ? paths.flatMap(testsIn) : all(), options);
}

if (import.meta.main) Deno.exit(await main(Deno.args));
