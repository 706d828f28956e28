/**
 * Counts lines of TypeScript by top folder, without blank lines, comments and tests/.
 *
 * Usage: deno run -R tools/count_lines.ts
 */
import { processIo } from "./command.ts";
import { number, table } from "./table.ts";

const ROOT = new URL("../", import.meta.url).pathname;

/** Folders without code of the project, or with its tests. */
const SKIPPED: readonly string[] = ["tests", "data", "node_modules"];

/** Lines that are comments, also those in a page. */
const COMMENTS = /^[ \t]*(\/\/.*|\{?\/\*[^]*?\*\/.*)$/gm;

/** Counts the lines of a source that are neither blank nor comments. */
function countLines(source: string): number {
  return source.replaceAll(COMMENTS, "").split("\n").filter((line) => line.trim() !== "").length;
}

/** Counts lines by top folder of a project; files at its root are counted by name. */
async function countFolders(root: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const count = async (top: string, folder: string) => {
    for await (const { name, isDirectory } of Deno.readDir(root + folder)) {
      if (name.startsWith(".") || SKIPPED.includes(name)) continue;
      const path = `${folder}${name}`;
      if (isDirectory) await count(top || name, `${path}/`);
      if (!/(?<!_test)\.tsx?$/.test(name)) continue;
      const lines = countLines(await Deno.readTextFile(root + path));
      counts.set(top || name, (counts.get(top || name) ?? 0) + lines);
    }
  };
  await count("", "");
  return counts;
}

/** Returns the counts of the project as a table. */
async function lineTable(): Promise<string> {
  const counts = await countFolders(ROOT);
  const total = [...counts.values()].reduce((sum, lines) => sum + lines, 0);
  const rows = [...counts].sort(([, a], [, b]) => b - a);
  return table(
    ["folder", "lines"],
    [...rows, ["total", total] as const].map(([name, lines]) => [name, number(lines)]),
  );
}

if (import.meta.main) processIo().out(await lineTable());
