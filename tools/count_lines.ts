/**
 * Counts lines of TypeScript by top folder, without blank lines, comments and tests/.
 *
 * Usage: deno run -R tools/count_lines.ts
 */
import { type Io, processIo, runCommand } from "./command.ts";
import { number, table } from "./table.ts";

const HELP = ["deno run -R tools/count_lines.ts", "Counts lines of code by top folder."];
const ROOT = new URL("../", import.meta.url).pathname;

/** Folders without code of the project, or with its tests. */
const SKIPPED: readonly string[] = ["tests", "data", "node_modules"];

/** Counts the lines of a source that are neither blank nor comments. */
export function countLines(source: string): number {
  let count = 0;
  let inComment = false;
  for (const line of source.split("\n").map((line) => line.trim())) {
    if (inComment) {
      inComment = !line.includes("*/");
    } else if (line.startsWith("/*")) {
      inComment = !line.includes("*/");
    } else if (line !== "" && !line.startsWith("//") && !/^\{\/\*.*\*\/\}$/.test(line)) {
      count++;
    }
  }
  return count;
}

/** Counts lines by top folder of a project; files at its root are counted by name. */
export async function countFolders(root: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for await (const path of sourcesIn(root)) {
    const top = path.slice(root.length).split("/")[0] ?? "";
    const lines = countLines(await Deno.readTextFile(path));
    counts.set(top, (counts.get(top) ?? 0) + lines);
  }
  return counts;
}

async function* sourcesIn(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (name.startsWith(".") || SKIPPED.includes(name)) continue;
    if (isDirectory) yield* sourcesIn(`${folder}${name}/`);
    else if (/(?<!_test)\.tsx?$/.test(name)) yield folder + name;
  }
}

/** Runs the command; returns its exit code. */
export function runCount(args: readonly string[], io: Io): Promise<number> {
  const options = { help: { type: "boolean" } } as const;
  return runCommand(io, HELP, { args: [...args], options }, async () => {
    const counts = await countFolders(ROOT);
    const total = [...counts.values()].reduce((sum, lines) => sum + lines, 0);
    const rows = [...counts].sort(([, a], [, b]) => b - a);
    io.out(table(
      ["folder", "lines"],
      [...rows, ["total", total] as const].map(([name, lines]) => [name, number(lines)]),
    ));
    return 0;
  });
}

if (import.meta.main) Deno.exit(await runCount(Deno.args, processIo()));
